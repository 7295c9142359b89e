//! The promises of recorded results, with the records of a real executor.

use std::path::Path;
use std::sync::Arc;

use toolcrib_exec::audit::{Audit, JsonLines};
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{Tool, ToolCall};
use toolcrib_policy::Policy;
use toolcrib_registry::ToolRegistry;

use super::*;
use crate::session::SessionEngine;

/// A shelf whose content changes with each call, and which has no shelf 9.
#[derive(Default)]
struct Shelf(std::sync::atomic::AtomicU64);

#[async_trait]
impl ToolEngine for Shelf {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        if call.arguments["shelf"] == 9 {
            return call.failed(ToolError::new(ErrorKind::ToolFailed, "no shelf 9").with_hint("use 1 to 8"));
        }
        let count = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        call.ok(json!({"shelf": call.arguments["shelf"], "books": count}))
    }
}

fn executor(engine: Arc<dyn ToolEngine>, audit: Audit) -> Arc<Executor> {
    let schema =
        json!({"type": "object", "properties": {"shelf": {"type": "integer"}}, "required": ["shelf"]});
    let tool = Tool::new(QualifiedName::new("books", "count").unwrap()).with_parameters(schema);
    let registry = ToolRegistry::from_tools("books", [tool]).unwrap();
    let policy =
        Policy::new(&serde_json::from_value(json!({"default_policy": "grant"})).unwrap(), []).unwrap();
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll)).with_audit(audit);
    Arc::new(executor.with_engine("books", engine))
}

fn count(shelf: u64) -> ToolCall {
    ToolCall::new("books::count", json!({"shelf": shelf}).as_object().unwrap().clone())
}

/// Makes calls of the real shelf: 1, 2, 1, 9.
async fn record(log: &Path, options: impl FnOnce(Audit) -> Audit) {
    let audit = options(Audit::new(Arc::new(JsonLines::open(log).unwrap())));
    let executor = executor(Arc::new(Shelf::default()), audit);
    for shelf in [1, 2, 1, 9] {
        executor.call(count(shelf), &CallContext::new("s")).await;
    }
    executor.close().await;
}

fn open(log: &Path) -> Result<(SessionEngine, Arc<Executor>), String> {
    let states = SessionStates::default();
    let engine = RecordedEngine::open(&RecordedSettings { path: log.to_owned() }, states.clone())?;
    let executor = executor(Arc::new(engine), Audit::default());
    Ok((SessionEngine::new(executor.tool_caller(), states), executor))
}

/// Returns the numbers of books, `None` for a failure.
fn books(results: &[ToolResult]) -> Vec<Option<u64>> {
    results.iter().map(|result| result.result["books"].as_u64()).collect()
}

#[tokio::test]
async fn a_call_has_the_result_that_an_equal_call_had() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    record(&log, |audit| audit.with_values().with_results()).await;
    let (sessions, _executor) = open(&log).unwrap();
    let session = sessions.setup("a", JsonObject::new()).unwrap();
    let calls = [1, 2, 1, 1, 9].map(count).to_vec();
    let results = sessions.execute(session.name(), calls).await.unwrap();
    // The last result is repeated.
    assert_eq!(books(&results), [Some(0), Some(1), Some(2), Some(2), None]);
    assert_eq!(results[0].metadata[SIMULATION], json!({"recorded": true}));
    let error = results[4].error.as_ref().unwrap();
    assert_eq!(
        (error.kind, &*error.message, error.hint.as_deref()),
        (ErrorKind::ToolFailed, "no shelf 9", Some("use 1 to 8"))
    );
    // Another session begins with the first result, and one that continues a state does not.
    let other = sessions.setup("b", JsonObject::new()).unwrap();
    assert_eq!(books(&sessions.execute(other.name(), vec![count(1)]).await.unwrap()), [Some(0)]);
    let next = sessions.setup("c", sessions.state("b").unwrap()).unwrap();
    assert_eq!(books(&sessions.execute(next.name(), vec![count(1)]).await.unwrap()), [Some(2)]);
}

#[tokio::test]
async fn a_call_that_was_not_recorded_fails_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    record(&log, |audit| audit.with_values().with_results()).await;
    let (_, executor) = open(&log).unwrap();
    let result = executor.call(count(5), &CallContext::new("s")).await;
    assert_eq!(result.metadata[SIMULATION], json!({"failed": NOT_RECORDED}));
    let message = result.error.unwrap().message;
    let rest = message.strip_prefix(&log.display().to_string()).unwrap();
    insta::assert_snapshot!(rest, @" has no result of `books.count` with these arguments; it has results of 3 other calls of it");
}

#[tokio::test]
async fn a_log_without_values_is_refused_with_the_settings_that_it_needs() {
    for options in [Audit::with_values, Audit::with_results, |audit: Audit| audit] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.jsonl");
        record(&log, options).await;
        let error = open(&log).err().unwrap();
        assert!(error.contains("`values: true` and `results: true`"), "{error}");
    }
}

#[test]
fn a_log_that_cannot_be_read_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let error = || open(&log).err().unwrap();
    assert!(error().contains("audit.jsonl` does not exist"), "{}", error());
    std::fs::write(&log, "{\"outcome\": \"ok\"}\n[]\n{\"outc").unwrap();
    assert!(error().contains("audit.jsonl: line 2 is not an audit record: "), "{}", error());
}

#[test]
fn a_record_that_is_being_written_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let line = r#"{"tool": "books::count", "outcome": "ok", "arguments": {"shelf": 1}, "result": null}"#;
    std::fs::write(&log, format!("{line}\n{}", &line[..40])).unwrap();
    std::fs::write(folder.path().join("audit.jsonl.1"), format!("{line}\n")).unwrap();
    let engine = RecordedEngine::open(&RecordedSettings { path: log }, SessionStates::default()).unwrap();
    let outcomes: Vec<_> = engine.calls.into_values().collect();
    assert_eq!(outcomes, [vec![Ok(Value::Null), Ok(Value::Null)]]);
}

#[tokio::test]
async fn the_call_of_a_shaped_tool_is_the_result_of_its_original() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let lines = [
        json!({"tool": "shop::stock", "arguments": {"place": "A"}, "outcome": "ok", "result": {"books": 4},
            "original": "books::count", "original_arguments": {"shelf": 3}}),
        // A record of a version that did not write the arguments of originals.
        json!({"tool": "shop::stock", "arguments": {"place": "B"}, "outcome": "ok", "result": {"books": 5},
            "original": "books::count"}),
    ];
    std::fs::write(&log, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let (sessions, _executor) = open(&log).unwrap();
    let session = sessions.setup("a", JsonObject::new()).unwrap();
    let results = sessions.execute(session.name(), vec![count(3), count(4)]).await.unwrap();
    assert_eq!(books(&results), [Some(4), None]);
}
