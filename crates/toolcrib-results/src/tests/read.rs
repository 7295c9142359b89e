//! Reading on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_port::CallContext;

use super::{handle, reading, results, shaped, shared};
use crate::limits::RESULT_LIFETIME;
use crate::store::{Owner, StoreLimits};

fn context() -> CallContext {
    CallContext::new("s").with_agent("a").with_user("u")
}

#[tokio::test]
async fn a_handle_is_there_for_the_caller_who_got_it_and_for_nobody_else() {
    let results = results();
    let cut = handle(&shaped(&results, "x\n".repeat(5_000), &context()));
    assert!(reading(&results, &cut, json!({}), &context()).await.is_ok());
    let others = [
        CallContext::new("other").with_agent("a").with_user("u"),
        CallContext::new("s").with_agent("b").with_user("u"),
        CallContext::new("s").with_agent("a").with_user("v"),
        CallContext::new("s").with_agent("a"),
        CallContext::new("s"),
    ];
    let unknown = "r_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    for other in others {
        let error = reading(&results, &cut, json!({}), &other).await.unwrap_err();
        let guessed = reading(&results, unknown, json!({}), &other).await.unwrap_err();
        // As if it never was: the same answer as for a handle that was made up.
        assert_eq!(error.to_string().replace(&cut, unknown), guessed.to_string());
        assert_eq!(error.kind, ErrorKind::NotFound);
    }
    results.forget("s");
    assert!(reading(&results, &cut, json!({}), &context()).await.is_err());
}

#[tokio::test]
async fn all_of_a_text_comes_back_page_by_page() {
    let results = results();
    let text = (1..=2_000).map(|at| format!("line {at} ä")).collect::<Vec<_>>().join("\n") + "\n";
    let cut = handle(&shaped(&results, text.clone(), &context()));
    let (mut whole, mut page) = (String::new(), 1);
    loop {
        let read = reading(&results, &cut, json!({"page": page}), &context()).await.unwrap();
        let read = read.as_str().unwrap();
        let (part, note) = read.rsplit_once('[').unwrap();
        whole.push_str(part);
        if !note.contains("next_page") {
            break;
        }
        page += 1;
    }
    assert_eq!(whole, text);
    assert!(reading(&results, &cut, json!({"page": page + 1}), &context()).await.is_err());
}

#[tokio::test]
async fn parts_are_read_by_lines_pattern_or_query_and_only_one_of_them() {
    let results = results();
    let rows: Vec<_> = (0..1_000).map(|at| json!({"id": at, "name": format!("name {at}")})).collect();
    let cut = handle(&shaped(&results, json!({"rows": rows}), &context()));
    let read = async |how| reading(&results, &cut, how, &context()).await;
    let found = read(json!({"jsonpath": "$.rows[?@.id == 777].name"})).await.unwrap();
    assert_eq!(found, json!({"matches": 1, "values": ["name 777"]}));
    let lines = read(json!({"grep": "name 777", "lines": "", "jsonpath": " "})).await.unwrap();
    assert!(lines.as_str().unwrap().contains("name 777"), "{lines}");
    let lines = read(json!({"lines": "1-2"})).await.unwrap();
    assert!(lines.as_str().unwrap().contains("lines 1 to 2 of"), "{lines}");
    let both = read(json!({"lines": "1-2", "grep": "x"})).await.unwrap_err();
    assert_eq!(both.kind, ErrorKind::InvalidArgs);
    let missing = read(json!({"jsonpath": "$.row[0]"})).await.unwrap_err();
    assert!(missing.message.contains("rows"), "{missing}");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_ends_after_its_time() {
    let results = results();
    let cut = handle(&shaped(&results, "x\n".repeat(5_000), &context()));
    tokio::time::advance(RESULT_LIFETIME.saturating_sub(Duration::from_secs(1))).await;
    assert!(reading(&results, &cut, json!({}), &context()).await.is_ok());
    tokio::time::advance(Duration::from_secs(1)).await;
    let gone = reading(&results, &cut, json!({}), &context()).await.unwrap_err();
    assert_eq!(gone.hint.as_deref(), Some("call the tool again, unless it changes something"));
}

#[tokio::test]
async fn the_oldest_go_first_when_there_is_no_room_and_one_session_does_not_push_out_another() {
    let mut results = results();
    Arc::get_mut(&mut results.store).unwrap().bounds =
        StoreLimits { session_count: 2, count: 3, ..StoreLimits::default() };
    let quiet = CallContext::new("quiet");
    let other = handle(&shaped(&results, "x\n".repeat(5_000), &quiet));
    let own: Vec<_> = (0..5).map(|_| handle(&shaped(&results, "x\n".repeat(5_000), &context()))).collect();
    let stored: Vec<_> =
        results.store.handles(&Owner::of(&context())).into_iter().map(|(handle, _)| handle).collect();
    assert_eq!(stored, [own[4].clone(), own[3].clone()]);
    assert!(reading(&results, &other, json!({}), &quiet).await.is_ok());
}

#[tokio::test(flavor = "current_thread")]
async fn a_hostile_pattern_holds_nobody_up_and_ends_with_its_caller() {
    let results = shared(results());
    // Each byte costs as much as the pattern is large, so that all of it would take hours.
    let text: String = (0..2_000_000_u32)
        .map(|at| if at.wrapping_mul(2_654_435_761) >> 31 == 1 { 'a' } else { 'b' })
        .collect();
    let cut = handle(&shaped(&results, text, &context()));
    let how = json!({"grep": "(?:[ab]?){500}[^ab]{2}"});
    let task = tokio::spawn({
        let results = Arc::clone(&results);
        async move { reading(&results, &cut, how, &context()).await }
    });
    // Others run on the same thread meanwhile.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!task.is_finished());
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    // The runtime waits for the thread when it ends; a thread that went on would keep this test from ending.
}

#[tokio::test]
async fn a_picture_is_shown_by_its_handle_and_other_data_is_not() {
    let results = results();
    let blocks = json!([
        {"type": "image", "data": "QUJD".repeat(100), "mimeType": "image/png"},
        {"uri": "file:///a.zip", "mimeType": "application/zip", "blob": "AAEC".repeat(100)},
        {"uri": "file:///a.txt", "mimeType": "text/plain", "blob": "bGluZQo=".repeat(100)},
        {"uri": "file:///b.txt", "mimeType": "text/plain", "blob": "bGluZSBvbmUKbGluZSB0d28K".repeat(100)},
    ]);
    let shown = shaped(&results, blocks, &context());
    let stored = |at: usize| shown.result[at]["handle"].as_str().unwrap().to_owned();
    let read =
        async |at: usize, context: CallContext| reading(&results, &stored(at), json!({}), &context).await;
    let block = json!([{"type": "image", "mimeType": "image/png", "bytes": 300, "handle": stored(0)}]);
    assert_eq!(read(0, context()).await.unwrap(), block);
    let refused = read(1, context()).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidArgs);
    assert!(refused.message.contains("application/zip of 300 bytes"), "{refused}");
    let text = read(3, context()).await.unwrap();
    assert!(text.as_str().unwrap().starts_with("line one\nline two\n"), "{text}");
    let whole = read(0, context().with_full_results()).await.unwrap();
    assert_eq!(whole["data"], Value::from("QUJD".repeat(100)));
}
