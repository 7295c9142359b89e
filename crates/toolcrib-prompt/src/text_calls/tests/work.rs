//! Tests of how much work a message is.

use super::super::TextReader;
use super::super::call::MAX_REREAD_BYTES;
use super::names;

/// How much is looked at to read a text, as a whole or in pieces of so many characters.
fn work(text: &str, piece: Option<usize>) -> usize {
    let names = names();
    let mut reader = TextReader::new(&names);
    match piece {
        None => reader.push_all(text),
        Some(piece) => {
            let chars: Vec<_> = text.chars().collect();
            for piece in chars.chunks(piece) {
                reader.push(&piece.iter().collect::<String>());
            }
            reader.push_all("");
        }
    }
    reader.work()
}

/// Texts of which much is looked at before it is clear what they are, each to be repeated.
const HOSTILE: [&str; 24] = [
    "<tools>{\"name\": \"ls\", ",
    "<tools>",
    "<tool_call>",
    "x <tool_call>{",
    "<tool_call>{\"name\": \"ls\", \"arguments\": {\"a\": \"",
    "{\"name\": \"ls\", \"arguments\":\n",
    "{\"name\": \"ls\", \"arguments\": {}}\n",
    "{“name”: “ls\n",
    "{'name': 'ls', 'arguments': {'a': '''\n",
    "```json\n{\"name\": \"ls\", \"arguments\": {}}\n",
    "```\n[",
    "<function=ls><parameter=a>",
    "<invoke name=\"ls\"><parameter name=\"a\">x</parameter> ",
    "<invoke>\n<parameters>\n<a>",
    "<think>",
    "</think> ",
    "<|channel|>commentary to=ls",
    ">>>ls\n{",
    "Action: ls\nAction Input: {\n",
    "ls(a=[",
    "print(",
    "ls(a={\"a\":",
    "<tool_call>ls\n<arg_key>a</arg_key>\n<arg_value>",
    "<function a b c d e f g h",
];

#[test]
fn the_work_grows_no_faster_than_the_message() {
    for part in HOSTILE {
        for piece in [None, Some(1), Some(7)] {
            let [small, large] = [2_000, 8_000].map(|bytes| work(&part.repeat(bytes / part.len()), piece));
            assert!(large <= 5 * small + 1_000, "{part:?} in pieces of {piece:?}: {small} and {large}");
            assert!(large <= 40 * 8_000, "{part:?} in pieces of {piece:?}: {large}");
        }
    }
}

#[test]
fn what_is_looked_at_more_than_once_is_bounded() {
    for part in HOSTILE {
        let text = part.repeat(100_000 / part.len());
        let work = work(&text, None);
        assert!(work <= 6 * text.len() + 2 * MAX_REREAD_BYTES, "{part:?}: {work}");
    }
}
