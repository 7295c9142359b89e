//! Answers that are cut off and continued, and answers with a schema.

use std::sync::Arc;

use serde_json::json;
use toolcrib_port::CallContext;
use toolcrib_prompt::system_prompt::CallStyle;

use super::super::{Agent, Conversation, Limit, Outcome, RunLimits};
use super::{Caller, agent, call, calls, limited, run, says, scripted, styled};
use crate::chat::{ChatReply, OutputSchema, ToolChoice};
use crate::journal::Entry;
use crate::recorded::RecordedModel;
use crate::{Message, RunReport};

fn cut(text: &str) -> ChatReply {
    ChatReply { finish_reason: Some("length".to_owned()), ..says(text) }
}

/// Returns an agent whose answers are prices.
fn pricing() -> Agent {
    let schema =
        json!({"type": "object", "properties": {"price": {"type": "integer"}}, "required": ["price"]});
    let schema = Arc::new(OutputSchema::new(&schema).unwrap());
    Agent::new(agent().settings().clone().with_output_schema(schema))
}

fn limit_of(report: &RunReport) -> Option<Limit> {
    match report.outcome {
        Outcome::LimitReached { limit } => Some(limit),
        _ => None,
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_continued_and_is_one_text() {
    let model = scripted(|turn, request| {
        let last = request.messages.last().unwrap().content();
        assert_eq!(last.contains("Continue it exactly where it ends"), turn > 1, "{last}");
        match turn {
            1 => cut("One, t"),
            2 => cut("wo, th"),
            _ => says("ree."),
        }
    });
    let (report, conversation, _) = run(&agent(), &model).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{:?}", report.outcome);
    assert_eq!((report.text.as_str(), report.turns), ("One, two, three.", 3));
    assert_eq!(report.notices, ["the answer was cut off; asking the model to continue it"; 2]);
    assert_eq!(conversation.messages().len(), 6);
}

#[tokio::test]
async fn an_answer_is_continued_only_so_often_and_then_it_is_truncated() {
    for max_continuations in [0, 1, 2] {
        let model = scripted(|_, _| cut("so "));
        let agent = limited(RunLimits { max_continuations, ..RunLimits::default() });
        let (report, ..) = run(&agent, &model).await;
        assert!(matches!(report.outcome, Outcome::Truncated), "{:?}", report.outcome);
        assert_eq!(report.turns, 1 + max_continuations);
        assert_eq!(report.text, "so ".repeat(1 + max_continuations as usize));
    }
}

#[tokio::test]
async fn a_call_behind_a_cut_begins_another_message() {
    let model = scripted(|turn, _| match turn {
        1 => cut("I will se"),
        2 => ChatReply {
            content: "arch.".to_owned(),
            ..calls(vec![call("", "notes__search", r#"{"query": "x"}"#)])
        },
        _ => says("Done."),
    });
    let (report, _, seen) = run(&agent(), &model).await;
    assert_eq!((report.text.as_str(), seen.len()), ("Done.", 1));
}

#[tokio::test]
async fn an_answer_that_conforms_is_the_output_in_each_style() {
    for style in [CallStyle::Native, CallStyle::Text] {
        for (answer, repairs) in [(r#"{"price": 3}"#, 0), ("```json\n{\"price\": \"3\"}\n```", 1)] {
            let recording = json!({"turns": [
                {"calls": [{"name": "notes__search", "arguments": {"query": "x"}}]}, {"text": answer}]});
            let model = RecordedModel::new("price.yaml", recording.to_string().as_bytes(), style).unwrap();
            let (report, ..) = run(&pricing(), &styled(style, model)).await;
            assert!(matches!(report.outcome, Outcome::Completed), "{:?}", report.outcome);
            assert_eq!(report.output, Some(json!({"price": 3})));
            assert_eq!(
                (report.output_repairs.len(), report.text.as_str(), report.turns),
                (repairs, answer, 2)
            );
            let told = serde_json::to_value(&report).unwrap();
            assert_eq!(told["output"], json!({"price": 3}));
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_conform_is_asked_for_once_more_without_tools() {
    let model = scripted(|turn, request| {
        assert!(request.system.contains("You are an assistant.") && request.system.contains("\"price\""));
        assert!(request.output.is_some());
        assert_eq!(*request.tool_choice == ToolChoice::None, turn == 2);
        let last = request.messages.last().unwrap().content();
        assert_eq!(last.contains("`price` is missing"), turn == 2, "{last}");
        says(if turn == 1 { "{}" } else { r#"{"price": 3}"# })
    });
    let (report, conversation, _) = run(&pricing(), &model).await;
    assert_eq!((report.output, report.turns), (Some(json!({"price": 3})), 2));
    assert!(report.notices[0].contains("`price` is missing"), "{:?}", report.notices);
    assert!(matches!(conversation.messages(), [_, _, Message::User { .. }, _]));
}

#[tokio::test]
async fn an_answer_that_does_not_conform_twice_ends_with_invalid_output() {
    let model = scripted(|_, _| says("Three euro."));
    let (report, ..) = run(&pricing(), &model).await;
    let told = serde_json::to_value(&report).unwrap();
    assert_eq!((&told["outcome"], report.turns, &report.output), (&json!("invalid_output"), 2, &None));
    assert!(told["problem"].as_str().unwrap().contains("not JSON"), "{told}");
    assert_eq!(report.text, "Three euro.");
}

#[tokio::test]
async fn refusals_and_limits_go_before_the_schema() {
    let model = scripted(|_, _| ChatReply { finish_reason: Some("refusal".to_owned()), ..says("I cannot.") });
    let (report, ..) = run(&pricing(), &model).await;
    assert!(matches!(report.outcome, Outcome::Refused), "{:?}", report.outcome);
    let settings = pricing().settings().clone();
    let agent = Agent::new(settings.with_limits(RunLimits { max_turns: 1, ..RunLimits::default() }));
    for (answer, output) in [(r#"{"price": 3}"#, Some(json!({"price": 3}))), ("Three euro.", None)] {
        let model = scripted(|turn, _| match turn {
            1 => calls(vec![call("", "notes__search", r#"{"query": "x"}"#)]),
            _ => says(answer),
        });
        let (report, ..) = run(&agent, &model).await;
        assert_eq!((limit_of(&report), report.turns, &report.output), (Some(Limit::Turns), 2, &output));
    }
}

#[tokio::test]
async fn an_answer_that_was_kept_is_read_again_when_its_run_is_resumed() {
    let entries = |answer: &str| {
        [
            Entry::Began { prompt: "Price?".to_owned() },
            Entry::Said { messages: vec![Message::user("Price?")] },
            Entry::Replied {
                message: Message::assistant(answer),
                calls: Vec::new(),
                usage: crate::chat::Usage::default(),
                model: None,
            },
        ]
    };
    for (answer, turns) in [(r#"{"price": 3}"#, 1), ("Three euro.", 2)] {
        let mut conversation = Conversation::restore(entries(answer));
        let model = scripted(|_, _| says(r#"{"price": 3}"#));
        let (caller, context) = (Caller::default(), CallContext::new("session"));
        let report = pricing().resume(&mut conversation, &model, &caller, &context, &mut ()).await;
        assert_eq!((report.output, report.turns), (Some(json!({"price": 3})), turns));
        // An ended run is not gone on with.
        let ended = entries(answer).into_iter().chain([Entry::Ended]);
        let report =
            pricing().resume(&mut Conversation::restore(ended), &model, &caller, &context, &mut ()).await;
        assert_eq!(report.turns, 0);
        assert_eq!(report.output.is_some(), turns == 1, "{:?}", report.outcome);
    }
}
