//! Tests of the reader.

use std::io::Cursor;

use serde_json::json;

use super::{MAX_LINE_BYTES, check_lines, read_line};
use crate::conversation::Message;
use crate::samples;
use crate::seed::Random;
use crate::validate::{Reason, validate};
use crate::writer::{Format, NameStyle};

#[test]
fn what_the_writer_of_messages_writes_is_read_back_in_every_style_of_names() {
    for seed in 0..100 {
        let conversation = samples::conversation(seed);
        for style in [NameStyle::Qualified, NameStyle::Dotted, NameStyle::Wire] {
            let row = Format::Openai.rows(&conversation, style).main.remove(0).to_string();
            let read = read_line(&row, "1").unwrap();
            assert_eq!(read.tools, conversation.tools, "{row}");
            assert_eq!(read.messages.len(), conversation.messages.len());
            assert_eq!(calls(&read.messages), calls(&conversation.messages));
            assert_eq!(validate(&read), [], "{row}");
        }
        let native = serde_json::to_string(&conversation).unwrap();
        assert_eq!(read_line(&native, "1").unwrap(), conversation);
    }
}

fn calls(messages: &[Message]) -> Vec<&crate::conversation::Call> {
    let calls = messages.iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    calls.flatten().collect()
}

#[test]
fn a_line_that_cannot_be_read_is_a_finding_and_the_next_line_is_checked() {
    let row = |arguments: &str| {
        let call =
            json!({"id": "a", "type": "function", "function": {"name": "w__rain", "arguments": arguments}});
        let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        json!({
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Does it rain in Oslo?"}]},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "a", "content": "no"},
                {"role": "assistant", "content": "No."},
            ],
            "tools": [{"type": "function", "function": {"name": "w__rain", "parameters": parameters}}],
        })
        .to_string()
    };
    let lines = [
        row(r#"{"city": "Oslo"}"#),
        "{\"messages\"".to_owned(),
        String::new(),
        row(r#"{"city": "Paris"}"#),
        row("{city"),
        json!({"messages": [{"role": "robot", "content": ""}]}).to_string(),
        json!({"text": "ChatML"}).to_string(),
    ];
    let mut shown = Vec::new();
    let report = check_lines(Cursor::new(lines.join("\n")), |line, findings| {
        shown.extend(findings.iter().map(|finding| format!("line {line}: {finding}")));
    })
    .unwrap();
    assert_eq!((report.conversations, report.clean), (6, 1));
    assert_eq!(report.findings[&Reason::Unparsable], 3);
    assert_eq!(
        shown,
        [
            "line 2: conversation: unparsable: EOF while parsing an object at column 11",
            "line 4: message 1, call 0, /city: ungrounded_value: \"Paris\" is in no earlier message or result",
            "line 5: message 1, call 0: malformed: the arguments are not a JSON object",
            "line 6: conversation: unparsable: unknown variant `robot`, expected one of `developer`, `system`, \
             `user`, `assistant`, `tool`",
            "line 7: conversation: unparsable: missing field `messages`",
        ]
    );
}

#[test]
fn each_planted_line_that_cannot_be_parsed_is_found_with_its_number() {
    const FAULTS: u64 = 30;
    let mut lines = Vec::new();
    for seed in 0..FAULTS {
        let line =
            Format::Openai.rows(&samples::conversation(seed), NameStyle::Wire).main.remove(0).to_string();
        let mut random = Random::new(seed);
        let cut = (1..=random.below(line.len() - 1)).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(1);
        let broken = match seed % 3 {
            0 => line[..cut].to_owned(),
            1 => line.replacen(':', " ", 1),
            _ => line.replacen("\"messages\"", "\"massages\"", 1),
        };
        lines.extend([line, broken]);
    }
    let mut found = Vec::new();
    let report = check_lines(Cursor::new(lines.join("\n")), |line, findings| {
        found.push((line, findings.iter().map(|finding| finding.reason).collect::<Vec<_>>()));
    })
    .unwrap();
    let expected: Vec<_> = (1..=FAULTS).map(|number| (number * 2, vec![Reason::Unparsable])).collect();
    assert_eq!(found, expected);
    assert_eq!(report.clean, FAULTS);
}

#[test]
fn a_line_beyond_the_bound_is_a_finding_and_is_not_kept_in_memory() {
    let mut text = vec![b' '; usize::try_from(MAX_LINE_BYTES).unwrap() + 10];
    text.fill(b'x');
    text.extend(b"\n{\"messages\": []}\n");
    let mut lines = Vec::new();
    let report =
        check_lines(Cursor::new(text), |line, findings| lines.push((line, findings[0].reason))).unwrap();
    assert_eq!(report.conversations, 2);
    assert_eq!(lines.first(), Some(&(1, Reason::Unparsable)));
}
