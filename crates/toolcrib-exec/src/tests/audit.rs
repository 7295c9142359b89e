//! What the entrance records.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::ToolCall;
use toolcrib_port::CallContext;

use super::{Fixture, granted};
use crate::audit::{Audit, AuditSink, JsonLines, MemorySink, Record};

fn audited(sink: Arc<dyn AuditSink>) -> Fixture {
    let Fixture { engine, executor } = granted();
    let executor = Arc::into_inner(executor).unwrap().with_audit(Audit::new(sink));
    Fixture { engine, executor: Arc::new(executor) }
}

fn call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall::new(name, arguments.as_object().unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn each_call_has_one_record_however_it_ends() {
    let table = [
        ("sum", json!({"left": "1", "right": 2}), "ok", Some("t::sum")),
        ("sum", json!({}), "invalid_args", Some("t::sum")),
        ("secret", json!({}), "denied", Some("t::secret")),
        ("nothing", json!({}), "unknown_tool", None),
        ("panic", json!({}), "internal", Some("t::panic")),
        ("hang", json!({}), "timeout", Some("t::hang")),
    ];
    for (name, arguments, outcome, tool) in table {
        let kept = Arc::new(MemorySink::new());
        let fixture = audited(kept.clone());
        fixture.call(name, arguments).await;
        let [record] = <[Record; 1]>::try_from(kept.records()).unwrap();
        assert_eq!((record.outcome.as_str(), record.tool.as_deref()), (outcome, tool), "{name}");
        assert_eq!(record.rule.is_some(), !matches!(outcome, "invalid_args" | "unknown_tool"), "{name}");
    }
}

#[tokio::test]
async fn a_call_whose_future_is_dropped_has_a_record_and_so_has_one_that_is_cancelled() {
    let kept = Arc::new(MemorySink::new());
    let fixture = audited(kept.clone());
    let context = CallContext::new("s");
    {
        let mut running = std::pin::pin!(fixture.executor.call(call("hang", &json!({})), &context));
        assert!(futures::poll!(&mut running).is_pending());
    }
    context.cancel.cancel();
    fixture.executor.call(call("hang", &json!({})), &context).await;
    let outcomes: Vec<_> = kept.records().iter().map(|record| record.outcome.as_str()).collect();
    assert_eq!(outcomes, ["dropped", "cancelled"]);
}

#[tokio::test]
async fn each_of_several_calls_has_a_record_and_so_has_a_call_inside_of_one() {
    let kept = Arc::new(MemorySink::new());
    let fixture = audited(kept.clone());
    let calls = (0..20).map(|_| call("echo", &json!({}))).collect();
    fixture.executor.call_all(calls, &CallContext::new("s")).await;
    assert_eq!(kept.records().len(), 20);
    fixture.call("nest", json!({})).await;
    let mut depths: Vec<_> = kept.records().iter().skip(20).map(|record| record.depth).collect();
    depths.sort_unstable();
    assert_eq!(depths, (0..=crate::limits::MAX_DEPTH).collect::<Vec<_>>());
}

#[tokio::test]
async fn nothing_runs_while_records_are_required_and_cannot_be_written() {
    struct Full;
    impl AuditSink for Full {
        fn record(&self, _record: &Record) {}
        fn check(&self) -> Result<(), String> {
            Err("the disk is full".to_owned())
        }
    }
    let fixture = audited(Arc::new(Full));
    let error = fixture.error("echo", json!({})).await;
    assert!(error.message.contains("the disk is full"), "{error}");
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn a_call_does_not_run_when_the_record_of_its_beginning_cannot_be_written() {
    /// The disk fills up between the look at it and the record.
    struct Filling;
    impl AuditSink for Filling {
        fn record(&self, _record: &Record) {}
        fn is_required(&self) -> bool {
            true
        }
        fn begin(&self, _record: &Record) -> Result<(), String> {
            Err("the disk is full".to_owned())
        }
    }
    let fixture = audited(Arc::new(Filling));
    let error = fixture.error("echo", json!({})).await;
    assert!(error.message.contains("the disk is full") && !error.retryable, "{error}");
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn a_call_that_needs_a_record_has_one_before_it_runs_and_one_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let fixture = audited(Arc::new(JsonLines::open(&path).unwrap().required()));
    let result = fixture.call("echo", json!({"a": 1})).await;
    assert_eq!(result.error, None);
    fixture.error("secret", json!({})).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<_> = lines.iter().map(|line| line["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["begun", "ok", "denied"]);
    for key in ["time", "session", "call_id", "tool", "arguments_hash", "decision", "consent"] {
        assert_eq!(lines[0][key], lines[1][key], "{key}");
    }
    assert_eq!(lines[0]["ran_ms"], Value::Null);
}
