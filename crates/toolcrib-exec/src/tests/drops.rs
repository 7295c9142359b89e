//! Calls whose futures are dropped.

use std::num::NonZeroU32;

use tokio::task::yield_now;
use toolcrib_port::CallPhase;
use toolcrib_testkit::dropped_after;

use super::*;
use crate::FlowSettings;
use crate::audit::{Audit, MemorySink};
use crate::flow::SourceLimits;

/// The most polls that a call of these tests takes.
const MAX_POLLS: usize = 100;

/// Approves after a while, and counts the open questions.
#[derive(Default)]
struct Slow {
    open: AtomicUsize,
}

struct Open<'a>(&'a AtomicUsize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Approver for Slow {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        self.open.fetch_add(1, Ordering::SeqCst);
        let _open = Open(&self.open);
        for asked in batch {
            yield_now().await;
            asked.answer = Some(Answer::Approved(asked.question().approve()));
        }
    }
}

/// Ends after a while.
struct Patient(Arc<Engine>);

#[async_trait]
impl ToolEngine for Patient {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let _ = tokio::time::timeout(Duration::from_secs(1), std::future::pending::<()>()).await;
        self.0.invoke(call, context).await
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_dropped_at_any_await_leave_no_place_no_question_and_one_record_each() {
    let mut dropped_with = std::collections::BTreeSet::new();
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "the calls never end");
        let (approver, kept) = (Arc::new(Slow::default()), Arc::new(MemorySink::new()));
        let Fixture { engine, executor } = fixture(json!({"default_policy": "approve"}), approver.clone());
        let one = SourceLimits { max_concurrency: NonZeroU32::new(1), ..SourceLimits::default() };
        let executor = Arc::into_inner(executor)
            .unwrap()
            .with_flow(FlowSettings { source: one, ..FlowSettings::default() })
            .with_audit(Audit::new(kept.clone()))
            .with_engine("test", Arc::new(Patient(engine.clone())));
        let executor = Arc::new(executor);
        let context = CallContext::new("s");
        let calls = || (0..3).map(|_| ToolCall::new("t.echo", JsonObject::new())).collect::<Vec<_>>();
        let ended = dropped_after(polls, executor.call_all(calls(), &context)).await;
        assert_eq!(approver.open.load(Ordering::SeqCst), 0, "a question is open after {polls} polls");
        assert_ne!(context.phase.phase(), CallPhase::WaitingForPerson, "after {polls} polls");
        let records = kept.records();
        assert_eq!(records.len(), 3, "after {polls} polls");
        dropped_with.insert((engine.calls.load(Ordering::SeqCst), records[0].consent.is_some()));
        // The only place is free again: the next calls do not wait for those that are gone.
        let next = tokio::time::timeout(Duration::from_mins(1), executor.call_all(calls(), &context)).await;
        assert!(next.unwrap().iter().all(ToolResult::is_ok), "after {polls} polls");
        drop(executor);
        assert_eq!(Arc::strong_count(&engine), 1, "the engine is held after {polls} polls");
        if let Some(results) = ended {
            assert!(results.iter().all(ToolResult::is_ok), "{results:?}");
            break;
        }
    }
    // They were dropped while a person was asked, while the first ran, and while the others waited for its place.
    assert!(dropped_with.contains(&(0, false)) && dropped_with.len() > 3, "{dropped_with:?}");
}
