//! Markdown as plain text that reads well on a terminal.
//!
//! The text is printable before it comes here, and nothing that steers a terminal is added.

#[cfg(test)]
mod tests;

use toolcrib_document::markdown::{Block, blocks, inline};

/// The width of a line between two parts.
const RULE_CHARS: usize = 24;

/// The most characters of the line below a heading.
const MAX_UNDERLINE_CHARS: usize = 80;

/// The most characters that a column is made wide; longer cells are shown whole and push the rest of their row.
const MAX_COLUMN_CHARS: usize = 40;

/// Renders Markdown. The numbered list of a plan is shown as its steps; the title may say that the whole text is one.
pub(super) fn rendered(title: &str, markdown: &str) -> String {
    let mut out = Vec::new();
    for block in blocks(title, markdown) {
        match block {
            Block::Heading { level, text } => {
                let text = inline(text);
                let underline = ["═", "─", "·"].get(level - 1).unwrap_or(&"·");
                let width = text.chars().count().min(MAX_UNDERLINE_CHARS);
                out.extend([text, underline.repeat(width)]);
            }
            Block::Code { language, lines } => {
                out.extend((!language.is_empty()).then(|| format!("({language})")));
                out.extend(lines.iter().map(|line| format!("    {line}")));
            }
            Block::Table(rows) => out.extend(aligned(&rows)),
            Block::Step { number, count, text } => {
                out.push(format!("Step {number} of {count}: {}", inline(text)));
            }
            Block::Item { indent, mark, text } => {
                out.push(format!("{indent}{} {}", mark.as_str(), inline(text)));
            }
            Block::Rule => out.push("─".repeat(RULE_CHARS)),
            Block::Line { indent, text } => out.push(format!("{indent}{}", inline(text))),
        }
    }
    out.join("\n")
}

/// Returns the lines of a table: its head, a rule, and its rows, with columns that line up.
pub(crate) fn aligned(rows: &[Vec<&str>]) -> Vec<String> {
    let shown = |row: &Vec<&str>| row.iter().map(|cell| inline(cell)).collect();
    let table: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let mut widths: Vec<usize> = Vec::new();
    for row in &table {
        for (at, cell) in row.iter().enumerate() {
            let width = cell.chars().count().min(MAX_COLUMN_CHARS);
            match widths.get_mut(at) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("  ");
    let mut lines: Vec<String> = table.iter().map(line).collect();
    lines.insert(1.min(lines.len()), rule);
    lines
}
