//! Calls that several people approve, or another person than their caller.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::join_all;
use serde_json::{Value, json};
use toolcrib_exec::{Callback, DenyAll};
use toolcrib_model::Tool;
use toolcrib_policy::{
    AnswerRefusal, ApprovalRule, Approvals, Call, Capabilities, OPERATOR, PendingApproval, People, Policy,
    Principal, SettingLocation, Verdict,
};
use toolcrib_port::{Answer, ApprovalRequest, CallContext};

use super::{AnswerOutcome, OperatorAnswer, PendingApprovals};
use crate::approval::ClientApprover;

/// A call that waits for people by this rule.
fn pending(rule: Value, session: &str) -> PendingApproval {
    let rule: ApprovalRule = serde_json::from_value(rule).unwrap();
    let people = People::default().with_served_sessions("serve/", "serve/local/");
    let people = people.with_person("alice", ["alice-laptop".to_owned()]);
    let policy = Policy::new(&Capabilities::default(), []).unwrap();
    let policy = policy.with_approval_rules(&[rule], people, &SettingLocation::default()).unwrap();
    let tool = Arc::new(Tool::new("files::write".parse().unwrap()));
    match policy.authorize(Call::new(tool, "test".into(), 1), Principal::new(session)) {
        Verdict::Ask(pending) => *pending,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn two_different_people_approve_a_call_and_it_waits_for_the_second() {
    let waiting = PendingApprovals::default();
    let (_attached, approver) = (waiting.attach(), waiting.approver(Arc::new(DenyAll)));
    let pending = pending(json!({"module": "files", "approvers": 2}), "serve/ci/1");
    let mut batch = [ApprovalRequest::new(pending.question())];
    let context = CallContext::new("serve/ci/1");
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    let id = waiting.questions()[0].id;
    let answer = async |person, answer| waiting.answer_as(person, id, answer).await.unwrap();
    let refused = AnswerOutcome::Refused(AnswerRefusal::OnceOnly);
    assert_eq!(answer("alice", OperatorAnswer::Tool).await, refused);
    assert_eq!(answer("alice-laptop", OperatorAnswer::Once).await, AnswerOutcome::Recorded);
    // The same person again, under another name, by another answer.
    let refused = AnswerOutcome::Refused(AnswerRefusal::AnsweredBefore);
    assert_eq!(answer("alice", OperatorAnswer::Once).await, refused);
    assert_eq!(answer("alice", OperatorAnswer::deny("")).await, refused);
    assert!((&mut asking).now_or_never().is_none());
    let [shown] = waiting.questions().try_into().unwrap();
    assert_eq!(shown.approved_by.iter().collect::<Vec<_>>(), ["alice"]);
    assert_eq!(answer(OPERATOR, OperatorAnswer::Once).await, AnswerOutcome::Accepted);
    assert_eq!(answer("bob", OperatorAnswer::deny("")).await, AnswerOutcome::TooLate);
    asking.await;
    let Some(Answer::Approved(approval)) = &batch[0].answer else { panic!("{batch:?}") };
    assert_eq!(approval.approvers().collect::<Vec<_>>(), ["alice", OPERATOR]);
    assert!(pending.approve(approval, &Approvals::default()).is_ok());
}

#[tokio::test]
async fn one_no_is_enough_and_of_answers_at_once_each_person_counts_once() {
    let waiting = PendingApprovals::default();
    let (_attached, approver) = (waiting.attach(), waiting.approver(Arc::new(DenyAll)));
    let context = CallContext::new("serve/ci/1");
    let rule = json!({"module": "files", "approvers": 2});
    let mut batch = [ApprovalRequest::new(pending(rule.clone(), "serve/ci/1").question())];
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    let id = waiting.questions()[0].id;
    assert_eq!(waiting.answer(id, OperatorAnswer::Once).await.unwrap(), AnswerOutcome::Recorded);
    let no = OperatorAnswer::deny("too much");
    assert_eq!(waiting.answer_as("bob", id, no).await.unwrap(), AnswerOutcome::Accepted);
    asking.await;
    assert_eq!(batch[0].answer, Some(Answer::Denied(Some("too much".into()))));

    let mut batch = [ApprovalRequest::new(pending(rule, "serve/ci/1").question())];
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    let id = waiting.questions()[0].id;
    let people = ["alice", "bob", "alice", "carol", "bob"];
    let answers = people.map(|person| waiting.answer_as(person, id, OperatorAnswer::Once));
    let outcomes: Vec<_> = join_all(answers).await.into_iter().map(Result::unwrap).collect();
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    assert_eq!((count(AnswerOutcome::Recorded), count(AnswerOutcome::Accepted)), (1, 1), "{outcomes:?}");
    asking.await;
    assert!(matches!(batch[0].answer, Some(Answer::Approved(_))));
}

#[tokio::test]
async fn the_person_who_makes_a_call_is_not_asked_with_four_eyes() {
    let waiting = PendingApprovals::default();
    let _attached = waiting.attach();
    // The terminal of the server is the operator's.
    let terminal = Callback::new(|_| async { Answer::Denied(None) });
    let approver = waiting.approver(ClientApprover::new(Arc::new(DenyAll)));
    let at_terminal = waiting.approver(ClientApprover::new(Arc::new(terminal)));
    for (session, caller) in [("serve/alice-laptop/1", "alice"), ("serve/local/1", OPERATOR)] {
        let pending = pending(json!({"risk": "medium", "four_eyes": true}), session);
        let mut batch = [ApprovalRequest::new(pending.question())];
        let context = CallContext::new(session).with_reply_to(Arc::new(Eager));
        let approver = if caller == OPERATOR { &at_terminal } else { &approver };
        let mut asking = approver.ask(&mut batch, &context);
        assert!((&mut asking).now_or_never().is_none(), "neither the client nor the terminal answers");
        let id = waiting.questions()[0].id;
        let answer = async |person, answer| waiting.answer_as(person, id, answer).await.unwrap();
        let refused = AnswerOutcome::Refused(AnswerRefusal::Requester);
        assert_eq!(answer(caller, OperatorAnswer::Once).await, refused);
        assert_eq!(answer(caller, OperatorAnswer::deny("")).await, refused);
        assert_eq!(answer("bob", OperatorAnswer::Once).await, AnswerOutcome::Accepted);
        asking.await;
        let Some(Answer::Approved(approval)) = &batch[0].answer else { panic!("{batch:?}") };
        assert!(pending.approve(approval, &Approvals::default()).is_ok());
    }
}

/// The user of a client, who agrees to everything.
struct Eager;

#[async_trait::async_trait]
impl toolcrib_port::ClientPrompter for Eager {
    async fn ask(&self, batch: &mut [ApprovalRequest]) -> bool {
        for asked in batch {
            asked.answer = Some(Answer::Approved(asked.question().approve()));
        }
        true
    }

    async fn ask_user(&self, _: &toolcrib_model::UserQuestion) -> Option<toolcrib_model::UserAnswer> {
        None
    }
}

#[tokio::test]
async fn the_user_of_a_client_is_one_of_the_people_and_its_operator_another() {
    let waiting = PendingApprovals::default();
    let approver = waiting.approver(ClientApprover::new(Arc::new(DenyAll)));
    let rule = json!({"module": "files", "approvers": 2});
    // Nobody else could approve, so nobody is asked.
    let mut batch = [ApprovalRequest::new(pending(rule.clone(), "serve/ci/1").question())];
    let context = CallContext::new("serve/ci/1").with_reply_to(Arc::new(Eager));
    approver.ask(&mut batch, &context).await;
    assert_eq!(batch[0].answer, Some(Answer::Nobody));

    let _attached = waiting.attach();
    let pending_call = pending(rule.clone(), "serve/ci/1");
    let mut batch = [ApprovalRequest::new(pending_call.question())];
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    let shown = waiting.questions().remove(0);
    assert_eq!(shown.approved_by.iter().collect::<Vec<_>>(), ["ci"]);
    assert_eq!(waiting.answer(shown.id, OperatorAnswer::Once).await.unwrap(), AnswerOutcome::Accepted);
    asking.await;
    let Some(Answer::Approved(approval)) = &batch[0].answer else { panic!("{batch:?}") };
    assert!(pending_call.approve(approval, &Approvals::default()).is_ok());

    // At this machine, the user of the client and the operator are the same person.
    let mut batch = [ApprovalRequest::new(pending(rule, "serve/local/1").question())];
    let context = CallContext::new("serve/local/1").with_reply_to(Arc::new(Eager));
    let mut asking = approver.ask(&mut batch, &context);
    assert!((&mut asking).now_or_never().is_none());
    let id = waiting.questions()[0].id;
    let outcome = waiting.answer(id, OperatorAnswer::Once).await.unwrap();
    assert_eq!(outcome, AnswerOutcome::Refused(AnswerRefusal::AnsweredBefore));
}

#[tokio::test]
async fn an_approver_that_names_nobody_approves_nothing_for_several_people() {
    let waiting = PendingApprovals::default();
    let _attached = waiting.attach();
    let yes =
        Callback::new(
            |question: toolcrib_policy::Question| async move { Answer::Approved(question.approve()) },
        );
    let pending = pending(json!({"module": "files", "approvers": 2}), "serve/ci/1");
    let mut batch = [ApprovalRequest::new(pending.question())];
    waiting.approver(Arc::new(yes)).ask(&mut batch, &CallContext::new("serve/ci/1")).await;
    let Some(Answer::Approved(approval)) = &batch[0].answer else { panic!("{batch:?}") };
    assert!(pending.approve(approval, &Approvals::default()).is_err());
}
