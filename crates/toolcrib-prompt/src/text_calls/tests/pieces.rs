//! Tests of reading a message piece by piece.

use proptest::prelude::*;

use super::super::{ParsedText, TextReader, ToolNames};
use super::cases;
use super::{names, read};

/// What came of a message in pieces, and what was shown of it in the meantime.
fn in_pieces<'a>(
    mut reader: TextReader<'_>,
    pieces: impl IntoIterator<Item = &'a str>,
) -> (Vec<String>, ParsedText) {
    let mut shown = Vec::new();
    let mut so_far = String::new();
    for piece in pieces {
        so_far.push_str(&reader.push(piece));
        shown.push(so_far.clone());
    }
    let (rest, message) = reader.finish();
    shown.push(so_far + &rest);
    (shown, message)
}

fn pieces<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| text.floor_char_boundary(cut % (text.len() + 1))).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect()
}

/// Whether what was shown is the beginning of what is said, at all times. What turns out to be reasoning only then may
/// have been shown.
fn is_shown_well(shown: &[String], message: &ParsedText) -> bool {
    let is_late = message
        .reasoning
        .split('\n')
        .next()
        .is_some_and(|first| !first.is_empty() && shown[0].starts_with(first))
        || shown.last().is_some_and(|all| all.ends_with(&message.prose) && !message.reasoning.is_empty());
    is_late
        || (shown.iter().all(|shown| message.prose.starts_with(shown))
            && shown.last() == Some(&message.prose))
}

#[test]
fn a_case_is_read_the_same_wherever_it_is_cut() {
    let names = names();
    for case in cases::all().each() {
        let whole = case.reader(&names).read(&case.text);
        let positions: Vec<_> = case.text.char_indices().map(|(at, _)| at).collect();
        for cuts in positions.iter().map(|at| vec![*at]).chain([positions.clone()]) {
            let (shown, message) = in_pieces(case.reader(&names), pieces(&case.text, &cuts));
            assert_eq!(message, whole, "{} cut at {cuts:?}", case.name);
            assert!(is_shown_well(&shown, &message), "{} cut at {cuts:?}: {shown:?}", case.name);
        }
    }
}

#[test]
fn prose_is_shown_as_it_comes() {
    let names = names();
    let mut reader = TextReader::new(&names);
    let mut push = |piece: &str, expected: &str| assert_eq!(reader.push(piece), expected, "{piece:?}");
    push("Hel", "");
    push("lo ", "Hello");
    push("world, 1 <", " world, 1");
    push(" 2", " < 2");
    push(".\n<", ".");
    push("b>x</b", "\n<b>x");
    push(">\n\n", "</b>");
    push("<tool_call", "");
    push(">{\"name\": \"ls\", ", "");
    push("\"arguments\": {}}</tool_call>\n", "");
    push("And", "");
    push(
        " then it is done, and much more is said of what it was that was done.",
        "\nAnd then it is done, and much more is said of what it was that was done.",
    );
    push("\n{\"a\": 1}", "\n{\"a\": 1}");
    assert_eq!(reader.finish().0, "");
}

#[test]
fn what_turns_out_to_be_reasoning_is_none_of_the_prose() {
    let names = ToolNames::default();
    let (shown, message) =
        in_pieces(TextReader::new(&names), ["I think. ", "Still.\n</th", "ink>\n", "It rains."]);
    assert_eq!(
        shown,
        [
            "I think.",
            "I think. Still.",
            "I think. Still.",
            "I think. Still.\nIt rains.",
            "I think. Still.\nIt rains."
        ]
    );
    assert_eq!((message.reasoning.as_str(), message.prose.as_str()), ("I think. Still.", "It rains."));
}

/// Parts of messages, marks and texts that mean something in one notation or another.
pub(super) fn part() -> impl Strategy<Value = String> {
    let cases: Vec<_> = cases::all().each().map(|case| case.text.clone()).collect();
    let marks = [
        "<tool_call>",
        "</tool_call>",
        "<function=ls>",
        "<function=ls",
        "ls {",
        "</function>",
        "<parameter=a>",
        "</parameter>",
        "<think>",
        "</think>",
        "\n</think>\n",
        "[TOOL_CALLS]",
        "[ARGS]",
        "```",
        "```json\n",
        "\n",
        " ",
        "`",
        "{",
        "}",
        "[",
        "]",
        "\"name\": ",
        "\"arguments\": ",
        "\"ls\"",
        ",",
        ":",
        "'",
        "“",
        "”",
        "\\",
        "\"",
        "ls(",
        "({",
        "})",
        ")",
        "a=1",
        "<|channel|>",
        "<|message|>",
        "to=ls",
        "<|end|>",
        "<tool_result>",
        "</tool_result>",
        "<tools>",
        "</tools>",
        "call:ls",
        ">>>ls\n",
        "functools",
        "Action: ls\nAction Input: ",
        "é",
        "<",
        ">",
        "<invoke name=\"ls\">",
        "</invoke>",
        "word",
        "\"\"\"",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "◁think▷",
    ];
    let piece = (prop::sample::select(cases), any::<prop::sample::Index>(), any::<prop::sample::Index>());
    prop_oneof![
        3 => prop::sample::select(marks.to_vec()).prop_map(str::to_owned),
        1 => piece.prop_map(|(text, from, to)| {
            let ends = [from.index(text.len() + 1), to.index(text.len() + 1)].map(|at| text.floor_char_boundary(at));
            text[ends[0].min(ends[1])..ends[0].max(ends[1])].to_owned()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_message_is_read_the_same_wherever_it_is_cut(
        parts in prop::collection::vec(part(), 0..12),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let text = parts.concat();
        let names = names();
        let whole = read(&text);
        let (shown, message) = in_pieces(TextReader::new(&names), pieces(&text, &cuts));
        prop_assert_eq!(&message, &whole);
        prop_assert!(is_shown_well(&shown, &message), "{:?}", shown);
        let (_, message) = in_pieces(TextReader::new(&names), text.split_inclusive(|_| true));
        prop_assert_eq!(&message, &whole);
    }
}
