//! Nothing is left of a program that has ended, in whatever way.

use std::time::Duration;

use serde_json::json;
use toolcrib_port::{CallContext, ToolEngine as _};
use toolcrib_sdk::Lifecycle as _;

use super::{PATIENCE, Place};

/// Leaves behind what is hard to find: a child, one in a session of its own, and one that forked twice, none of which wants
/// to end. Then it says that all are there, and waits.
const FAMILY: &str = r#"trap '' TERM HUP INT
sh -c 'touch 1; exec sleep 301' &
setsid sh -c 'trap "" TERM HUP; touch 2; sleep 302 & sleep 303' &
(setsid sh -c 'trap "" TERM HUP; (sh -c "touch 3; exec sleep 304" &); touch 4; exec sleep 305' < /dev/null > /dev/null 2>&1 &)
until [ -e 1 ] && [ -e 2 ] && [ -e 3 ] && [ -e 4 ]; do sleep 0.01; done
touch there
"#;

fn family(then: &str) -> serde_json::Value {
    json!({"interpreter": "sh", "script": format!("{FAMILY}{then}"), "timeout_seconds": 60})
}

#[tokio::test]
async fn a_program_that_ends_leaves_none_of_its_family() {
    let place = Place::with_scripts();
    assert_eq!(place.ok("script", family("exit 0")).await["exit_code"], 0);
    assert!(place.path().join("there").exists());
    place.await_processes(0).await;
}

#[tokio::test]
async fn a_program_whose_time_is_over_leaves_none_of_its_family() {
    let place = Place::with_scripts();
    let mut arguments = family("while :; do sleep 0.01; done");
    arguments["timeout_seconds"] = json!(2);
    let ran = place.ok("script", arguments).await;
    assert_eq!((&ran["timed_out"], &ran["signal"]), (&json!(true), &json!("KILL")));
    place.await_processes(0).await;
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_none_of_its_family() {
    let place = Place::with_scripts();
    let context = CallContext::new("test");
    tokio::select! {
        result = place.call_with(&context, "script", family("sleep 300")) => panic!("it ended: {result:?}"),
        () = place.await_file("there") => {}
    }
    place.await_processes(0).await;
}

#[tokio::test]
async fn a_task_that_is_stopped_leaves_none_of_its_family() {
    let place = Place::with_scripts();
    let script = format!("{FAMILY}while :; do sleep 0.01; done");
    let task = place.ok("background_run", json!({"argv": ["sh", "-c", script]})).await["task"].clone();
    place.await_file("there").await;
    let stopped = place.ok("task_stop", json!({"task": task})).await;
    assert_eq!((&stopped["running"], &stopped["ended"]["signal"]), (&json!(false), &json!("KILL")));
    assert!(stopped["ended"].get("timed_out").is_none(), "{stopped}");
    place.await_processes(0).await;
}

#[tokio::test]
async fn the_end_of_a_session_ends_its_tasks_and_no_others() {
    let place = Place::new();
    for session in ["one", "one", "two"] {
        let begun = place.call_in(session, "background_run", json!({"argv": ["sleep", "300"]})).await;
        assert_eq!(begun.error, None);
    }
    place.await_processes(3).await;
    place.module.end_session("one").await;
    assert_eq!(place.processes().len(), 1, "they are gone when this is over");
    assert_eq!(place.call_in("one", "task_list", json!({})).await.result["tasks"], json!([]));
    place.shell.close().await;
    assert_eq!(place.processes(), []);
}

#[tokio::test]
async fn a_task_ends_when_its_module_is_dropped() {
    let place = Place::new();
    place.ok("background_run", json!({"argv": ["sleep", "300"]})).await;
    place.await_processes(1).await;
    let Place { folder, shell, module } = place;
    drop((shell, module));
    let gone = || Ok(toolcrib_testkit::processes_of(folder.path())?.is_empty().then_some(()));
    toolcrib_testkit::wait_until("the end of the task", PATIENCE, gone).await.unwrap();
}

#[test]
fn a_task_ends_when_its_runtime_is_dropped() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = Place::with_scripts();
    runtime.block_on(async {
        place.ok("background_run", json!({"argv": ["sh", "-c", format!("{FAMILY}sleep 300")]})).await;
        place.await_file("there").await;
    });
    assert!(place.processes().len() > 4);
    runtime.shutdown_timeout(Duration::from_secs(1));
    let another = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    another.block_on(place.await_processes(0));
}

#[tokio::test]
async fn a_task_ends_when_its_time_is_over() {
    let place = Place::with(json!({"max_task_seconds": 1}), None);
    let argv = json!({"argv": ["sleep", "300"], "timeout_seconds": 100});
    let task = place.ok("background_run", argv).await["task"].clone();
    let ended = place.ok("task_status", json!({"task": task, "wait_seconds": 20})).await;
    assert_eq!((&ended["running"], &ended["ended"]["timed_out"]), (&json!(false), &json!(true)));
    place.await_processes(0).await;
}
