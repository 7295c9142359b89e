//! What entries look like in a file.

use super::*;

#[test]
fn entries_are_kept_in_this_form() {
    let call = RequestedCall {
        id: "a".to_owned(),
        name: "notes.add".to_owned(),
        arguments: "{}".to_owned(),
        problem: None,
    };
    let message = Message::Assistant {
        content: "I add.".to_owned(),
        tool_calls: vec![call.clone()],
        reasoning: String::new(),
        written: None,
        provider_items: None,
    };
    let usage = Usage { prompt_tokens: 10, completion_tokens: 2, cost: 1_500, ..Usage::default() };
    let entries = [
        Entry::Began { prompt: "Add.".to_owned() },
        Entry::Said { messages: vec![Message::user("Add.")] },
        Entry::Replied { message, calls: vec![call], usage, model: Some("another".to_owned()) },
        Entry::Begun { call_id: "a".to_owned() },
        Entry::Finished {
            call_id: "a".to_owned(),
            ok: true,
            answer: "added".to_owned(),
            note: String::new(),
            loads: Vec::new(),
            pictures: Vec::new(),
            ms: Some(7),
        },
        Entry::Said { messages: vec![Message::tool("a", "notes.add", "added")] },
        Entry::Compacted { messages: vec![Message::user("Add.")], prompt_at: 0, usage: Usage::default() },
        Entry::SpentBelow { spent: Spent { tokens: 70, cost: 2_500, calls: 3 } },
        Entry::Noticed { text: "asking `another` instead".to_owned() },
        Entry::Ended,
    ];
    let lines = entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect::<Vec<_>>();
    for (line, entry) in lines.iter().zip(&entries) {
        assert_eq!(serde_json::from_str::<Entry>(line).unwrap(), *entry);
    }
    insta::assert_snapshot!(lines.join("\n"));
}
