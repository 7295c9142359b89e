//! What asking the user promises.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib_exec::{Callback, DenyAll};
use toolcrib_model::{
    ErrorKind, FieldKind, JsonObject, QualifiedName, Tool, ToolResult, UserAnswer, UserQuestion,
};
use toolcrib_policy::{Call, Capabilities, Policy, Principal, RUNTIME_NAMESPACE, Verdict};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext, ToolEngine as _, ToolLoader as _};
use toolcrib_sdk::Module;

use crate::ask_user::tools;

fn module(approver: impl Approver + 'static) -> Module {
    tools(Arc::new(approver)).into_iter().fold(Module::new(RUNTIME_NAMESPACE, ""), Module::with_tool)
}

async fn tool() -> Tool {
    module(DenyAll).load().await.tools.remove(0)
}

fn granting() -> Policy {
    let granted = json!({"grant": [{"module": RUNTIME_NAMESPACE, "actions": ["ask_user"]}]});
    Policy::new(&serde_json::from_value::<Capabilities>(granted).unwrap(), []).unwrap()
}

async fn ask(approver: impl Approver + 'static, arguments: Value) -> ToolResult {
    let mut call = Call::new(Arc::new(tool().await), "tasks".into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    let Verdict::Granted(call) = granting().authorize(call, "s") else { panic!("not granted") };
    module(approver).invoke(&call, &CallContext::new("s").with_agent("clerk")).await
}

/// Answers every question in this way, and keeps it.
fn answering(answer: UserAnswer) -> (Callback, Arc<Mutex<Vec<UserQuestion>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let callback = Callback::new(|_| async { Answer::Nobody }).with_user(move |question| {
        kept.lock().push(question);
        let answer = answer.clone();
        async move { answer }
    });
    (callback, asked)
}

fn approved(content: Option<&str>, choice: Option<&str>, fields: &Value) -> UserAnswer {
    UserAnswer::Approved {
        content: content.map(str::to_owned),
        choice: choice.map(str::to_owned),
        fields: fields.as_object().cloned().unwrap_or_default(),
        feedback: None,
    }
}

#[tokio::test]
async fn a_model_is_told_how_to_ask() {
    let tool = tool().await;
    insta::assert_json_snapshot!(json!({
        "description": tool.description, "parameters": tool.parameters, "metadata": tool.metadata(),
    }));
}

#[tokio::test]
async fn it_is_there_only_where_a_rule_grants_it() {
    let tool = tool().await;
    let generous: Capabilities = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    assert!(!Policy::new(&generous, []).unwrap().is_visible(&tool, Principal::new("s")));
    assert!(granting().is_visible(&tool, Principal::new("s")));
    assert_eq!(tool.name, QualifiedName::new(RUNTIME_NAMESPACE, "ask_user").unwrap());
}

#[tokio::test]
async fn an_answer_comes_back_as_the_document_has_it() {
    let plan = json!({"question": "Review this plan?", "content": "## Plan\n1. Middleware"});
    let feedback = |text: &str| Some(text.to_owned());
    let cases = [
        (plan.clone(), approved(None, None, &json!({}))),
        (plan.clone(), approved(Some("## Plan\n1. Middleware"), None, &json!({}))),
        (plan.clone(), approved(Some("## Plan\n1. Gateway"), None, &json!({}))),
        (plan.clone(), UserAnswer::Denied(feedback("Use JWT instead of sessions"))),
        (plan, UserAnswer::Denied(None)),
        (json!({"question": "Which?", "choices": ["red", "blue"]}), approved(None, Some("blue"), &json!({}))),
        (
            json!({"question": "Your name?"}),
            UserAnswer::Approved {
                content: None,
                choice: None,
                fields: JsonObject::new(),
                feedback: feedback("Ada"),
            },
        ),
        (
            json!({"question": "Deploy?", "fields": [
                {"name": "replicas", "type": "integer", "required": true},
                {"name": "region", "type": "choice", "choices": ["eu", "us"], "default": "eu"},
                {"name": "note"},
            ]}),
            approved(None, None, &json!({"replicas": 3})),
        ),
    ];
    let mut results = Vec::new();
    for (arguments, answer) in cases {
        let result = ask(answering(answer).0, arguments).await;
        assert_eq!(result.error, None);
        results.push(result.result);
    }
    insta::assert_json_snapshot!(results);
}

#[tokio::test]
async fn the_question_says_who_asks_and_what_to_fill_in() {
    let (approver, asked) = answering(UserAnswer::Denied(None));
    let fields = json!([{"name": "on", "label": "Turn it on", "type": "boolean", "default": true}]);
    let arguments = json!({"question": "Sure?", "fields": fields, "choices": ["a"]});
    assert!(ask(approver, arguments).await.is_ok());
    let asked = asked.lock();
    let question = asked.first().unwrap();
    assert_eq!((&*question.session, question.agent.as_deref()), ("s", Some("clerk")));
    let field = question.fields.first().unwrap();
    assert_eq!((field.label.as_str(), &field.kind), ("Turn it on", &FieldKind::Boolean));
    assert_eq!((field.required, &field.default), (false, &Some(json!(true))));
}

#[tokio::test]
async fn what_cannot_be_asked_is_said_and_nobody_is_asked() {
    let field = |field: Value| json!({"question": "?", "fields": [field]});
    let cases = [
        json!({"question": " "}),
        json!({"question": "x".repeat(4001)}),
        json!({"question": "?", "content": "x".repeat(100_001)}),
        json!({"question": "?", "choices": ["a", "a "]}),
        json!({"question": "?", "choices": ["a", ""]}),
        json!({"question": "?", "choices": (0..51).map(|n| n.to_string()).collect::<Vec<_>>()}),
        json!({"question": "?", "fields": [{"name": "a"}, {"name": "a"}]}),
        json!({"question": "?", "fields": (0..31).map(|n| json!({"name": n.to_string()})).collect::<Vec<_>>()}),
        field(json!({"name": " "})),
        field(json!({"name": "a", "label": "x".repeat(201)})),
        field(json!({"name": "a", "type": "choice"})),
        field(json!({"name": "a", "type": "integer", "choices": ["1"]})),
        field(json!({"name": "a", "type": "integer", "default": 1.5})),
        field(json!({"name": "a", "type": "choice", "choices": ["b"], "default": "c"})),
    ];
    let mut messages = Vec::new();
    for arguments in cases {
        let (approver, asked) = answering(UserAnswer::Denied(None));
        let error = ask(approver, arguments).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidArgs, "{error}");
        assert!(asked.lock().is_empty(), "{error}");
        messages.push(error.message);
    }
    insta::assert_snapshot!(messages.join("\n"));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_question_is_a_fault_and_no_answer() {
    let form = json!({"question": "?", "choices": ["a"], "fields": [
        {"name": "n", "type": "integer", "required": true}
    ]});
    for (choice, fields) in [
        (None, json!({"n": 1})),
        (Some("b"), json!({"n": 1})),
        (Some("a"), json!({"n": "1"})),
        (Some("a"), json!({})),
        (Some("a"), json!({"n": 1, "m": 2})),
    ] {
        let answer = approved(None, choice, &fields);
        let error = ask(answering(answer).0, form.clone()).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Internal, "{choice:?} {fields}");
    }
    // What was not asked for is left out.
    let answer = approved(Some("new"), Some("b"), &json!({"x": 1}));
    let result = ask(answering(answer).0, json!({"question": "?"})).await.result;
    assert_eq!(result, json!({"status": "approved", "question": "?"}));
}

#[tokio::test]
async fn without_anybody_to_ask_the_model_is_told_so() {
    for approver in
        [Box::new(DenyAll) as Box<dyn Approver>, Box::new(Callback::new(|_| async { Answer::Nobody }))]
    {
        let error = ask(Boxed(approver), json!({"question": "?"})).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::InputRequired);
        assert!(error.message.starts_with("there is no user to ask"), "{error}");
        assert!(error.hint.unwrap().starts_with("do not ask again"));
    }
}

struct Boxed(Box<dyn Approver>);

#[async_trait]
impl Approver for Boxed {
    async fn ask(&self, batch: &mut [ApprovalRequest], context: &CallContext) {
        self.0.ask(batch, context).await;
    }

    async fn ask_user(&self, question: &UserQuestion, context: &CallContext) -> UserAnswer {
        self.0.ask_user(question, context).await
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_no_consent() {
    for (arguments, seconds) in [
        (json!({"question": "?"}), 300),
        (json!({"question": "?", "timeout": 30}), 30),
        (json!({"question": "?", "timeout": 0.1}), 10),
        (json!({"question": "?", "timeout": 1e9}), 1800),
        (json!({"question": "?", "timeout": -1}), 300),
    ] {
        let silent = Callback::new(|_| async { Answer::Nobody }).with_user(|_| std::future::pending());
        let began = Instant::now();
        let error = ask(silent, arguments).await.error.unwrap();
        // The clock stands still but for the wait, which it counts in milliseconds.
        assert_eq!(began.elapsed().as_secs(), Duration::from_secs(seconds).as_secs());
        assert_eq!(error.kind, ErrorKind::ApprovalDenied);
        assert_eq!(error.message, format!("the user has not answered within {seconds} s"));
    }
}
