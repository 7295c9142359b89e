//! Processes that share a store.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::json;
use toolcrib_app::App;
use toolcrib_exec::DenyAll;
use toolcrib_model::{Tool, ToolError};
use toolcrib_policy::{
    AnswerRefusal, Approvals, Call, Capabilities, People, Policy, SettingLocation, Verdict,
};
use toolcrib_port::{Answer, ApprovalRequest, CallContext, CallJournal};
use toolcrib_tasks::Store;
use toolcrib_tasks::store::{Change, MemoryStore, Record, RecordKind};

use super::Replica;
use super::mail::ReplicaMessage;
use crate::approval::{
    AnswerOutcome, ApprovalLink, LinkDecision, LinkedCall, OperatorAnswer, PendingApprovals,
};
use crate::operator::WaitingCall;

async fn replicas() -> (Arc<dyn Store>, Arc<Replica>, Arc<Replica>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let one = Replica::on(Arc::clone(&store)).await.unwrap();
    let two = Replica::on(Arc::clone(&store)).await.unwrap();
    (store, one, two)
}

#[tokio::test]
async fn a_token_of_one_process_is_opened_by_another_for_the_same_request_only() {
    let (store, one, two) = replicas().await;
    let token = one.seal(b"a request", &"contents").await.unwrap();
    assert_eq!(two.open::<String>(b"a request", &token).await.ok().unwrap(), "contents");
    assert!(two.open::<String>(b"another", &token).await.is_err());
    assert!(two.open::<String>(b"a request", "rs2.e30.e30.e30").await.is_err());
    // Both sign with the same key, which a third process learns.
    let other = two.seal(b"a request", &"more").await.unwrap();
    let third = Replica::on(Arc::clone(&store)).await.unwrap();
    for token in [&token, &other] {
        assert!(third.open::<String>(b"a request", token).await.is_ok());
    }
    assert_eq!(store.list(RecordKind::Key, "ring.").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_that_is_too_old_is_replaced_and_opens_what_it_signed() {
    let (store, one, two) = replicas().await;
    // A key of 13 hours ago.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let id = format!("ring.{:013}", now.as_millis() - 13 * 60 * 60 * 1_000);
    let body = json!({"key": "ab".repeat(32)});
    let old = Record { kind: RecordKind::Key, id: id.clone(), session: String::new(), body };
    store.apply(vec![Change::Put(old)]).await.unwrap();
    let codec = RequestStateCodec::new_with_keyring(id.clone(), [(id.clone(), vec![0xab; 32])]).unwrap();
    let options = SealOptions::new().associated_data(b"a request");
    let token = codec.seal_json_with(&"contents", &options).unwrap();
    let newer = two.seal(b"a request", &"newer").await.unwrap();
    let ring = store.list(RecordKind::Key, "ring.").await.unwrap();
    assert_eq!((ring.len(), &ring[0].id), (2, &id), "{ring:?}");
    for token in [&token, &newer] {
        assert!(one.open::<String>(b"a request", token).await.is_ok(), "{token}");
    }
}

#[tokio::test(start_paused = true)]
async fn processes_that_joined_and_have_not_ended_share_the_rate_limits() {
    let (store, one, two) = replicas().await;
    let third = Replica::on(Arc::clone(&store)).await.unwrap();
    assert_eq!(one.count_processes().await.unwrap(), 3);
    third.leave().await;
    assert_eq!(two.count_processes().await.unwrap(), 2);
    tokio::time::advance(super::PROCESS_LIFETIME * 2).await;
    two.tell_alive(false).await.unwrap();
    assert_eq!(two.count_processes().await.unwrap(), 1, "the first did not renew its record");
    assert_eq!(two.processes().get(), 1);
}

#[tokio::test]
async fn of_two_answers_to_a_question_the_first_reaches_its_process() {
    let (store, asks, answers) = replicas().await;
    let third = Replica::on(store).await.unwrap();
    asks.put_question("call", 7, json!({"tool": "files.write"})).await.unwrap();
    let [seen, also_seen] = [
        answers.questions_elsewhere().await.unwrap().remove(0),
        third.questions_elsewhere().await.unwrap().remove(0),
    ];
    assert_eq!(seen.question, json!({"tool": "files.write"}));
    assert!(asks.questions_elsewhere().await.unwrap().is_empty(), "it is its own");
    assert_eq!(answers.answer(&seen, json!("once")).await.unwrap(), AnswerOutcome::Accepted);
    let late = third.answer(&also_seen, json!({"deny": null})).await.unwrap();
    assert_eq!(late, AnswerOutcome::TooLate);
    let received = asks.receive().await.unwrap();
    let [ReplicaMessage::Answer { queue, question: 7, answer }] = received.as_slice() else {
        panic!("{received:?}")
    };
    assert_eq!((queue.as_str(), answer), ("call", &json!("once")));
    assert!(asks.receive().await.unwrap().is_empty(), "each message is received once");
    assert!(third.questions_elsewhere().await.unwrap().is_empty());
}

#[tokio::test]
async fn two_people_at_different_processes_approve_a_call_and_a_link_is_good_at_each() {
    let (_store, one, two) = replicas().await;
    let (here, there) = (PendingApprovals::default(), PendingApprovals::default());
    let app = App::from_text("app.yaml", "{}").unwrap();
    for (pending, replica) in [(&here, &one), (&there, &two)] {
        pending.join(replica);
        pending.open_channels(&app, Some(replica)).unwrap();
    }
    let _attached = here.attach();
    let approver = here.approver(Arc::new(DenyAll));
    let rule = serde_json::from_value(json!({"module": "files", "approvers": 2})).unwrap();
    let policy = Policy::new(&Capabilities::default(), []).unwrap();
    let policy = policy.with_approval_rules(&[rule], People::default(), &SettingLocation::default()).unwrap();
    let tool = Arc::new(Tool::new("files::write".parse().unwrap()));
    let Verdict::Ask(call) = policy.authorize(Call::new(tool, "test".into(), 1), "s") else {
        panic!("asked")
    };
    let mut batch = [ApprovalRequest::new(call.question())];
    let context = CallContext::new("s");
    let mut asking = approver.ask(&mut batch, &context);
    let shown = async {
        while here.questions().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = &mut asking => panic!("it waits"),
        () = shown => {}
    }
    let link = ApprovalLink {
        process: one.id().to_owned(),
        question: call.question().id,
        person: "alice".into(),
        decision: LinkDecision::Allow,
        expires: u64::MAX,
    };
    assert_eq!(there.verify_link(&here.sign_link(&link)), Ok(link.clone()));
    let LinkedCall::Waiting(id, shown) = there.linked_call(&link).await.unwrap() else { panic!("it waits") };
    assert_eq!((shown.requirement.approvers, shown.requester.as_str()), (2, "operator"));
    let answer = async |pending: &PendingApprovals, person, id| {
        pending.answer_as(person, id, OperatorAnswer::Once).await.unwrap()
    };
    assert_eq!(answer(&there, "alice", id).await, AnswerOutcome::Recorded);
    let refused = AnswerOutcome::Refused(AnswerRefusal::AnsweredBefore);
    assert_eq!(answer(&there, "alice", id).await, refused);
    for message in one.receive().await.unwrap() {
        let ReplicaMessage::Answer { queue, question, answer } = message else { panic!("{message:?}") };
        here.deliver(&queue, question, answer);
    }
    let LinkedCall::Waiting(id, shown) = here.linked_call(&link).await.unwrap() else { panic!("it waits") };
    assert_eq!(shown.approved_by.iter().collect::<Vec<_>>(), ["alice"]);
    assert_eq!(answer(&here, "alice", id).await, refused);
    assert_eq!(answer(&here, "bob", id).await, AnswerOutcome::Accepted);
    asking.await;
    let Some(Answer::Approved(approval)) = &batch[0].answer else { panic!("{batch:?}") };
    assert!(call.approve(approval, &Approvals::new()).is_ok());
    assert!(matches!(here.linked_call(&link).await.unwrap(), LinkedCall::Gone));
}

/// The journal of a caller that makes its call again.
struct Repeating;

#[async_trait]
impl CallJournal for Repeating {
    async fn record_start(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

fn link(process: &Replica, question: u64) -> ApprovalLink {
    let (process, person) = (process.id().to_owned(), "alice".to_owned());
    ApprovalLink { process, question, person, decision: LinkDecision::Allow, expires: u64::MAX }
}

/// A caller of a tool that two people approve, whom a channel asks.
struct RepeatedCaller {
    policy: Policy,
    context: CallContext,
}

impl RepeatedCaller {
    fn new(is_repeating: bool) -> Self {
        let rule = json!({"module": "files", "approvers": 2, "ask": ["hook"]});
        let policy = Policy::new(&Capabilities::default(), []).unwrap();
        let rules = [serde_json::from_value(rule).unwrap()];
        let place = SettingLocation::default();
        let policy = policy.with_approval_rules(&rules, People::default(), &place).unwrap();
        let mut context = CallContext::new("s").with_run_key("run-1");
        context.journal = is_repeating.then(|| Arc::new(Repeating) as _);
        Self { policy, context }
    }

    fn ask(&self) -> ApprovalRequest {
        let tool = Arc::new(Tool::new("files::write".parse().unwrap()));
        match self.policy.authorize(Call::new(tool, "test".into(), 1), "s") {
            Verdict::Ask(call) => ApprovalRequest::new(call.question()),
            other => panic!("{other:?}"),
        }
    }

    /// Asks until the question is shown, and gives up.
    async fn ask_and_give_up(&self, pending: &PendingApprovals) -> u64 {
        let mut batch = [self.ask()];
        let approver = pending.approver(Arc::new(DenyAll));
        let shown = async {
            while pending.questions().is_empty() {
                tokio::task::yield_now().await;
            }
            pending.end();
        };
        tokio::select! {
            () = approver.ask(&mut batch, &self.context) => panic!("it waits"),
            () = shown => {}
        }
        batch[0].question().id
    }
}

#[tokio::test]
async fn a_call_that_is_made_again_after_its_process_has_ended_has_the_answers_that_were_given() {
    let (store, one, _) = replicas().await;
    let caller = RepeatedCaller::new(true);
    let app = App::from_text("app.yaml", "{}").unwrap();
    let joined = |replica: &Arc<Replica>| {
        let pending = PendingApprovals::default();
        pending.join(replica);
        pending.open_channels(&app, Some(replica)).unwrap();
        pending
    };
    let first = caller.ask_and_give_up(&joined(&one)).await;
    one.leave().await;
    let of_first = link(&one, first);

    // Nobody asks when the first person answers.
    let two = Replica::on(Arc::clone(&store)).await.unwrap();
    let there = joined(&two);
    let found = there.linked_call(&of_first).await.unwrap();
    assert!(matches!(found, LinkedCall::Interrupted(_)), "{found:?}");
    let answer = |person: &str| ApprovalLink { person: person.to_owned(), ..of_first.clone() };
    for (person, outcome) in
        [("alice", AnswerOutcome::Recorded), ("alice", AnswerOutcome::Refused(AnswerRefusal::AnsweredBefore))]
    {
        let answered = there.answer_interrupted(&answer(person), OperatorAnswer::Once).await.unwrap();
        assert_eq!(answered, outcome, "{person}");
    }
    // The caller asks again, and the link of the first question answers this one.
    let approver = there.approver(Arc::new(DenyAll));
    let mut batch = [caller.ask()];
    let mut asking = approver.ask(&mut batch, &caller.context);
    let waiting = async {
        loop {
            if let LinkedCall::Waiting(id, call) = there.linked_call(&of_first).await.unwrap() {
                return (id, call);
            }
            tokio::task::yield_now().await;
        }
    };
    let (id, call) = tokio::select! {
        () = &mut asking => panic!("it waits"),
        waiting = waiting => waiting,
    };
    assert!(id != first && call.approved_by.contains("alice"), "{call:?}");
    assert_eq!(there.answer_as("bob", id, OperatorAnswer::Once).await.unwrap(), AnswerOutcome::Accepted);
    asking.await;
    assert!(
        matches!(&batch[0].answer, Some(Answer::Approved(approval)) if approval.approvers().count() == 2)
    );
    assert!(matches!(there.linked_call(&of_first).await.unwrap(), LinkedCall::Gone));

    // All answer before the caller comes back, whose call runs then, once.
    let second = caller.ask_and_give_up(&there).await;
    two.leave().await;
    let three = Replica::on(Arc::clone(&store)).await.unwrap();
    let last = joined(&three);
    let of_second = link(&two, second);
    for (person, outcome) in [("bob", AnswerOutcome::Recorded), ("carol", AnswerOutcome::Accepted)] {
        let link = ApprovalLink { person: person.to_owned(), ..of_second.clone() };
        let answered = last.answer_interrupted(&link, OperatorAnswer::Once).await.unwrap();
        assert_eq!(answered, outcome, "{person}");
    }
    let late = last.answer_interrupted(&of_second, OperatorAnswer::deny("")).await.unwrap();
    assert_eq!(late, AnswerOutcome::TooLate);
    let mut batch = [caller.ask()];
    last.approver(Arc::new(DenyAll)).ask(&mut batch, &caller.context).await;
    let Some(Answer::Approved(approval)) = &batch[0].answer else { panic!("{batch:?}") };
    assert_eq!(approval.approvers().collect::<Vec<_>>(), ["bob", "carol"]);
    assert!(store.load(RecordKind::Answer).await.unwrap().is_empty(), "an answer counts once");
    caller.ask_and_give_up(&last).await;
}

#[tokio::test]
async fn the_call_of_a_caller_that_does_not_come_back_ends_with_its_process() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let pending = |replica: &Arc<Replica>| {
        let pending = PendingApprovals::default();
        pending.join(replica);
        pending.open_channels(&App::from_text("app.yaml", "{}").unwrap(), Some(replica)).unwrap();
        pending
    };
    let one = Replica::alone_on(Arc::clone(&store)).await.unwrap();
    let first = RepeatedCaller::new(true).ask_and_give_up(&pending(&one)).await;
    let second = RepeatedCaller::new(false).ask_and_give_up(&pending(&one)).await;
    let withdrawn = format!("{}.call.{second}", one.id());
    while store.get(RecordKind::Question, &withdrawn).await.unwrap().is_some() {
        tokio::task::yield_now().await;
    }
    // That of a process that was killed stays.
    one.put_question("call", second + 1, json!(lost_call())).await.unwrap();
    let two = Replica::alone_on(store).await.unwrap();
    let there = pending(&two);
    let found = async |question| there.linked_call(&link(&one, question)).await.unwrap();
    assert!(matches!(found(first).await, LinkedCall::Interrupted(_)));
    assert!(matches!(found(second).await, LinkedCall::Gone));
    assert!(matches!(found(second + 1).await, LinkedCall::Lost));
    let answered = there.answer_interrupted(&link(&one, second + 1), OperatorAnswer::Once).await.unwrap();
    assert_eq!(answered, AnswerOutcome::TooLate);
}

fn lost_call() -> WaitingCall {
    WaitingCall::new(RepeatedCaller::new(false).ask().question(), std::time::Duration::ZERO)
}

#[tokio::test(start_paused = true)]
async fn a_process_that_does_not_renew_its_record_has_ended_and_its_questions_are_not_shown() {
    let (_store, asks, answers) = replicas().await;
    asks.put_question("call", 1, json!({})).await.unwrap();
    assert!(answers.is_alive(asks.id()).await.unwrap());
    tokio::time::advance(super::PROCESS_LIFETIME).await;
    assert!(!answers.is_alive(asks.id()).await.unwrap());
    assert!(answers.questions_elsewhere().await.unwrap().is_empty());
}

#[tokio::test]
async fn the_sessions_of_a_client_have_one_name_in_all_processes_and_in_no_other_store() {
    let (_, one, two) = replicas().await;
    let (_, stranger, _) = replicas().await;
    assert_eq!(one.derive("client", "desk"), two.derive("client", "desk"));
    assert_ne!(one.derive("client", "desk"), one.derive("client", "des"));
    assert_ne!(one.derive("client", "desk"), stranger.derive("client", "desk"));
}
