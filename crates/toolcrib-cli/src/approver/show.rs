//! A call as a person is shown it. Each argument has one line, whatever its name and value hold, and no line of a
//! server's or a model's can look like one of ours: theirs stand further in.

use std::fmt::Write as _;

use toolcrib_policy::Question;

use crate::printable::{Layout, cut, excerpt, printable};

/// The most bytes of an argument's name that are shown.
const MAX_NAME_BYTES: usize = 100;

/// The most bytes of the tool's name, of its side effects, of the rule or of a reason that are shown.
const MAX_PART_BYTES: usize = 1000;

/// The most bytes of a tool's description that are shown.
const MAX_DESCRIPTION_BYTES: usize = 200;

/// The most bytes that one call takes on the screen.
pub(super) const MAX_SHOWN_BYTES: usize = 256 * 1024;

/// How much of a call is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) arguments: usize,
    pub(super) value_bytes: usize,
}

impl Sizes {
    /// Of one that stands alone.
    pub(super) const ONE: Self = Self { arguments: 20, value_bytes: 1000 };

    /// Of one among several.
    pub(super) const MANY: Self = Self { arguments: 10, value_bytes: 200 };

    /// Of one that somebody wants to see in full.
    pub(super) const ALL: Self = Self { arguments: 1000, value_bytes: 64 * 1024 };
}

/// A call as lines, and whether something was left out.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) is_cut: bool,
}

/// The name of the tool.
pub(super) fn name(question: &Question) -> String {
    excerpt(&question.tool, MAX_PART_BYTES)
}

/// The name of an argument, in quotes where it could be taken for something else.
pub(super) fn argument(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_plain && !name.is_empty() {
        return excerpt(name, MAX_NAME_BYTES);
    }
    excerpt(&serde_json::Value::from(name).to_string(), MAX_NAME_BYTES)
}

/// The call under a line of its own.
pub(super) fn call(question: &Question, sizes: Sizes) -> Shown {
    let head = format!("{} wants to run", name(question));
    let head = match &question.agent {
        Some(agent) => format!("{head}, called by the agent {}", excerpt(agent, MAX_NAME_BYTES)),
        None => head,
    };
    let shown = details(question, sizes);
    Shown { text: format!("\n{head}\n{}", shown.text), ..shown }
}

/// Several calls, numbered.
pub(super) fn calls<'a>(questions: impl ExactSizeIterator<Item = (usize, &'a Question)>) -> Shown {
    let mut all = Shown { text: format!("\n{} calls want to run", questions.len()), is_cut: false };
    for (number, question) in questions {
        let shown = details(question, Sizes::MANY);
        let tool = name(question);
        // Writing to a string cannot fail.
        let _ = write!(all.text, "\n{number}. {tool}\n{}", shown.text);
        all.is_cut |= shown.is_cut;
    }
    all
}

fn details(question: &Question, sizes: Sizes) -> Shown {
    let mut text = format!("  risk: {}", question.risk);
    if !question.side_effects.is_empty() {
        text.extend(["; changes: ", &excerpt(&question.side_effects.join(", "), MAX_PART_BYTES)]);
    }
    text.extend(["\n  asked by: ", &excerpt(&question.rule, MAX_PART_BYTES)]);
    if let Some(line) = question.description.lines().map(str::trim).find(|line| !line.is_empty()) {
        text.extend(["\n  says of itself: ", &excerpt(line, MAX_DESCRIPTION_BYTES)]);
    }
    text.push_str(if question.arguments.is_empty() { "\n  no arguments" } else { "\n  arguments:" });
    let (mut shown, mut is_cut) = (0, false);
    for (name, value) in question.arguments.iter().take(sizes.arguments) {
        let value = value.to_string();
        is_cut |= value.len() > sizes.value_bytes || name.len() > MAX_NAME_BYTES;
        let line = format!("\n    {}: {}", argument(name), excerpt(&value, sizes.value_bytes));
        if text.len() + line.len() > MAX_SHOWN_BYTES {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    let more = question.arguments.len() - shown;
    if more > 0 {
        is_cut = true;
        let _ = write!(text, "\n  … and {more} more arguments, which are not shown");
    }
    if let Some(problem) = &question.problem {
        let problem = cut(problem, Layout::Lines, MAX_PART_BYTES);
        text.extend(["\n  the edited arguments were not taken:\n", &quoted(&problem)]);
    }
    Shown { text, is_cut }
}

/// A text of others, set off from ours.
pub(super) fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  | {}", printable(line, Layout::Lines)));
    lines.collect::<Vec<_>>().join("\n")
}
