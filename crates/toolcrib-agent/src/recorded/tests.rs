//! Reading, playing and writing recordings.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use toolcrib_prompt::system_prompt::CallStyle;
use toolcrib_prompt::text_calls::{ToolNames, parse_text_calls};

use super::*;
use crate::chat::{ChatReply, ChatRequest, RequestOptions, RequestedCall, TextModel, TextSink};
use crate::{ChatModel, Error, Message};

fn request(messages: &[Message]) -> ChatRequest<'_> {
    ChatRequest::new("recorded", messages)
}

async fn ask(model: &dyn ChatModel, messages: &[Message]) -> Result<ChatReply, Error> {
    model.complete(&request(messages), &mut |_| ()).await
}

fn error_of(file: &str) -> String {
    RecordedModel::new("r.yaml", file.as_bytes(), CallStyle::Native).unwrap_err().to_string()
}

#[test]
fn a_broken_recording_says_where() {
    assert_eq!(error_of("turns:\n  - txt: hello\n"), "r.yaml:2:5: unknown key `txt`, did you mean `text`?");
    assert!(error_of("turns: []\n").starts_with("r.yaml:1:1: the recording has no turns"));
    assert!(error_of("turns:\n").starts_with("r.yaml:1:1: "), "{}", error_of("turns:\n"));
    let error = error_of("turns:\n  - calls:\n    - {name: a, arguments: [1]}\n");
    assert!(error.starts_with("r.yaml:3:17: ") && error.contains("must be a mapping"), "{error}");
}

#[tokio::test]
async fn a_recording_that_runs_out_says_so() {
    let model = RecordedModel::new("r.yaml", b"turns: [{text: hello}]", CallStyle::Native).unwrap();
    assert_eq!(ask(&model, &[]).await.unwrap().content, "hello");
    let error = ask(&model, &[]).await.unwrap_err().to_string();
    assert!(
        error.starts_with("r.yaml: the recording has 1 turns and the model was asked for one more"),
        "{error}"
    );
}

#[tokio::test]
async fn a_result_from_before_the_last_turn_does_not_meet_an_expectation() {
    let file = b"turns: [{expect: [cobalt], text: a}, {expect: [cobalt], text: b}]";
    let model = RecordedModel::new("r.yaml", file, CallStyle::Native).unwrap();
    let mut messages =
        vec![Message::User { content: "paint?".to_owned() }, Message::tool("1", "paint", "cobalt blue")];
    assert_eq!(ask(&model, &messages).await.unwrap().content, "a");
    messages.push(Message::assistant("a"));
    messages.push(Message::User { content: "umber?".to_owned() });
    let error = ask(&model, &messages).await.unwrap_err();
    assert!(
        matches!(&error, Error::Unexpected { turn: 2, missing, found, .. } if missing == "cobalt" && found == "umber?")
    );
}

/// Says one thing.
struct Says(ChatReply);

#[async_trait::async_trait]
impl ChatModel for Says {
    async fn complete(
        &self,
        _request: &ChatRequest<'_>,
        _on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        Ok(self.0.clone())
    }
}

async fn recorded(reply: &ChatReply, style: CallStyle) -> Vec<u8> {
    let names = ToolNames::new(["notes.search"]);
    let says = Says(reply.clone());
    let model: Arc<dyn ChatModel> = match style {
        CallStyle::Native => Arc::new(says),
        CallStyle::Text => Arc::new(TextModel::new(says, names)),
    };
    let recorder = Recorder::new(model, Vec::new());
    for _ in 0..2 {
        ask(&recorder, &[]).await.unwrap();
    }
    recorder.into_writer()
}

#[tokio::test]
async fn a_recording_in_text_style_plays_in_native_style() {
    let content =
        "I look.\n<tool_call>{\"name\": \"notes.search\", \"arguments\": {\"query\": \"x\"}}</tool_call>";
    let reply = ChatReply { content: content.to_owned(), ..ChatReply::default() };
    let file = recorded(&reply, CallStyle::Text).await;

    let model = RecordedModel::new("r.yaml", &file, CallStyle::Native).unwrap();
    let native = ask(&model, &[]).await.unwrap();
    assert_eq!((native.content.as_str(), native.tool_calls[0].name.as_str()), ("I look.", "notes.search"));
    assert_eq!(native.tool_calls[0].arguments, r#"{"query":"x"}"#);

    let model = RecordedModel::new("r.yaml", &file, CallStyle::Text).unwrap();
    let text = ask(&model, &[]).await.unwrap();
    assert_eq!(parse_text_calls(&text.content, &ToolNames::default()).calls[0].name, "notes.search");
}

#[tokio::test]
async fn a_message_that_was_cut_off_is_recorded_as_one() {
    for (reason, played) in [("length", "length"), ("content_filter", "content_filter"), ("eos", "stop")] {
        let reply = ChatReply {
            content: "The half".to_owned(),
            finish_reason: Some(reason.to_owned()),
            ..ChatReply::default()
        };
        let file = recorded(&reply, CallStyle::Native).await;
        let model = RecordedModel::new("r.yaml", &file, CallStyle::Native).unwrap();
        assert_eq!(ask(&model, &[]).await.unwrap().finish_reason.as_deref(), Some(played));
    }
}

#[tokio::test]
async fn a_recording_that_cannot_be_written_ends_the_run() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let recorder = Recorder::new(Says(ChatReply::default()), Full);
    assert!(matches!(ask(&recorder, &[]).await, Err(Error::RecordFailed { .. })));
}

#[tokio::test]
async fn a_turn_that_is_asked_something_else_says_where() {
    let tool = |name: &str, description: &str| crate::chat::ToolFunction {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({}),
    };
    let tools = [tool("a", "A."), tool("b", "B.")];
    let messages = [
        Message::user("Which paints?"),
        Message::tool("1", "paints", "cobalt\number (handle r_abcdefghijklmnopqrstuvwx23)"),
    ];
    let told = |system: &'static str, tools: Vec<crate::chat::ToolFunction>, messages: Vec<Message>| {
        (system, tools, messages)
    };
    let recorder =
        Recorder::new(Says(ChatReply { content: "x".to_owned(), ..ChatReply::default() }), Vec::new());
    for length in 1..=2 {
        let request = ChatRequest { system: "Be\nbrief.", tools: &tools, ..request(&messages[..length]) };
        recorder.complete(&request, &mut |_| ()).await.unwrap();
    }
    let file = recorder.into_writer();
    assert_eq!(String::from_utf8(file.clone()).unwrap().matches("Which paints?").count(), 1);
    let other = |text: &str| vec![messages[0].clone(), Message::tool("1", "paints", text)];
    let cases = [
        (
            told("Be\nbrief.", tools.to_vec(), other("cobalt\number (handle r_zzzzzzzzzzzzzzzzzzzzzzzz77)")),
            None,
        ),
        (told("Be\nlong.", tools.to_vec(), messages.to_vec()), Some("the system prompt, line 2")),
        (
            told("Be\nbrief.", vec![tool("a", "A."), tool("b", "C.")], messages.to_vec()),
            Some("parameters of the tool `b`"),
        ),
        (told("Be\nbrief.", vec![tool("a", "A.")], messages.to_vec()), Some("the last of the tools")),
        (
            told("Be\nbrief.", vec![tool("c", "A."), tool("b", "B.")], messages.to_vec()),
            Some("a tool that is offered"),
        ),
        (told("Be\nbrief.", tools.to_vec(), other("cobalt\nocher")), Some("message 2 (tool), line 2")),
        (told("Be\nbrief.", tools.to_vec(), messages[..1].to_vec()), Some("message 2 (tool), line 1")),
    ];
    for ((system, tools, all), place) in cases {
        let model = RecordedModel::new("r.yaml", &file, CallStyle::Native).unwrap();
        let first = ChatRequest { system, tools: &tools, ..request(&all[..1]) };
        let second = ChatRequest { system, tools: &tools, ..request(&all) };
        let outcome = match model.complete(&first, &mut |_| ()).await {
            Ok(_) => model.complete(&second, &mut |_| ()).await,
            error => error,
        };
        let error = outcome.err().map(|error| error.to_string());
        match (place, error) {
            (None, None) => {}
            (Some(place), Some(error)) => assert!(error.contains(place), "{place}: {error}"),
            (place, error) => panic!("{place:?} {error:?}"),
        }
    }
}

#[tokio::test]
async fn a_recording_matches_on_the_options_of_requests() {
    let reply = ChatReply {
        content: "one".to_owned(),
        mean_log_probability: Some(-0.25),
        alternatives: vec![ChatReply { content: "two".to_owned(), ..ChatReply::default() }],
        ..ChatReply::default()
    };
    let recorder = Recorder::new(Says(reply), Vec::new());
    let two = RequestOptions { n: Some(2), temperature: Some(0.5), ..RequestOptions::default() };
    let messages = [Message::user("Hi")];
    let asked = [Some(&two), Some(&two), None];
    for options in asked {
        recorder.complete(&ChatRequest { options, ..request(&messages) }, &mut |_| ()).await.unwrap();
    }
    let file = recorder.into_writer();
    insta::assert_snapshot!(String::from_utf8(file.clone()).unwrap(), @r#"
    turns:
      - request: {"system":"","tools":[],"options":{"temperature":0.5,"n":2},"from":0,"messages":[{"role":"user","content":"Hi"}]}
        text: "one"
        mean_log_probability: -0.25
        alternatives: ["two"]
      - request: {"from":1,"messages":[]}
        text: "one"
        mean_log_probability: -0.25
        alternatives: ["two"]
      - request: {"options":{},"from":1,"messages":[]}
        text: "one"
        mean_log_probability: -0.25
        alternatives: ["two"]
    "#);

    let model = RecordedModel::new("r.yaml", &file, CallStyle::Native).unwrap();
    for options in asked {
        let request = ChatRequest { options, ..request(&messages) };
        let reply = model.complete(&request, &mut |_| ()).await.unwrap();
        assert_eq!(
            (reply.mean_log_probability, reply.alternatives[0].content.as_str()),
            (Some(-0.25), "two")
        );
    }
    let model = RecordedModel::new("r.yaml", &file, CallStyle::Native).unwrap();
    let error = ask(&model, &messages).await.unwrap_err().to_string();
    assert!(error.contains("the options, line 1") && error.contains(r#"\"temperature\":0.5"#), "{error}");
}

proptest! {
    #[test]
    fn what_is_recorded_plays_the_same(
        content in any::<String>(), name in "[a-z.]{1,20}", key in any::<String>(), value in any::<String>(),
        raw in any::<String>(),
    ) {
        let call = |arguments: String| RequestedCall { name: name.clone(), arguments, ..RequestedCall::default() };
        let mut object = toolcrib_model::JsonObject::new();
        object.insert(key, json!([value, 1.5, null]));
        let tool_calls = vec![call(serde_json::Value::Object(object).to_string()), call(raw)];
        let reply = ChatReply { content, tool_calls, ..ChatReply::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let file = recorded(&reply, CallStyle::Native).await;
            let model = RecordedModel::new("r.yaml", &file, CallStyle::Native).unwrap();
            for _ in 0..2 {
                let played = ask(&model, &[]).await.unwrap();
                assert_eq!((&played.content, &played.tool_calls), (&reply.content, &reply.tool_calls));
            }
        });
    }
}
