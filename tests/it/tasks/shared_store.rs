//! Two processes with one app: a clear refusal, or each run by one of them.

use super::{Served, begun, dir, run, tasks, until};

#[tokio::test]
async fn a_second_process_is_told_that_the_first_has_the_store_and_goes_on_without() {
    let dir = dir("{default_policy: grant}", "");
    let first = Served::start(&dir).await;
    let arguments = r#"{"when": "in 1h", "action": {"type": "notification", "message": "hi"}}"#;
    let second = run(&dir, ["call", "app.yaml", "schedule_once", arguments, "--json"]).await.expect(0);
    assert!(second.stderr.contains("end with this process"), "{second:#?}");
    let note = second.json()["result"]["note"].as_str().unwrap_or_default().to_owned();
    assert!(note.contains("ends"), "a model is told as well: {note}");
    assert!(tasks(&dir).await.is_empty());
    first.end().await;
}

#[tokio::test]
async fn two_processes_that_share_a_store_never_make_the_same_run() {
    let dir = dir("{default_policy: grant}", ", shared: true");
    let (mut first, mut second) = (Served::start(&dir).await, Served::start(&dir).await);
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(first.schedule("shop.make", "in 2s").await);
        all.push(second.schedule("shop.make", "in 2s").await);
    }
    until("all runs", || begun(&dir).len() == all.len()).await;
    first.end().await;
    second.end().await;
    let begun = begun(&dir);
    assert!(begun.values().all(|times| *times == 1), "{begun:#?}");
    assert_eq!(begun.len(), all.len());
}
