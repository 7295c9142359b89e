//! From a question to a form, and from what was filled in to an answer.

use std::fmt::Write as _;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};
use toolcrib_model::{FieldKind, FormField, UserAnswer, UserQuestion};
use toolcrib_policy::{Question, Remember};
use toolcrib_port::Answer;

/// The most characters of the arguments of a call that are shown. A user can see what is beyond only by denying it.
const MAX_SHOWN_CHARS: usize = 8_000;

/// What the user may say to a call, and what accepting the form without it means: the first.
const DECISIONS: [(&str, &str); 3] =
    [("once", "Allow this call"), ("tool", "Allow this tool from now on"), ("deny", "Deny")];

/// The keys of the form. Fields of a question have names of their own, so that these cannot be theirs.
const DECISION: &str = "decision";
const FEEDBACK: &str = "feedback";
const CHOICE: &str = "toolcrib_choice";
const CONTENT: &str = "toolcrib_content";

/// The form by which a call is approved; `None` where its arguments are too long to be shown whole.
pub(super) fn of_call(question: &Question) -> Option<ElicitRequestParams> {
    let arguments = serde_json::to_string_pretty(&question.arguments).ok()?;
    if arguments.chars().count() > MAX_SHOWN_CHARS {
        return None;
    }
    let mut message =
        format!("Allow `{}`? {}\n\n{}", question.tool, question.description, escaped(&arguments));
    let _ = write!(message, "\n\nRisk: {}. Asked by: {}.", question.risk.as_str(), question.rule);
    if !question.side_effects.is_empty() {
        let _ = write!(message, " It changes: {}.", question.side_effects.join(", "));
    }
    let decisions = DECISIONS.map(|(value, title)| json!({"const": value, "title": title}));
    form(
        message,
        &json!({
            DECISION: {"type": "string", "title": "Decision", "oneOf": decisions, "default": DECISIONS[0].0},
            FEEDBACK: {"type": "string", "title": "What to tell the model when you deny"},
        }),
        &[],
    )
}

/// What the user said to a call.
pub(super) fn answer_of_call(question: &Question, result: &ElicitResult) -> Answer {
    let text = |key: &str| Some(result.content.as_ref()?.get(key)?.as_str()?.trim().to_owned());
    let feedback = text(FEEDBACK).filter(|text| !text.is_empty());
    match (&result.action, text(DECISION).as_deref()) {
        (ElicitationAction::Accept, None | Some("once" | "")) => Answer::Approved(question.approve()),
        (ElicitationAction::Accept, Some("tool")) => {
            Answer::Approved(question.approve().remember(Remember::Tool))
        }
        _ => Answer::Denied(feedback),
    }
}

/// The form of what an agent or a server asks; `None` where it cannot be one.
pub(super) fn of_user(question: &UserQuestion) -> Option<ElicitRequestParams> {
    let mut message = String::new();
    if let Some(server) = &question.server {
        let _ = write!(message, "The server `{server}` asks, and gets what you answer:\n\n");
    }
    message.push_str(&question.question);
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &question.fields {
        properties.insert(field.name.clone(), property(field));
        if field.required {
            required.push(field.name.as_str());
        }
    }
    if !question.choices.is_empty() {
        properties
            .insert(CHOICE.into(), json!({"type": "string", "title": "Answer", "enum": question.choices}));
        required.push(CHOICE);
    }
    if let Some(content) = &question.content {
        properties.insert(CONTENT.into(), json!({"type": "string", "title": "Text", "default": content}));
    }
    form(message, &Value::Object(properties), &required)
}

/// What the user answered.
pub(super) fn answer_of_user(question: &UserQuestion, result: &ElicitResult) -> UserAnswer {
    if result.action != ElicitationAction::Accept {
        return UserAnswer::Denied(None);
    }
    let mut fields = result.content.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    let mut text = |key: &str| match fields.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let choice = text(CHOICE).filter(|chosen| question.choices.contains(chosen));
    let content = text(CONTENT).filter(|text| question.content.as_ref().is_some_and(|old| old != text));
    if !question.choices.is_empty() && choice.is_none() {
        return UserAnswer::Denied(None);
    }
    fields.retain(|name, value| {
        question.fields.iter().any(|field| field.name == *name && field.kind.accepts(value))
    });
    UserAnswer::Approved { content, choice, fields, feedback: None }
}

fn property(field: &FormField) -> Value {
    let mut property = match &field.kind {
        FieldKind::Text => json!({"type": "string"}),
        FieldKind::Number => json!({"type": "number"}),
        FieldKind::Integer => json!({"type": "integer"}),
        FieldKind::Boolean => json!({"type": "boolean"}),
        FieldKind::Choice(choices) => json!({"type": "string", "enum": choices}),
        FieldKind::Choices(choices) => {
            json!({"type": "array", "items": {"type": "string", "enum": choices}})
        }
    };
    if let Some(map) = property.as_object_mut() {
        map.insert("title".into(), field.label.as_str().into());
        map.extend(field.default.clone().map(|default| ("default".to_owned(), default)));
    }
    property
}

fn form(message: String, properties: &Value, required: &[&str]) -> Option<ElicitRequestParams> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let requested_schema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The text with what cannot be seen written out, so that the user approves what is there.
fn escaped(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let is_hidden = c != '\n' && (c.is_control() || toolcrib_model::is_invisible(c));
            let shown: Box<dyn Iterator<Item = char>> =
                if is_hidden { Box::new(c.escape_unicode()) } else { Box::new(std::iter::once(c)) };
            shown
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_several_choices_is_one_of_the_form_and_takes_no_other_values() {
        let tags = FieldKind::Choices(vec!["x".into(), "y".into()]);
        let field = FormField {
            name: "tags".into(),
            label: "Tags".into(),
            kind: tags,
            required: true,
            default: Some(json!(["y"])),
        };
        let question = UserQuestion { fields: vec![field], ..UserQuestion::new("s", "Which?") };
        let form = serde_json::to_value(of_user(&question).unwrap()).unwrap();
        let property = json!({
            "type": "array", "title": "Tags", "default": ["y"], "items": {"type": "string", "enum": ["x", "y"]},
        });
        assert_eq!(form["requestedSchema"]["properties"]["tags"], property);
        let answered = |value: Value| {
            let mut result = ElicitResult::new(ElicitationAction::Accept);
            result.content = Some(json!({"tags": value}));
            match answer_of_user(&question, &result) {
                UserAnswer::Approved { fields, .. } => fields.get("tags").cloned(),
                _ => None,
            }
        };
        assert_eq!(answered(json!(["x", "y"])), Some(json!(["x", "y"])));
        for wrong in [json!(["z"]), json!("x"), json!(["x", "x"])] {
            assert_eq!(answered(wrong), None);
        }
    }
}
