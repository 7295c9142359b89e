//! One record on every way, and what is in it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, Secret, ToolCall, ToolError, ToolResult};
use toolcrib_results::Secrets;

use super::{CANARY, arguments, audit, authorized, begun, context};
use crate::audit::{Audit, AuditSink, HookRecord, MAX_VALUES_BYTES, Outcome, Record};

/// How a call ends.
type End = fn(&Audit);

fn failed(kind: ErrorKind) -> ToolResult {
    ToolResult::failed(None, "notes::write", ToolError::new(kind, format!("the {CANARY} is away")))
}

#[tokio::test(start_paused = true)]
async fn a_record_says_who_called_what_who_allowed_it_and_what_came_of_it() {
    let (audit, kept) = audit();
    let mut pending = begun(&audit);
    let authorized = authorized();
    pending.set_call(&authorized, authorized.decision(), 2);
    pending.approval_requested();
    tokio::time::advance(Duration::from_millis(1500)).await;
    pending.start_running(&authorized).unwrap();
    tokio::time::advance(Duration::from_millis(250)).await;
    pending.finish(&authorized.ok(json!({"said": CANARY})).with_metadata("queued_ms", 50));
    let [record] = kept.records().try_into().unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r#""time": ".{23}Z""#, r#""time": "[time]""#);
    settings.add_filter(r#""arguments_hash": "[0-9a-f]{64}""#, r#""arguments_hash": "[hash]""#);
    settings.bind(|| insta::assert_snapshot!(serde_json::to_string_pretty(&record).unwrap()));
}

#[tokio::test]
async fn the_reference_lists_every_field_of_a_record_in_order() {
    let (audit, records) = audit();
    drop(begun(&audit));
    let [mut record] = records.records().try_into().unwrap();
    record.on_behalf_of = vec!["lead".to_owned()];
    record.approved_by = vec!["alice".to_owned()];
    record.arguments = Some(Value::Null);
    record.result = Some(Value::Null);
    record.original = Some("crm::q2".to_owned());
    record.original_arguments = Some(Value::Null);
    record.saved_tokens = Some(1);
    record.hooks = vec![HookRecord { hook: "limit".to_owned(), verdict: "deny", arguments: Vec::new() }];
    record.error = Some(Value::Null);
    let text = serde_json::to_string(&record).unwrap();
    let page = include_str!("../../../../../docs/reference/audit.md");
    let (_, table) = page.split_once("| field | meaning |\n|---|---|\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let listed: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    // Each key is found behind the one before it.
    let mut rest = text.as_str();
    for field in &listed {
        let (_, behind) =
            rest.split_once(&format!("\"{field}\":")).unwrap_or_else(|| panic!("{field} in {rest}"));
        rest = behind;
    }
    let Value::Object(fields) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
    assert_eq!(listed.len(), fields.len(), "{listed:?} {text}");
}

#[tokio::test]
async fn there_is_one_record_on_every_way() {
    let ends: [(&str, End); 6] = [
        ("ok", |audit| {
            let (mut pending, call) = (begun(audit), authorized());
            pending.start_running(&call).unwrap();
            pending.finish(&call.ok(1));
        }),
        ("denied", |audit| begun(audit).finish(&failed(ErrorKind::Denied))),
        ("invalid_args", |audit| begun(audit).finish(&failed(ErrorKind::InvalidArgs))),
        ("timeout", |audit| {
            let mut pending = begun(audit);
            pending.start_running(&authorized()).unwrap();
            pending.finish(&failed(ErrorKind::Timeout));
        }),
        ("dropped", |audit| drop(begun(audit))),
        ("dropped", |audit| {
            let mut pending = begun(audit);
            pending.approval_requested();
            pending.start_running(&authorized()).unwrap();
            let running = async move {
                std::future::pending::<()>().await;
                pending.finish(&failed(ErrorKind::Internal));
            };
            drop(running);
        }),
    ];
    for (expected, end) in ends {
        let (audit, kept) = audit();
        end(&audit);
        let outcomes: Vec<_> = kept.records().iter().map(|record| record.outcome.as_str()).collect();
        assert_eq!(outcomes, [expected]);
    }
}

#[tokio::test]
async fn a_call_that_panics_is_recorded_as_dropped() {
    let (audit, kept) = audit();
    let pending = begun(&audit);
    let task = tokio::spawn(async move {
        let _pending = pending;
        panic!("on purpose");
    });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(kept.records()[0].outcome, Outcome::Dropped);
}

#[tokio::test]
async fn no_record_has_values_unless_it_is_told_to() {
    let (audit, kept) = audit();
    let mut pending = begun(&audit);
    let authorized = authorized();
    pending.start_running(&authorized).unwrap();
    pending.finish(&failed(ErrorKind::ToolFailed));
    begun(&audit).finish(&authorized.ok(CANARY));
    drop(begun(&audit));
    for record in kept.records() {
        let text = serde_json::to_string(&record).unwrap();
        assert!(!text.contains(CANARY), "{text}");
        assert_eq!(record.arguments, None);
    }
}

#[tokio::test]
async fn values_come_without_secrets_and_within_their_bound() {
    let secrets = Secrets::new();
    assert!(secrets.add("BIRD", Secret::new(CANARY)));
    let (audit, kept) = audit();
    let audit = audit.with_secrets(secrets).with_values();
    drop(begun(&audit));
    let long = ToolCall::new(CANARY, arguments(json!({"path": "x".repeat(64 * 1024)})));
    drop(audit.begin(&long, &context()));
    let [first, second] = kept.records().try_into().unwrap();
    assert_eq!(first.arguments, Some(json!({"path": "[secret BIRD]", "[secret BIRD]": 1})));
    assert_eq!(second.arguments, Some(Value::Null));
    assert_eq!(second.called.as_deref(), Some("[secret BIRD]"));
}

#[tokio::test]
async fn results_come_without_secrets_within_their_bound_and_only_if_the_call_ran() {
    let secrets = Secrets::new();
    secrets.add("BIRD", Secret::new(CANARY));
    let (audit, kept) = audit();
    let audit = audit.with_secrets(secrets).with_results();
    let finish = |result: ToolResult, runs: bool| {
        let mut pending = begun(&audit);
        if runs {
            pending.start_running(&authorized()).unwrap();
        }
        pending.set_result(&result);
        pending.finish(&result);
    };
    let call = authorized();
    finish(call.ok(json!({"seen": CANARY})), true);
    finish(call.ok(Value::Null), true);
    finish(call.ok("x".repeat(MAX_VALUES_BYTES)), true);
    finish(failed(ErrorKind::ToolFailed), true);
    finish(failed(ErrorKind::Denied), false);
    let results: Vec<_> = kept.records().into_iter().map(|record| (record.result, record.error)).collect();
    let error = json!({"message": "the [secret BIRD] is away", "hint": null});
    assert_eq!(
        results,
        [
            (Some(json!({"seen": "[secret BIRD]"})), None),
            (Some(Value::Null), None),
            (None, None),
            (None, Some(error)),
            (None, None),
        ]
    );
}

#[tokio::test]
async fn equal_arguments_have_equal_digests_under_one_key_only() {
    let digest = |audit: Audit, kept: Arc<super::MemorySink>, value: Value| {
        drop(audit.begin(&ToolCall::new("x", arguments(value)), &context()));
        kept.records().pop().unwrap().arguments_hash.unwrap()
    };
    let one = json!({"a": 1, "b": "x"});
    let turned = json!({"b": "x", "a": 1});
    let (process, kept) = audit();
    let first = digest(process.clone(), kept.clone(), one.clone());
    assert_eq!(digest(process.clone(), kept.clone(), turned), first);
    assert_ne!(digest(process, kept, json!({"a": 1.0, "b": "x"})), first);
    let (other, kept) = audit();
    assert_ne!(digest(other, kept, one.clone()), first);
    let keyed = || {
        let (audit, kept) = audit();
        digest(audit.with_key(&Secret::new("shared")), kept, one.clone())
    };
    assert_eq!(keyed(), keyed());
}

#[tokio::test]
async fn texts_of_callers_are_bounded_and_show_what_nobody_sees() {
    let (audit, kept) = audit();
    let call = ToolCall::new(format!("a\n\u{202e}b{}", "é".repeat(1000)), arguments(json!({})));
    drop(audit.begin(&call, &context()));
    let called = kept.records().pop().unwrap().called.unwrap();
    assert!(called.starts_with(r"a\u{a}\u{202e}b"), "{called}");
    assert!(called.len() < 300 && called.ends_with('…'), "{called}");
}

#[tokio::test]
async fn arguments_that_nest_without_end_end_no_call() {
    let mut value = json!(1);
    for _ in 0..500 {
        value = json!([value]);
    }
    let (audit, kept) = audit();
    drop(audit.begin(&ToolCall::new("x", arguments(json!({"a": value}))), &context()));
    let record = kept.records().pop().unwrap();
    assert_eq!((record.arguments_hash, record.arguments_shape), (None, Value::Null));
}

#[tokio::test]
async fn a_sink_that_panics_ends_no_call() {
    struct Broken;
    impl AuditSink for Broken {
        fn record(&self, _record: &Record) {
            panic!("on purpose");
        }
    }
    drop(begun(&Audit::new(Arc::new(Broken))));
}

#[tokio::test]
async fn without_a_sink_nothing_is_kept_and_every_call_may_run() {
    let audit = Audit::default();
    assert_eq!(audit.check(), Ok(()));
    assert_eq!(begun(&audit).trace().as_deref(), Some("t"));
}
