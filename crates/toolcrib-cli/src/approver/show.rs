//! The text of a call for people. Each argument has exactly one line, and no line of a server or a model can imitate a line of
//! this program: theirs are indented further.

use std::fmt::Write as _;

use toolcrib_model::{JsonObject, Risk};
use toolcrib_policy::Question;
use toolcrib_server::operator::WaitingCall;

use crate::ui::printable::{Layout, cut, excerpt, printable};

/// The most bytes of an argument's name that are shown.
const MAX_NAME_BYTES: usize = 100;

/// The most bytes of the tool's name, of its side effects, of the rule or of a reason that are shown.
const MAX_PART_BYTES: usize = 1000;

/// The most bytes of a tool's description that are shown.
const MAX_DESCRIPTION_BYTES: usize = 200;

/// The most bytes that one call takes on the screen.
pub(super) const MAX_SHOWN_BYTES: usize = 256 * 1024;

/// The size limits of the text of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(super) arguments: usize,
    pub(super) value_bytes: usize,
}

/// The parts of a call to show.
pub(crate) struct CallText<'a> {
    tool: &'a str,
    agent: Option<&'a str>,
    description: &'a str,
    /// Absent where they were too long to be sent here.
    arguments: Option<&'a JsonObject>,
    risk: Risk,
    side_effects: &'a [String],
    rule: &'a str,
    problem: Option<&'a str>,
}

impl<'a> From<&'a Question> for CallText<'a> {
    fn from(question: &'a Question) -> Self {
        Self {
            tool: &question.tool,
            agent: question.agent.as_deref(),
            description: &question.description,
            arguments: Some(&question.arguments),
            risk: question.risk,
            side_effects: &question.side_effects,
            rule: &question.rule,
            problem: question.problem.as_deref(),
        }
    }
}

impl<'a> From<&'a WaitingCall> for CallText<'a> {
    fn from(call: &'a WaitingCall) -> Self {
        Self {
            tool: &call.tool,
            agent: call.agent.as_deref(),
            description: &call.description,
            arguments: call.arguments.as_ref(),
            risk: call.risk,
            side_effects: &call.side_effects,
            rule: &call.rule,
            problem: None,
        }
    }
}

impl Sizes {
    /// Of one that stands alone.
    pub(crate) const ONE: Self = Self { arguments: 20, value_bytes: 1000 };

    /// Of one among several.
    pub(super) const MANY: Self = Self { arguments: 10, value_bytes: 200 };

    /// The limits of a call that the user asks to see in full.
    pub(crate) const ALL: Self = Self { arguments: 1000, value_bytes: 64 * 1024 };
}

/// A call as lines, and whether something was left out.
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

/// Returns the name of the tool.
pub(crate) fn name(tool: &str) -> String {
    excerpt(tool, MAX_PART_BYTES)
}

/// Returns the name of an argument, in quotes where it could be taken for something else.
pub(super) fn argument(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_plain && !name.is_empty() {
        return excerpt(name, MAX_NAME_BYTES);
    }
    excerpt(&serde_json::Value::from(name).to_string(), MAX_NAME_BYTES)
}

/// Returns the call below a title line.
pub(crate) fn call<'a>(call: impl Into<CallText<'a>>, sizes: Sizes) -> Shown {
    let call = call.into();
    let head = format!("{} wants to run", name(call.tool));
    let head = match call.agent {
        Some(agent) => format!("{head}, called by the agent {}", excerpt(agent, MAX_NAME_BYTES)),
        None => head,
    };
    let shown = details(&call, sizes);
    Shown { text: format!("\n{head}\n{}", shown.text), ..shown }
}

/// Several calls, numbered.
pub(super) fn calls<'a>(questions: impl ExactSizeIterator<Item = (usize, &'a Question)>) -> Shown {
    let mut all = Shown { text: format!("\n{} calls want to run", questions.len()), is_cut: false };
    for (number, question) in questions {
        let shown = details(&question.into(), Sizes::MANY);
        let tool = name(&question.tool);
        // Writing to a string cannot fail.
        let _ = write!(all.text, "\n{number}. {tool}\n{}", shown.text);
        all.is_cut |= shown.is_cut;
    }
    all
}

fn details(call: &CallText<'_>, sizes: Sizes) -> Shown {
    let mut text = format!("  risk: {}", call.risk);
    if !call.side_effects.is_empty() {
        text.extend(["; changes: ", &excerpt(&call.side_effects.join(", "), MAX_PART_BYTES)]);
    }
    text.extend(["\n  asked by: ", &excerpt(call.rule, MAX_PART_BYTES)]);
    if let Some(line) = call.description.lines().map(str::trim).find(|line| !line.is_empty()) {
        text.extend(["\n  its description: ", &excerpt(line, MAX_DESCRIPTION_BYTES)]);
    }
    let Some(arguments) = call.arguments else {
        text.push_str("\n  its arguments are too long to be shown whole, so it can only be denied here");
        return Shown { text, is_cut: false };
    };
    text.push_str(if arguments.is_empty() { "\n  no arguments" } else { "\n  arguments:" });
    let (mut shown, mut is_cut) = (0, false);
    for (name, value) in arguments.iter().take(sizes.arguments) {
        let value = value.to_string();
        is_cut |= value.len() > sizes.value_bytes || name.len() > MAX_NAME_BYTES;
        let line = format!("\n    {}: {}", argument(name), excerpt(&value, sizes.value_bytes));
        if text.len() + line.len() > MAX_SHOWN_BYTES {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    let more = arguments.len() - shown;
    if more > 0 {
        is_cut = true;
        let _ = write!(text, "\n  … and {more} more arguments, which are not shown");
    }
    if let Some(problem) = call.problem {
        let problem = cut(problem, Layout::Lines, MAX_PART_BYTES);
        text.extend(["\n  the edited arguments were not taken:\n", &quoted(&problem)]);
    }
    Shown { text, is_cut }
}

/// Returns a text of others, set off from ours.
pub(crate) fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  | {}", printable(line, Layout::Lines)));
    lines.collect::<Vec<_>>().join("\n")
}
