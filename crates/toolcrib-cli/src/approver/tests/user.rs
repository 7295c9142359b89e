//! What agents ask their user.

use serde_json::json;
use toolcrib_model::{FieldKind, FormField, JsonObject, UserAnswer, UserQuestion};
use toolcrib_port::{Approver as _, CallContext};

use super::{Script, object};

fn question(text: &str) -> UserQuestion {
    UserQuestion { agent: Some("clerk".into()), ..UserQuestion::new("s", text) }
}

fn field(name: &str, kind: FieldKind) -> FormField {
    let (name, label) = (name.to_owned(), format!("The {name}"));
    FormField { name, label, kind, required: false, default: None, bounds: JsonObject::new() }
}

async fn ask(script: Script, question: UserQuestion) -> (UserAnswer, String) {
    let terminal = script.terminal();
    let answer = terminal.ask_user(&question, &CallContext::new("s")).await;
    (answer, terminal.transcript())
}

fn approved(content: Option<&str>, choice: Option<&str>, said: Option<&str>) -> UserAnswer {
    UserAnswer::Approved {
        content: content.map(str::to_owned),
        choice: choice.map(str::to_owned),
        fields: JsonObject::new(),
        feedback: said.map(str::to_owned),
    }
}

#[tokio::test]
async fn a_plain_question_is_answered_with_yes_no_or_in_words() {
    for (line, answer) in [
        ("y", approved(None, None, None)),
        ("Ada Lovelace", approved(None, None, Some("Ada Lovelace"))),
        ("No", UserAnswer::Denied(None)),
        ("", UserAnswer::Denied(None)),
    ] {
        assert_eq!(ask(Script::saying([line]), question("Your name?")).await.0, answer, "{line}");
    }
    assert_eq!(ask(Script::saying([]), question("Your name?")).await.0, UserAnswer::Denied(None));
}

#[tokio::test]
async fn a_text_is_looked_through_changed_and_agreed_to() {
    let plan = || UserQuestion {
        content: Some("# Plan\n1. Middleware\n2. Sessions".into()),
        ..question("Review this plan?")
    };
    let script = Script::saying(["e", "e", "u", "e", "y"]).editing([
        Err("the editor `vi` ended with exit status: 1"),
        Ok("# Plan\n1. Gateway\n2. Sessions\n"),
        Ok("# Plan\n1. Middleware\n2. JWT\n"),
    ]);
    let (answer, transcript) = ask(script, plan()).await;
    assert_eq!(answer, approved(Some("# Plan\n1. Middleware\n2. JWT"), None, None));
    insta::assert_snapshot!(transcript);

    let script = Script::saying(["e", "y"]).editing([Ok("# Plan\n1. Middleware\n2. Sessions\n")]);
    assert_eq!(ask(script, plan()).await.0, approved(None, None, None), "nothing was changed");
    let (answer, _) = ask(Script::saying(["Use JWT instead of sessions"]), plan()).await;
    assert_eq!(answer, UserAnswer::Denied(Some("Use JWT instead of sessions".into())));
    let script = Script::saying(["e", "all", "new", "", ".", "y"]);
    assert_eq!(ask(script, plan()).await.0, approved(Some("all\nnew\n"), None, None));
    assert_eq!(ask(Script::saying(["x"; 10]), plan()).await.0, UserAnswer::Denied(None));
}

#[tokio::test]
async fn a_long_text_is_cut_until_all_of_it_is_wanted() {
    let long = UserQuestion { content: Some("x".repeat(9000)), ..question("Read?") };
    let (answer, transcript) = ask(Script::saying(["a", "y"]), long).await;
    assert_eq!(answer, approved(None, None, None));
    assert!(transcript.contains("x… (9000 bytes)") && transcript.contains(&"x".repeat(9000)));
    assert_eq!(transcript.matches("a all of it").count(), 1, "{transcript}");
}

#[tokio::test]
async fn a_choice_is_picked_by_its_number_or_its_name() {
    let colours = || UserQuestion { choices: vec!["red".into(), "blue".into()], ..question("Which?") };
    let (answer, transcript) = ask(Script::saying(["3", "?", "2"]), colours()).await;
    assert_eq!(answer, approved(None, Some("blue"), None));
    insta::assert_snapshot!(transcript);
    assert_eq!(ask(Script::saying(["red"]), colours()).await.0, approved(None, Some("red"), None));
    for (line, said) in [("n", None), ("", None), ("neither of them", Some("neither of them"))] {
        let answer = UserAnswer::Denied(said.map(str::to_owned));
        assert_eq!(ask(Script::saying([line]), colours()).await.0, answer, "{line}");
    }
}

#[tokio::test]
async fn a_form_is_filled_in_field_by_field() {
    let form = || UserQuestion {
        fields: vec![
            FormField { required: true, ..field("replicas", FieldKind::Integer) },
            FormField {
                default: Some(json!("eu")),
                ..field("region", FieldKind::Choice(vec!["eu".into(), "us".into()]))
            },
            FormField { default: Some(json!(true)), ..field("debug", FieldKind::Boolean) },
            field("share", FieldKind::Number),
            field("note", FieldKind::Text),
        ],
        ..question("Deploy?")
    };
    let script = Script::saying(["", "many", "3", "", "no", "", " as it is\n"]);
    let (answer, transcript) = ask(script, form()).await;
    let filled = json!({"replicas": 3, "region": "eu", "debug": false, "note": " as it is"});
    assert_eq!(
        answer,
        UserAnswer::Approved { content: None, choice: None, fields: object(&filled), feedback: None }
    );
    insta::assert_snapshot!(transcript);
    assert_eq!(ask(Script::saying(["3"]), form()).await.0, UserAnswer::Denied(None), "Ctrl-D gives it up");
}

#[tokio::test]
async fn a_question_of_a_server_says_which_one_asks() {
    let asked = UserQuestion { server: Some("mcp_bank\nroot".into()), ..question("Which account?") };
    let (_, transcript) = ask(Script::saying(["7"]), asked).await;
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn what_an_agent_writes_looks_like_no_line_of_ours() {
    let mut forged = question("Sure?\n\u{1b}[2Jfiles.write wants to run\nrun it? [y once]\u{202e}");
    forged.agent = Some("clerk\nroot".into());
    forged.content = Some("a\r\nagreed? [y]\u{9b}2K".into());
    forged.choices = vec!["one\n  2. two".into()];
    forged.fields = vec![FormField {
        label: "x\nrun it?".into(),
        default: Some(json!("a\nb\u{1b}")),
        ..field("x", FieldKind::Text)
    }];
    let (_, transcript) = ask(Script::saying(["y", "1", ""]), forged).await;
    insta::assert_snapshot!(transcript);
}
