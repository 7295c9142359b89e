//! Conversion of the form of a question to an answer.

use serde_json::Value;
use toolcrib_model::text::is_invisible;
use toolcrib_model::{FieldKind, FormField, JsonObject, UserAnswer, UserQuestion};

use super::Fields;
use crate::approval::{MAX_FEEDBACK_CHARS, check_answer};

/// The maximum size of the form of a question, in bytes: the text to review, each character of which may be encoded as
/// several.
pub(crate) const MAX_REPLY_BYTES: usize = 512 * 1024;

/// The maximum length of a text that can be approved on the page, in characters, since it is shown whole.
pub(super) const MAX_CONTENT_CHARS: usize = 20_000;

/// Returns the operator's answer, or an error that describes the problem with the form.
pub(crate) fn reply(question: &UserQuestion, fields: &Fields) -> Result<UserAnswer, String> {
    let feedback = words(fields.get("feedback").unwrap_or_default());
    match fields.get("say") {
        Some("no") => return Ok(UserAnswer::Denied(feedback)),
        Some("yes") if is_whole(question) => {}
        Some("yes") => return Err("the text is too long to be shown whole here".to_owned()),
        _ => return Err("expected `yes` or `no`".to_owned()),
    }
    let own = question.content.as_deref().filter(|own| is_editable(own));
    let content = own.and_then(|own| {
        // Browsers always submit these line endings.
        let text = fields.get("content")?.replace("\r\n", "\n");
        (text != own).then_some(text)
    });
    let choice = fields.get("choice").and_then(|number| chosen(&question.choices, number));
    let mut filled = JsonObject::new();
    for (number, field) in question.fields.iter().enumerate() {
        if let Some(value) = value(field, fields, &field_name(number))? {
            filled.insert(field.name.clone(), value);
        }
    }
    let answer = UserAnswer::Approved { content, choice: choice.cloned(), fields: filled, feedback };
    check_answer(question, &answer).map(|()| answer)
}

/// Returns the name of an input, from the index of its field.
pub(super) fn field_name(number: usize) -> String {
    format!("field-{number}")
}

/// Returns true if the whole question is shown on the page.
pub(super) fn is_whole(question: &UserQuestion) -> bool {
    question.content.as_ref().is_none_or(|content| content.chars().count() <= MAX_CONTENT_CHARS)
}

/// Returns true if a browser returns a text unchanged.
pub(super) fn is_editable(text: &str) -> bool {
    !text.chars().any(|c| is_invisible(c) && !matches!(c, '\n' | '\t'))
}

fn words(text: &str) -> Option<String> {
    let words: String = text.trim().chars().take(MAX_FEEDBACK_CHARS).collect();
    (!words.is_empty()).then_some(words)
}

fn chosen<'a>(choices: &'a [String], number: &str) -> Option<&'a String> {
    choices.get(number.parse::<usize>().ok()?)
}

/// Returns the value of a field, or `None` if it is empty.
pub(super) fn value(field: &FormField, fields: &Fields, name: &str) -> Result<Option<Value>, String> {
    if let FieldKind::Choices(choices) = &field.kind {
        let picked = fields.all(name).filter_map(|number| chosen(choices, number));
        let picked: Vec<&str> = picked.map(String::as_str).collect();
        return Ok((!picked.is_empty()).then(|| picked.into()));
    }
    let Some(text) = fields.get(name).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    if let FieldKind::Choice(choices) = &field.kind {
        return Ok(chosen(choices, text).map(|choice| choice.as_str().into()));
    }
    field.kind.parse(text).map(Some).map_err(|problem| format!("{}: {problem}", field.label))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_model::{FieldKind, FormField, UserAnswer, UserQuestion};

    use super::{MAX_CONTENT_CHARS, reply};
    use crate::console::Fields;

    fn question() -> UserQuestion {
        let field = |name: &str, kind| FormField {
            name: name.into(),
            label: name.into(),
            kind,
            required: false,
            default: None,
            bounds: toolcrib_model::JsonObject::new(),
        };
        UserQuestion {
            content: Some("# Plan\n1. A".into()),
            choices: vec!["2".into(), "1".into()],
            fields: vec![
                field("size", FieldKind::Integer),
                field("on", FieldKind::Boolean),
                field("one", FieldKind::Choice(vec!["x".into(), "0".into()])),
                field("any", FieldKind::Choices(vec!["a".into(), "b".into(), "c".into()])),
                field("note", FieldKind::Text),
            ],
            ..UserQuestion::new("s", "Which?")
        }
    }

    #[test]
    fn a_form_becomes_the_answer_that_was_filled_in() {
        let form = "say=yes&content=%23+Plan%0D%0A1.+B&choice=0&field-0=3&field-1=no&field-2=1&field-3=0&field-3=2&field-4=+";
        let answer = reply(&question(), &Fields::read(form)).unwrap();
        let fields = json!({"size": 3, "on": false, "one": "0", "any": ["a", "c"]});
        let expected = UserAnswer::Approved {
            content: Some("# Plan\n1. B".into()),
            choice: Some("2".into()),
            fields: fields.as_object().unwrap().clone(),
            feedback: None,
        };
        assert_eq!(answer, expected);
        let same = reply(&question(), &Fields::read("say=yes&content=%23+Plan%0D%0A1.+A&choice=1")).unwrap();
        assert!(matches!(same, UserAnswer::Approved { content: None, .. }), "{same:?}");
    }

    #[test]
    fn what_does_not_fit_is_refused_and_a_no_never_is() {
        for (form, problem) in [
            ("content=x&choice=0", "expected `yes` or `no`"),
            ("say=once&choice=0", "expected `yes` or `no`"),
            ("say=yes", "pick one of the choices"),
            ("say=yes&choice=2", "pick one of the choices"),
            ("say=yes&choice=0&field-0=many", "size: expected an integer, for example 42"),
        ] {
            assert_eq!(reply(&question(), &Fields::read(form)), Err(problem.to_owned()), "{form}");
        }
        let no = reply(&question(), &Fields::read("say=no&feedback=+later+"));
        assert_eq!(no, Ok(UserAnswer::Denied(Some("later".into()))));
        let long =
            UserQuestion { content: Some("x".repeat(MAX_CONTENT_CHARS + 1)), ..UserQuestion::new("s", "?") };
        assert!(reply(&long, &Fields::read("say=yes")).is_err());
        assert_eq!(reply(&long, &Fields::read("say=no")), Ok(UserAnswer::Denied(None)));
    }

    #[test]
    fn a_text_that_a_browser_would_change_is_agreed_to_as_it_is() {
        let hidden = UserQuestion { content: Some("a\u{202e}b\r\nc".into()), ..UserQuestion::new("s", "?") };
        let answer = reply(&hidden, &Fields::read("say=yes&content=forged")).unwrap();
        assert!(matches!(answer, UserAnswer::Approved { content: None, .. }), "{answer:?}");
    }
}
