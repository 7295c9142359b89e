//! What a watcher waits for, as an expression on results.
//!
//! ```text
//! condition := term { "or" term }
//! term      := factor { "and" factor }
//! factor    := "not" factor | "(" condition ")" | path test
//! test      := ("==" | "!=" | "<" | "<=" | ">" | ">=") operand
//!            | "contains" operand | "exists" | "changed" [ "by more than" number [ "%" ] ]
//! operand   := path | text | number | "true" | "false" | "null"
//! path      := "$" { "." name | "[" number "]" | "[" text "]" }
//! ```
//!
//! Texts stand in single or double quotes. `<` and its kin hold for two numbers, and for two texts in the order of their
//! letters, which is that of time for dates in ISO 8601; `contains` for a part of a text, an element of a list and a key of an
//! object. A test of something that is not there does not hold, and neither does one of a change where there is nothing to
//! compare with.

mod evaluation;
mod parser;
mod tokens;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use crate::Error;
use evaluation::Expression;

pub(crate) use evaluation::Path;

/// How long a condition may be, in characters.
pub const MAX_CONDITION_CHARS: usize = 1_000;

/// How deep parentheses and `not` may nest.
pub const MAX_CONDITION_DEPTH: usize = 32;

/// An expression that holds for a result, or does not.
///
/// ```
/// use serde_json::json;
/// use toolcrib_tasks::Condition;
///
/// let condition = Condition::parse("$.status != 'up' or $.load changed by more than 50 %").unwrap();
/// assert!(condition.holds(&json!({"status": "up", "load": 4}), Some(&json!({"status": "up", "load": 2}))));
/// assert!(!condition.holds(&json!({"status": "up", "load": 2}), None));
/// ```
#[derive(Clone, PartialEq)]
pub struct Condition {
    text: String,
    expression: Expression,
}

impl Condition {
    /// Reads a condition. An error names the place of the mistake.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let expression = parser::parse(text)
            .map_err(|mistake| Error::InvalidCondition { column: mistake.at + 1, reason: mistake.reason })?;
        Ok(Self { text: text.to_owned(), expression })
    }

    /// Whether it holds for a result, with the one before it.
    pub fn holds(&self, result: &Value, before: Option<&Value>) -> bool {
        self.expression.holds(result, before)
    }

    /// Whether it compares a result with the one before it.
    pub fn compares(&self) -> bool {
        self.expression.compares()
    }

    /// The condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Path {
    /// Reads a path, as it stands in a condition. An error names the place of the mistake.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        parser::parse_path(text)
            .map_err(|mistake| Error::InvalidCondition { column: mistake.at + 1, reason: mistake.reason })
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}
