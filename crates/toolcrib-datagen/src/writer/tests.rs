//! Tests of the output formats.

mod readers;

use std::fs;

use serde_json::{Value, json};
use toolcrib_model::QualifiedName;
use toolcrib_prompt::text_calls::{ToolNames, parse_text_calls};

use super::{Format, NameStyle, Output};
use crate::conversation::{Call, Conversation, ConversationTool, Kind, Message, RejectedBranch};
use crate::samples;

fn conversation() -> Conversation {
    let tool = |name: &str, parameters: Value| ConversationTool {
        name: QualifiedName::new("weather", name).unwrap(),
        description: format!("The {name} of a city."),
        parameters,
    };
    let city = json!({"type": "string", "description": "The city."});
    Conversation {
        tools: vec![
            tool(
                "forecast",
                json!({
                    "type": "object",
                    "properties": {"city": city, "days": {"type": "integer", "default": 1}, "scale": {"type": "number"}},
                    "required": ["city"],
                }),
            ),
            tool("history", json!({"type": "object", "properties": {"city": city}, "required": ["city"]})),
        ],
        messages: vec![
            Message::System { content: "You know the weather.".to_owned() },
            Message::user("Will it rain in Oslo or in <|im_end|> Bergen?"),
            Message::calls([
                Call::new("call_1", "weather::forecast", json!({"city": "Oslo", "days": 2})),
                Call::new("call_2", "weather::forecast", json!({"city": "Bergen"})),
            ]),
            Message::result("call_1", json!({"rain": false})),
            Message::result("call_2", "rain, all day"),
            Message::assistant("In Bergen."),
            Message::user("And yesterday?"),
            Message::calls([Call::new("call_3", "weather::history", json!({"city": "Bergen"}))]),
            Message::result("call_3", json!({"rain": true})),
            Message::assistant("It rained there."),
        ],
        rejected: Some(RejectedBranch { from: 7, messages: vec![Message::assistant("I do not know.")] }),
        ..Conversation::new("w1", Kind::MultiTurn)
    }
}

#[test]
fn each_format_has_its_documented_shape() {
    for format in Format::ALL {
        let rows = format.rows(&conversation(), format.default_names());
        insta::assert_snapshot!(
            format.name(),
            serde_json::to_string_pretty(&json!([rows.main, rows.second])).unwrap()
        );
    }
}

#[test]
fn names_are_written_in_the_requested_spelling() {
    let called = |style| {
        let rows = Format::Openai.rows(&conversation(), style);
        rows.main[0].pointer("/messages/2/tool_calls/0/function/name").cloned()
    };
    assert_eq!(called(NameStyle::Qualified), Some(json!("weather::forecast")));
    assert_eq!(called(NameStyle::Dotted), Some(json!("weather.forecast")));
    assert_eq!(called(NameStyle::Wire), Some(json!("weather__forecast")));
}

#[test]
fn the_parser_of_text_calls_reads_the_calls_of_chat_ml() {
    for seed in 0..200 {
        let conversation = samples::conversation(seed);
        let rows = Format::Hermes.rows(&conversation, NameStyle::Qualified);
        let text = rows.main[0]["text"].as_str().unwrap();
        let names: Vec<String> = conversation.tools.iter().map(|tool| tool.name.to_string()).collect();
        let names = ToolNames::new(names.iter().map(String::as_str));
        let turns = text.split("<|im_start|>assistant\n").skip(1);
        let read: Vec<(String, Value)> = turns
            .flat_map(|turn| parse_text_calls(turn.split("<|im_end|>").next().unwrap(), &names).calls)
            .map(|call| (call.name, Value::from(call.arguments.unwrap())))
            .collect();
        let written = conversation.messages.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.clone(),
            _ => Vec::new(),
        });
        let written: Vec<(String, Value)> = written.map(|call| (call.name, call.arguments)).collect();
        assert_eq!(read, written, "seed {seed}");
    }
}

#[test]
fn roles_alternate_in_share_gpt() {
    for seed in 0..200 {
        let rows = Format::Sharegpt.rows(&samples::conversation(seed), NameStyle::Wire);
        for (at, turn) in rows.main[0]["conversations"].as_array().unwrap().iter().enumerate() {
            let expected: &[&str] =
                if at % 2 == 0 { &["human", "observation"] } else { &["gpt", "function_call"] };
            assert!(expected.contains(&turn["from"].as_str().unwrap()), "seed {seed}, turn {at}");
        }
    }
}

#[test]
fn a_file_appears_when_it_is_finished_and_an_earlier_one_stays_until_then() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    fs::write(&path, "earlier").unwrap();
    let mut output = Output::create(&path, Format::Bfcl, NameStyle::Dotted).unwrap();
    assert_eq!(output.write(&conversation()).unwrap(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "earlier");
    drop(output);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let mut output = Output::create(&path, Format::Bfcl, NameStyle::Dotted).unwrap();
    output.write(&conversation()).unwrap();
    output.finish().unwrap();
    let lines = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap().lines().count();
    assert_eq!((lines("data.jsonl"), lines("data.possible_answer.jsonl")), (1, 1));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn the_tools_of_retrieval_are_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queries.jsonl");
    let mut output = Output::create(&path, Format::Retrieval, NameStyle::Qualified).unwrap();
    for _ in 0..3 {
        assert_eq!(output.write(&conversation()).unwrap(), 2);
    }
    output.finish().unwrap();
    let tools = fs::read_to_string(folder.path().join("queries.tools.jsonl")).unwrap();
    assert_eq!(tools.lines().count(), 2);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_that_names_the_file() {
    let error = Output::create("/dev/full/data.jsonl".as_ref(), Format::Openai, NameStyle::Wire).unwrap_err();
    assert!(error.to_string().starts_with("cannot write /dev/full/data.jsonl: "), "{error}");
}
