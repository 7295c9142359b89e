//! The meaning of a line as an answer about a call.

use toolcrib_policy::Remember;

use crate::ui::printable::{Layout, cut};

/// The maximum length of an answer other than yes and no, in bytes.
pub(super) const MAX_SAID_BYTES: usize = 4000;

/// The fewest characters of a tool's name that are typed as an approval.
const MIN_WORD_CHARS: usize = 4;

/// First words of an answer that sounds like an approval without being one. Such an answer is asked again: it is neither a
/// plain yes nor a reason against the call.
const AFFIRMATIVE: [&str; 32] = [
    "absolutely",
    "agreed",
    "allow",
    "allowed",
    "approve",
    "approved",
    "certainly",
    "confirm",
    "confirmed",
    "da",
    "do",
    "fine",
    "go",
    "ja",
    "jo",
    "k",
    "ok",
    "okay",
    "oui",
    "please",
    "proceed",
    "right",
    "run",
    "si",
    "sim",
    "sure",
    "sí",
    "y",
    "yeah",
    "yep",
    "yes",
    "yup",
];

/// The meaning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Yes(Remember),
    /// An approval that is also written into the app file.
    WriteRule,
    Edit,
    /// Back to the arguments as they were.
    Undo,
    /// Shows what was left out.
    All,
    No(Option<String>),
    /// Neither an approval nor a denial, most likely a slip.
    Unclear,
}

/// The approvals that a prompt offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Of this call alone: its session ends with it.
    Once,
    /// Also of the tool, for the script that makes the call.
    Script,
    /// Also of the tool, for the session.
    Tool,
    /// Also of the tool with the same values, for the session.
    Values,
}

/// The line that approves a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// `y`, `s` or `v`.
    Letter,
    /// The name of the tool's action, so that no answer to something else approves the call.
    Word(String),
}

impl Confirmation {
    /// Returns the confirmation of a call of this tool. A question that interrupts is approved by name only.
    pub(crate) fn of(tool: &str, is_interruption: bool) -> Self {
        if !is_interruption {
            return Self::Letter;
        }
        let tool = tool.to_lowercase();
        let action = tool.rsplit(['.', ':']).next().unwrap_or_default();
        let is_distinct = action.chars().count() >= MIN_WORD_CHARS && !AFFIRMATIVE.contains(&action);
        let word = if is_distinct { action } else { &tool };
        Self::Word(word.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Returns the choices of a prompt that approve, with a comma behind each.
    pub(crate) fn choices(&self, reach: Reach) -> String {
        let [once, tool, values] = match self {
            Self::Letter => ["y", "s", "v"].map(str::to_owned),
            Self::Word(word) => {
                [format!("\"{word}\""), format!("\"{word} always\""), format!("\"{word} values\"")]
            }
        };
        let scope = if reach == Reach::Script { "script" } else { "session" };
        let always = match self {
            Self::Letter => format!("always in this {scope}"),
            Self::Word(_) => format!("in this {scope}"),
        };
        match reach {
            Reach::Once if *self == Self::Letter => "y yes, ".to_owned(),
            Reach::Once => format!("{once} to run it, "),
            Reach::Script | Reach::Tool => format!("{once} once, {tool} {always}, "),
            Reach::Values => format!("{once} once, {tool} {always}, {values} always with these values, "),
        }
    }

    /// Returns the note on an answer that is neither an approval nor a denial.
    pub(crate) fn note(&self) -> String {
        match self {
            Self::Letter => "expected y to run it, n to deny it, or in words why not".to_owned(),
            Self::Word(word) => {
                format!(
                    "expected \"{word}\" to run it, n to deny it, or in words why not; nothing else approves this call"
                )
            }
        }
    }

    fn approval(&self, said: &str) -> Option<Remember> {
        match self {
            Self::Letter => match said {
                "y" | "yes" => Some(Remember::Once),
                "s" | "always" => Some(Remember::Tool),
                "v" => Some(Remember::Arguments),
                _ => None,
            },
            Self::Word(word) => {
                let behind = said.strip_prefix(word.as_str())?;
                match behind {
                    "" => Some(Remember::Once),
                    " always" => Some(Remember::Tool),
                    " values" => Some(Remember::Arguments),
                    _ => None,
                }
            }
        }
    }
}

/// Parses a line; the end of the input denies. Only the expected words approve. Lines that resemble an approval, empty lines and
/// single letters are unclear; other words deny and give the reason.
pub(crate) fn reply(line: Option<&str>, confirmation: &Confirmation) -> Reply {
    let Some(line) = line else { return Reply::No(None) };
    let said = line.trim();
    let lower = said.to_lowercase();
    if let Some(remember) = confirmation.approval(&lower.split_whitespace().collect::<Vec<_>>().join(" ")) {
        return Reply::Yes(remember);
    }
    match lower.as_str() {
        "p" | "permanent" if *confirmation == Confirmation::Letter => Reply::WriteRule,
        "e" | "edit" => Reply::Edit,
        "u" | "undo" => Reply::Undo,
        "a" | "all" => Reply::All,
        "n" | "no" => Reply::No(None),
        other if other.chars().count() <= 1 || sounds_like_yes(other) => Reply::Unclear,
        _ => Reply::No(Some(feedback(said))),
    }
}

fn sounds_like_yes(said: &str) -> bool {
    let first = said.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    // A letter or a word of one of the prompts approves, but not here.
    let is_choice = matches!(said, "always" | "values");
    is_choice || first.is_none_or(|word| AFFIRMATIVE.contains(&word)) && !is_refusal(said)
}

/// Returns true for a negated approval, such as "do not".
fn is_refusal(said: &str) -> bool {
    let mut words = said.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| matches!(word, "no" | "not" | "never" | "don't" | "dont" | "but" | "stop"))
}

/// Returns what the model is told of a person's words.
pub(super) fn feedback(said: &str) -> String {
    cut(said.trim(), Layout::Lines, MAX_SAID_BYTES)
}

/// Splits off a number at the beginning of a line, from 1.
pub(super) fn numbered(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let end = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    let (number, rest) = line.split_at(end);
    Some((number.parse().ok()?, rest.trim_start_matches(['.', ':', ')']).trim()))
}
