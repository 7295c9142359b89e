//! Validation of the user's answer against the question.

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, ToolError, UserAnswer, UserQuestion};

/// Returns the result of the tool for an answer.
pub(super) fn result(question: &UserQuestion, answer: UserAnswer) -> Result<Value, ToolError> {
    let mut result = JsonObject::new();
    let mut put = |key: &str, value: Value| result.insert(key.into(), value);
    match answer {
        UserAnswer::Nobody => {
            let message = "there is no user to ask: the app runs without a person who could answer";
            let hint = "do not ask again; decide by what you know and say what you assumed, or end with the open question";
            return Err(ToolError::new(ErrorKind::InputRequired, message).with_hint(hint));
        }
        UserAnswer::Denied(feedback) => {
            put("status", "denied".into());
            put("question", question.question.as_str().into());
            feedback.map(|feedback| put("user_feedback", feedback.into()));
        }
        UserAnswer::Approved { content, choice, fields, feedback } => {
            put("status", "approved".into());
            put("question", question.question.as_str().into());
            if let Some(own) = &question.content {
                let content = content.unwrap_or_else(|| own.clone());
                let was_edited = content != *own;
                put("content", content.into());
                put("content_was_edited", was_edited.into());
            }
            if !question.choices.is_empty() {
                put("choice", validated_choice(question, choice)?.into());
            }
            if !question.fields.is_empty() {
                put("fields", validated_fields(question, fields)?.into());
            }
            feedback.map(|feedback| put("user_feedback", feedback.into()));
        }
    }
    Ok(json!(result))
}

fn validated_choice(question: &UserQuestion, choice: Option<String>) -> Result<String, ToolError> {
    let choice = choice.filter(|choice| question.choices.contains(choice));
    choice.ok_or_else(|| invalid_answer("none of the choices was picked"))
}

/// Returns the fields that were filled in or have a default, in the order of the form.
fn validated_fields(question: &UserQuestion, mut given: JsonObject) -> Result<JsonObject, ToolError> {
    let mut filled = JsonObject::new();
    for field in &question.fields {
        match given.shift_remove(&field.name).or_else(|| field.default.clone()) {
            Some(value) if field.kind.accepts(&value) => {
                filled.insert(field.name.clone(), value);
            }
            Some(_) => return Err(invalid_answer(&format!("the field `{}` holds another type", field.name))),
            None if field.required => {
                return Err(invalid_answer(&format!("the field `{}` is empty", field.name)));
            }
            None => {}
        }
    }
    match given.keys().next() {
        Some(name) => Err(invalid_answer(&format!("there is no field `{name}`"))),
        None => Ok(filled),
    }
}

fn invalid_answer(problem: &str) -> ToolError {
    let message = format!("the answer does not fit the question: {problem}");
    ToolError::new(ErrorKind::Internal, message)
        .with_hint("this is a fault in what asks the user; ask in another way")
}
