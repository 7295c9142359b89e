//! How a run ends.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolcrib_model::ToolCall;
use toolcrib_port::CallContext;

use super::super::limits::STOP_AFTER_REPEATS;
use super::super::report::MAX_REPORTED_CALLS;
use super::super::{Conversation, Limit, Observer, Outcome, RunLimits};
use super::{Stuck, agent, call, calls, limited, results, run, says, scripted};
use crate::chat::{ChatReply, ToolChoice, Usage};
use crate::{Error, Message};

#[tokio::test]
async fn a_model_that_never_stops_reaches_the_limit_of_turns() {
    let model =
        scripted(|turn, _| calls(vec![call("", "notes__search", &format!(r#"{{"query": "{turn}"}}"#))]));
    let limits = RunLimits { max_turns: 5, ..RunLimits::default() };
    let (report, conversation, seen) = run(&limited(limits), &model).await;
    assert_eq!(serde_json::to_value(&report).unwrap()["limit"], "turns");
    // It calls even when it is asked to answer, and that is not run.
    assert_eq!((report.turns, seen.len(), report.calls.len(), results(&conversation).len()), (6, 5, 5, 6));
}

#[tokio::test]
async fn at_a_limit_the_model_is_asked_for_an_answer_without_tools() {
    let model = scripted(|turn, request| match turn {
        1 | 2 => {
            assert_eq!(*request.tool_choice, ToolChoice::Auto);
            calls(vec![call("", "notes__search", &format!(r#"{{"query": "{turn}"}}"#))])
        }
        _ => {
            assert_eq!((request.tool_choice, request.tools.len()), (&ToolChoice::None, 1));
            let Message::Tool { content, note, .. } = request.messages.last().unwrap() else { panic!() };
            assert!(
                content.contains("{\"found\":\"2\"}") && note.contains("limit of 2 turns"),
                "{content} {note}"
            );
            says("All I have.")
        }
    });
    let limits = RunLimits { max_turns: 2, ..RunLimits::default() };
    let (report, ..) = run(&limited(limits), &model).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::Turns }));
    assert_eq!((report.text.as_str(), report.turns), ("All I have.", 3));
}

#[tokio::test]
async fn each_limit_ends_a_run() {
    let usage = Usage { prompt_tokens: 90, completion_tokens: 10, cost: 7, ..Usage::default() };
    let model = scripted(move |turn, _| ChatReply {
        usage,
        ..calls(vec![call("", "notes.nothing", &format!(r#"{{"query": "{turn}"}}"#))])
    });
    let default = RunLimits::default();
    for (limits, limit, ran) in [
        (RunLimits { max_failures: 3, ..default }, Limit::Failures, 3),
        (RunLimits { max_tokens: 150, ..default }, Limit::Tokens, 2),
        (RunLimits { max_cost: 21, ..default }, Limit::Cost, 3),
        (RunLimits { max_calls: 4, ..default }, Limit::Calls, 4),
        (RunLimits { max_turns: 4, ..default }, Limit::Turns, 4),
    ] {
        let (report, _, seen) = run(&limited(limits), &model).await;
        assert!(matches!(report.outcome, Outcome::LimitReached { limit: reached } if reached == limit));
        assert_eq!(seen.len(), ran, "{limit}");
    }
}

#[tokio::test]
async fn a_call_that_succeeds_starts_the_count_of_failures_anew() {
    let model = scripted(|turn, _| {
        if turn == 10 {
            return says("Done.");
        }
        let name = if turn % 3 == 0 { "notes.search" } else { "notes.nothing" };
        calls(vec![call("", name, &format!(r#"{{"query": "{turn}"}}"#))])
    });
    let (report, ..) = run(&limited(RunLimits { max_failures: 3, ..RunLimits::default() }), &model).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{:?}", report.outcome);
}

#[tokio::test]
async fn calls_beyond_the_limit_are_answered_and_not_run() {
    let model = scripted(|turn, _| match turn {
        1 => calls(
            (0..6).map(|number| call("", "notes__search", &format!(r#"{{"query": {number}}}"#))).collect(),
        ),
        _ => says("Four of six."),
    });
    let limits = RunLimits { max_calls: 4, ..RunLimits::default() };
    let (report, conversation, seen) = run(&limited(limits), &model).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::Calls }));
    assert_eq!((seen.len(), report.calls.len()), (4, 4));
    let results = results(&conversation);
    assert_eq!(results.len(), 6);
    assert!(results[5].1.contains("limit_reached"), "{}", results[5].1);
}

#[tokio::test]
async fn a_long_run_reports_its_last_calls_and_how_many_came_before() {
    let many = u32::try_from(MAX_REPORTED_CALLS).unwrap() + 5;
    let model =
        scripted(move |turn, _| calls(vec![call("", "notes__search", &format!(r#"{{"query": {turn}}}"#))]));
    let limits =
        RunLimits { max_calls: many, max_turns: u32::MAX, max_tokens: u64::MAX, ..RunLimits::default() };
    let (report, _, seen) = run(&limited(limits), &model).await;
    assert_eq!((seen.len(), report.calls.len(), report.calls_left_out), (1_005, 1_000, 5));
    assert_eq!(report.calls[0].arguments["query"], 6);
}

#[tokio::test]
async fn a_model_in_a_circle_is_told_and_then_stopped() {
    let model = scripted(|_, _| calls(vec![call("", "notes__search", r#"{"query": "same"}"#)]));
    let (report, conversation, seen) = run(&agent(), &model).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::Repeats }));
    assert_eq!(seen.len(), STOP_AFTER_REPEATS - 1);
    let noted: Vec<_> = results(&conversation).iter().map(|(_, text)| text.contains("same call")).collect();
    assert_eq!(noted, [false, false, true, true, true, true, true, false, false]);
}

#[tokio::test]
async fn calls_that_differ_are_no_circle() {
    let model = scripted(|turn, _| match turn {
        1..=16 => calls(vec![call("", "notes__search", &format!(r#"{{"query": {}}}"#, turn % 3))]),
        _ => says("Done."),
    });
    let (report, conversation, _) = run(&agent(), &model).await;
    assert!(matches!(report.outcome, Outcome::Completed));
    assert!(results(&conversation).iter().all(|(_, text)| !text.contains("same call")));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_ends_a_call_that_hangs_with_one_result() {
    let model = scripted(|turn, _| match turn {
        1 => calls(vec![call("a", "notes__search", "{}"), call("b", "notes__search", "{}")]),
        _ => says("Too late."),
    });
    let agent = limited(RunLimits { max_duration: Duration::from_mins(1), ..RunLimits::default() });
    let mut conversation = Conversation::new();
    let context = CallContext::new("session");
    let report = agent.run("Go.", &mut conversation, &model, &Stuck, &context, &mut ()).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { limit: Limit::Duration }));
    assert_eq!(report.text, "Too late.");
    let results = results(&conversation);
    assert_eq!((results[0].0, results[1].0, results.len()), ("a", "b", 2));
    assert!(results[0].1.contains("outcome_unknown") && results[1].1.contains("limit_reached"));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_run_while_a_call_hangs() {
    struct CancelOnStart(CancellationToken);
    impl Observer for CancelOnStart {
        fn on_call_started(&mut self, _call: &ToolCall) {
            self.0.cancel();
        }
    }
    let model = scripted(|_, _| calls(vec![call("a", "notes__search", "{}")]));
    let cancel = CancellationToken::new();
    let context = CallContext::new("session").with_cancel(cancel.clone());
    let mut conversation = Conversation::new();
    let agent = agent();
    let report =
        agent.run("Go.", &mut conversation, &model, &Stuck, &context, &mut CancelOnStart(cancel)).await;
    assert!(matches!(report.outcome, Outcome::Failed { error: Error::Cancelled }));
    assert_eq!(results(&conversation).len(), 1);
}
