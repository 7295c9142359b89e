//! Markdown, cut into blocks.

use super::{Block, Mark, Style, blocks, first_block, inline, spans};

#[test]
fn every_line_is_a_block_or_a_part_of_one() {
    let text = "## Plan\n1. Add\n   - [x] test\n2. Ship\n\n***\n```sh\n# no heading\n```\na|b\n-|-\n--|--\nc|d|e\nend";
    let expected = [
        Block::Heading { level: 2, text: "Plan" },
        Block::Step { number: 1, count: 2, text: "Add" },
        Block::Item { indent: "   ", mark: Mark::Done, text: "test" },
        Block::Step { number: 2, count: 2, text: "Ship" },
        Block::Line { indent: "", text: "" },
        Block::Rule,
        Block::Code { language: "sh", lines: vec!["# no heading"] },
        Block::Line { indent: "", text: "a|b" },
        Block::Table(vec![vec!["-", "-"], vec!["c", "d", "e"]]),
        Block::Line { indent: "", text: "end" },
    ];
    assert_eq!(blocks("", text), expected);
}

#[test]
fn a_text_that_nothing_ends_is_cut_once() {
    for part in ["**", "[", "![](", "``` ", "|", "| - |\n", "# ", "1. ", "```\n"] {
        let text = part.repeat(20_000 / part.len());
        assert!(blocks("plan", &text).len() <= text.lines().count(), "{part:?}");
    }
}

#[test]
fn a_block_that_is_being_written_is_whole_when_nothing_can_follow_in_it() {
    assert_eq!(first_block("Hel"), None);
    assert_eq!(first_block("Hello\nyou"), Some(6));
    assert_eq!(first_block("\n"), Some(1));
    assert_eq!(first_block("```sh\nls\n``"), None);
    assert_eq!(first_block("```sh\nls\n```\nend"), Some(13));
    assert_eq!(first_block("a|b\n-|-\n1|2\n"), None);
    assert_eq!(first_block("a|b\n-|-\n1|2\n\n"), Some(12));
}

#[test]
fn parts_of_a_line_have_their_styles_and_no_text_is_lost() {
    let line = "a **b *c* `d`** _e_ [f](g) 2*3";
    let styled: Vec<_> = spans(line).into_iter().map(|span| (span.text, span.style)).collect();
    let expected = [
        ("a ", Style::Plain),
        ("b c ", Style::Strong),
        ("`d`", Style::Code),
        (" ", Style::Plain),
        ("e", Style::Emphasis),
        (" f (g) 2*3", Style::Plain),
    ];
    assert_eq!(styled, expected.map(|(text, style)| (text.to_owned(), style)));
    assert_eq!(inline(line), "a b c `d` e f (g) 2*3");
}
