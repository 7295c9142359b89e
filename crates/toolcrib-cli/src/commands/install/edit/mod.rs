//! Changing one entry in the text of a configuration, and nothing else in it.
//!
//! A configuration is changed as text. Comments, order, blank lines and line ends of everything else stay byte for byte as
//! they were; a parser only tells where the entry stands. What comes out is read again and compared before anybody writes
//! it.
//!
//! The editors of `jsonc-parser` and `toml_edit` do not keep that: `jsonc-parser` spreads an object of one line over
//! several lines, and `toml_edit` writes every line end as LF.

mod json;
mod toml;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

/// The format of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, in which comments and commas before a closing bracket are let through.
    Json,
    /// TOML 1.0.
    Toml,
}

/// The reason why a text cannot be read or changed; `at` is the line and the column, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) at: Option<(usize, usize)>,
    pub(crate) message: String,
}

impl Problem {
    fn new(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into() }
    }

    /// `file:line:column: message`.
    pub(crate) fn in_file(&self, file: &str) -> String {
        match self.at {
            Some((line, column)) => format!("{file}:{line}:{column}: {}", self.message),
            None => format!("{file}: {}", self.message),
        }
    }
}

/// A configuration whose servers are entries of one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    pub(crate) format: Format,
    /// The key of that object.
    pub(crate) servers: &'static str,
}

impl Edit {
    /// Parses the configuration.
    pub(crate) fn read(self, text: &str) -> Result<Map<String, Value>, Problem> {
        match self.format {
            Format::Json => json::read(text),
            Format::Toml => toml::read(text),
        }
    }

    /// Returns the entry of this name, as a value.
    pub(crate) fn entry(self, text: &str, name: &str) -> Result<Option<Value>, Problem> {
        Ok(self.read(text)?.get(self.servers).and_then(|servers| servers.get(name)).cloned())
    }

    /// Returns the entry of this name, as it is written.
    pub(crate) fn written(self, text: &str, name: &str) -> Result<Option<String>, Problem> {
        match self.format {
            Format::Json => json::written(text, self.servers, name),
            Format::Toml => toml::written(text, self.servers, name),
        }
    }

    /// Returns the text with this entry, in the place of the one of that name, else behind the others. No text is an
    /// empty configuration.
    pub(crate) fn with(
        self,
        text: Option<&str>,
        name: &str,
        entry: &Map<String, Value>,
    ) -> Result<String, Problem> {
        let text = text.unwrap_or_default();
        let changed = match self.format {
            Format::Json => json::with(text, self.servers, name, entry)?,
            Format::Toml => toml::with(text, self.servers, name, entry)?,
        };
        self.check(text, &changed, name, Some(&Value::Object(entry.clone())))?;
        Ok(changed)
    }

    /// Returns an entry by itself, as a person reads it.
    pub(crate) fn rendered(self, name: &str, entry: &Map<String, Value>) -> String {
        match self.format {
            Format::Json => format!("{}: {:#}", Value::from(name), Value::Object(entry.clone())),
            Format::Toml => toml::table(self.servers, name, entry, "\n"),
        }
    }

    /// Returns the text with this entry as it was written elsewhere, in the place of the one of that name.
    pub(crate) fn with_written(self, text: &str, name: &str, written: &str) -> Result<String, Problem> {
        let changed = match self.format {
            Format::Json => json::with_written(text, self.servers, name, written)?,
            Format::Toml => toml::with_written(text, self.servers, name, written)?,
        };
        self.check_rest(text, &changed, name)?;
        Ok(changed)
    }

    /// Returns the text without this entry; without the object of the servers too, where `drops_servers` says so and it
    /// is empty then.
    pub(crate) fn without(self, text: &str, name: &str, drops_servers: bool) -> Result<String, Problem> {
        let changed = match self.format {
            Format::Json => json::without(text, self.servers, name, drops_servers)?,
            Format::Toml => toml::without(text, self.servers, name)?,
        };
        self.check(text, &changed, name, None)?;
        Ok(changed)
    }

    /// Checks that the change is the intended one, and the only one.
    fn check(self, before: &str, after: &str, name: &str, entry: Option<&Value>) -> Result<(), Problem> {
        self.check_rest(before, after, name)?;
        if self.entry(after, name)?.as_ref() != entry {
            return Err(not_editable(name));
        }
        Ok(())
    }

    fn check_rest(self, before: &str, after: &str, name: &str) -> Result<(), Problem> {
        let rest = |text: &str| {
            let mut all = self.read(text)?;
            let servers = all.get_mut(self.servers).and_then(Value::as_object_mut);
            let is_empty = servers.is_some_and(|servers| {
                servers.shift_remove(name);
                servers.is_empty()
            });
            if is_empty {
                all.shift_remove(self.servers);
            }
            Ok(all)
        };
        if rest(before)? == rest(after)? { Ok(()) } else { Err(not_editable(name)) }
    }
}

/// Returns the problem of a text in a form that cannot be edited.
fn not_editable(name: &str) -> Problem {
    Problem::new(format!(
        "it is written in a way in which the entry `{name}` cannot be changed without changing more; change it by hand"
    ))
}

/// Returns the line and the column of a byte, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(at)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    (before.bytes().filter(|byte| *byte == b'\n').count() + 1, column)
}

/// Returns the line end of a text.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns a text with another one in the place of a range of it.
fn spliced(text: &str, range: std::ops::Range<usize>, new: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    [before, new, after].concat()
}
