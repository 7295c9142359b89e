//! Whom calls wait for, and how long.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::time::{Instant, advance};
use toolcrib_exec::{Callback, DenyAll};
use toolcrib_model::Tool;
use toolcrib_policy::{Approvals, Call, Capabilities, PendingApproval, Policy, Principal, Verdict};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext};

use super::{AnswerOutcome, MAX_WAITING, OperatorAnswer, PRESENCE, PendingApprovals};

fn pending() -> PendingApproval {
    let tool = Arc::new(Tool::new("files::write".parse().unwrap()));
    let policy = Policy::new(&Capabilities::default(), []).unwrap();
    match policy.authorize(Call::new(tool, "test".into(), 1), Principal::new("s")) {
        Verdict::Ask(pending) => *pending,
        other => panic!("{other:?}"),
    }
}

fn asked() -> ApprovalRequest {
    ApprovalRequest::new(pending().question())
}

fn nobody_else(waiting: &PendingApprovals) -> Arc<dyn Approver> {
    waiting.approver(Arc::new(DenyAll))
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_while_somebody_is_there_and_no_longer() {
    let (waiting, context) = (PendingApprovals::default(), CallContext::new("s"));
    let (pending_approvals, approver) = (waiting.clone(), nobody_else(&waiting));
    let mut batch = [asked()];
    approver.ask(&mut batch, &context).await;
    assert_eq!(batch[0].answer, Some(Answer::Nobody));

    // Two who are attached, one of whom has left.
    let (first, second) = (pending_approvals.attach(), pending_approvals.attach());
    let mut batch = [asked(), asked()];
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    assert_eq!(pending_approvals.questions().len(), 2);
    drop(first);
    advance(PRESENCE * 2).await;
    assert!((&mut asking).now_or_never().is_none());
    drop(second);
    asking.await;
    assert_eq!(batch.map(|asked| asked.answer), [Some(Answer::Nobody), Some(Answer::Nobody)]);
    assert!(pending_approvals.questions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_looked_at_the_page_is_waited_for_until_half_an_hour_later() {
    let (waiting, context) = (PendingApprovals::default(), CallContext::new("s"));
    let (pending_approvals, approver) = (waiting.clone(), nobody_else(&waiting));
    pending_approvals.saw_page();
    let begun = Instant::now();
    advance(Duration::from_mins(10)).await;
    let attached = pending_approvals.attach();
    let mut batch = [asked()];
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    drop(attached);
    asking.await;
    assert_eq!(begun.elapsed().as_secs(), PRESENCE.as_secs());
    assert_eq!(batch[0].answer, Some(Answer::Nobody));
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_counts_wherever_it_comes_from() {
    let (waiting, context) = (PendingApprovals::default(), CallContext::new("s"));
    let pending_approvals = waiting.clone();
    let _attached = pending_approvals.attach();
    let mut batch = [asked()];
    let approver = nobody_else(&waiting);
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    let id = pending_approvals.questions()[0].id;
    let answer = async |answer| pending_approvals.answer(id, answer).await.unwrap();
    assert_eq!(answer(OperatorAnswer::deny("  not today ")).await, AnswerOutcome::Accepted);
    assert_eq!(answer(OperatorAnswer::Once).await, AnswerOutcome::TooLate);
    asking.await;
    assert_eq!(batch[0].answer, Some(Answer::Denied(Some("not today".into()))));

    // Somebody else is faster.
    let no = Callback::new(|_| async { Answer::Denied(None) });
    let mut batch = [asked()];
    waiting.approver(Arc::new(no)).ask(&mut batch, &context).await;
    assert_eq!(batch[0].answer, Some(Answer::Denied(None)));
    assert!(pending_approvals.questions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_yes_is_for_the_call_that_was_asked_about() {
    let (waiting, context) = (PendingApprovals::default(), CallContext::new("s"));
    let pending_approvals = waiting.clone();
    let _attached = pending_approvals.attach();
    let (pending, approver) = (pending(), nobody_else(&waiting));
    let mut batch = [ApprovalRequest::new(pending.question())];
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    assert_eq!(
        pending_approvals.answer(pending.question().id, OperatorAnswer::Once).await.unwrap(),
        AnswerOutcome::Accepted
    );
    asking.await;
    let Some(Answer::Approved(approval)) = &batch[0].answer else { panic!("{batch:?}") };
    let approvals = Approvals::default();
    assert!(self::pending().approve(approval, &approvals).is_err());
    assert!(pending.approve(approval, &approvals).is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_more_than_may_wait_is_put_to_others_only() {
    let (waiting, context) = (PendingApprovals::default(), CallContext::new("s"));
    let pending_approvals = waiting.clone();
    let attached = pending_approvals.attach();
    let mut batch: Vec<_> = (0..=MAX_WAITING).map(|_| asked()).collect();
    let approver = nobody_else(&waiting);
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    assert_eq!(pending_approvals.questions().len(), MAX_WAITING);
    drop(attached);
    asking.await;
    assert!(batch.iter().all(|asked| asked.answer == Some(Answer::Nobody)));
}
