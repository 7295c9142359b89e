//! What reaches a terminal, and what only its escape does.

use serde_json::{Value, json};

use super::{Layout, cut, excerpt, printable, printable_json};

/// One of each sort: C0, DEL, C1, bidirectional, zero-width, line separator, byte order mark, tag.
const HOSTILE: &str = "\u{1b}[2J\r\u{7f}\u{9b}2J\u{202e}\u{2066}\u{200b}\u{2028}\u{feff}\u{e0041}";

#[test]
fn nothing_that_steers_a_terminal_or_hides_is_passed_on() {
    let shown = r"\u{1b}[2J\u{d}\u{7f}\u{9b}2J\u{202e}\u{2066}\u{200b}\u{2028}\u{feff}\u{e0041}";
    assert_eq!(printable(HOSTILE, Layout::Line), shown);
    assert_eq!(printable(HOSTILE, Layout::Lines), shown);
}

#[test]
fn prose_keeps_its_lines_and_its_emoji_and_a_line_stays_one() {
    let family = "a\tb\r\n👩\u{200d}👧 ❤\u{fe0f}";
    assert_eq!(printable(family, Layout::Lines), "a\tb\n👩\u{200d}👧 ❤\u{fe0f}");
    assert_eq!(printable(family, Layout::Line), r"a\u{9}b\u{d}\u{a}👩\u{200d}👧 ❤\u{fe0f}");
    assert_eq!(printable("Grüße, 你好, שלום", Layout::Line), "Grüße, 你好, שלום");
}

#[test]
fn what_is_cut_says_how_long_it_is_and_no_character_is_halved() {
    assert_eq!(excerpt("äöü", 6), "äöü");
    assert_eq!(excerpt("äöü", 5), "äö… (6 bytes)");
    assert_eq!(cut("a\nb\nc", Layout::Lines, 3), "a\nb… (5 bytes)");
}

#[test]
fn a_json_document_stays_the_same_one() {
    let document = json!({HOSTILE: [HOSTILE, "👩\u{200d}👧"]});
    let shown = printable_json(&serde_json::to_string_pretty(&document).unwrap());
    assert!(shown.contains("\\u202e") && shown.contains("\\udb40\\udc41") && shown.contains("👩\u{200d}👧"));
    assert_eq!(shown, printable(&shown, Layout::Lines));
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), document);
}
