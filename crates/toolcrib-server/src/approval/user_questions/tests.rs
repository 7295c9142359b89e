//! Who answers a question of an agent, and with what.

use std::sync::Arc;

use futures::FutureExt as _;
use serde_json::json;
use toolcrib_exec::{Callback, DenyAll};
use toolcrib_model::{FieldKind, FormField, JsonObject, UserAnswer, UserQuestion};
use toolcrib_port::{Answer, CallContext};

use super::check_answer;
use crate::approval::AnswerOutcome;
use crate::approval::operator_queue::{MAX_WAITING_QUESTIONS, PendingApprovals};

fn approved(choice: Option<&str>, fields: &serde_json::Value) -> UserAnswer {
    UserAnswer::Approved {
        content: None,
        choice: choice.map(str::to_owned),
        fields: fields.as_object().cloned().unwrap_or_default(),
        feedback: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_the_operator_while_one_is_there_and_the_first_answer_counts() {
    let (waiting, context) = (PendingApprovals::default(), CallContext::new("s"));
    let (room, question) = (waiting.clone(), UserQuestion::new("s", "Sure?"));
    let approver = waiting.approver(Arc::new(DenyAll));
    assert_eq!(approver.ask_user(&question, &context).await, UserAnswer::Nobody, "no operator, nobody else");

    let here = room.attach();
    let mut asking = approver.ask_user(&question, &context);
    assert!((&mut asking).now_or_never().is_none());
    let id = room.questions_to_user().all()[0].id;
    let answered = room.questions_to_user().answer(id, UserAnswer::Denied(None)).await.unwrap();
    assert_eq!(answered, AnswerOutcome::Accepted);
    assert_eq!(asking.await, UserAnswer::Denied(None));
    let late = room.questions_to_user().answer(id, approved(None, &json!({}))).await.unwrap();
    assert_eq!(late, AnswerOutcome::TooLate, "a late answer does not count");

    let mut asking = approver.ask_user(&question, &context);
    assert!((&mut asking).now_or_never().is_none());
    drop(here);
    assert_eq!(asking.await, UserAnswer::Nobody, "the operator has left");
    assert!(room.questions_to_user().all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_answered_elsewhere_is_withdrawn_here() {
    let (waiting, context) = (PendingApprovals::default(), CallContext::new("s"));
    let elsewhere = Callback::new(|_| async { Answer::Nobody }).with_user(|_| async {
        tokio::task::yield_now().await;
        UserAnswer::Denied(Some("not now".into()))
    });
    let approver = waiting.approver(Arc::new(elsewhere));
    let room = waiting.clone();
    let _here = room.attach();
    let question = UserQuestion::new("s", "Sure?");
    let mut asking = approver.ask_user(&question, &context);
    assert!((&mut asking).now_or_never().is_none());
    let id = room.questions_to_user().all()[0].id;
    assert_eq!(asking.await, UserAnswer::Denied(Some("not now".into())));
    assert_eq!(room.questions_to_user().get(id), None);
}

#[tokio::test(start_paused = true)]
async fn no_more_questions_wait_than_may() {
    let (waiting, context) = (PendingApprovals::default(), CallContext::new("s"));
    let (room, approver) = (waiting.clone(), waiting.approver(Arc::new(DenyAll)));
    let _here = room.attach();
    let question = UserQuestion::new("s", "Sure?");
    let mut asking: Vec<_> =
        (0..MAX_WAITING_QUESTIONS).map(|_| approver.ask_user(&question, &context)).collect();
    for one in &mut asking {
        assert!(one.now_or_never().is_none());
    }
    assert_eq!(approver.ask_user(&question, &context).await, UserAnswer::Nobody);
    assert_eq!(room.questions_to_user().all().len(), MAX_WAITING_QUESTIONS);
}

#[test]
fn an_answer_has_to_fit_its_question() {
    let field = |name: &str, kind, required| FormField {
        name: name.into(),
        label: format!("The {name}"),
        kind,
        required,
        default: None,
        bounds: JsonObject::new(),
    };
    let question = UserQuestion {
        choices: vec!["red".into(), "blue".into()],
        fields: vec![field("count", FieldKind::Integer, true), field("note", FieldKind::Text, false)],
        ..UserQuestion::new("s", "Which?")
    };
    for (choice, fields, expected) in [
        (Some("red"), json!({"count": 1, "note": "x"}), Ok(())),
        (Some("red"), json!({"count": 1}), Ok(())),
        (None, json!({"count": 1}), Err("pick one of the choices")),
        (Some("green"), json!({"count": 1}), Err("pick one of the choices")),
        (Some("red"), json!({"count": "1"}), Err("the field `The count` cannot hold that")),
        (Some("red"), json!({}), Err("the field `The count` has to be filled in")),
        (Some("red"), json!({"count": 1, "size": 2}), Err("there is no field `size`")),
    ] {
        let checked = check_answer(&question, &approved(choice, &fields));
        assert_eq!(checked, expected.map_err(str::to_owned), "{choice:?} {fields}");
    }
    assert_eq!(check_answer(&question, &UserAnswer::Denied(None)), Ok(()));
    let plain = UserQuestion::new("s", "Sure?");
    let words = UserAnswer::Approved {
        content: None,
        choice: None,
        fields: JsonObject::new(),
        feedback: Some("Ada".into()),
    };
    assert_eq!(check_answer(&plain, &words), Ok(()));
}
