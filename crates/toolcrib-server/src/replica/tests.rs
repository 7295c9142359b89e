//! Processes that share a store.

use std::sync::Arc;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::json;
use toolcrib_app::App;
use toolcrib_exec::DenyAll;
use toolcrib_model::Tool;
use toolcrib_policy::{
    AnswerRefusal, Approvals, Call, Capabilities, People, Policy, SettingLocation, Verdict,
};
use toolcrib_port::{Answer, ApprovalRequest, CallContext};
use toolcrib_tasks::Store;
use toolcrib_tasks::store::{Change, MemoryStore, Record, RecordKind};

use super::Replica;
use super::mail::ReplicaMessage;
use crate::approval::{AnswerOutcome, ApprovalLink, LinkDecision, OperatorAnswer, PendingApprovals};

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
    let (id, shown) = there.linked_call(&link).await.unwrap();
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
    let (id, shown) = here.linked_call(&link).await.unwrap();
    assert_eq!(shown.approved_by.iter().collect::<Vec<_>>(), ["alice"]);
    assert_eq!(answer(&here, "alice", id).await, refused);
    assert_eq!(answer(&here, "bob", id).await, AnswerOutcome::Accepted);
    asking.await;
    let Some(Answer::Approved(approval)) = &batch[0].answer else { panic!("{batch:?}") };
    assert!(call.approve(approval, &Approvals::new()).is_ok());
    assert!(here.linked_call(&link).await.is_none());
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
