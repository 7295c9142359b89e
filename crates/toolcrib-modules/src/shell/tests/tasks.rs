//! Tasks in the background, and whose they are.

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;

use super::{PATIENCE, Place};

async fn begin(place: &Place, script: &str) -> Value {
    place.ok("background_run", json!({"argv": ["sh", "-c", script]})).await["task"].clone()
}

#[tokio::test]
async fn a_task_tells_what_it_has_written_and_how_it_ended() {
    let place = Place::with_scripts();
    let script = "echo one; echo two >&2; while [ ! -e go ]; do sleep 0.01; done; echo three; exit 5";
    let task = begin(&place, script).await;
    let wait = |offset: Value, wait: u32| json!({"task": task, "offset": offset, "wait_seconds": wait});
    let written = loop {
        let status = place.ok("task_status", json!({"task": task})).await;
        assert_eq!(status["running"], true);
        if status["total_bytes"] == 8 {
            break status;
        }
        tokio::task::yield_now().await;
    };
    let mut lines: Vec<_> = written["output"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["one", "two"]);
    std::fs::write(place.path().join("go"), "").unwrap();
    let ended = place.ok("task_status", wait(written["next_offset"].clone(), 20)).await;
    assert_eq!((&ended["output"], &ended["running"]), (&json!("three\n"), &json!(false)));
    assert_eq!((&ended["ended"]["exit_code"], &ended["offset"]), (&json!(5), &json!(8)));
    let list = place.ok("task_list", json!({})).await;
    assert_eq!(list["tasks"][0]["task"], task);
    assert!(list["tasks"][0]["command"].as_str().unwrap().starts_with("sh -c echo one"), "{list}");
    // What has ended can be stopped once more, and stays as it is.
    assert_eq!(place.ok("task_stop", json!({"task": task})).await["ended"]["exit_code"], 5);
}

#[tokio::test]
async fn a_session_sees_only_its_own_tasks_and_cannot_tell_those_of_others_from_none() {
    let place = Place::with_scripts();
    let task = begin(&place, "echo private; sleep 300").await;
    for tool in ["task_status", "task_stop"] {
        let other = place.call_in("other", tool, json!({"task": task})).await.error.unwrap();
        let none = place.call_in("other", tool, json!({"task": "task-0000"})).await.error.unwrap();
        assert_eq!((other.kind, none.kind), (ErrorKind::NotFound, ErrorKind::NotFound));
        let (other, none) = (other.to_string(), none.to_string());
        assert_eq!(other.replace(task.as_str().unwrap(), "X"), none.replace("task-0000", "X"));
    }
    assert_eq!(place.call_in("other", "task_list", json!({})).await.result["tasks"], json!([]));
    assert_eq!(place.ok("task_status", json!({"task": task})).await["running"], true);
}

#[tokio::test]
async fn names_of_tasks_are_random() {
    let place = Place::with_scripts();
    let (one, two) = (begin(&place, "exit").await, begin(&place, "exit").await);
    let (one, two) = (one.as_str().unwrap(), two.as_str().unwrap());
    assert_eq!((one.len(), two.len()), (29, 29));
    let same = one.bytes().zip(two.bytes()).skip(5).filter(|(one, two)| one == two).count();
    assert!(same < 12, "{one} {two}");
}

#[tokio::test]
async fn tasks_are_bounded_in_number_for_each_session() {
    let place = Place::with(json!({"max_tasks": 2}), None);
    let sleep = || json!({"argv": ["sleep", "300"]});
    let first = place.ok("background_run", sleep()).await["task"].clone();
    place.ok("background_run", sleep()).await;
    let error = place.error("background_run", sleep()).await;
    assert_eq!(error.kind, ErrorKind::LimitReached);
    assert_eq!(error.message, "2 tasks of this session run already, and no more may");
    assert_eq!(place.call_in("other", "background_run", sleep()).await.error, None);
    place.ok("task_stop", json!({"task": first})).await;
    place.ok("background_run", sleep()).await;
}

#[tokio::test]
async fn of_tasks_that_have_ended_the_latest_are_remembered() {
    let place = Place::with_scripts();
    let mut last = Value::Null;
    for _ in 0..super::super::MAX_ENDED_TASKS + 3 {
        last = begin(&place, "exit").await;
        place.ok("task_status", json!({"task": last, "wait_seconds": 20})).await;
    }
    let list = place.ok("task_list", json!({})).await;
    let tasks = list["tasks"].as_array().unwrap();
    assert_eq!((tasks.len(), &tasks[tasks.len() - 1]["task"]), (super::super::MAX_ENDED_TASKS, &last));
}

#[tokio::test]
async fn of_a_flood_the_end_is_kept_and_what_is_gone_is_told() {
    let place = Place::with_scripts();
    let task = begin(&place, "head -c 3000000 /dev/zero | tr '\\0' x; echo end").await;
    let status = place.ok("task_status", json!({"task": task, "offset": 0, "wait_seconds": 20})).await;
    assert_eq!(status["total_bytes"], 3_000_004);
    assert_eq!(status["offset"], 3_000_004 - super::super::MAX_LOG_BYTES as u64);
    assert_eq!(status["output"].as_str().unwrap().len(), super::super::MAX_PAGE_BYTES);
    assert!(status["notes"][0].as_str().unwrap().contains("are gone"), "{status}");
    let last = place.ok("task_status", json!({"task": task})).await;
    assert!(last["output"].as_str().unwrap().ends_with("xend\n"));
}

#[tokio::test]
async fn waiting_for_a_task_that_does_not_end_ends_all_the_same() {
    let place = Place::with_scripts();
    let task = begin(&place, "sleep 300").await;
    let waiting = place.ok("task_status", json!({"task": task, "wait_seconds": 1}));
    let status = tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    assert_eq!(status["running"], true);
}
