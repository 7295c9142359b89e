//! Processes that share a store.

use std::sync::Arc;

use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::json;
use toolcrib_tasks::Store;
use toolcrib_tasks::store::{Change, MemoryStore, Record, RecordKind};

use super::Replica;
use super::mail::ReplicaMessage;

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
    assert!(answers.answer(&seen, json!("once")).await.unwrap());
    assert!(!third.answer(&also_seen, json!({"deny": null})).await.unwrap(), "it is too late");
    let received = asks.receive().await.unwrap();
    let [ReplicaMessage::Answer { queue, question: 7, answer }] = received.as_slice() else {
        panic!("{received:?}")
    };
    assert_eq!((queue.as_str(), answer), ("call", &json!("once")));
    assert!(asks.receive().await.unwrap().is_empty(), "each message is received once");
    assert!(third.questions_elsewhere().await.unwrap().is_empty());
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
