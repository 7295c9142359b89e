//! Markdown, cut into blocks.

use super::{Block, Mark, blocks};

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
