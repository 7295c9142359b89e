//! What the entrance promises.

mod approvals;
mod audit;
mod batch;
mod deferred;
mod drops;
mod entrance;
mod hooks;
mod progress;
mod views;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Risk, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call, Policy, Question};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext, ToolEngine};
use toolcrib_registry::ToolRegistry;

use crate::limits::MAX_DEPTH;
use crate::{DenyAll, Executor, OperatorHints};

/// Does what the name of the tool says, and counts how often it was asked to.
#[derive(Default)]
struct Engine {
    calls: AtomicUsize,
}

#[async_trait]
impl ToolEngine for Engine {
    async fn check(&self, call: &Call, _context: &CallContext) -> Result<(), ToolError> {
        let is_refused = call.arguments.get("left") == Some(&json!(13));
        if is_refused { Err(ToolError::new(ErrorKind::Denied, "not thirteen")) } else { Ok(()) }
    }

    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match call.tool.name.name() {
            "panic" => panic!("the engine breaks"),
            "hang" => std::future::pending().await,
            "flood" => call.ok("x".repeat(100_000)),
            "picture" => call.ok(json!([{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}])),
            "nest" => {
                let caller = context.caller.clone().unwrap();
                caller.call(ToolCall::new("t.nest", call.arguments.clone()), context).await
            }
            _ => call.ok(call.arguments.clone()),
        }
    }
}

struct Fixture {
    engine: Arc<Engine>,
    executor: Arc<Executor>,
}

fn fixture(capabilities: Value, approver: Arc<dyn Approver>) -> Fixture {
    let tool = |name| Tool::new(QualifiedName::new("t", name).unwrap());
    let sum = json!({
        "type": "object",
        "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
        "required": ["left", "right"],
    });
    let tools = [
        tool("sum").with_parameters(sum),
        tool("panic"),
        tool("hang").with_risk(Risk::Low),
        tool("flood"),
        tool("picture"),
        tool("replace").with_metadata("idempotent", true),
        tool("nest"),
        tool("secret"),
        tool("echo").with_parameters(json!({"type": "object", "additionalProperties": true})),
    ];
    let registry = ToolRegistry::from_tools("test", tools).unwrap();
    let policy = Policy::new(&serde_json::from_value(capabilities).unwrap(), []).unwrap();
    let engine = Arc::new(Engine::default());
    let executor =
        Executor::new(Arc::new(registry), Arc::new(policy), approver).with_engine("test", engine.clone());
    Fixture { engine, executor: Arc::new(executor) }
}

fn granted() -> Fixture {
    fixture(json!({"default_policy": "grant", "deny": [{"actions": ["secret"]}]}), Arc::new(DenyAll))
}

impl Fixture {
    async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new(name, arguments.as_object().unwrap().clone()).with_call_id("7");
        self.executor.call(call, &CallContext::new("s")).await
    }

    async fn error(&self, name: &str, arguments: Value) -> ToolError {
        let result = self.call(name, arguments).await;
        assert_eq!(result.call_id.as_deref(), Some("7"));
        result.error.unwrap()
    }

    fn calls(&self) -> usize {
        self.engine.calls.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_granted_call_runs_and_says_which_rule_let_it() {
    let fixture = granted();
    let result = fixture.call("sum", json!({"left": 1, "right": 2})).await;
    assert_eq!((result.name.as_str(), &result.result), ("t::sum", &json!({"left": 1, "right": 2})));
    assert_eq!(result.metadata["rule"], "default_policy");
    assert_eq!(fixture.calls(), 1);
}

#[tokio::test]
async fn wrong_arguments_never_reach_the_engine_and_the_error_shows_how_to_mend_them() {
    let fixture = granted();
    let error = fixture.error("t.sum", json!({"left": "x", "rigth": 2})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    insta::assert_snapshot!(error.to_string());
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn a_repaired_call_runs_with_its_final_arguments_and_says_what_was_changed() {
    let fixture = granted();
    let result = fixture.call("sum", json!({"left": "1", "right": 2})).await;
    assert_eq!(result.result, json!({"left": 1, "right": 2}));
    let repairs = json!([{"path": "/left", "change": "string_to_integer", "from": "1", "to": 1}]);
    assert_eq!(result.metadata["repairs"], repairs);
    let result = fixture.call("sum", json!({"left": 1, "right": 2})).await;
    assert!(!result.metadata.contains_key("repairs"));
}

#[tokio::test]
async fn an_unknown_name_gets_the_nearest_and_never_a_hidden_one() {
    let fixture = granted();
    let error = fixture.error("t.sun", json!({})).await;
    assert_eq!((error.kind, error.hint.as_deref()), (ErrorKind::UnknownTool, Some("did you mean `t.sum`?")));
    let error = fixture.error("t.secre", json!({})).await;
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn a_denied_tool_does_not_run_and_nothing_is_said_about_it() {
    let fixture = granted();
    let error = fixture.error("t.secret", json!({})).await;
    assert_eq!(error.kind, ErrorKind::Denied);
    assert_eq!(error.message, "the tool `t.secret` may not be used here");
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn without_anybody_to_ask_the_call_does_not_run() {
    let fixture = fixture(json!({}), Arc::new(DenyAll));
    assert_eq!(fixture.error("t.flood", json!({})).await.kind, ErrorKind::ApprovalRequired);
    assert_eq!(fixture.calls(), 0);
}

/// Answers as it was told; `None` never answers.
struct Scripted(Option<fn(&Question) -> Answer>);

#[async_trait]
impl Approver for Scripted {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        for asked in batch {
            match self.0 {
                Some(answer) => asked.answer = Some(answer(asked.question())),
                None => std::future::pending().await,
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_an_answer_to_this_very_question_lets_a_call_through() {
    let with = |answer| fixture(json!({}), Arc::new(Scripted(answer)));
    let yes = with(Some(|question| Answer::Approved(question.approve())));
    assert!(yes.call("t.sum", json!({"left": 1, "right": 2})).await.is_ok());
    let no = with(Some(|_| Answer::Denied(Some("not now".into()))));
    let error = no.error("t.flood", json!({})).await;
    assert_eq!(error.message, "the user denied the call of `t.flood` and said: not now");
    let silent = with(None);
    let error = silent.error("t.flood", json!({})).await;
    assert_eq!(error.message, "no answer within 300 s to the request for approval of `t.flood`");
    assert_eq!((no.calls(), silent.calls()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_panic_a_hang_and_a_cancel_each_give_one_result() {
    let fixture = granted();
    assert_eq!(fixture.error("t.panic", json!({})).await.kind, ErrorKind::Internal);
    let error = fixture.error("t.hang", json!({})).await;
    assert_eq!(error.message, "`t.hang` did not end within its deadline of 60 s");
    assert!(error.retryable);

    let cancel = CancellationToken::new();
    let context = CallContext::new("s").with_cancel(cancel.clone());
    let executor = Arc::clone(&fixture.executor);
    let running =
        tokio::spawn(
            async move { executor.call(ToolCall::new("t.hang", JsonObject::new()), &context).await },
        );
    while fixture.calls() < 3 {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    let result = tokio::time::timeout(Duration::from_secs(1), running).await.unwrap().unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::Cancelled);
}

#[tokio::test]
async fn calls_cannot_nest_without_end() {
    let fixture = granted();
    assert_eq!(fixture.error("t.nest", json!({})).await.kind, ErrorKind::LimitReached);
    assert_eq!(fixture.calls(), usize::from(MAX_DEPTH));
}

#[tokio::test]
async fn a_large_result_is_cut_and_says_so() {
    let result = granted().call("t.flood", json!({})).await;
    let text = result.result.as_str().unwrap();
    let handle = result.metadata["handle"].as_str().unwrap();
    let how = format!(
        "[cut: 1 line; 100,000 bytes, about 25,000 tokens; read_result(handle=\"{handle}\", …): grep with context or \
         count, lines, or page]"
    );
    assert!(text.ends_with(&how), "{text}");
    assert!(text.len() <= 2_000, "{}", text.len());
    assert_eq!(result.metadata["truncated_bytes"], 100_000);
}

#[tokio::test]
async fn a_source_without_an_engine_says_what_to_do() {
    let registry =
        ToolRegistry::from_tools("file x", [Tool::new(QualifiedName::new("t", "a").unwrap())]).unwrap();
    let policy =
        Policy::new(&serde_json::from_value(json!({"default_policy": "grant"})).unwrap(), []).unwrap();
    let hints = OperatorHints { no_engine: Some("give it an engine"), ..OperatorHints::default() };
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
    let executor = executor.with_operator_hints(hints);
    let executor = Arc::new(executor);
    let result = executor.call(ToolCall::new("t.a", JsonObject::new()), &CallContext::new("s")).await;
    let error = result.error.unwrap();
    assert_eq!(error.hint.as_deref(), Some("its source is file x; give it an engine"));
}
