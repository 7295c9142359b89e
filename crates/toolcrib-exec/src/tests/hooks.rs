//! Verdicts of hooks.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolError, ToolResult};
use toolcrib_policy::{Call, Question, Remember};
use toolcrib_port::{Answer, Approver, CallContext};

use super::{Fixture, fixture, granted};
use crate::audit::{Audit, MemorySink};
use crate::{Callback, DenyAll, Hook, HookVerdict, ResultVerdict};

/// A hook that decides by the arguments of a call.
struct Rule(&'static str, fn(&JsonObject) -> HookVerdict);

#[async_trait]
impl Hook for Rule {
    fn name(&self) -> &'static str {
        self.0
    }

    async fn before(&self, call: &Call, _context: &CallContext) -> Result<HookVerdict, ToolError> {
        Ok((self.1)(&call.arguments))
    }
}

/// Adds the rules to an executor, and an audit log.
fn hooked(fixture: Fixture, rules: impl IntoIterator<Item = Rule>) -> (Fixture, Arc<MemorySink>) {
    let (sink, Fixture { engine, executor }) = (Arc::new(MemorySink::new()), fixture);
    let executor = Arc::into_inner(executor).unwrap().with_audit(Audit::new(sink.clone()));
    let executor = rules.into_iter().fold(executor, |executor, rule| executor.with_hook(Arc::new(rule)));
    (Fixture { engine, executor: Arc::new(executor) }, sink)
}

fn policy(effect: &str, approver: Arc<dyn Approver>) -> Fixture {
    let not_nine = json!([{"arguments": [{"path": "/left", "equals": 9}], "actions": ["sum"]}]);
    fixture(json!({"default_policy": effect, "deny": not_nine}), approver)
}

/// The rule and the arguments of each question.
type Questions = Arc<Mutex<Vec<(String, Value)>>>;

/// Returns an approver that notes each question and answers with the function.
fn noting(
    answer: impl Fn(&Question) -> Answer + Send + Sync + Clone + 'static,
) -> (Arc<dyn Approver>, Questions) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let approver = Callback::new(move |question: Question| {
        noted.lock().push((question.rule.clone(), question.arguments.clone().into()));
        std::future::ready(answer(&question))
    });
    (Arc::new(approver), seen)
}

fn change(left: Value) -> HookVerdict {
    let arguments = JsonObject::from_iter([("left".to_owned(), left), ("right".to_owned(), json!(2))]);
    HookVerdict::Change { arguments, reason: Some("as agreed".to_owned()) }
}

fn ask() -> HookVerdict {
    HookVerdict::Ask { reason: "it is large".to_owned() }
}

fn one() -> Value {
    json!({"left": 1, "right": 2})
}

#[tokio::test]
async fn changed_arguments_run_and_the_caller_and_the_audit_learn_it() {
    let (fixture, sink) = hooked(policy("grant", Arc::new(DenyAll)), [Rule("limit", |_| change(json!(4)))]);
    let result = fixture.call("t.sum", one()).await;
    assert_eq!(result.result, json!({"left": 4, "right": 2}));
    assert_eq!(result.facts().unwrap(), "[the hook `limit` changed `left` before the call ran: as agreed]");
    let record = serde_json::to_value(&sink.records()[0]).unwrap();
    assert_eq!(record["hooks"], json!([{"hook": "limit", "verdict": "change", "arguments": ["left"]}]));
}

#[tokio::test]
async fn changed_arguments_are_authorized_again() {
    let (fixture, sink) = hooked(policy("grant", Arc::new(DenyAll)), [Rule("limit", |_| change(json!(9)))]);
    let error = fixture.error("t.sum", one()).await;
    assert_eq!((error.kind, fixture.calls()), (ErrorKind::Denied, 0));
    assert!(error.message.contains("deny[0]"), "{error}");
    assert_eq!(sink.records()[0].outcome.as_str(), "denied");
}

#[tokio::test]
async fn changed_arguments_that_are_invalid_do_not_run() {
    let (fixture, _) = hooked(policy("grant", Arc::new(DenyAll)), [Rule("limit", |_| change(json!("4")))]);
    let error = fixture.error("t.sum", one()).await;
    assert_eq!((error.kind, fixture.calls()), (ErrorKind::Internal, 0));
    assert!(error.message.starts_with("the hook `limit` changed the arguments of `t.sum` to invalid ones: "));
}

#[tokio::test]
async fn a_hook_never_allows_what_the_policy_denies_or_asks_about() {
    for (effect, left, kind) in [("grant", 9, ErrorKind::Denied), ("approve", 1, ErrorKind::ApprovalRequired)]
    {
        let (fixture, _) =
            hooked(policy(effect, Arc::new(DenyAll)), [Rule("friendly", |_| HookVerdict::Allow)]);
        let error = fixture.error("t.sum", json!({"left": left, "right": 2})).await;
        assert_eq!((error.kind, fixture.calls()), (kind, 0));
    }
}

#[tokio::test]
async fn a_hook_asks_about_a_granted_call_with_its_reason_and_the_final_arguments() {
    let (approver, seen) = noting(|question| Answer::Approved(question.approve()));
    let rules = [Rule("large", |_| ask()), Rule("limit", |_| change(json!(4)))];
    let (fixture, sink) = hooked(policy("grant", approver), rules);
    assert!(fixture.call("t.sum", one()).await.is_ok());
    let expected = ("hook `large`: it is large".to_owned(), json!({"left": 4, "right": 2}));
    assert_eq!(*seen.lock(), [expected]);
    let record = serde_json::to_value(&sink.records()[0]).unwrap();
    assert_eq!([&record["rule"], &record["consent"]], [&json!("hook `large`"), &json!("approved")]);
}

#[tokio::test]
async fn an_approval_remembered_for_a_rule_does_not_answer_a_hook() {
    let (approver, seen) = noting(|question| Answer::Approved(question.approve().remember(Remember::Tool)));
    let large = Rule("large", |arguments| if arguments["left"] == 5 { ask() } else { HookVerdict::Allow });
    let (fixture, _) = hooked(policy("approve", approver), [large]);
    for left in [1, 2, 5, 5] {
        assert!(fixture.call("t.sum", json!({"left": left, "right": 2})).await.is_ok());
    }
    let rules: Vec<String> = seen.lock().iter().map(|(rule, _)| rule.clone()).collect();
    assert_eq!(rules, ["default_policy", "hook `large`: it is large"]);
}

#[tokio::test]
async fn a_hook_that_changes_what_a_person_wrote_leads_to_another_question() {
    let edited = |question: &Question| {
        let arguments = question.arguments.clone();
        if arguments["left"] == 1 {
            let written =
                JsonObject::from_iter([("left".to_owned(), json!(7)), ("right".to_owned(), json!(2))]);
            return Answer::Approved(question.approve_edited(written));
        }
        Answer::Approved(question.approve())
    };
    let limit = |arguments: &JsonObject| {
        if arguments["left"] == 7 { change(json!(4)) } else { HookVerdict::Allow }
    };
    let (approver, seen) = noting(edited);
    let (fixture, _) = hooked(policy("approve", approver), [Rule("limit", limit)]);
    assert_eq!(fixture.call("t.sum", one()).await.result, json!({"left": 4, "right": 2}));
    let asked: Vec<Value> = seen.lock().iter().map(|(_, arguments)| arguments["left"].clone()).collect();
    assert_eq!(asked, [1, 4]);
}

/// A hook that decides by the result of a call.
struct Check(fn(&ToolResult) -> Result<ResultVerdict, ToolError>, bool);

#[async_trait]
impl Hook for Check {
    fn name(&self) -> &'static str {
        "check"
    }

    fn applies_to(&self, tool: &Tool) -> bool {
        ["sum", "flood"].contains(&tool.name.name())
    }

    fn fails_open(&self) -> bool {
        self.1
    }

    async fn after(
        &self,
        _call: &Call,
        result: &ToolResult,
        _context: &CallContext,
    ) -> Result<ResultVerdict, ToolError> {
        (self.0)(result)
    }
}

/// Returns an executor with these hooks, and its audit log.
fn checked(checks: impl IntoIterator<Item = Check>) -> (Fixture, Arc<MemorySink>) {
    let (sink, Fixture { engine, executor }) = (Arc::new(MemorySink::new()), granted());
    let executor = Arc::into_inner(executor).unwrap().with_audit(Audit::new(sink.clone()));
    let executor = checks.into_iter().fold(executor, |executor, check| executor.with_hook(Arc::new(check)));
    (Fixture { engine, executor: Arc::new(executor) }, sink)
}

#[expect(clippy::unnecessary_wraps, reason = "it is one of the checks, of which others fail")]
fn doubled(result: &ToolResult) -> Result<ResultVerdict, ToolError> {
    let left = result.result["left"].as_i64().unwrap() * 2;
    let mut changed = result.clone();
    changed.result = json!({"left": left});
    changed.name = "another::name".to_owned();
    Ok(ResultVerdict::Change { result: Box::new(changed), note: Some("doubled".to_owned()) })
}

#[tokio::test]
async fn each_hook_changes_the_result_of_the_one_before() {
    let (fixture, sink) = checked([Check(doubled, false), Check(doubled, false)]);
    let result = fixture.call("t.sum", json!({"left": 1, "right": 2})).await;
    assert_eq!((&result.result, result.name.as_str()), (&json!({"left": 4}), "t::sum"));
    let change = "[the hook `check` changed the result: doubled]";
    assert_eq!(result.facts().unwrap(), format!("{change} {change}"));
    let record = serde_json::to_value(&sink.records()[0]).unwrap();
    let change = json!({"hook": "check", "verdict": "change_result"});
    assert_eq!(record["hooks"], json!([change, change]));
    // A hook that does not apply to the tool does not run.
    assert_eq!(fixture.call("t.echo", json!({"left": 1})).await.result, json!({"left": 1}));
}

#[tokio::test]
async fn a_blocked_result_is_the_last_word() {
    let block = |_: &ToolResult| Ok(ResultVerdict::Block { reason: "it is private".to_owned() });
    let (fixture, _) = checked([Check(block, false), Check(doubled, false)]);
    let error = fixture.error("t.sum", one()).await;
    assert_eq!((error.kind, fixture.calls()), (ErrorKind::Denied, 1));
    assert_eq!(error.message, "`t.sum` ran, and the hook `check` blocked its result: it is private");
}

#[tokio::test]
async fn a_hook_that_fails_or_panics_on_a_result_withholds_it_unless_it_fails_open() {
    let fail = |_: &ToolResult| Err(ToolError::new(ErrorKind::Unavailable, "the checker is down"));
    let panic = |_: &ToolResult| panic!("the checker breaks");
    for check in [fail as fn(&ToolResult) -> Result<ResultVerdict, ToolError>, panic] {
        let (fixture, sink) = checked([Check(check, false)]);
        let error = fixture.error("t.sum", one()).await;
        // Not `unavailable`: the tool itself ran, and no other may run in its place.
        assert_eq!((error.kind, fixture.calls()), (ErrorKind::Internal, 1), "{error}");
        assert!(error.message.starts_with("`t.sum` ran, and its result is withheld: the "), "{error}");
        assert_eq!(sink.records()[0].hooks[0].verdict, "failed");
        let (fixture, sink) = checked([Check(check, true)]);
        let result = fixture.call("t.sum", one()).await;
        assert_eq!(result.result, one());
        assert_eq!(result.facts().unwrap(), "[the hook `check` failed and did not check the result]");
        assert_eq!(sink.records()[0].hooks[0].verdict, "failed");
    }
}

#[tokio::test]
async fn a_hook_sees_no_secret_in_a_result() {
    let secrets = toolcrib_results::Secrets::new();
    secrets.add("KEY", toolcrib_model::Secret::new("xxxxxxxxxx"));
    let results = toolcrib_results::Results::default().with_secrets(secrets);
    let seen = |result: &ToolResult| {
        assert_eq!(result.result, "[secret KEY]".repeat(10_000));
        Ok(ResultVerdict::Keep { note: Some("seen".to_owned()) })
    };
    let (Fixture { engine, executor }, _) = checked([Check(seen, false)]);
    let executor = Arc::into_inner(executor).unwrap().with_results(Arc::new(results));
    let fixture = Fixture { engine, executor: Arc::new(executor) };
    let result = fixture.call("t.flood", json!({})).await;
    assert!(result.facts().unwrap().contains("[the hook `check` notes: seen]"), "{result:?}");
}
