//! A text that has been read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_model::text::pointer_part;

use crate::big_integers::{ExactIntegers, Node, exact_at};
use crate::{Error, Limits, Position, json, locate, nearest, value_count, yaml};

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One JSON value.
    Json,
    /// One JSON value on each line; read as an array of them.
    JsonLines,
    /// One YAML 1.2 document.
    Yaml,
}

impl Format {
    /// Returns the format that the ending of a file name says, if it says one.
    pub fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// Returns the format by the ending of the name, else by the first character: `{` and `[` open JSON.
    pub fn detect(path: &Path, bytes: &[u8]) -> Self {
        let bytes = without_byte_order_mark(bytes);
        Self::of_path(path).unwrap_or_else(|| match bytes.trim_ascii_start().first() {
            Some(b'{' | b'[') => Self::Json,
            _ => Self::Yaml,
        })
    }
}

/// A text that has been read: its value, and the text itself so that places can be named.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value.
    pub value: Value,
    exact: ExactIntegers,
    text: String,
    format: Format,
}

/// The optional beginning of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

/// Returns UTF-8 text without the byte order mark that editors on Windows begin it with. [`parse`] does so itself.
pub fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Reads a text.
pub fn parse(bytes: &[u8], format: Format, limits: &Limits) -> Result<Document, Error> {
    if bytes.len() > limits.max_bytes {
        return Err(Error::TooLarge { bytes: bytes.len(), max: limits.max_bytes });
    }
    let text = decode(without_byte_order_mark(bytes))?;
    value_count::check(text, format)?;
    let Node { value, exact } = match format {
        Format::Json => json::read(text)?,
        Format::JsonLines => json::read_lines(text)?,
        Format::Yaml => yaml::read(text, limits)?,
    };
    Ok(Document { value, exact, text: text.to_owned(), format })
}

fn decode(bytes: &[u8]) -> Result<&str, Error> {
    let error = |problem: &str| Error::Encoding { problem: problem.into() };
    match bytes {
        [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] | [0, _, ..] | [_, 0, ..] => {
            Err(error("the text looks like UTF-16"))
        }
        _ => std::str::from_utf8(bytes)
            .map_err(|utf8| error(&format!("byte {} is not UTF-8", utf8.valid_up_to()))),
    }
}

impl Document {
    /// Returns the place of a value, named by its JSON pointer; of its key where it stands under one.
    pub fn position_of(&self, pointer: &str) -> Option<Position> {
        self.positions_of(&[pointer]).into_iter().next().flatten()
    }

    /// The places of several values, in the order of their JSON pointers. The text is read once for all of them.
    pub fn positions_of(&self, pointers: &[impl AsRef<str>]) -> Vec<Option<Position>> {
        locate::locate(&self.text, self.format, pointers)
    }

    /// The integers beyond 64 bits at and below a JSON pointer, by their pointers as seen from there, in decimal digits.
    /// The value holds the nearest float of each.
    pub fn exact_integers(&self, pointer: &str) -> BTreeMap<String, String> {
        exact_at(&self.exact, pointer)
    }

    /// Returns true if the text contains an integer beyond 64 bits, which is rare.
    pub fn has_exact_integers(&self) -> bool {
        !self.exact.is_empty()
    }

    /// Returns an error at the first integer beyond 64 bits, for readers who cannot take it rounded.
    pub fn refuse_wide_integers(&self) -> Result<(), Error> {
        match self.exact.iter().find(|(_, digits)| *digits != "0") {
            None => Ok(()),
            Some((pointer, digits)) => Err(self.error_at(pointer, json::too_wide(pointer, digits))),
        }
    }

    /// Reads the whole as a type. An error names the place, the path, and the nearest known key.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.deserialize_at("")
    }

    /// Reads the value at a JSON pointer as a type; an absent value is read as null.
    pub fn deserialize_at<T: DeserializeOwned>(&self, pointer: &str) -> Result<T, Error> {
        self.deserialize_value(self.value.pointer(pointer).unwrap_or(&Value::Null), pointer)
    }

    /// Reads a value as a type that was made of the one at the pointer, as by filling in variables, and reports errors
    /// at the place of the original.
    pub fn deserialize_value<T: DeserializeOwned>(&self, value: &Value, pointer: &str) -> Result<T, Error> {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let mut place = pointer.to_owned();
            let mut path = path_of(pointer);
            for segment in error.path() {
                let (key, text) = match segment {
                    serde_path_to_error::Segment::Seq { index } => (index.to_string(), format!("[{index}]")),
                    serde_path_to_error::Segment::Map { key } => (key.clone(), format!(".{key}")),
                    serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => {
                        continue;
                    }
                };
                place.push('/');
                place.push_str(&pointer_part(&key));
                path.push_str(&text);
            }
            self.shape_error(&place, path.trim_start_matches('.'), &error.inner().to_string())
        })
    }

    /// Returns an error at the place of a value, with a message of the caller's own.
    pub fn error_at(&self, pointer: &str, message: impl Into<String>) -> Error {
        Error::Shape { position: self.position_of(pointer), path: path_of(pointer), message: message.into() }
    }

    fn shape_error(&self, pointer: &str, path: &str, serde_message: &str) -> Error {
        let message = explain_unknown(serde_message).unwrap_or_else(|| {
            let message = in_words(serde_message);
            if path.is_empty() { message } else { format!("`{path}`: {message}") }
        });
        Error::Shape { position: self.position_of(pointer), path: path.into(), message }
    }
}

/// Returns a JSON pointer as people write a path: `tools.registry[0].path`.
pub fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    for segment in pointer.split('/').skip(1) {
        let key = segment.replace("~1", "/").replace("~0", "~");
        if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()) {
            path.extend(["[", key.as_str(), "]"]);
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&key);
        }
    }
    path
}

/// The names of Rust types in messages of serde, and the names that people use for them.
const TYPE_NAMES: [(&str, &str); 14] = [
    ("a nonzero u32", "a whole number from 1 to 4294967295"),
    ("a nonzero u64", "a whole number from 1"),
    ("a nonzero usize", "a whole number from 1"),
    ("usize", "a whole number from 0"),
    ("u64", "a whole number from 0"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u16", "a whole number from 0 to 65535"),
    ("u8", "a whole number from 0 to 255"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a string", "a text"),
    ("a sequence", "a list"),
    ("a map", "a mapping"),
    ("any valid JSON value", "a value"),
];

/// Turns serde's `invalid type: null, expected struct X` into `expected a mapping, found nothing`.
fn in_words(message: &str) -> String {
    let given =
        ["invalid type: ", "invalid value: "].into_iter().find_map(|prefix| message.strip_prefix(prefix));
    let Some((found, expected)) = given.and_then(|rest| rest.split_once(", expected ")) else {
        return message.to_owned();
    };
    let found = match found.split_once(' ') {
        _ if found == "null" => "nothing".to_owned(),
        _ if found == "sequence" => "a list".to_owned(),
        _ if found == "map" => "a mapping".to_owned(),
        Some(("integer" | "boolean" | "string", value)) => value.to_owned(),
        Some(("floating", value)) => value.trim_start_matches("point ").to_owned(),
        _ => found.to_owned(),
    };
    let is_struct = expected.starts_with("struct ");
    let expected = TYPE_NAMES.iter().find(|(rust, _)| *rust == expected).map_or(expected, |(_, words)| words);
    let expected = if is_struct { "a mapping" } else { expected };
    format!("expected {expected}, found {found}")
}

/// Turns serde's ``unknown field `x`, expected one of `a`, `b` `` into a sentence with the nearest name.
fn explain_unknown(message: &str) -> Option<String> {
    let (what, rest) = [("key", "unknown field `"), ("value", "unknown variant `")]
        .into_iter()
        .find_map(|(what, prefix)| Some((what, message.strip_prefix(prefix)?)))?;
    let (unknown, rest) = rest.split_once('`')?;
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    Some(match nearest(unknown, known.iter().copied()) {
        Some(nearest) => format!("unknown {what} `{unknown}`, did you mean `{nearest}`?"),
        None if known.is_empty() => format!("unknown {what} `{unknown}`; none is expected here"),
        None => format!("unknown {what} `{unknown}`; expected one of: {}", known.join(", ")),
    })
}
