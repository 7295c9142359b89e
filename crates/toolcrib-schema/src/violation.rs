//! What is wrong with a value, in words that help to mend it.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde::Serialize;
use serde_json::Value;

/// The most violations that are reported of one value.
pub const MAX_VIOLATIONS: usize = 8;

/// The most characters of a wrong value that are quoted.
const MAX_QUOTED_CHARS: usize = 180;

/// The most characters of a schema part that are quoted.
const MAX_EXPECTED_CHARS: usize = 400;

/// The most characters of one name that are shown.
const MAX_NAME_CHARS: usize = 80;

/// The most characters of a place that are shown.
const MAX_PLACE_CHARS: usize = 200;

/// The most known names that are listed.
const MAX_LISTED_NAMES: usize = 12;

/// The most characters in which violations are told together.
const MAX_DISPLAY_CHARS: usize = 4000;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// JSON pointer of the wrong part; empty for the whole.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
    /// JSON pointer of what `expected` describes: the wrong part, or of an unknown argument the one that was meant;
    /// empty when it describes all arguments.
    pub subject: String,
    /// The part of the schema that was expected; `None` when that is too large to show.
    pub expected: Option<Value>,
}

/// Everything that is wrong with a value; never empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violations(pub(crate) Vec<Violation>);

impl Violations {
    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.0.iter()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<&str> = self.0.iter().map(|violation| violation.message.as_str()).collect();
        f.write_str(&cut(&messages.join("; "), MAX_DISPLAY_CHARS))
    }
}

impl Violation {
    /// A wrong value whose errors are too many to look at.
    pub(crate) fn unexplained() -> Self {
        let message = "the value does not fit, and is too large or deep for this schema to say where".into();
        Self { path: String::new(), message, subject: String::new(), expected: None }
    }

    /// A schema error in our words. One error about several properties becomes one violation each.
    pub(crate) fn from_error(error: &ValidationError<'_>, schema: &Value) -> Vec<Self> {
        let path = error.instance_path().to_string();
        let one = |path: String, message: String, expected: Option<Value>| {
            vec![Self { subject: path.clone(), path, message, expected }]
        };
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let property = property.as_str().unwrap_or_default();
                let full = format!("{path}/{property}");
                let expected = property_schema(error, schema, property).and_then(bounded);
                one(full.clone(), format!("{} is missing", place(&full)), expected)
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let parent = parent_schema(error, schema);
                let unexpected = unexpected.iter().take(MAX_VIOLATIONS);
                unexpected.map(|name| unknown_argument(&path, name, parent)).collect()
            }
            _ => {
                let expected = parent_schema(error, schema).cloned().and_then(bounded);
                one(path.clone(), format!("{} {}", place(&path), reason(error)), expected)
            }
        }
    }
}

/// An argument that the schema does not know, with the nearest one that it knows.
pub(crate) fn unknown_argument(path: &str, name: &str, schema: Option<&Value>) -> Violation {
    let known: Vec<&str> = schema
        .and_then(|schema| schema.get("properties")?.as_object())
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    // Names of more characters are not misspelt but made up, and comparing takes the product of both lengths.
    let is_comparable = |name: &str| name.len() <= MAX_NAME_CHARS;
    let nearest = known
        .iter()
        .filter(|known| is_comparable(name) && is_comparable(known))
        .map(|known| (strsim::normalized_damerau_levenshtein(name, known), *known))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    let what = if path.is_empty() { "argument" } else { "property" };
    let full = format!("{path}/{name}");
    let shown = place(&full);
    let message = match nearest {
        Some((_, nearest)) => format!("unknown {what} {shown}, did you mean `{nearest}`?"),
        None if known.is_empty() => format!("unknown {what} {shown}; none is expected here"),
        None => format!("unknown {what} {shown}; expected one of: {}", listed(&known)),
    };
    // The nearest argument is what was meant; without one, all that there are.
    let properties = schema.and_then(|schema| schema.get("properties"));
    let (subject, expected) = match nearest {
        Some((_, nearest)) => {
            (format!("{path}/{nearest}"), properties.and_then(|properties| properties.get(nearest)))
        }
        None => (path.to_owned(), properties),
    };
    Violation { path: full, message, subject, expected: expected.cloned().and_then(bounded) }
}

/// The first of the names, and how many there are beyond them.
fn listed(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_LISTED_NAMES).map(|name| cut(name, MAX_NAME_CHARS)).collect();
    match names.len().saturating_sub(MAX_LISTED_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// How alike two names must be, from 0 to 1, before one is offered for the other.
const MIN_LIKENESS: f64 = 0.6;

/// `/filter/0/name` as `` `filter[0].name` ``.
fn place(path: &str) -> String {
    if path.is_empty() {
        return "the value".into();
    }
    let mut text = String::new();
    for segment in path.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        if segment.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            text.push('[');
            text.push_str(&segment);
            text.push(']');
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&cut(&segment, MAX_NAME_CHARS));
        }
    }
    format!("`{}`", cut(&text, MAX_PLACE_CHARS))
}

/// The rest of the sentence that starts with the place.
fn reason(error: &ValidationError<'_>) -> String {
    let found = || quoted(&error.instance().to_string());
    match error.kind() {
        ValidationErrorKind::Type { .. } => {
            let message = error.masked_with("it").to_string();
            let wanted =
                message.split(" is not of type").nth(1).unwrap_or_default().trim_start_matches('s').trim();
            format!("must be of type {}, not {}", wanted.replace('"', ""), found())
        }
        ValidationErrorKind::Enum { options } => {
            let options = options
                .as_array()
                .map(|options| options.iter().map(Value::to_string).collect::<Vec<_>>().join(", "));
            format!("must be one of {}, not {}", quoted(&options.unwrap_or_default()), found())
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            format!("fits none of the allowed forms: {}", found())
        }
        _ => format!("is not valid: {}", quoted(&error.masked_with("it").to_string())),
    }
}

fn quoted(text: &str) -> String {
    cut(text, MAX_QUOTED_CHARS)
}

/// At most so many characters, with a mark where some are gone.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The schema whose keyword the error names. Behind a `$ref` the path runs through the reference, and the part is
/// then not found here.
fn parent_schema<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Option<&'a Value> {
    let path = error.schema_path().to_string();
    let (parent, _) = path.rsplit_once('/')?;
    schema.pointer(parent)
}

fn property_schema(error: &ValidationError<'_>, schema: &Value, property: &str) -> Option<Value> {
    parent_schema(error, schema)?.get("properties")?.get(property).cloned()
}

fn bounded(schema: Value) -> Option<Value> {
    (schema.to_string().len() <= MAX_EXPECTED_CHARS).then_some(schema)
}
