//! Several calls at once, and checks of one's own.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext};

use super::{Engine, Fixture, fixture, granted};
use crate::{DenyAll, Executor, Hook, HookVerdict, ResultVerdict};

fn calls(names: &[&str]) -> Vec<ToolCall> {
    let sum = json!({"left": 1, "right": 2}).as_object().unwrap().clone();
    let arguments = |name: &str| if name == "t.sum" { sum.clone() } else { JsonObject::default() };
    let call =
        |(id, name): (usize, &&str)| ToolCall::new(*name, arguments(name)).with_call_id(id.to_string());
    names.iter().enumerate().map(call).collect()
}

fn kinds(results: &[ToolResult]) -> Vec<Option<ErrorKind>> {
    results.iter().map(|result| result.error.as_ref().map(|error| error.kind)).collect()
}

#[tokio::test(start_paused = true)]
async fn each_call_has_one_result_in_order_and_fails_alone() {
    let fixture = granted();
    let names = ["t.hang", "t.sum", "t.panic", "t.secret", "t.nothing", "t.sum"];
    let results = fixture.executor.call_all(calls(&names), &CallContext::new("s")).await;
    let ids: Vec<_> = results.iter().map(|result| result.call_id.clone().unwrap()).collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5"]);
    let expected = [
        Some(ErrorKind::Timeout),
        None,
        Some(ErrorKind::Internal),
        Some(ErrorKind::Denied),
        Some(ErrorKind::UnknownTool),
        None,
    ];
    assert_eq!(kinds(&results), expected);
}

/// Says yes, and notes how much was asked about at once and how many calls had run by then.
struct Noting {
    engine: Mutex<Option<Arc<Engine>>>,
    seen: Mutex<Vec<(usize, usize)>>,
}

#[async_trait]
impl Approver for Noting {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        let ran = self.engine.lock().as_ref().unwrap().calls.load(std::sync::atomic::Ordering::SeqCst);
        self.seen.lock().push((batch.len(), ran));
        for asked in batch {
            asked.answer = Some(Answer::Approved(asked.question().approve()));
        }
    }
}

#[tokio::test]
async fn all_is_asked_together_before_anything_runs() {
    let approver = Arc::new(Noting { engine: Mutex::default(), seen: Mutex::default() });
    let capabilities = json!({"default_policy": "grant", "approve": [{"actions": ["sum", "echo"]}]});
    let fixture = fixture(capabilities, approver.clone());
    *approver.engine.lock() = Some(fixture.engine.clone());
    let names = ["t.flood", "t.sum", "t.echo", "t.sum"];
    let results = fixture.executor.call_all(calls(&names), &CallContext::new("s")).await;
    assert_eq!(kinds(&results), [None; 4]);
    assert_eq!(*approver.seen.lock(), [(3, 0)]);
}

/// Answers the first question and then nothing.
struct Distracted;

#[async_trait]
impl Approver for Distracted {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        if let [first, ..] = batch {
            first.answer = Some(Answer::Approved(first.question().approve()));
        }
        std::future::pending::<()>().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_answered_before_the_time_was_over_counts() {
    let fixture = fixture(json!({}), Arc::new(Distracted));
    let results = fixture.executor.call_all(calls(&["t.sum", "t.echo"]), &CallContext::new("s")).await;
    assert_eq!(kinds(&results), [None, Some(ErrorKind::ApprovalDenied)]);
    assert_eq!(fixture.calls(), 1);
}

/// Stops the tool `echo`, and adds a word to what `flood` returns.
struct Check;

#[async_trait]
impl Hook for Check {
    fn name(&self) -> &'static str {
        "check"
    }

    async fn before(&self, call: &Call, _context: &CallContext) -> Result<HookVerdict, ToolError> {
        match call.tool.name.name() {
            "echo" => Ok(HookVerdict::Deny { reason: "not on Sundays".to_owned() }),
            "nest" => panic!("the hook breaks"),
            _ => Ok(HookVerdict::Allow),
        }
    }

    async fn after(
        &self,
        call: &Call,
        result: &ToolResult,
        _context: &CallContext,
    ) -> Result<ResultVerdict, ToolError> {
        if call.tool.name.name() != "sum" {
            return Ok(ResultVerdict::Keep { note: None });
        }
        let result = ToolResult { result: json!("checked"), ..result.clone() };
        Ok(ResultVerdict::Change { result: Box::new(result), note: None })
    }
}

#[tokio::test]
async fn a_check_of_ones_own_stops_a_call_and_replaces_a_result() {
    let Fixture { engine, executor } = granted();
    let executor = Arc::into_inner(executor).unwrap().with_hook(Arc::new(Check));
    let fixture = Fixture { engine, executor: Arc::new(executor) };
    assert_eq!(
        fixture.error("t.echo", json!({})).await.message,
        "the hook `check` denied the call: not on Sundays"
    );
    assert_eq!(fixture.error("t.nest", json!({})).await.kind, ErrorKind::Internal);
    assert_eq!(fixture.calls(), 0);
    assert_eq!(fixture.call("t.sum", json!({"left": 1, "right": 2})).await.result, "checked");
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_a_check_stops() {
    let approver = Arc::new(Noting { engine: Mutex::default(), seen: Mutex::default() });
    let Fixture { engine, executor } = fixture(json!({}), approver.clone());
    let executor: Executor = Arc::into_inner(executor).unwrap().with_hook(Arc::new(Check));
    let fixture = Fixture { engine, executor: Arc::new(executor) };
    assert_eq!(fixture.error("t.echo", json!({})).await.kind, ErrorKind::Denied);
    assert!(approver.seen.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_nothing_running() {
    let fixture = fixture(json!({"default_policy": "grant"}), Arc::new(DenyAll));
    let context = CallContext::new("s");
    let running = fixture.executor.call_all(calls(&["t.hang", "t.hang"]), &context);
    assert!(tokio::time::timeout(Duration::from_secs(1), running).await.is_err());
    assert_eq!(fixture.calls(), 2);
    // The engine is held by the fixture and the executor alone.
    assert_eq!(Arc::strong_count(&fixture.engine), 2);
}

/// Never ends for `hang`, and lets no call of `sum` through whose left side is 5.
struct Careful;

#[async_trait]
impl Hook for Careful {
    fn name(&self) -> &'static str {
        "careful"
    }

    async fn before(&self, call: &Call, _context: &CallContext) -> Result<HookVerdict, ToolError> {
        match (call.tool.name.name(), call.arguments.get("left")) {
            ("hang", _) => std::future::pending().await,
            ("sum", Some(left)) if *left == 5 => Ok(HookVerdict::Deny { reason: "not five".to_owned() }),
            _ => Ok(HookVerdict::Allow),
        }
    }

    async fn after(
        &self,
        call: &Call,
        _result: &ToolResult,
        _context: &CallContext,
    ) -> Result<ResultVerdict, ToolError> {
        match call.tool.name.name() {
            "flood" => std::future::pending().await,
            _ => Ok(ResultVerdict::Keep { note: None }),
        }
    }
}

fn careful(fixture: Fixture) -> Fixture {
    let executor = Arc::into_inner(fixture.executor).unwrap().with_hook(Arc::new(Careful));
    Fixture { executor: Arc::new(executor), ..fixture }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_never_ends_ends_and_holds_no_other_call_up() {
    let fixture = careful(granted());
    let names = ["t.hang", "t.sum", "t.hang", "t.flood"];
    let started = tokio::time::Instant::now();
    let results = fixture.executor.call_all(calls(&names), &CallContext::new("s")).await;
    let expected = [Some(ErrorKind::Timeout), None, Some(ErrorKind::Timeout), Some(ErrorKind::Internal)];
    assert_eq!(kinds(&results), expected);
    // One wait for both checks before, and one for the check after.
    assert_eq!(started.elapsed(), 2 * crate::limits::MAX_HOOK_WAIT);
    // `sum` and `flood`.
    assert_eq!(fixture.calls(), 2);
}

#[tokio::test]
async fn a_check_ends_when_the_caller_gives_up() {
    let fixture = careful(granted());
    let context = CallContext::new("s");
    let running = fixture.executor.call_all(calls(&["t.hang", "t.sum"]), &context);
    let giving_up = async { context.cancel.cancel() };
    let (results, ()) = tokio::join!(running, giving_up);
    assert_eq!(kinds(&results), [Some(ErrorKind::Cancelled); 2]);
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn what_a_person_wrote_goes_through_the_checks_too() {
    let approver = crate::Callback::new(|question: toolcrib_policy::Question| async move {
        let edited = json!({"left": 5, "right": 2}).as_object().unwrap().clone();
        Answer::Approved(question.approve_edited(edited))
    });
    let fixture = careful(fixture(json!({}), Arc::new(approver)));
    assert_eq!(
        fixture.error("t.sum", json!({"left": 1, "right": 2})).await.message,
        "the hook `careful` denied the call: not five"
    );
    assert_eq!(fixture.calls(), 0);
}

/// Approves all calls after a time, or gives them up instead.
enum Late {
    After(Duration),
    GivesUp(CancellationToken),
}

#[async_trait]
impl Approver for Late {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        match self {
            Self::After(time) => tokio::time::advance(*time).await,
            Self::GivesUp(cancel) => cancel.cancel(),
        }
        for asked in batch {
            asked.answer = Some(Answer::Approved(asked.question().approve()));
        }
    }
}

fn two_of_which_one_is_asked_about(approver: Late) -> Fixture {
    let capabilities = json!({"default_policy": "grant", "approve": [{"actions": ["echo"]}]});
    fixture(capabilities, Arc::new(approver))
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_to_run_for_a_caller_who_is_gone_or_whose_time_is_over() {
    let (cancel, now) = (CancellationToken::new(), tokio::time::Instant::now());
    let gone = CallContext::new("s").with_cancel(cancel.clone());
    let mut over = CallContext::new("s");
    over.deadline = Some(now);
    for (context, approver, kind) in [
        (gone, Late::GivesUp(cancel), ErrorKind::Cancelled),
        (over, Late::After(Duration::ZERO), ErrorKind::Timeout),
    ] {
        let fixture = two_of_which_one_is_asked_about(approver);
        let results = fixture.executor.call_all(calls(&["t.sum", "t.echo"]), &context).await;
        assert_eq!(kinds(&results), [Some(kind); 2]);
        assert_eq!(fixture.calls(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_person_takes_counts_in_no_deadline() {
    let mut context = CallContext::new("s");
    context.deadline = Some(tokio::time::Instant::now() + Duration::from_secs(10));
    let fixture = two_of_which_one_is_asked_about(Late::After(Duration::from_mins(1)));
    let results = fixture.executor.call_all(calls(&["t.sum", "t.echo"]), &context).await;
    assert_eq!((kinds(&results), fixture.calls()), (vec![None; 2], 2));
    assert_eq!(context.phase.waited(), Duration::from_mins(1));
}
