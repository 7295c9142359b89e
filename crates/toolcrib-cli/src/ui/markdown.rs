//! The answer of a model on a terminal: Markdown, laid out for its width, block by block as it is written.

#[cfg(test)]
mod tests;

use toolcrib_document::markdown::{Block, Style, blocks, first_block, inline, spans};

use super::style::Meaning;
use super::width::width;
use crate::approver::markdown::aligned;

/// The most bytes of a block that is waited for. A longer one is shown in parts.
const MAX_BLOCK_BYTES: usize = 64 * 1024;

/// The widest rule between two parts, in columns.
const MAX_RULE_WIDTH: usize = 40;

/// The columns of code before its text.
const CODE_INDENT: &str = "    ";

/// Renderer of a text that is being written. Its text is printable before it comes here.
pub(crate) struct MarkdownStream {
    /// A block that may continue.
    pending: String,
    columns: usize,
    is_colourful: bool,
}

impl MarkdownStream {
    /// Creates a renderer for this many columns.
    pub(crate) fn new(columns: usize, is_colourful: bool) -> Self {
        Self { pending: String::new(), columns, is_colourful }
    }

    /// Adds a text, and returns the lines of the blocks that are whole now.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.pending.push_str(text);
        let mut out = String::new();
        while let Some(bytes) = first_block(&self.pending) {
            let rest = self.pending.split_off(bytes);
            let block = std::mem::replace(&mut self.pending, rest);
            self.render(&block, &mut out);
        }
        if self.pending.len() > MAX_BLOCK_BYTES {
            out.push_str(&self.finish());
        }
        out
    }

    /// Returns the lines of the last block.
    pub(crate) fn finish(&mut self) -> String {
        let block = std::mem::take(&mut self.pending);
        let mut out = String::new();
        self.render(&block, &mut out);
        out
    }

    fn render(&self, text: &str, out: &mut String) {
        for block in blocks("", text) {
            match block {
                Block::Heading { level, text } => {
                    let (mark, style) = if self.is_colourful {
                        (String::new(), Style::Strong)
                    } else {
                        ("#".repeat(level) + " ", Style::Plain)
                    };
                    self.wrapped(&mark, text, style, out);
                }
                Block::Code { lines, .. } => {
                    for line in lines {
                        let line = self.painted(line, Style::Code);
                        out.extend([CODE_INDENT, &line, "\n"]);
                    }
                }
                Block::Table(rows) => {
                    let lines = aligned(&rows);
                    if lines.iter().all(|line| width(line) <= self.columns) {
                        out.extend(lines.iter().flat_map(|line| [line.as_str(), "\n"]));
                    } else {
                        // Wrapped columns would not line up: each row is a line of its cells.
                        for row in rows {
                            let cells: Vec<String> = row.iter().map(|cell| inline(cell)).collect();
                            self.wrapped("", &cells.join(" | "), Style::Plain, out);
                        }
                    }
                }
                Block::Step { number, text, .. } => {
                    self.wrapped(&format!("{number}. "), text, Style::Plain, out);
                }
                Block::Item { indent, mark, text } => {
                    self.wrapped(&format!("{indent}{} ", mark.as_str()), text, Style::Plain, out);
                }
                Block::Rule => {
                    out.extend(["─".repeat(self.columns.min(MAX_RULE_WIDTH)).as_str(), "\n"]);
                }
                Block::Line { indent, text } => {
                    let (number, text) = text.split_at(number_len(text));
                    self.wrapped(&format!("{indent}{number}"), text, Style::Plain, out);
                }
            }
        }
    }

    /// Adds a text behind a mark, broken between words. Lines after the first begin below the text.
    fn wrapped(&self, mark: &str, text: &str, base: Style, out: &mut String) {
        let indent = width(mark);
        let room = self.columns.saturating_sub(indent).max(1);
        let mut line = FilledLine::default();
        let mut prefix = mark.to_owned();
        for word in words(text, base) {
            let needed = word.columns + usize::from(line.columns > 0);
            if line.columns > 0 && line.columns + needed > room {
                self.end_line(&prefix, std::mem::take(&mut line), out);
                prefix = " ".repeat(indent);
            }
            line.push(word);
        }
        self.end_line(&prefix, line, out);
    }

    fn end_line(&self, prefix: &str, line: FilledLine, out: &mut String) {
        out.push_str(prefix);
        for (text, style) in line.parts {
            out.push_str(&self.painted(&text, style));
        }
        while out.ends_with(' ') {
            out.pop();
        }
        out.push('\n');
    }

    fn painted(&self, text: &str, style: Style) -> String {
        let meaning = match style {
            Style::Strong => Meaning::Strong,
            Style::Emphasis => Meaning::Emphasis,
            Style::Code => Meaning::Code,
            Style::Plain => return text.to_owned(),
        };
        if self.is_colourful { meaning.paint(text) } else { text.to_owned() }
    }
}

/// A word, which may change its style within.
#[derive(Default)]
struct Word {
    parts: Vec<(String, Style)>,
    columns: usize,
}

/// A line that is being filled.
#[derive(Default)]
struct FilledLine {
    parts: Vec<(String, Style)>,
    columns: usize,
}

impl FilledLine {
    fn push(&mut self, word: Word) {
        if self.columns > 0 {
            // Between two words of one style the space has it too, which takes fewer sequences.
            match (self.parts.last_mut(), word.parts.first()) {
                (Some((text, style)), Some((_, next))) if style == next => text.push(' '),
                _ => self.parts.push((" ".to_owned(), Style::Plain)),
            }
            self.columns += 1;
        }
        self.columns += word.columns;
        for (text, style) in word.parts {
            match self.parts.last_mut() {
                Some((last, of_last)) if *of_last == style => last.push_str(&text),
                _ => self.parts.push((text, style)),
            }
        }
    }
}

/// Splits a line into its words. Plain text has the base style.
fn words(text: &str, base: Style) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word = Word::default();
    for span in spans(text) {
        let style = if span.style == Style::Plain { base } else { span.style };
        for (number, piece) in span.text.split(' ').enumerate() {
            if number > 0 && !word.parts.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if !piece.is_empty() {
                word.columns += width(piece);
                word.parts.push((piece.to_owned(), style));
            }
        }
    }
    if !word.parts.is_empty() {
        words.push(word);
    }
    words
}

/// Returns the bytes of the number of a list's entry, with the space behind it.
fn number_len(text: &str) -> usize {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let is_number = (1..=9).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    if is_number { digits + 2 } else { 0 }
}
