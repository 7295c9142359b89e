//! The pages of traces.

use std::fs;

use serde_json::json;
use toolcrib_agent::chat::{RequestedCall, Usage};
use toolcrib_agent::journal::Entry;
use toolcrib_agent::{Journal as _, Message};

use super::{MAX_EVENTS, TimedEntry, TraceJournal, page, read_audit, timeline};

fn usage(read: u64, written: u64) -> Usage {
    Usage {
        prompt_tokens: read,
        completion_tokens: written,
        cached_tokens: read / 2,
        cost: 1_500,
        ..Usage::default()
    }
}

fn requested(id: &str, name: &str, arguments: &str) -> RequestedCall {
    serde_json::from_value(json!({"id": id, "name": name, "arguments": arguments})).unwrap()
}

/// A run with two parallel calls, one of which fails, and one that never ends.
fn entries() -> Vec<(u64, Entry)> {
    let calls = vec![
        requested("a", "files__read", r#"{"path": "<script>alert(1)</script>"}"#),
        requested("b", "files__write", r#"{"path": "x"}"#),
    ];
    // Calls that run side by side are written together, each with its own duration.
    let finished = |id: &str, ok, answer: &str, ms| Entry::Finished {
        call_id: id.into(),
        ok,
        answer: answer.into(),
        note: String::new(),
        loads: Vec::new(),
        pictures: Vec::new(),
        ms,
    };
    let replied = |text: &str, calls: Vec<RequestedCall>, model: Option<&str>| Entry::Replied {
        message: Message::assistant(text),
        calls,
        usage: usage(900, 40),
        model: model.map(str::to_owned),
    };
    vec![
        (1_000, Entry::Began { prompt: "Read </details><b>x\u{202e}".into() }),
        (1_000, Entry::Said { messages: vec![Message::user("Read x")] }),
        (2_500, replied("I read it.", calls, None)),
        (2_500, Entry::Begun { call_id: "a".into() }),
        (2_500, Entry::Begun { call_id: "b".into() }),
        (4_510, finished("a", true, r#"{"lines": 3}"#, Some(200))),
        (4_510, finished("b", false, "[denied] not allowed", None)),
        (4_511, Entry::Said { messages: Vec::new() }),
        (4_900, Entry::Noticed { text: "the model answered 503; asking `other` instead".into() }),
        (
            5_511,
            replied(
                "Done.",
                vec![requested("c", "execute_tool", r#"{"name": "files.list"}"#)],
                Some("other"),
            ),
        ),
        (5_511, Entry::Begun { call_id: "c".into() }),
    ]
}

fn timed(entries: Vec<(u64, Entry)>) -> Vec<TimedEntry> {
    entries.into_iter().map(|(at, entry)| TimedEntry { at: Some(at), entry }).collect()
}

#[test]
fn a_run_is_a_timeline_of_turns_and_calls() {
    let timeline = timeline("session monday", &timed(entries()));
    let rows = timeline.events.iter().map(|event| {
        let (start, took) = (event.start_ms.unwrap(), event.took_ms);
        format!("{start:>5} {took:?} {} {} {}", event.label, event.note, event.is_failed)
    });
    let rows = rows.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(format!("{:?}\n{rows}", timeline.facts));
}

#[test]
fn a_page_escapes_what_models_and_tools_write_and_loads_nothing() {
    let page = page(&timeline("session <monday>", &timed(entries())));
    for wrong in ["<script", "<b>", "</details><b", "\u{202e}", "http://", "https://", "src=", "href="] {
        assert!(!page.contains(wrong), "{wrong} is in the page");
    }
    assert!(page.contains("default-src 'none'"));
    insta::assert_snapshot!(page.split_once("</style>").unwrap().1);
}

#[test]
fn a_session_without_times_is_listed_without_bars() {
    let entries: Vec<TimedEntry> =
        entries().into_iter().map(|(_, entry)| TimedEntry { at: None, entry }).collect();
    let timeline = timeline("old", &entries);
    assert_eq!(timeline.events.len(), 7);
    assert!(!page(&timeline).contains("<rect"));
}

#[test]
fn events_and_texts_over_the_bounds_are_counted_instead_of_shown() {
    let many = (0..MAX_EVENTS as u64 + 7).map(|at| (at, Entry::Began { prompt: "x".into() })).collect();
    let timeline = timeline("many", &timed(many));
    assert_eq!((timeline.events.len(), timeline.left_out), (MAX_EVENTS, 7));
    assert!(page(&timeline).contains("7 more events are left out"));
    let long = vec![(0, Entry::Began { prompt: "y".repeat(20_000) })];
    assert!(page(&super::timeline("long", &timed(long))).contains("3616 more bytes"));
}

#[tokio::test]
async fn a_trace_journal_passes_entries_on_and_collects_them_with_their_times() {
    let inner = std::sync::Arc::new(TraceJournal::new(None));
    let outer = TraceJournal::new(Some(inner.clone() as _));
    outer.write(&[Entry::Began { prompt: "Hi".into() }], true).await.unwrap();
    let titles = [&outer, &*inner].map(|journal| journal.timeline("t").events.len());
    assert_eq!(titles, [1, 1]);
    assert_eq!(outer.timeline("t").events[0].start_ms, Some(0));
}

#[test]
fn an_entry_keeps_its_form_in_the_file_of_a_session() {
    let timed = TimedEntry { at: Some(5), entry: Entry::Begun { call_id: "a".into() } };
    let line = serde_json::to_string(&timed).unwrap();
    assert_eq!(line, r#"{"at":5,"event":"begun","call_id":"a"}"#);
    let old: TimedEntry = serde_json::from_str(r#"{"event":"begun","call_id":"a"}"#).unwrap();
    assert_eq!((old.at, old.entry), (None, timed.entry));
}

fn record(time: &str, id: &str, outcome: &str) -> String {
    json!({"v": 1, "time": time, "session": "s", "agent": "coder", "depth": 1, "call_id": id, "tool": "files::read",
        "decision": "approve", "rule": "tools.capabilities.approve[0]", "consent": "approved",
        "arguments_shape": {"path": "string(3)"}, "repairs": 1, "outcome": outcome, "waited_ms": 1_200.4,
        "queued_ms": 0.0, "ran_ms": 3.2, "total_ms": 1_204.9, "result_bytes": 20})
    .to_string()
}

#[test]
fn an_audit_log_is_a_timeline_of_its_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let lines = [
        record("2026-11-01T08:00:00Z", "a", "begun"),
        record("2026-11-01T08:00:00Z", "a", "ok"),
        record("2026-11-01T08:00:02.5Z", "b", "timeout"),
        record("2026-11-01T08:00:03Z", "c", "begun"),
    ];
    fs::write(&path, lines.join("\n") + "\n" + &lines[1][..40]).unwrap();
    let mut timeline = read_audit(&path, Some("s")).unwrap();
    timeline.title = "audit.jsonl, session s".into();
    insta::assert_debug_snapshot!(timeline);
    assert!(read_audit(&path, Some("other")).unwrap().events.is_empty());
    fs::write(&path, "no record\n").unwrap();
    let error = read_audit(&path, None).unwrap_err().message;
    assert!(error.contains("line 1 is not an audit record"), "{error}");
}
