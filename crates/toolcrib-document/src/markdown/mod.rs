//! A parser for the Markdown that people and models write in questions and plans, which returns blocks for a renderer.
//!
//! No text is hidden: links keep their address, HTML stays as written, and unknown syntax is a line of text. A renderer must
//! escape all text.

mod inline;
mod table;

#[cfg(test)]
mod tests;

pub use inline::{Span, Style, inline, spans};

/// The words by which a heading or a question says that the numbered list below it is a plan.
const PLAN_WORDS: [&str; 4] = ["plan", "plans", "step", "steps"];

/// A part of a text. Its texts may have marks within, which [`inline`] renders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// A heading of a level from 1 to 6.
    Heading {
        /// The level.
        level: usize,
        /// The words.
        text: &'a str,
    },
    /// A fenced block of code, without its fences.
    Code {
        /// The language named after the fence, or an empty text.
        language: &'a str,
        /// The lines as they are written.
        lines: Vec<&'a str>,
    },
    /// A table, the head of which is the first row.
    Table(Vec<Vec<&'a str>>),
    /// An entry of the numbered list of a plan.
    Step {
        /// The number of the entry, from 1.
        number: usize,
        /// The number of entries.
        count: usize,
        /// The words.
        text: &'a str,
    },
    /// An entry of a list without numbers.
    Item {
        /// The spaces before it.
        indent: &'a str,
        /// The mark before it.
        mark: Mark,
        /// The words.
        text: &'a str,
    },
    /// A line between two parts.
    Rule,
    /// Any other line.
    Line {
        /// The spaces before it.
        indent: &'a str,
        /// The words.
        text: &'a str,
    },
}

/// The mark before an entry of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A plain entry.
    Bullet,
    /// A task that is to be done.
    Open,
    /// A task that is done.
    Done,
}

impl Mark {
    /// Returns the character of the mark.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bullet => "•",
            Self::Open => "☐",
            Self::Done => "☑",
        }
    }
}

/// Cuts Markdown into blocks. The entries of the numbered list of a plan are its steps; the title may say that the whole
/// text is one.
pub fn blocks<'a>(title: &str, markdown: &'a str) -> Vec<Block<'a>> {
    let lines: Vec<&str> = markdown.lines().collect();
    let mut blocks = Vec::new();
    let mut steps = Steps::below(title, &lines);
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let rest = lines.get(at + 1..).unwrap_or_default();
        at += 1;
        blocks.push(if let Some(fence) = Fence::opening(line) {
            let len = fence.len(rest);
            at += len;
            let code = rest.iter().take(len).filter(|line| !fence.is_closed_by(line));
            Block::Code { language: fence.language, lines: code.copied().collect() }
        } else if let Some((level, text)) = heading(line) {
            steps = Steps::below(text, rest);
            Block::Heading { level, text }
        } else if let Some((table, len)) = table::table(line, rest) {
            at += len;
            Block::Table(table)
        } else {
            steps.step(line).unwrap_or_else(|| plain(line))
        });
    }
    blocks
}

/// Returns the bytes of the first block of a text that is still being written, or of lines that may be a table. `None`
/// while it may continue.
pub fn first_block(text: &str) -> Option<usize> {
    let (line, mut rest) = text.split_once('\n')?;
    let mut bytes = line.len() + 1;
    let fence = Fence::opening(line);
    if fence.is_none() && !line.contains('|') {
        return Some(bytes);
    }
    loop {
        let (line, more) = rest.split_once('\n')?;
        let is_row = line.contains('|');
        if fence.is_some() || is_row {
            bytes += line.len() + 1;
        }
        if fence.as_ref().map_or(!is_row, |fence| fence.is_closed_by(line)) {
            return Some(bytes);
        }
        rest = more;
    }
}

/// Returns the block of a line that is neither code, heading, table nor step.
fn plain(line: &str) -> Block<'_> {
    let text = line.trim_start();
    let indent = line.get(..line.len() - text.len()).unwrap_or_default();
    if is_rule(text) {
        return Block::Rule;
    }
    let bullet = ["- ", "* ", "+ "].into_iter().find_map(|mark| text.strip_prefix(mark));
    let Some(item) = bullet else { return Block::Line { indent, text } };
    let (mark, text) = match item.get(..4) {
        Some("[ ] ") => (Mark::Open, item.get(4..).unwrap_or_default()),
        Some("[x] " | "[X] ") => (Mark::Done, item.get(4..).unwrap_or_default()),
        _ => (Mark::Bullet, item),
    };
    Block::Item { indent, mark, text }
}

/// Returns the level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let is_heading = (1..=6).contains(&level) && text.starts_with(' ');
    is_heading.then(|| (level, text.trim().trim_end_matches('#').trim_end()))
}

fn is_rule(text: &str) -> bool {
    let marks: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    marks.len() >= 3 && ["-", "*", "_"].iter().any(|mark| marks.trim_start_matches(mark).is_empty())
}

/// Returns the text behind the number of a list's entry that is not indented.
fn numbered(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - text.len();
    let item = text.strip_prefix(". ").or_else(|| text.strip_prefix(") "))?;
    (1..=9).contains(&digits).then_some(item)
}

/// The steps of the plan below a heading.
#[derive(Default)]
struct Steps {
    number: usize,
    count: usize,
}

impl Steps {
    /// Counts the steps in these lines, up to the next heading. Returns none if the title is not that of a plan.
    fn below(title: &str, lines: &[&str]) -> Self {
        let mut words = title.split(|c: char| !c.is_alphanumeric());
        if !words.any(|word| PLAN_WORDS.contains(&word.to_lowercase().as_str())) {
            return Self::default();
        }
        let (mut count, mut at) = (0, 0);
        while let Some(line) = lines.get(at).filter(|line| heading(line).is_none()) {
            at += 1;
            if let Some(fence) = Fence::opening(line) {
                at += fence.len(lines.get(at..).unwrap_or_default());
            } else if numbered(line).is_some() {
                count += 1;
            }
        }
        Self { number: 0, count }
    }

    /// Returns the block of a line that is a step of several.
    fn step<'a>(&mut self, line: &'a str) -> Option<Block<'a>> {
        let text = numbered(line).filter(|_| self.count > 1)?;
        self.number += 1;
        Some(Block::Step { number: self.number, count: self.count, text })
    }
}

/// The fence of a block of code.
struct Fence<'a> {
    mark: &'a str,
    language: &'a str,
}

impl<'a> Fence<'a> {
    fn opening(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let language = line.trim_start_matches(['`', '~']);
        let mark = line.get(..line.len() - language.len())?;
        let is_fence =
            mark.len() >= 3 && (mark.trim_matches('`').is_empty() || mark.trim_matches('~').is_empty());
        (is_fence && !language.contains('`')).then_some(Self { mark, language: language.trim() })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.mark.len()
            && line.starts_with(self.mark)
            && Fence::opening(line).is_some_and(|it| it.language.is_empty())
    }

    /// Returns how many lines belong to the block, the closing fence among them.
    fn len(&self, lines: &[&str]) -> usize {
        lines.iter().position(|line| self.is_closed_by(line)).map_or(lines.len(), |at| at + 1)
    }
}
