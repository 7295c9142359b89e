//! What whoever operates the program sees and ends.

use super::*;
use crate::OperatorRequest;

#[tokio::test(start_paused = true)]
async fn an_operator_sees_the_calls_of_everybody_and_ends_them() {
    let shop = Shop::new().await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    let all = shop.background.all().await;
    assert_eq!((all.len(), all[0].session.as_str(), all[0].agent.as_deref()), (1, "s", Some("clerk")));
    let ended = shop.background.cancel_any(&id).await.unwrap();
    assert_eq!(ended.task.status, TaskState::Cancelled);
    let unknown = shop.background.cancel_any("task_0").await.unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn an_operator_in_another_process_asks_the_one_that_has_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, false).await.unwrap().store);
    let shop = Shop::with(Arc::clone(&store), BackgroundSettings::default()).await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    let background = shop.background.clone();
    let attending = tokio::spawn(Arc::clone(&shop.services).serve_requests(async move |request| {
        let OperatorRequest::Cancel(id) = request;
        background.cancel_any(&id).await.unwrap();
    }));
    let beside = SqliteStore::open_unlocked(&path).await.unwrap();
    let seen = beside.load(RecordKind::Background).await.unwrap();
    assert_eq!(seen.iter().map(|record| &record.id).collect::<Vec<_>>(), [&id]);
    assert!(!beside.has_changed().await.unwrap(), "nothing since it was opened");
    OperatorRequest::Cancel(id.clone()).submit(&beside).await.unwrap();
    assert!(beside.has_changed().await.unwrap());
    let status = shop.background.status(&id, &context()).await.unwrap();
    assert_eq!(status.status, TaskState::Cancelled);
    shop.services.stop_intake();
    attending.await.unwrap();
    assert!(store.load(RecordKind::Request).await.unwrap().is_empty());
    beside.close().await;
    store.close().await;
}

#[tokio::test]
async fn a_call_that_nobody_runs_any_more_is_ended_with_its_outcome_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, false).await.unwrap().store);
    let shop = Shop::with(Arc::clone(&store), BackgroundSettings::default()).await;
    let id = shop.launch("shop.machine").await.unwrap().task_id;
    let beside: Arc<dyn Store> = Arc::new(SqliteStore::open_unlocked(&path).await.unwrap());
    let services =
        Services::open(Arc::clone(&beside), shop.clock.clone(), false, TaskPorts::default()).await.unwrap();
    let looking = Background::open(Arc::new(services), BackgroundSettings::default()).await.unwrap();
    let ended = looking.cancel_any(&id).await.unwrap();
    assert_eq!(ended.task.status, TaskState::OutcomeUnknown);
    beside.close().await;
    store.close().await;
}
