//! Messages that do not end as their models meant them to.

use serde_json::json;
use toolcrib_model::ErrorKind;

use super::super::{Outcome, RunLimits};
use super::{agent, call, calls, limited, results, run, says, scripted};
use crate::Error;
use crate::chat::ChatReply;

fn ends(reply: ChatReply, reason: &str) -> ChatReply {
    ChatReply { finish_reason: Some(reason.to_owned()), ..reply }
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_not_a_completed_run() {
    for reason in ["length", "max_tokens", "MAX_TOKENS", "model_length"] {
        let model = scripted(|_, _| ends(says("The half of"), reason));
        let agent = limited(RunLimits { max_continuations: 0, ..RunLimits::default() });
        let (report, conversation, _) = run(&agent, &model).await;
        assert!(matches!(report.outcome, Outcome::Truncated), "{:?}", report.outcome);
        assert_eq!((report.text.as_str(), report.turns), ("The half of", 1));
        assert_eq!(serde_json::to_value(&report).unwrap()["outcome"], "truncated");
        // So that it can be asked to go on.
        assert_eq!(conversation.messages().last().unwrap().content(), "The half of");
    }
}

#[tokio::test]
async fn refusals_and_filtered_answers_have_outcomes_of_their_own() {
    for (reason, outcome) in
        [("refusal", "refused"), ("content_filter", "content_filter"), ("SAFETY", "content_filter")]
    {
        for text in ["I cannot.", ""] {
            let model = scripted(|_, _| ends(says(text), reason));
            let (report, ..) = run(&agent(), &model).await;
            assert_eq!(serde_json::to_value(&report).unwrap()["outcome"], outcome);
            assert_eq!((report.text.as_str(), report.turns), (text, 1), "it is not asked again");
        }
    }
}

#[tokio::test]
async fn the_last_call_of_a_message_that_was_cut_off_is_not_run_and_may_be_written_again() {
    let model = scripted(|turn, _| match turn {
        // The cut fell where the arguments could be whole, or where none had come.
        1 => ends(
            calls(vec![
                call("a", "notes__search", r#"{"query": "one"}"#),
                call("b", "notes__search", r#"{"query": "two"}"#),
            ]),
            "length",
        ),
        2 => calls(vec![call("c", "notes__search", r#"{"query": "three"}"#)]),
        3 => ends(calls(vec![call("d", "notes__search", "")]), "length"),
        _ => says("Done."),
    });
    let (report, conversation, seen) = run(&agent(), &model).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{:?}", report.outcome);
    let asked: Vec<_> = seen.iter().map(|call| call.arguments["query"].clone()).collect();
    assert_eq!(asked, [json!("one"), json!("three")]);
    for (position, ran) in [(0, true), (1, false), (2, true), (3, false)] {
        let (_, told) = results(&conversation)[position];
        assert_eq!(!told.contains("the message was cut off"), ran, "{told}");
    }
}

#[tokio::test]
async fn calls_that_are_cut_off_twice_in_a_row_end_the_run() {
    let model = scripted(|_, _| ends(calls(vec![call("", "notes__search", r#"{"query": "x"}"#)]), "length"));
    let (report, conversation, seen) = run(&agent(), &model).await;
    assert!(matches!(report.outcome, Outcome::Truncated), "{:?}", report.outcome);
    assert_eq!((report.turns, seen.len(), results(&conversation).len()), (2, 0, 2));
}

#[tokio::test]
async fn a_model_whose_message_is_cut_off_before_it_says_anything_is_told_so_once() {
    let model = scripted(|turn, request| {
        assert_eq!(
            turn == 2,
            request.messages.iter().any(|message| message.content().contains("was cut off"))
        );
        ends(says(""), "length")
    });
    let (report, ..) = run(&agent(), &model).await;
    assert!(matches!(report.outcome, Outcome::Truncated), "{:?}", report.outcome);
    assert_eq!(report.turns, 2);
}

#[tokio::test]
async fn a_report_names_the_models_that_answered() {
    let model = scripted(|turn, _| match turn {
        1 => calls(vec![call("", "notes__search", r#"{"query": "x"}"#)]),
        _ => ChatReply { model: Some("another".to_owned()), ..says("Done.") },
    });
    let (report, ..) = run(&agent(), &model).await;
    assert_eq!(report.models, ["a-model", "another"]);
}

#[test]
fn a_user_is_told_why_there_is_no_whole_answer_and_what_to_do() {
    use super::super::Limit::{ContextOverflow, Repeats, Turns};
    let limits = [Turns, Repeats, ContextOverflow].map(|limit| Outcome::LimitReached { limit });
    let invalid = Outcome::InvalidOutput { problem: "`price` is missing".to_owned() };
    let outcomes =
        [Outcome::Truncated, Outcome::Refused, Outcome::ContentFilter, invalid].into_iter().chain(limits);
    let outcomes = outcomes.chain([Outcome::Failed { error: Error::NoModel }]);
    let told: Vec<_> = outcomes.map(|outcome| outcome.explanation().unwrap()).collect();
    insta::assert_snapshot!(told.join("\n"));
    assert_eq!(Outcome::Completed.explanation(), None);
}

#[tokio::test]
async fn the_caller_of_a_run_gets_its_answer_or_the_reason_why_there_is_none() {
    let (report, ..) = run(&agent(), &scripted(|_, _| says("Done."))).await;
    assert_eq!(report.into_answer().unwrap(), "Done.");
    let model = scripted(|_, _| ends(says("I will not."), "refusal"));
    let (report, ..) = run(&agent(), &model).await;
    let error = report.into_answer().unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolFailed);
    assert!(error.message.ends_with("; it said: I will not."), "{}", error.message);
    let model = scripted(|_, _| calls(vec![call("", "notes__search", r#"{"query": "x"}"#)]));
    let agent = limited(RunLimits { max_turns: 1, ..RunLimits::default() });
    let (report, ..) = run(&agent, &model).await;
    let error = report.into_answer().unwrap_err();
    assert_eq!(error.kind, ErrorKind::LimitReached);
    assert_eq!(error.message, "the agent reached its limit (\"turns\") before it answered");
}
