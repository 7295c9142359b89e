//! The condition of a watcher: a boolean expression on results.
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
//! Texts are in single or double quotes. `<`, `<=`, `>` and `>=` compare two numbers, or two texts in lexicographic
//! order, which is chronological for ISO 8601 dates. `contains` tests for a substring, an element of a list or a key of
//! an object. A test of a missing value is false, and so is a test for a change if there is no previous result.

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

/// The maximum length of a condition in characters.
const MAX_CONDITION_CHARS: usize = 1_000;

/// The maximum nesting depth of parentheses and `not`.
const MAX_CONDITION_DEPTH: usize = 32;

/// A parsed condition, which is true or false for a result.
///
/// ```
/// use serde_json::json;
/// use toolcrib_tasks::condition::Condition;
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
    /// Parses a condition. The error contains the position of the mistake.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let expression = parser::parse(text)
            .map_err(|error| Error::InvalidCondition { column: error.at + 1, reason: error.reason })?;
        Ok(Self { text: text.to_owned(), expression })
    }

    /// Returns true if the condition holds for a result, given the previous one.
    pub fn holds(&self, result: &Value, before: Option<&Value>) -> bool {
        self.expression.holds(result, before)
    }

    /// Returns true if the condition compares a result with the previous one.
    pub fn compares(&self) -> bool {
        self.expression.compares()
    }

    /// Returns the source text of the condition.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Path {
    /// Parses a path in the syntax of conditions. The error contains the position of the mistake.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        parser::parse_path(text)
            .map_err(|error| Error::InvalidCondition { column: error.at + 1, reason: error.reason })
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}
