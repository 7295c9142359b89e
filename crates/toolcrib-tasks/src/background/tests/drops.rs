//! Requests about calls in the background whose futures are dropped.

use toolcrib_testkit::dropped_after;

use super::*;

/// The most polls that a request of these tests takes.
const MAX_POLLS: usize = 200;

/// Lets what can go on without time passing do so.
async fn settle() {
    let _ = tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>()).await;
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_is_dropped_at_any_await_starts_the_call_or_leaves_nothing() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let shop = Shop::new().await;
        let launched = dropped_after(polls, shop.launch("shop.machine")).await;
        settle().await;
        let known = shop.background.list(&context()).await;
        assert_eq!(
            known.len(),
            shop.started.load(Ordering::SeqCst),
            "dropped after {polls} polls: {known:?}"
        );
        if let Some(task) = known.first() {
            shop.end(&task.task_id).await;
            assert_eq!(shop.wait(&task.task_id).await.status, TaskState::Completed, "after {polls} polls");
        }
        if let Some(launched) = launched {
            assert_eq!(known[0].task_id, launched.unwrap().task_id);
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_at_any_await_takes_nobodys_news() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let shop = Shop::new().await;
        let id = shop.launch("shop.machine").await.unwrap().task_id;
        let caller = context();
        let patience = Duration::from_secs(5);
        let waited = dropped_after(polls, shop.background.wait(&id, patience, &caller)).await;
        let is_over = waited.is_some();
        shop.end(&id).await;
        settle().await;
        let told = shop.told().await;
        assert_eq!(told.len(), 1, "dropped after {polls} polls: {told:?}");
        if is_over {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_that_is_dropped_at_any_await_cancels_the_call_or_lets_it_run() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let shop = Shop::new().await;
        let id = shop.launch("shop.machine").await.unwrap().task_id;
        settle().await;
        let cancelled = dropped_after(polls, shop.background.cancel(&id, &context())).await;
        shop.end.notify_one();
        let status = shop.wait(&id).await.status;
        assert!(
            matches!(status, TaskState::Cancelled | TaskState::Completed),
            "dropped after {polls} polls: {status:?}"
        );
        if let Some(cancelled) = cancelled {
            assert_eq!((cancelled.unwrap().status, status), (TaskState::Cancelled, TaskState::Cancelled));
            return;
        }
    }
}
