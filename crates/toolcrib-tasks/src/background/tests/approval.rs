//! Calls that wait for a person.

use toolcrib_port::ToolCaller as _;

use super::*;
use crate::background::BackgroundingCaller;
use crate::testing::{self, executor_with, policy, slow_approver};

const AFTER: Duration = Duration::from_secs(3);

/// A shop whose owner approves each call when `yes` is notified.
struct Asked {
    executor: Arc<Executor>,
    background: Background,
    yes: Arc<Notify>,
    started: Arc<AtomicUsize>,
}

impl Asked {
    async fn new() -> Self {
        Self::with(Arc::new(MemoryStore::new())).await
    }

    /// Opens the shop with what a store has.
    async fn with(store: Arc<dyn Store>) -> Self {
        let started = Arc::new(AtomicUsize::new(0));
        let runs = Arc::clone(&started);
        let press = FunctionTool::new("press", "Presses.", move |_: Nothing, _| {
            runs.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, ToolError>(json!({"made": 1})) }
        });
        let module = Module::new("shop", "Makes things.").with_tool(press);
        let (owner, yes) = slow_approver();
        let executor = executor_with(module, policy(&json!({})), owner).await;
        let clock = Arc::new(TestClock::at("2026-03-01T09:00:00Z"));
        let services = Services::open(store, clock, false, testing::ports(&executor));
        let services = Arc::new(services.await.unwrap());
        let background = Background::open(services, BackgroundSettings::default()).await.unwrap();
        background.resume().await.unwrap();
        Self { executor, background, yes, started }
    }
}

fn press() -> ToolCall {
    ToolCall::new("shop.press", JsonObject::new())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_does_not_move_to_the_background() {
    let shop = Asked::new().await;
    let patient = BackgroundingCaller::new(shop.executor.tool_caller(), shop.background.clone(), AFTER);
    let answered = async {
        tokio::time::advance(AFTER * 60).await;
        assert!(shop.background.list(&context()).await.is_empty());
        shop.yes.notify_one();
    };
    let caller = context();
    let (result, ()) = tokio::join!(patient.call(press(), &caller), answered);
    assert_eq!(result.result, json!({"made": 1}));
}

#[tokio::test(start_paused = true)]
async fn a_call_in_the_background_that_waits_for_a_person_is_not_told_to_be_running() {
    let shop = Asked::new().await;
    let launched = shop.background.launch(press(), &context()).await.unwrap();
    assert_eq!(launched.status, TaskState::WaitingForApproval);
    insta::assert_snapshot!(
        launched.note.as_deref().unwrap(),
        @"the call has not started: it waits for a person to approve it"
    );
    assert_eq!(json!(launched)["status"], "waiting_for_approval");
    assert_eq!(shop.background.list(&context()).await[0].status, TaskState::WaitingForApproval);
    assert_eq!(shop.started.load(Ordering::SeqCst), 0);
    // A run that started it ends when the question has.
    let session = context().session;
    let mut ended = Box::pin(shop.background.wait_for_approvals(&session));
    assert!(futures::poll!(&mut ended).is_pending());
    shop.yes.notify_one();
    ended.await;
    let status = shop.background.wait(&launched.task_id, AFTER, &context()).await.unwrap();
    assert_eq!((status.status, shop.started.load(Ordering::SeqCst)), (TaskState::Completed, 1));
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_a_call_that_waits_for_a_person() {
    let shop = Asked::new().await;
    shop.background.launch(press(), &context()).await.unwrap();
    assert!(shop.background.in_progress().is_empty());
    let began = Instant::now();
    shop.background.inner.ledger.services.stop_intake();
    shop.background.close(Duration::from_hours(1)).await;
    assert!(began.elapsed() < Duration::from_secs(1));
    shop.yes.notify_one();
    assert_eq!(shop.started.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_not_begun_goes_on_after_a_restart_although_it_may_not_be_repeated() {
    for is_closed in [true, false] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let shop = Asked::with(Arc::clone(&store)).await;
        let id = shop.background.launch(press(), &context()).await.unwrap().task_id;
        if is_closed {
            shop.background.inner.ledger.services.stop_intake();
            shop.background.close(AFTER).await;
        }

        let again = Asked::with(Arc::clone(&store)).await;
        let waits = |status: &TaskStatus| status.status == TaskState::WaitingForApproval;
        let waiting = async {
            while !waits(&again.background.status(&id, &context()).await.unwrap()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(AFTER, waiting).await.unwrap();
        again.yes.notify_one();
        let status = again.background.wait(&id, AFTER, &context()).await.unwrap();
        assert_eq!((status.status, again.started.load(Ordering::SeqCst)), (TaskState::Completed, 1));
        assert_eq!(shop.started.load(Ordering::SeqCst), 0);

        // Once it has begun, it is not made again.
        let third = Asked::with(store).await;
        assert!(third.background.in_progress().is_empty());
        assert_eq!(third.started.load(Ordering::SeqCst), 0);
    }
}
