//! Conversations read from JSON lines, and the check of a whole file.
//!
//! A line is a conversation in the form of [`Conversation`], or `{messages, tools}` of the Chat Completions API, which
//! is the default format of the [`writer`](crate::writer).

mod chat_completions;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use serde::Serialize;
use serde_json::Value;

use crate::conversation::Conversation;
use crate::validate::{Finding, Location, Reason, validate};

/// The maximum number of bytes of one line.
pub const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// The outcome of the check of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// The number of lines that are not empty.
    pub conversations: u64,
    /// The number of conversations without a finding.
    pub clean: u64,
    /// The number of findings by reason.
    pub findings: BTreeMap<Reason, u64>,
}

/// Reads one conversation. `id` is its identifier if the line has none.
///
/// The Chat Completions API has no field for a failed call. A result counts as failed if it is an object with the
/// member `error`.
///
/// # Errors
///
/// The message says what is wrong with the line, with the column if it is not JSON.
///
/// ```
/// use toolcrib_datagen::reader::read_line;
///
/// let line = r#"{"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}]}"#;
/// assert_eq!(read_line(line, "1")?.messages.len(), 2);
/// assert_eq!(read_line("[]", "2").unwrap_err(), "expected an object with `messages`, found an array");
/// # Ok::<(), String>(())
/// ```
pub fn read_line(line: &str, id: &str) -> Result<Conversation, String> {
    // A conversation is one line, so that only the column helps.
    let syntax = |error: serde_json::Error| error.to_string().replace(" at line 1 column ", " at column ");
    let value: Value = serde_json::from_str(line.trim()).map_err(syntax)?;
    let Value::Object(members) = &value else {
        return Err(format!("expected an object with `messages`, found {}", type_name(&value)));
    };
    if members.contains_key("kind") {
        return serde_json::from_value(value).map_err(|error| error.to_string());
    }
    chat_completions::read(value, id)
}

/// Checks all lines of a file, and passes the number of each line with findings to `show`, from 1 on, with the findings.
///
/// A line that cannot be read has the finding [`Reason::Unparsable`]; the lines after it are checked all the same.
///
/// # Errors
///
/// Returns the error of reading.
pub fn check_lines(
    mut input: impl BufRead,
    mut show: impl FnMut(u64, &[Finding]),
) -> io::Result<CheckReport> {
    let mut report = CheckReport::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = input.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let is_too_long = line.len() as u64 > MAX_LINE_BYTES;
        if is_too_long && line.last() != Some(&b'\n') {
            input.skip_until(b'\n')?;
        }
        let findings = if is_too_long {
            vec![unparsable(format!("the line has more than {MAX_LINE_BYTES} bytes"))]
        } else {
            findings(&line, number)
        };
        report.conversations += 1;
        if findings.is_empty() {
            report.clean += 1;
            continue;
        }
        for finding in &findings {
            *report.findings.entry(finding.reason).or_default() += 1;
        }
        show(number, &findings);
    }
    Ok(report)
}

fn findings(line: &[u8], number: u64) -> Vec<Finding> {
    // Files of other programs may begin with a byte order mark.
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let text = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8".to_owned());
    match text.and_then(|text| read_line(text, &number.to_string())) {
        Ok(conversation) => validate(&conversation),
        Err(problem) => vec![unparsable(problem)],
    }
}

fn unparsable(problem: impl Into<String>) -> Finding {
    Finding::new(Reason::Unparsable, Location::conversation(), problem)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
