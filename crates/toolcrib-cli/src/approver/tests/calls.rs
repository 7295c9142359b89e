//! Questions about calls.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Extensions;
use toolcrib_app::sections::capabilities;
use toolcrib_model::{JsonObject, Risk, Tool};
use toolcrib_policy::{
    Approval, Approvals, Call, Capabilities, PendingApproval, Policy, Principal, Question, Remember, Verdict,
};
use toolcrib_port::{Answer, ApprovalRequest, Approver as _, CallContext};

use super::{Script, TerminalApprover, object};
use crate::approver::RuleWriter;
use crate::approver::calls::Scope;
use crate::approver::reply::{Confirmation, Reach, Reply, numbered, reply};
use crate::approver::show::{self, Sizes};

fn pending(tool: &str, arguments: JsonObject) -> PendingApproval {
    let tool = Tool::new(tool.parse().unwrap())
        .with_description("Writes a file.\nSecond line.")
        .with_risk(Risk::High)
        .with_metadata("side_effects", json!(["changes files"]));
    let mut call = Call::new(Arc::new(tool), "test".into(), 1);
    call.arguments = arguments;
    let policy = Policy::at(&capabilities::locations(), &Capabilities::default(), []).unwrap();
    match policy.authorize(call, Principal::new("s").with_agent("clerk")) {
        Verdict::Ask(pending) => *pending,
        other => panic!("{other:?}"),
    }
}

fn question(arguments: &Value) -> Question {
    pending("files::write", object(arguments)).question()
}

fn batch(calls: &[(&str, Value)]) -> Vec<ApprovalRequest> {
    calls
        .iter()
        .map(|(tool, arguments)| ApprovalRequest::new(pending(tool, object(arguments)).question()))
        .collect()
}

fn answers(batch: &[ApprovalRequest]) -> Vec<&Answer> {
    batch.iter().map(|asked| asked.answer.as_ref().unwrap()).collect()
}

fn approval(answer: Option<&Answer>) -> &Approval {
    match answer {
        Some(Answer::Approved(approval)) => approval,
        other => panic!("{other:?}"),
    }
}

/// Asks about one call.
async fn ask_one(script: Script, arguments: &Value) -> (Answer, String) {
    let terminal = script.terminal();
    let mut batch = vec![ApprovalRequest::new(question(arguments))];
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    (batch.remove(0).answer.unwrap(), terminal.transcript())
}

#[tokio::test]
async fn a_question_shows_the_tool_its_arguments_risk_side_effects_and_the_rule() {
    let (answer, transcript) =
        ask_one(Script::saying(["y"]), &json!({"path": "a.txt", "content": "one\ntwo", "mode": null})).await;
    assert!(matches!(answer, Answer::Approved(_)));
    insta::assert_snapshot!(transcript);
}

/// Asks about a call while an app file with this text is there; the answer, the transcript, and the file afterwards.
async fn ask_with_app<const N: usize>(lines: [&str; N], app: &str) -> (Answer, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    std::fs::write(&path, app).unwrap();
    let rules = Some(RuleWriter::new(path.clone(), Extensions::default()));
    let scope = Scope { reach: Reach::Values, rules };
    let terminal = TerminalApprover { scope, ..Script::saying(lines).terminal() };
    let mut batch = vec![ApprovalRequest::new(question(&json!({"path": "a.txt"})))];
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    let transcript = terminal.transcript().replace(&*folder.path().to_string_lossy(), "[folder]");
    (batch.remove(0).answer.unwrap(), transcript, std::fs::read_to_string(path).unwrap())
}

#[tokio::test]
async fn an_approval_is_written_into_the_app_file_after_its_change_was_shown() {
    let app =
        "# files of the team\ntools:\n  registry:\n    - {type: mcp, namespace: files, command: [server]}\n";
    let (answer, transcript, written) = ask_with_app(["p", "n", "p", "y"], app).await;
    assert_eq!(approval(Some(&answer)).remembered(), Remember::Tool);
    insta::assert_snapshot!(format!("{transcript}\n----\n{written}"));
}

#[tokio::test]
async fn a_rule_that_cannot_be_written_leaves_the_call_waiting() {
    let app = "tools: {capabilities: everything}\n";
    let (answer, transcript, written) = ask_with_app(["p", "n"], app).await;
    assert!(matches!(answer, Answer::Denied(None)), "{answer:?}");
    assert!(transcript.contains("no rule was written"), "{transcript}");
    assert_eq!(written, app);
}

#[tokio::test]
async fn a_process_that_makes_one_call_offers_no_approval_that_outlasts_it() {
    let scope = Scope { reach: Reach::Once, rules: None };
    let terminal = TerminalApprover { scope, ..Script::saying(["y"]).terminal() };
    let mut batch = vec![ApprovalRequest::new(question(&json!({"path": "a.txt"})))];
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    assert_eq!(approval(batch[0].answer.as_ref()).remembered(), Remember::Once);
    let transcript = terminal.transcript();
    let prompt = transcript.lines().last().unwrap();
    assert_eq!(prompt, "run it? [y yes, e edit, n no, or say why not] y");
}

#[test]
fn neither_a_name_nor_a_value_nor_a_side_effect_forges_a_line() {
    let mut question = question(&json!({
        "path\n  risk: low\u{1b}[1A": "a\u{202e}txt.exe\u{9b}2K\n  run: no",
        "  risk": "low",
    }));
    question.side_effects = vec!["delete\n\u{1b}[2Jnothing".into()];
    question.rule = "the\nrule".into();
    question.description = "\n\u{1b}[2J  arguments: none\nmore".into();
    question.agent = Some("clerk\nadmin".into());
    question.problem = Some("no\n  arguments:\u{1b}[1A".into());
    let shown = show::call(&question, Sizes::ONE).text;
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
    insta::assert_snapshot!(shown);
}

#[test]
fn what_is_too_long_to_read_is_cut_and_says_so() {
    let mut arguments = object(&json!({"text": "x".repeat(5000)}));
    for number in 0..Sizes::ONE.arguments + 2 {
        arguments.insert(format!("n{number}"), number.into());
    }
    let question = pending("files::write", arguments).question();
    let shown = show::call(&question, Sizes::ONE);
    assert!(shown.is_cut && shown.text.contains("xxx… (5002 bytes)\n"), "{}", shown.text);
    assert!(shown.text.ends_with("\n  … and 3 more arguments, which are not shown"), "{}", shown.text);
    assert!(shown.text.len() < 2000, "{}", shown.text);
    assert!(!show::call(&question, Sizes::ALL).is_cut);
    let huge: JsonObject = (0..10).map(|n| (n.to_string(), "x".repeat(60_000).into())).collect();
    let shown = show::call(&pending("files::write", huge).question(), Sizes::ALL);
    assert!(shown.is_cut && shown.text.len() < show::MAX_SHOWN_BYTES + 1000);
}

#[test]
fn only_a_plain_yes_approves() {
    for (line, meant) in [
        (Some("y\n"), Reply::Yes(Remember::Once)),
        (Some("Y\n"), Reply::Yes(Remember::Once)),
        (Some(" yes \r\n"), Reply::Yes(Remember::Once)),
        (Some("s\n"), Reply::Yes(Remember::Tool)),
        (Some("v\n"), Reply::Yes(Remember::Arguments)),
        (Some("e\n"), Reply::Edit),
        (None, Reply::No(None)),
        (Some("\n"), Reply::Unclear),
        (Some("n\n"), Reply::No(None)),
        (Some("No\n"), Reply::No(None)),
        (Some("x\n"), Reply::Unclear),
        (Some("?\n"), Reply::Unclear),
        (Some("y\nno\n"), Reply::No(Some("y\nno".into()))),
        (Some("yes please\n"), Reply::Unclear),
        (Some("OK\n"), Reply::Unclear),
        (Some("sure, go ahead\n"), Reply::Unclear),
        (Some("sí\n"), Reply::Unclear),
        (Some("delete\n"), Reply::No(Some("delete".into()))),
        (Some("do not\n"), Reply::No(Some("do not".into()))),
        (Some("ok but not this file\n"), Reply::No(Some("ok but not this file".into()))),
        (Some("not \u{1b}[2Jthere\n"), Reply::No(Some("not \\u{1b}[2Jthere".into()))),
    ] {
        assert_eq!(reply(line, &Confirmation::Letter), meant, "{line:?}");
    }
    assert!(
        matches!(reply(Some(&"no ".repeat(10_000)), &Confirmation::Letter), Reply::No(Some(said)) if said.len() < 4100)
    );
    assert_eq!(numbered(" 12. y\n"), Some((12, "y")));
    assert_eq!(numbered("2"), Some((2, "")));
    assert_eq!(numbered("y 2"), None);
    assert_eq!(numbered("99999999999999999999999 y"), None);
}

#[test]
fn a_question_that_interrupts_is_approved_by_the_name_of_its_tool_alone() {
    let confirmation = Confirmation::of("filesystem.delete", true);
    for (line, meant) in [
        ("delete\n", Reply::Yes(Remember::Once)),
        ("Delete  always\n", Reply::Yes(Remember::Tool)),
        ("delete values\n", Reply::Yes(Remember::Arguments)),
        ("y\n", Reply::Unclear),
        ("yes\n", Reply::Unclear),
        ("s\n", Reply::Unclear),
        ("always\n", Reply::Unclear),
        ("", Reply::Unclear),
        ("delete it\n", Reply::No(Some("delete it".into()))),
        ("n\n", Reply::No(None)),
    ] {
        assert_eq!(reply(Some(line), &confirmation), meant, "{line:?}");
    }
    // An action whose name could be an answer to anything is typed with its namespace.
    for (tool, word) in [("a.no", "a.no"), ("jobs.run", "jobs.run"), ("mail::proceed", "mail::proceed")] {
        assert_eq!(Confirmation::of(tool, true), Confirmation::Word(word.into()), "{tool}");
    }
}

#[tokio::test]
async fn calls_that_interrupt_are_asked_about_one_by_one_by_name() {
    let terminal = Script::saying(["y", "write", "n", "send"]).interrupting().terminal();
    let mut batch = three();
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    assert!(matches!(answers(&batch)[..], [Answer::Approved(_), Answer::Denied(None), Answer::Approved(_)]));
    insta::assert_snapshot!(terminal.transcript());
}

#[tokio::test]
async fn an_answer_may_hold_for_the_session() {
    for (line, remember) in [("y", Remember::Once), ("s", Remember::Tool), ("v", Remember::Arguments)] {
        let (answer, _) = ask_one(Script::saying([line]), &json!({"path": "a"})).await;
        assert_eq!(approval(Some(&answer)).remembered(), remember);
    }
}

#[tokio::test]
async fn a_slip_is_asked_again_and_the_end_of_the_input_is_a_no() {
    let (answer, transcript) = ask_one(Script::saying(["x", "u"]), &json!({"path": "a"})).await;
    assert_eq!(answer, Answer::Denied(None));
    assert_eq!(transcript.matches("expected y to run it").count(), 2, "{transcript}");
    let slips = ["x"; 10];
    assert_eq!(ask_one(Script::saying(slips), &json!({})).await.0, Answer::Denied(None));
    let (answer, _) = ask_one(Script::saying(["use the draft folder"]), &json!({})).await;
    assert_eq!(answer, Answer::Denied(Some("use the draft folder".into())));
}

#[tokio::test]
async fn what_was_cut_is_shown_in_full_when_that_is_wanted() {
    let (_, transcript) = ask_one(Script::saying(["a", "n"]), &json!({"text": "x".repeat(2000)})).await;
    assert_eq!(transcript.matches(", a all of it,").count(), 1, "{transcript}");
    assert!(transcript.contains(&"x".repeat(2000)));
}

#[tokio::test]
async fn an_edit_shows_what_it_changes_and_is_asked_about_again() {
    let script = Script::saying(["e", "e", "e", "u", "e", "v"]).editing([
        Err("the editor `vi` ended with exit status: 1"),
        Ok("{\"path\": \"a.txt\",\n \"path\": \"b.txt\"}"),
        Ok("{\"path\": \"b.txt\", \"content\": \"one\\ntwo\\nthree\", \"mode\": \"append\"}"),
        Ok("{\"path\": \"c.txt\", \"content\": \"one\\n2\"}"),
    ]);
    let (answer, transcript) =
        ask_one(script, &json!({"path": "a.txt", "content": "one\ntwo", "force": true})).await;
    let approval = approval(Some(&answer));
    assert_eq!(approval.edited(), Some(&object(&json!({"path": "c.txt", "content": "one\n2"}))));
    assert_eq!(approval.remembered(), Remember::Arguments);
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn without_an_editor_arguments_are_changed_line_by_line() {
    let script = Script::saying([
        "e",
        "path = b.txt",
        "depth=3",
        "force =",
        "nonsense",
        "{broken",
        "note = \"3\"",
        "",
        "y",
    ]);
    let (answer, transcript) = ask_one(script, &json!({"path": "a.txt", "force": true})).await;
    let edited = json!({"path": "b.txt", "depth": 3, "note": "3"});
    assert_eq!(approval(Some(&answer)).edited(), Some(&object(&edited)));
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_a_plain_yes() {
    let script = Script::saying(["e", "y"]).editing([Ok("{\"force\": true, \"path\": \"a.txt\"}")]);
    let (answer, _) = ask_one(script, &json!({"path": "a.txt", "force": true})).await;
    assert_eq!(approval(Some(&answer)).edited(), None);
}

#[tokio::test]
async fn an_edit_that_the_schema_does_not_take_comes_back_with_the_reason_and_what_was_written() {
    let terminal = Script::saying(["e", "y", "e", "y"])
        .editing([Ok("{\"path\": 5}"), Ok("{\"path\": \"5\"}")])
        .terminal();
    let pending = pending("files::write", object(&json!({"path": "a.txt"})));
    let mut first = vec![ApprovalRequest::new(pending.question())];
    terminal.ask(&mut first, &CallContext::new("s")).await;
    let mut again = pending.question();
    again.problem = Some("`path` has to be a string, not 5".into());
    let mut second = vec![ApprovalRequest::new(again)];
    terminal.ask(&mut second, &CallContext::new("s")).await;
    assert_eq!(approval(second[0].answer.as_ref()).edited(), Some(&object(&json!({"path": "5"}))));
    insta::assert_snapshot!(terminal.transcript());
}

/// The calls of most tests below.
fn three() -> Vec<ApprovalRequest> {
    batch(&[
        ("files::write", json!({"path": "a.txt"})),
        ("files::write", json!({"path": "b.txt"})),
        ("mail::send", json!({"to": "ada"})),
    ])
}

#[tokio::test]
async fn several_calls_are_asked_about_together_and_answered_one_by_one_or_at_once() {
    let terminal = Script::saying(["9 y", "?", "2 y", "2 n", "1 no such file", "n"]).terminal();
    let mut batch = three();
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    assert!(matches!(
        answers(&batch)[..],
        [Answer::Denied(Some(said)), Answer::Approved(_), Answer::Denied(None)] if said == "no such file"
    ));
    insta::assert_snapshot!(terminal.transcript());

    for (line, is_yes) in [("y", true), ("v", true), ("n", false), ("not now", false)] {
        let (terminal, mut batch) = (Script::saying([line]).terminal(), three());
        terminal.ask(&mut batch, &CallContext::new("s")).await;
        for (asked, answer) in batch.iter().zip(answers(&batch)) {
            match answer {
                // Each approval is for its own call.
                Answer::Approved(approval) => {
                    assert_ne!(asked.question().approve_edited(JsonObject::new()), *approval);
                }
                Answer::Denied(said) => assert_eq!(said.as_deref(), (line == "not now").then_some(line)),
                Answer::Nobody | Answer::Unavailable(_) => panic!("{line}"),
            }
            assert_eq!(matches!(answer, Answer::Approved(_)), is_yes, "{line}");
        }
    }
}

#[tokio::test]
async fn one_by_one_each_is_shown_in_full() {
    let terminal = Script::saying(["3", "n", "o", "y", "v"]).terminal();
    let mut batch = three();
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    assert!(matches!(answers(&batch)[..], [Answer::Approved(_), Answer::Approved(_), Answer::Denied(None)]));
    let transcript = terminal.transcript();
    assert_eq!(transcript.matches("wants to run, called by the agent clerk").count(), 3, "{transcript}");
}

#[tokio::test]
async fn an_answer_for_the_session_covers_the_rest_of_the_batch() {
    let terminal = Script::saying(["1 s", "3 y"]).terminal();
    let mut batch = three();
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    assert!(answers(&batch).iter().all(|answer| matches!(answer, Answer::Approved(_))));
    let approvals: Vec<_> = batch.iter().map(|asked| approval(asked.answer.as_ref()).remembered()).collect();
    assert_eq!(approvals, [Remember::Tool, Remember::Once, Remember::Once]);
    insta::assert_snapshot!(terminal.transcript());
}

#[tokio::test]
async fn values_that_were_edited_cover_no_other_call() {
    let same = json!({"path": "a.txt"});
    let mut batch = batch(&[("files::write", same.clone()), ("files::write", same)]);
    let terminal = Script::saying(["1 e", "v", "n"]).editing([Ok("{\"path\": \"b.txt\"}")]).terminal();
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    assert!(matches!(answers(&batch)[..], [Answer::Approved(_), Answer::Denied(None)]));
}

#[tokio::test]
async fn an_approval_of_the_terminal_lets_exactly_its_call_through() {
    let terminal = Script::saying(["y"]).terminal();
    let calls = [json!({"path": "a"}), json!({"path": "b"})]
        .map(|arguments| pending("files::write", object(&arguments)));
    let mut batch: Vec<_> = calls.iter().map(|pending| ApprovalRequest::new(pending.question())).collect();
    terminal.ask(&mut batch, &CallContext::new("s")).await;
    let [first, second] = calls;
    let approvals = Approvals::new();
    let first = *first.approve(approval(batch[1].answer.as_ref()), &approvals).unwrap_err();
    assert!(first.approve(approval(batch[0].answer.as_ref()), &approvals).is_ok());
    assert!(second.approve(approval(batch[1].answer.as_ref()), &approvals).is_ok());
}
