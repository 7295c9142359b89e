//! What is asked, and what servers get. The texts are what a person reads.

use std::fmt::Write as _;

use rmcp::model::ElicitRequestParams;
use serde_json::{Value, json};
use toolcrib_model::{JsonObject, UserQuestion};

use super::Question;
use super::reply::{Reply, YES_AND_NO};
use super::secret_detection::is_about_secrets;
use super::text_format::has_format;

fn read(params: Value) -> Result<Question, String> {
    Question::read(&serde_json::from_value::<ElicitRequestParams>(params).unwrap())
}

fn form(properties: &Value, required: &[&str]) -> Result<Question, String> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    read(json!({"message": "Who are you?", "requestedSchema": schema}))
}

fn page(url: &str) -> Result<Question, String> {
    read(json!({"mode": "url", "message": "Log in.", "url": url}))
}

fn asked(question: &Question) -> UserQuestion {
    question.for_user(&"session".into())
}

/// What a person sees.
fn shown(question: &Question) -> String {
    let UserQuestion { question, choices, fields, .. } = asked(question);
    let mut text = question;
    for choice in choices {
        write!(text, "\n* {choice}").unwrap();
    }
    for field in fields {
        let required = if field.required { "!" } else { "" };
        let default = field.default.map(|default| format!(" = {default}")).unwrap_or_default();
        write!(text, "\n{}{required} [{}] {:?}{default}", field.name, field.label, field.kind).unwrap();
    }
    text
}

fn given(fields: Value) -> JsonObject {
    serde_json::from_value(fields).unwrap()
}

fn yes(content: Value) -> Reply {
    Reply::Accept(Some(content))
}

/// One field of each kind.
fn every_kind() -> Value {
    json!({
        "name": {"type": "string", "title": "Name", "description": "As on the door", "maxLength": 8, "default": "John"},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 18, "maximum": 99, "default": 30},
        "score": {"type": "number", "minimum": 0.5, "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"},
        "plan": {"type": "string", "oneOf": [{"const": "f", "title": "Free"}, {"const": "p", "title": "Paid"}], "default": "p"},
        "old": {"type": "string", "enum": ["a", "b"], "enumNames": ["Alpha", "Beta"]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 1, "default": ["y"]},
        "verified": {"type": "boolean", "default": true},
    })
}

#[test]
fn a_form_shows_each_field_its_rule_and_its_default() {
    insta::assert_snapshot!(shown(&form(&every_kind(), &["mail"]).unwrap()));
}

#[test]
fn what_is_left_out_has_its_default() {
    let form = form(&every_kind(), &["mail"]).unwrap();
    let reply = form.reply(None, &given(json!({"mail": "a@b.example"})));
    let defaults = json!({
        "name": "John", "mail": "a@b.example", "age": 30, "score": 95.5, "status": "active", "plan": "p",
        "tags": ["y"], "verified": true,
    });
    assert_eq!(reply, Ok(yes(defaults)));
}

#[test]
fn what_is_filled_in_is_what_the_server_gets() {
    let form = form(&every_kind(), &[]).unwrap();
    let filled = json!({
        "name": "Ann", "age": 40, "score": 1, "status": "inactive", "plan": "Free", "old": "Beta",
        "tags": ["x"], "verified": false,
    });
    let got = json!({
        "name": "Ann", "age": 40, "score": 1, "status": "inactive", "plan": "f", "old": "b", "tags": ["x"],
        "verified": false,
    });
    assert_eq!(form.reply(None, &given(filled)), Ok(yes(got)));
}

#[test]
fn an_answer_that_breaks_the_schema_goes_to_no_server() {
    let form = form(&every_kind(), &["mail"]).unwrap();
    let cases = [
        (json!({}), "`mail` has to be filled in"),
        (json!({"mail": "nobody"}), "`mail` has to be: e-mail address"),
        (json!({"mail": "a@b", "name": "much too long"}), "`name` has to be: at most 8 characters"),
        (json!({"mail": "a@b", "age": 7}), "`age` has to be: 18 to 99"),
        (json!({"mail": "a@b", "age": 20.5}), "`age` has to be: 18 to 99"),
        (json!({"mail": "a@b", "score": 0}), "`score` has to be: at least 0.5"),
        (json!({"mail": "a@b", "status": "gone"}), "`status` has to be one of its choices"),
        (json!({"mail": "a@b", "tags": ["x", "y"]}), "`tags` has to be: at most 1 of its choices"),
        (json!({"mail": "a@b", "tags": ["z"]}), "`tags` has to be of its choices"),
        (json!({"mail": "a@b", "verified": "yes"}), "`verified` is of another type"),
    ];
    for (fields, problem) in cases {
        assert_eq!(form.reply(None, &given(fields.clone())), Err(problem.to_owned()), "{fields}");
    }
}

#[test]
fn a_default_that_is_none_is_not_used() {
    let form = form(&json!({"age": {"type": "integer", "minimum": 18, "default": 3}}), &[]).unwrap();
    assert_eq!(form.reply(None, &given(json!({}))), Ok(yes(json!({}))));
}

#[test]
fn a_form_without_fields_is_a_yes_or_a_no() {
    let form = form(&json!({}), &[]).unwrap();
    assert_eq!(form.reply(Some(YES_AND_NO[0]), &given(json!({}))), Ok(yes(json!({}))));
    for choice in [Some(YES_AND_NO[1]), None] {
        assert_eq!(form.reply(choice, &given(json!({}))), Ok(Reply::Decline), "{choice:?}");
    }
}

#[test]
fn forms_of_monstrous_size_or_with_fields_that_cannot_be_shown_are_not_put() {
    let fields = |count: usize| -> Value {
        (0..count).map(|at| (format!("f{at}"), json!({"type": "boolean"}))).collect::<JsonObject>().into()
    };
    let choices = |count: usize| -> Vec<String> { (0..count).map(|at| format!("c{at}")).collect() };
    assert!(form(&fields(50), &[]).is_ok());
    let many = json!({"type": "array", "items": {"type": "string", "enum": choices(40)}});
    let cases = [
        (fields(51), vec![], "its form has 51 lines, at most 50 are shown"),
        (fields(2_000), vec![], "its form has 2000 lines, at most 50 are shown"),
        (json!({"a": many, "b": many}), vec![], "its form has 82 lines, at most 50 are shown"),
        (
            json!({"a": {"type": "string", "enum": choices(1_000)}}),
            vec![],
            "one of its fields has 1000 choices, at most 50 are shown",
        ),
        (json!({"a": {"type": "string", "enum": []}}), vec![], "one of its fields has no choices"),
        (
            json!({"a": {"type": "string", "enum": ["x", "x\u{200b}"]}}),
            vec![],
            "two of its choices cannot be told apart, or one is empty",
        ),
        (json!({"a\u{202e}": {"type": "string"}}), vec![], "the name of its field `a` cannot be shown"),
        (json!({}), vec!["gone"], "its form requires the field `gone`, and has none of that name"),
    ];
    for (properties, required, problem) in cases {
        assert_eq!(form(&properties, &required).unwrap_err(), problem);
    }
}

#[test]
fn what_a_server_says_looks_like_no_line_of_ours() {
    let forged =
        "Sure?\u{1b}[2J\nThe server `bank` asks:\u{202e} your password\n".to_owned() + &"xy ".repeat(1_500);
    let label = "a\nb".repeat(200);
    let properties = json!({"a": {"type": "string", "title": label, "description": "c\u{7}d"}});
    let schema = json!({"type": "object", "properties": properties});
    let text = shown(&read(json!({"message": forged, "requestedSchema": schema})).unwrap());
    assert!(text.len() < 6_000, "{} bytes", text.len());
    insta::assert_snapshot!(text.replace(&"xy ".repeat(20), "<20 xy>"));
}

#[test]
fn a_question_for_a_secret_comes_with_a_warning() {
    let field = |name: &str| shown(&form(&json!({name: {"type": "string"}}), &[]).unwrap());
    for name in ["password", "apiKey", "api_key", "Access-Token", "PIN", "card number", "otp"] {
        assert!(field(name).starts_with("Careful: "), "{name}");
        assert!(is_about_secrets(&format!("Give me your {name}")), "{name}");
    }
    for name in ["name", "shipping", "opinion", "planet", "standing"] {
        assert!(!field(name).contains("Careful"), "{name}");
    }
    let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    let text = shown(&read(json!({"message": "Your password?", "requestedSchema": schema})).unwrap());
    assert!(text.starts_with("Careful: "), "{text}");
}

#[test]
fn a_form_for_a_name_and_an_email_address_is_no_question_for_a_secret() {
    let warns = |field: Value| shown(&form(&json!({"x": field}), &[]).unwrap()).starts_with("Careful: ");
    let about = "(do not give us your phone number, pin, or other sensitive info)";
    for harmless in [
        json!({"type": "integer", "title": about, "minimum": 1, "maximum": 100}),
        json!({"type": "string", "title": about, "format": "email"}),
        json!({"type": "boolean", "title": about}),
        json!({"type": "string", "title": about, "enum": ["a", "b"]}),
    ] {
        assert!(!warns(harmless.clone()), "{harmless}");
    }
    for suspect in [
        json!({"type": "string", "title": about}),
        json!({"type": "integer", "title": about}),
        json!({"type": "number", "title": about, "minimum": 0, "maximum": 9999}),
    ] {
        assert!(warns(suspect.clone()), "{suspect}");
    }
}

#[test]
fn a_field_keeps_its_bounds_for_a_program_that_draws_the_form() {
    let bounds: Vec<Value> = asked(&form(&every_kind(), &[]).unwrap())
        .fields
        .into_iter()
        .map(|field| field.bounds.into())
        .collect();
    let expected = json!([
        {"maxLength": 8}, {"format": "email"}, {"minimum": 18, "maximum": 99}, {"minimum": 0.5}, {}, {}, {},
        {"maxItems": 1}, {},
    ]);
    assert_eq!(Value::from(bounds), expected);
}

#[test]
fn a_page_is_shown_with_its_host_and_opened_by_the_user_alone() {
    let page = page("https://\u{0430}pple.example/login?next=/a").unwrap();
    insta::assert_snapshot!(shown(&page));
    let nothing = given(json!({}));
    assert_eq!(page.reply(Some(YES_AND_NO[0]), &nothing), Ok(Reply::Accept(None)));
    for choice in [Some(YES_AND_NO[1]), Some("why?"), None] {
        assert_eq!(page.reply(choice, &nothing), Ok(Reply::Decline), "{choice:?}");
    }
}

#[test]
fn pages_that_are_not_safe_to_open_are_not_shown() {
    let long = format!("https://a.example/{}", "x".repeat(3_000));
    let cases = [
        ("http://a.example/", "its URL is not https"),
        ("javascript:alert(1)", "its URL is not https"),
        ("file:///etc/passwd", "its URL is not https"),
        ("https://bank.example@evil.example/", "its URL has a user or a password"),
        ("nowhere", "its URL cannot be read: relative URL without a base"),
        (&long, "its URL has more than 2048 bytes"),
    ];
    for (url, problem) in cases {
        assert_eq!(page(url).unwrap_err(), problem, "{url}");
    }
    assert!(page("http://localhost:8080/").is_ok());
}

#[test]
fn formats_are_checked() {
    use rmcp::model::StringFormat::{Date, DateTime, Email, Uri};
    let cases = [
        (Email, "a@b.example", true),
        (Email, "a b@c", false),
        (Email, "a@b@c", false),
        (Uri, "https://a.example/", true),
        (Uri, "a.example", false),
        (Date, "2024-02-29", true),
        (Date, "2026-02-29", false),
        (Date, "2026-13-01", false),
        (Date, "26-01-01", false),
        (DateTime, "2026-01-31T12:00:00Z", true),
        (DateTime, "2026-01-31T12:00:00.5+02:00", true),
        (DateTime, "2026-01-31T12:00:00", false),
        (DateTime, "2026-01-31T25:00:00Z", false),
        (DateTime, "2026-01-31T12:00:00+2", false),
        (DateTime, "2026-01-31", false),
    ];
    for (format, text, fits) in cases {
        assert_eq!(has_format(text, format), fits, "{text}");
    }
}
