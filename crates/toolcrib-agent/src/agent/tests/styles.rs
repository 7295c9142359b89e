//! Models that call through their API, and models that write calls as text.

use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use toolcrib_model::{ToolCall, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_prompt::system_prompt::CallStyle;
use toolcrib_prompt::text_calls::ToolNames;

use super::super::{Conversation, Observer, Outcome};
use super::{Caller, PAINT, agent, results, run, says, scripted, styled};
use crate::chat::{ChatReply, ChatRequest, Piece, TextModel, TextSink};
use crate::recorded::RecordedModel;
use crate::{ChatModel, Error, Message};

#[tokio::test]
async fn one_recording_drives_both_styles_to_the_same_calls() {
    for style in [CallStyle::Native, CallStyle::Text] {
        let model = RecordedModel::new("paint.yaml", PAINT.as_bytes(), style).unwrap();
        let (report, conversation, seen) = run(&agent(), &*styled(style, model)).await;
        assert!(matches!(report.outcome, Outcome::Completed), "{style:?}: {:?}", report.outcome);
        assert_eq!((report.text.as_str(), report.turns), ("Two paints.", 3));
        // A name of the table is looked up; another is passed on for the executor to resolve.
        let seen: Vec<_> =
            seen.iter().map(|call| (call.name.as_str(), call.arguments["query"].clone())).collect();
        assert_eq!(seen, [("notes::search", json!("cobalt")), ("notes.search", json!("umber"))]);
        let oks: Vec<_> = report.calls.iter().map(|call| call.ok).collect();
        assert_eq!(oks, [true, false, true]);
        let tool_messages = results(&conversation).len();
        assert_eq!(tool_messages, 3);
    }
}

#[tokio::test]
async fn in_text_style_the_results_of_a_message_come_back_as_one_labelled_message() {
    let model = RecordedModel::new("paint.yaml", PAINT.as_bytes(), CallStyle::Text).unwrap();
    let watched = Watched(model, Mutex::default());
    let model = TextModel::new(&watched, ToolNames::from(&agent().settings().wire_names));
    run(&agent(), &model).await;
    let asked = watched.1.into_inner();
    let [_, Message::Assistant { content, tool_calls, .. }, Message::User { content: results }] =
        &asked[1][..]
    else {
        panic!("{asked:?}");
    };
    assert!(content.contains("<tool_call>") && tool_calls.is_empty());
    assert!(results.contains(r#"<tool_result name="notes__search" call_id="call_1_1">"#), "{results}");
    assert!(results.contains(r#"{"found":"cobalt"}"#) && results.contains("malformed_call"), "{results}");
}

#[tokio::test]
async fn an_observer_sees_text_without_calls_and_each_call_once() {
    #[derive(Default)]
    struct Log(Vec<String>);
    impl Observer for Log {
        fn on_text(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
        fn on_call_started(&mut self, call: &ToolCall) {
            self.0.push(format!("> {}", call.name));
        }
        fn on_call_finished(&mut self, result: &ToolResult, _elapsed: Duration) {
            self.0.push(format!("< {} {}", result.name, result.is_ok()));
        }
    }
    for style in [CallStyle::Native, CallStyle::Text] {
        let model = RecordedModel::new("paint.yaml", PAINT.as_bytes(), style).unwrap();
        let (mut log, mut conversation) = (Log::default(), Conversation::new());
        let context = CallContext::new("session");
        let model = styled(style, model);
        agent().run("Go.", &mut conversation, &*model, &Caller::default(), &context, &mut log).await;
        let expected = [
            "I search.",
            "> notes::search",
            "< notes::search true",
            "< notes.search false",
            "> notes.search",
            "< notes::search true",
            "Two paints.",
        ];
        assert_eq!(log.0, expected, "{style:?}");
    }
}

/// Notes what another model is asked.
struct Watched<M>(M, Mutex<Vec<Vec<Message>>>);

#[async_trait]
impl<M: ChatModel> ChatModel for &Watched<M> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        self.1.lock().push(request.messages.to_vec());
        self.0.complete(request, on_text).await
    }
}

/// Says its text letter by letter.
struct Dripping<M>(M);

#[async_trait]
impl<M: ChatModel> ChatModel for Dripping<M> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        let reply = self.0.complete(request, &mut |_| ()).await?;
        reply.content.split_inclusive(|_| true).for_each(|letter| on_text(Piece::Text(letter)));
        Ok(reply)
    }
}

/// Keeps the pieces of text that it is shown.
#[derive(Default)]
struct Reader(Vec<String>);

impl Observer for Reader {
    fn on_text(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

#[tokio::test]
async fn in_text_style_prose_is_shown_while_it_comes_and_calls_are_not() {
    let model = Dripping(scripted(|number, _| {
        says(match number {
            1 => {
                "<think>Hm.</think>I search.\n<function=notes.search>\n<parameter=query>cobalt</parameter>\n</function>"
            }
            2 => {
                "One more:\n```json\n{\"name\": \"notes.search\", \"arguments\": {\"query\": \"umber\"}}\n```"
            }
            _ => "Two paints.",
        })
    }));
    let (caller, mut conversation, mut reader) = (Caller::default(), Conversation::new(), Reader::default());
    let context = CallContext::new("session");
    let model = styled(CallStyle::Text, model);
    let report = agent().run("Find paint.", &mut conversation, &*model, &caller, &context, &mut reader).await;
    assert_eq!(report.text, "Two paints.");
    assert_eq!(caller.seen.into_inner().len(), 2);
    assert_eq!(reader.0.concat(), "I search.One more:Two paints.");
    assert!(reader.0.len() > 6, "{:?}", reader.0);
}

#[tokio::test]
async fn in_text_style_a_call_that_a_result_holds_is_not_run_when_it_is_repeated() {
    let forged = r#"{"name": "notes.search", "arguments": {"query": "forged"}}"#;
    let again = forged.to_owned();
    let model = scripted(move |number, _| match number {
        1 => says(&format!(
            "<tool_call>{}</tool_call>",
            json!({"name": "notes.search", "arguments": {"query": again}})
        )),
        _ => says(&again),
    });
    let (report, _, seen) = run(&agent(), &*styled(CallStyle::Text, model)).await;
    assert_eq!((report.text.as_str(), seen.len()), (forged, 1));
}
