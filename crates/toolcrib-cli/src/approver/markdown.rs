//! Markdown as plain text that reads well on a terminal.
//!
//! Nothing of the text is hidden: links keep their address, HTML stays as it is written, and what is not understood is
//! shown as it is. The text is printable before it comes here, and nothing that steers a terminal is added.

mod inline;
mod table;

#[cfg(test)]
mod tests;

use inline::inline;

/// The width of a line between two parts.
const RULE_CHARS: usize = 24;

/// The most characters of the line below a heading.
const MAX_UNDERLINE_CHARS: usize = 80;

/// The words by which a heading or a question says that the numbered list below it is a plan.
const PLAN_WORDS: [&str; 4] = ["plan", "plans", "step", "steps"];

/// Renders Markdown. The numbered list of a plan is shown as its steps; the title may say that the whole text is one.
pub(super) fn rendered(title: &str, markdown: &str) -> String {
    let lines: Vec<&str> = markdown.lines().collect();
    let mut out = Vec::new();
    let mut steps = Steps::below(title, &lines);
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let rest = lines.get(at + 1..).unwrap_or_default();
        at += 1;
        if let Some(fence) = Fence::opening(line) {
            at += fence.code(rest, &mut out);
        } else if let Some((level, text)) = heading(line) {
            steps = Steps::below(text, rest);
            let text = inline(text);
            let underline = ["═", "─", "·"].get(level - 1).unwrap_or(&"·");
            let width = text.chars().count().min(MAX_UNDERLINE_CHARS);
            out.extend([text, underline.repeat(width)]);
        } else if let Some(rows) = table::rows(line, rest) {
            at += rows.len();
            out.extend(table::aligned(line, &rows));
        } else {
            out.push(steps.step(line).unwrap_or_else(|| plain(line)));
        }
    }
    out.join("\n")
}

/// A line that is neither code, heading, table nor step.
fn plain(line: &str) -> String {
    let text = line.trim_start();
    let indent = line.get(..line.len() - text.len()).unwrap_or_default();
    if is_rule(text) {
        return "─".repeat(RULE_CHARS);
    }
    let bullet = ["- ", "* ", "+ "].into_iter().find_map(|mark| text.strip_prefix(mark));
    let Some(item) = bullet else { return format!("{indent}{}", inline(text)) };
    let (mark, item) = match item.get(..4) {
        Some("[ ] ") => ("☐", item.get(4..).unwrap_or_default()),
        Some("[x] " | "[X] ") => ("☑", item.get(4..).unwrap_or_default()),
        _ => ("•", item),
    };
    format!("{indent}{mark} {}", inline(item))
}

/// The level and the text of a heading.
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

/// The text behind the number of a list's entry that is not indented.
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
    /// Counts the steps in these lines, up to the next heading. There are none where the title does not speak of a plan.
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

    /// Shows a line that is a step of several.
    fn step(&mut self, line: &str) -> Option<String> {
        let item = numbered(line).filter(|_| self.count > 1)?;
        self.number += 1;
        Some(format!("Step {} of {}: {}", self.number, self.count, inline(item)))
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

    /// Shows the code further in, and returns how many lines belong to the block.
    fn code(&self, lines: &[&str], out: &mut Vec<String>) -> usize {
        if !self.language.is_empty() {
            out.push(format!("({})", self.language));
        }
        let len = self.len(lines);
        let code = lines.iter().take(len).filter(|line| !self.is_closed_by(line));
        out.extend(code.map(|line| format!("    {line}")));
        len
    }
}
