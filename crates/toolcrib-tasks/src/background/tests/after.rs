//! Calls that take long and go on in the background.

use std::time::Duration;

use serde_json::json;
use toolcrib_model::{ErrorKind, ToolCall};
use toolcrib_port::ToolCaller as _;

use super::*;
use crate::background::BackgroundingCaller;

const AFTER: Duration = Duration::from_secs(30);

fn patient(shop: &Shop) -> BackgroundingCaller {
    BackgroundingCaller::new(shop.executor.tool_caller(), shop.background.clone(), AFTER)
}

fn call(name: &str) -> ToolCall {
    ToolCall::new(name, JsonObject::new()).with_call_id("c1")
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_long_goes_on_and_its_caller_has_its_task() {
    let shop = Shop::new().await;
    let began = Instant::now();
    let result = patient(&shop).call(call("shop.machine"), &context()).await;
    assert_eq!(began.elapsed(), AFTER);
    assert_eq!((result.call_id.as_deref(), &result.error), (Some("c1"), &None));
    let id = result.result["task_id"].as_str().unwrap();
    insta::assert_snapshot!(
        result.result["note"].as_str().unwrap(),
        @"it has taken 30 s and continues; it runs in the background; you are notified when it has ended"
    );
    let status = shop.background.status(id, &context()).await.unwrap();
    assert_eq!((status.status, status.progress.as_deref()), (TaskState::Running, Some("1 of 2: turning")));
    let (status, ()) = tokio::join!(shop.wait(id), async { shop.end.notify_one() });
    assert_eq!((status.status, status.result), (TaskState::Completed, Some(json!({"made": 7}))));
    assert_eq!(shop.started.load(Ordering::SeqCst), 1, "it was not made a second time");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_in_time_has_its_result_and_is_no_task() {
    let shop = Shop::new().await;
    shop.end.notify_one();
    let result = patient(&shop).call(call("shop.machine"), &context()).await;
    assert_eq!(result.result, json!({"made": 7}));
    assert!(shop.background.list(&context()).await.is_empty());
    assert!(shop.store.load(RecordKind::Background).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_it_up_before_ends_it() {
    let shop = Shop::new().await;
    let mut given_up = context();
    given_up.cancel = tokio_util::sync::CancellationToken::new();
    let patient = patient(&shop);
    let cancelled = async {
        while shop.started.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        given_up.cancel.cancel();
    };
    let (result, ()) = tokio::join!(patient.call(call("shop.machine"), &given_up), cancelled);
    assert_eq!(result.error.unwrap().kind, ErrorKind::Cancelled);
    // One whose future is dropped ends as well: its engine's future is dropped with it, and the machine hears of no
    // end.
    let caller = context();
    let dropped = tokio::time::timeout(Duration::from_secs(1), patient.call(call("shop.machine"), &caller));
    assert!(dropped.await.is_err());
    tokio::time::advance(AFTER * 2).await;
    assert!(shop.background.list(&context()).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_room_in_the_background_it_is_waited_for() {
    let settings = BackgroundSettings { max_running: 1, ..BackgroundSettings::default() };
    let shop = Shop::with(Arc::new(MemoryStore::new()), settings).await;
    let other = shop.launch("shop.mill").await.unwrap().task_id;
    let ending = async {
        // Within the time that calls have where nothing is said.
        tokio::time::advance(AFTER).await;
        tokio::time::advance(Duration::from_secs(20)).await;
        shop.end.notify_waiters();
    };
    let (result, ()) =
        tokio::join!(async { patient(&shop).call(call("shop.machine"), &context()).await }, ending);
    assert_eq!(result.result, json!({"made": 7}));
    assert_eq!(shop.wait(&other).await.status, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_task_is_no_call_that_moves() {
    let shop = Shop::new().await;
    shop.add_tools().await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    let mut waiting = call("context_builder.background_run");
    waiting.arguments = json!({"task_id": id, "wait": true, "timeout": 45}).as_object().unwrap().clone();
    let began = Instant::now();
    let result = patient(&shop).call(waiting, &context()).await;
    assert_eq!((began.elapsed(), &result.result["status"]), (Duration::from_secs(45), &json!("running")));
    assert_eq!(shop.background.list(&context()).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_earlier_names_mean_the_modes_of_the_one_action() {
    let shop = Shop::new().await;
    shop.add_tools().await;
    let run = async |name: &str, arguments: Value| {
        let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
        shop.executor.call(call, &context()).await
    };
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    let status = run("background_status", json!({"task_id": id})).await;
    assert_eq!(
        (status.name.as_str(), &status.result["status"]),
        ("context_builder::background_run", &json!("running"))
    );
    assert_eq!(run("context_builder.background_list", json!({})).await.result["tasks"][0]["task_id"], *id);
    let waited = run("context_builder::background_wait", json!({"task_id": id, "timeout": 2})).await;
    assert_eq!(waited.result["status"], "running");
    assert_eq!(run("background_cancel", json!({"task_id": id})).await.result["status"], "cancelled");
    assert_eq!(run("background_result", json!({"task_id": id})).await.result["status"], "cancelled");
    let other = run("shop.background_list", json!({})).await.error.unwrap();
    assert_eq!(other.kind, ErrorKind::UnknownTool);
    let listed = shop.executor.registry().snapshot();
    assert!(
        listed.iter().all(|entry| entry.tool.name.name() != "background_status"),
        "they are listed nowhere"
    );
}
