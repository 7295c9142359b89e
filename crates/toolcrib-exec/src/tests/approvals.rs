//! What an answer lets through, and what it does not.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Tool, ToolCall};
use toolcrib_policy::{Approval, Capabilities, Policy, Question, Remember};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext, LoadOutcome, ToolLoader};
use toolcrib_registry::ToolRegistry;

use super::{Engine, Fixture, fixture};
use crate::{Callback, Executor};

fn answering(answer: impl Fn(&Question) -> Answer + Send + Sync + 'static) -> Fixture {
    let answer = Arc::new(answer);
    let approver = Callback::new(move |question| {
        let answer = answer(&question);
        async move { answer }
    });
    fixture(json!({}), Arc::new(approver))
}

fn yes(question: &Question) -> Answer {
    Answer::Approved(question.approve())
}

#[tokio::test]
async fn an_edit_that_does_not_fit_is_given_back_with_the_reason() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let problems = Arc::clone(&seen);
    let fixture = answering(move |question| {
        problems.lock().push(question.problem.clone());
        let left = if question.problem.is_none() { json!("x") } else { json!(5) };
        let edited = json!({"left": left, "right": 2});
        Answer::Approved(question.approve_edited(edited.as_object().unwrap().clone()))
    });
    let result = fixture.call("t.sum", json!({"left": 1, "right": 2})).await;
    assert_eq!(result.result, json!({"left": 5, "right": 2}));
    assert_eq!(result.metadata["edited_arguments"], json!({"left": 5, "right": 2}));
    let problems = seen.lock().clone();
    assert_eq!(problems, [None, Some("`left` must be of type integer, not \"x\"".to_owned())]);
}

#[tokio::test]
async fn edits_that_never_fit_end_as_a_denial() {
    let fixture = answering(|question| Answer::Approved(question.approve_edited(JsonObject::default())));
    let error = fixture.error("t.sum", json!({"left": 1, "right": 2})).await;
    assert_eq!(error.kind, ErrorKind::ApprovalDenied);
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn an_edit_cannot_do_what_policy_denies() {
    let denies = json!({"deny": [{"actions": ["sum"], "arguments": [{"path": "/left", "equals": 5}]}]});
    let approver = Callback::new(|question: Question| async move {
        let edited = json!({"left": 5, "right": 2});
        Answer::Approved(question.approve_edited(edited.as_object().unwrap().clone()))
    });
    let fixture = fixture(denies, Arc::new(approver));
    assert_eq!(fixture.error("t.sum", json!({"left": 1, "right": 2})).await.kind, ErrorKind::Denied);
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn an_approval_of_one_call_is_no_approval_of_the_next() {
    let first: Arc<Mutex<Option<Approval>>> = Arc::default();
    let fixture = answering(move |question| {
        let mut first = first.lock();
        Answer::Approved(first.get_or_insert_with(|| question.approve()).clone())
    });
    assert!(fixture.call("t.sum", json!({"left": 1, "right": 2})).await.is_ok());
    let replayed = fixture.error("t.sum", json!({"left": 1, "right": 2})).await;
    assert_eq!(replayed.kind, ErrorKind::ApprovalDenied);
    assert_eq!(fixture.calls(), 1);
}

#[tokio::test]
async fn an_approval_for_the_session_asks_no_more_there_and_again_elsewhere() {
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let fixture = answering(move |question| {
        *count.lock() += 1;
        let remember =
            if question.arguments.contains_key("values") { Remember::Arguments } else { Remember::Tool };
        Answer::Approved(question.approve().remember(remember))
    });
    let call = async |session: &str, arguments: Value| {
        let call = ToolCall::new("t.echo", arguments.as_object().unwrap().clone());
        let result = fixture.executor.call(call, &CallContext::new(session.to_owned())).await;
        assert!(result.is_ok(), "{result:?}");
        *asked.lock()
    };
    assert_eq!(call("a", json!({"values": 1})).await, 1);
    assert_eq!(call("a", json!({"values": 1})).await, 1);
    assert_eq!(call("a", json!({"values": 2})).await, 2);
    assert_eq!(call("a", json!({})).await, 3);
    assert_eq!(call("a", json!({"values": 3})).await, 3);
    assert_eq!(call("b", json!({})).await, 4);
    fixture.executor.end_session("a").await;
    assert_eq!(call("a", json!({})).await, 5);
}

/// Replaces the tool while it is asked about it.
struct Swapping(Mutex<Option<Arc<ToolRegistry>>>);

#[async_trait]
impl Approver for Swapping {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        let registry = self.0.lock().clone().unwrap();
        registry.refresh().await.unwrap();
        for asked in batch {
            asked.answer = Some(yes(asked.question()));
        }
    }
}

/// Another description each time that it loads.
#[derive(Default)]
struct Shifting(Mutex<u32>);

#[async_trait]
impl ToolLoader for Shifting {
    fn source(&self) -> &'static str {
        "shifting"
    }

    async fn load(&self) -> LoadOutcome {
        let mut loads = self.0.lock();
        *loads += 1;
        let tool =
            Tool::new(QualifiedName::new("t", "echo").unwrap()).with_description(format!("Form {loads}."));
        let steady = Tool::new(QualifiedName::new("t", "steady").unwrap());
        LoadOutcome { tools: vec![tool, steady], rejected: Vec::new() }
    }
}

#[tokio::test]
async fn a_tool_that_changes_between_question_and_run_does_not_run() {
    let registry =
        Arc::new(ToolRegistry::from_loaders([Arc::new(Shifting::default()) as Arc<dyn ToolLoader>]).await);
    let policy = Policy::new(&Capabilities::default(), []).unwrap();
    let engine = Arc::new(Engine::default());
    let approver = Arc::new(Swapping(Mutex::new(Some(Arc::clone(&registry)))));
    let executor =
        Executor::new(registry, Arc::new(policy), approver).with_engine("shifting", engine.clone());
    let executor = Arc::new(executor);
    let result = executor.call(ToolCall::new("t.echo", JsonObject::default()), &CallContext::new("s")).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::ToolChanged);
    assert_eq!(engine.calls.load(Ordering::SeqCst), 0);
    // One that the refresh left as it was, runs.
    let result =
        executor.call(ToolCall::new("t.steady", JsonObject::default()), &CallContext::new("s")).await;
    assert!(result.is_ok(), "{result:?}");
}

#[tokio::test]
async fn a_panic_of_the_approver_is_no_approval() {
    let fixture = answering(|_| panic!("the approver breaks"));
    assert_eq!(fixture.error("t.echo", json!({})).await.kind, ErrorKind::Internal);
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_its_engine_refuses_anyway() {
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let fixture = answering(move |question| {
        *count.lock() += 1;
        yes(question)
    });
    let error = fixture.error("t.sum", json!({"left": 13, "right": 2})).await;
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Denied, "not thirteen"));
    assert_eq!((*asked.lock(), fixture.calls()), (0, 0));
    assert_eq!(fixture.call("t.sum", json!({"left": 12, "right": 2})).await.error, None);
    assert_eq!((*asked.lock(), fixture.calls()), (1, 1));
}

#[tokio::test]
async fn a_call_whose_approval_cannot_be_requested_does_not_run_and_says_why() {
    let fixture = answering(|_| Answer::Unavailable("the store cannot be reached".to_owned()));
    let error = fixture.error("t.sum", json!({"left": 1, "right": 2})).await;
    assert_eq!((error.kind, fixture.calls()), (ErrorKind::Unavailable, 0));
    insta::assert_snapshot!(error.message, @"the approval of `t.sum` cannot be requested: the store cannot be reached");
}
