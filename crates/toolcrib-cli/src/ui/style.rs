//! Colours by their meaning.

use std::io::IsTerminal as _;

/// The meaning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Success,
    Failure,
    Caution,
    /// Reasoning, and what is of less importance.
    Aside,
    Strong,
    Emphasis,
    Code,
}

/// The sequence that ends any style.
pub(crate) const END: &str = "\u{1b}[0m";

impl Meaning {
    /// Returns the sequence that begins this style.
    pub(crate) fn begin(self) -> &'static str {
        match self {
            Self::Success => "\u{1b}[32m",
            Self::Failure => "\u{1b}[31m",
            Self::Caution => "\u{1b}[33m",
            Self::Aside => "\u{1b}[2m",
            Self::Strong => "\u{1b}[1m",
            Self::Emphasis => "\u{1b}[3m",
            Self::Code => "\u{1b}[36m",
        }
    }

    /// Returns a printable text in the style of this meaning.
    pub(crate) fn paint(self, text: &str) -> String {
        [self.begin(), text, END].concat()
    }
}

/// Colours the risk in the text of a question. Only lines of this program begin with two spaces and `risk:`, since those of
/// others are indented further.
pub(crate) fn with_coloured_risk(text: &str) -> String {
    const LABEL: &str = "  risk: ";
    let coloured = |line: &str| {
        let rest = line.strip_prefix(LABEL)?;
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (risk, behind) = rest.split_at(end);
        let meaning = match risk {
            "low" => Meaning::Success,
            "medium" => Meaning::Caution,
            _ => Meaning::Failure,
        };
        Some([LABEL, &meaning.paint(risk), behind].concat())
    };
    text.split_inclusive('\n').map(|line| coloured(line).unwrap_or_else(|| line.to_owned())).collect()
}

/// Returns true if standard error is a terminal, so that colour helps.
pub(crate) fn is_colourful() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_risk_of_a_question_is_coloured_and_nothing_that_others_wrote() {
        let text = "\nshop.order wants to run\n  risk: high; changes: shop\n  arguments:\n    risk: low\n";
        assert_eq!(
            with_coloured_risk(text),
            "\nshop.order wants to run\n  risk: \u{1b}[31mhigh\u{1b}[0m; changes: shop\n  arguments:\n    risk: low\n"
        );
    }
}
