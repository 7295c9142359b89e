//! Violations of a schema, described so that the caller can correct the value.

use std::collections::HashSet;
use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::Location;
use serde::Serialize;
use serde_json::Value;
use toolcrib_model::text::{ellipsize_chars, pointer_part};

use crate::repair::read_text;
use crate::value_size::json_within;

/// The most violations that are reported of one value.
pub(crate) const MAX_VIOLATIONS: usize = 8;

/// The most characters of a wrong value that are quoted.
const MAX_QUOTED_CHARS: usize = 180;

/// The most bytes of a schema part that are quoted.
const MAX_EXPECTED_BYTES: usize = 400;

/// The most examples of one part that are shown.
const MAX_EXAMPLES: usize = 2;

/// The most characters of one name that are shown.
const MAX_NAME_CHARS: usize = 80;

/// The most characters of a place that are shown.
const MAX_PLACE_CHARS: usize = 200;

/// The most known names that are listed.
const MAX_LISTED_NAMES: usize = 12;

/// The most characters in which violations are told together.
const MAX_DISPLAY_CHARS: usize = 4000;

/// The most names or values that are compared with a misspelt one.
const MAX_COMPARED: usize = 200;

/// The longest text that is compared. A longer one is not misspelt but made up.
const MAX_COMPARED_BYTES: usize = 48;

/// The minimum similarity of two texts, from 0 to 1, for a suggestion.
const MIN_LIKENESS: f64 = 0.6;

/// The words before the names that are known, in the message about one that is not.
const LIST: &str = "; expected one of: ";

/// The kind of a violation, for code that tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViolationKind {
    /// A required argument or property is missing.
    Missing,
    /// The schema does not know an argument or property.
    Unknown,
    /// A value does not fit its part of the schema.
    Misfit,
}

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// The kind.
    #[serde(skip)]
    pub kind: ViolationKind,
    /// JSON pointer of the wrong part; empty for the whole.
    pub path: String,
    /// The problem.
    pub message: String,
    /// JSON pointer of what `expected` describes: the wrong part, or of an unknown argument the one that was meant;
    /// empty when it describes all arguments.
    pub subject: String,
    /// The part of the schema that was expected; `None` when it is too large to show, or says no more than the message.
    pub expected: Option<Value>,
    /// Examples of the subject that its schema gives, where the schema itself is too large to show.
    pub examples: Vec<Value>,
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

impl std::error::Error for Violations {}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lists = HashSet::new();
        let messages = self.0.iter().map(|violation| match violation.message.split_once(LIST) {
            // Several unknown arguments have the same list of known ones.
            Some((unknown, list)) if !lists.insert(list) => unknown,
            _ => violation.message.as_str(),
        });
        let messages: Vec<&str> = messages.collect();
        f.write_str(&ellipsize_chars(&messages.join("; "), MAX_DISPLAY_CHARS))
    }
}

impl Violation {
    /// Returns a wrong value whose errors are too many to look at.
    pub(crate) fn unexplained() -> Self {
        let message = "the value does not fit, and is too large or deep for this schema to say where".into();
        let kind = ViolationKind::Misfit;
        Self {
            kind,
            path: String::new(),
            message,
            subject: String::new(),
            expected: None,
            examples: Vec::new(),
        }
    }

    /// A name that is not the same for all readers of JSON.
    pub(crate) fn with_nul(pointer: &str, name: &str) -> Self {
        let path = pointer_below(pointer, name);
        let message = format!("the name {} holds the character NUL; leave it out", place(&path));
        let kind = ViolationKind::Unknown;
        Self { kind, subject: pointer.to_owned(), path, message, expected: None, examples: Vec::new() }
    }

    /// Returns a schema error in our words. One error about several properties becomes one violation each.
    pub(crate) fn from_error(error: &ValidationError<'_>, schema: &Value) -> Vec<Self> {
        let path = error.instance_path().to_string();
        let one = |kind, path: String, message: String, part: Option<&Value>| {
            let (expected, examples) = shown(part, part);
            vec![Self { kind, subject: path.clone(), path, message, expected, examples }]
        };
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let property = property.as_str().unwrap_or_default();
                let full = pointer_below(&path, property);
                let part = property_schema(error, schema, property);
                one(ViolationKind::Missing, full.clone(), format!("{} is missing", place(&full)), part)
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let parent = parent_schema(error, schema);
                let unexpected = unexpected.iter().take(MAX_VIOLATIONS);
                unexpected.map(|name| unknown_argument(&path, name, parent)).collect()
            }
            _ => {
                let part = parent_schema(error, schema).filter(|part| adds_to_message(error, part));
                let message = format!("{} {}", place(&path), reason(error));
                one(ViolationKind::Misfit, path.clone(), message, part)
            }
        }
    }
}

/// Returns an argument that the schema does not know, with the nearest one that it knows.
pub(crate) fn unknown_argument(path: &str, name: &str, schema: Option<&Value>) -> Violation {
    let known: Vec<&str> = schema
        .and_then(|schema| schema.get("properties")?.as_object())
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let nearest = nearest(name, known.iter().copied());
    let full = pointer_below(path, name);
    let unknown = format!("unknown {} {}", what(path), place(&full));
    // The nearest argument is what was meant; without one, all that there are.
    let properties = schema.and_then(|schema| schema.get("properties"));
    let (subject, (expected, examples)) = match nearest {
        Some(nearest) => {
            let part = properties.and_then(|properties| properties.get(nearest));
            (pointer_below(path, nearest), shown(part, part))
        }
        None => (path.to_owned(), shown(properties, schema)),
    };
    let message = match nearest {
        Some(nearest) => format!("{unknown}, did you mean `{nearest}`?"),
        None if known.is_empty() => format!("{unknown}; none is expected here"),
        // The schemas of the known arguments name them.
        None if expected.is_some() => unknown,
        None => format!("{unknown}{LIST}{}", listed(&known)),
    };
    Violation { kind: ViolationKind::Unknown, path: full, message, subject, expected, examples }
}

/// Returns a name that some readers take for another one.
pub(crate) fn mistaken_name(path: &str, name: &str, meant: &str) -> Violation {
    let full = pointer_below(path, name);
    let message = format!(
        "unknown {} {}, did you mean `{}`? Similar names are refused, since some parsers confuse them",
        what(path),
        place(&full),
        ellipsize_chars(meant, MAX_NAME_CHARS),
    );
    Violation {
        kind: ViolationKind::Unknown,
        path: full,
        message,
        subject: pointer_below(path, meant),
        expected: None,
        examples: Vec::new(),
    }
}

fn what(path: &str) -> &'static str {
    if path.is_empty() { "argument" } else { "property" }
}

/// Returns the known text that is most similar to the given one, regardless of case.
fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes the product of both lengths.
    let is_comparable = |text: &str| text.len() <= MAX_COMPARED_BYTES;
    let lowered = given.to_lowercase();
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&lowered, &known.to_lowercase());
    known
        .take(MAX_COMPARED)
        .filter(|known| is_comparable(given) && is_comparable(known))
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, nearest)| nearest)
}

/// Returns the first of the names, and how many there are beyond them.
fn listed(names: &[&str]) -> String {
    let shown: Vec<_> =
        names.iter().take(MAX_LISTED_NAMES).map(|name| ellipsize_chars(name, MAX_NAME_CHARS)).collect();
    match names.len().saturating_sub(MAX_LISTED_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

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
            text.push_str(&ellipsize_chars(&segment, MAX_NAME_CHARS));
        }
    }
    format!("`{}`", ellipsize_chars(&text, MAX_PLACE_CHARS))
}

/// Returns the rest of the sentence that starts with the place.
fn reason(error: &ValidationError<'_>) -> String {
    let found = || quoted(&error.instance().to_string());
    match error.kind() {
        ValidationErrorKind::Type { .. } => {
            let message = error.masked_with("it").to_string();
            let wanted =
                message.split(" is not of type").nth(1).unwrap_or_default().trim_start_matches('s').trim();
            let wanted = wanted.replace('"', "");
            format!("must be of type {wanted}, not {}{}", found(), unread(error.instance(), &wanted))
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            format!(
                "must be one of {}, not {}{}",
                choices(options),
                found(),
                meant(error.instance(), options)
            )
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("must be {}, not {}", quoted(&expected_value.to_string()), found())
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            match fixed_values(context, error.instance_path()) {
                Some(options) => {
                    let meant = meant(error.instance(), &options);
                    format!("must be one of {}, not {}{meant}", choices(&options), found())
                }
                None => format!("fits none of the allowed forms: {}", found()),
            }
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            format!("fits more than one of the allowed forms, and only one may fit: {}", found())
        }
        _ => format!("is not valid: {}", quoted(&error.masked_with("it").to_string())),
    }
}

/// Returns the reason why a text is not parsed as a list or an object.
fn unread(value: &Value, wanted: &str) -> String {
    let text = value.as_str().map(str::trim_start).filter(|text| text.starts_with(['{', '[']));
    let is_wanted = ["object", "array"].iter().any(|kind| wanted.contains(kind));
    match text.filter(|_| is_wanted).map(read_text) {
        Some(Err(error)) => format!(" (not read as JSON: {})", quoted(&error)),
        _ => String::new(),
    }
}

/// Returns the allowed values, as many as can be shown.
fn choices(options: &[Value]) -> String {
    let shown: Vec<_> =
        options.iter().take(MAX_LISTED_NAMES).map(|option| quoted(&option.to_string())).collect();
    match options.len().saturating_sub(MAX_LISTED_NAMES) {
        0 => quoted(&shown.join(", ")),
        more => format!("{} and {more} more", quoted(&shown.join(", "))),
    }
}

/// Returns true if [`choices`] shows all of the allowed values, and each whole.
fn are_all_shown(options: &[Value]) -> bool {
    let chars = options.iter().map(|option| option.to_string().chars().count() + 2);
    options.len() <= MAX_LISTED_NAMES && chars.sum::<usize>() <= MAX_QUOTED_CHARS
}

/// Returns the allowed text that was meant by a wrong one.
fn meant(value: &Value, options: &[Value]) -> String {
    let given = value.as_str().unwrap_or_default();
    match nearest(given, options.iter().filter_map(Value::as_str)) {
        Some(nearest) => format!(", did you mean {}?", quoted(&Value::from(nearest).to_string())),
        None => String::new(),
    }
}

/// Returns the values of alternatives that are all a fixed value or a list of such.
fn fixed_values(context: &[Vec<ValidationError<'static>>], place: &Location) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for errors in context {
        let fixed = errors.iter().find_map(|error| match error.kind() {
            _ if error.instance_path() != place => None,
            ValidationErrorKind::Constant { expected_value } => Some(vec![expected_value.as_ref().clone()]),
            ValidationErrorKind::Enum { options } => options.as_array().cloned(),
            _ => None,
        });
        values.extend(fixed?);
    }
    (!values.is_empty()).then_some(values)
}

fn quoted(text: &str) -> String {
    ellipsize_chars(text, MAX_QUOTED_CHARS).into_owned()
}

/// The schema whose keyword the error names. Behind a `$ref` the path runs through the reference, and the part is
/// then not found here.
fn parent_schema<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Option<&'a Value> {
    let path = error.schema_path().to_string();
    let (parent, _) = path.rsplit_once('/')?;
    schema.pointer(parent)
}

fn property_schema<'a>(error: &ValidationError<'_>, schema: &'a Value, property: &str) -> Option<&'a Value> {
    parent_schema(error, schema)?.get("properties")?.get(property)
}

/// Returns false for a part of a schema that holds only the type or the choices that the message names.
fn adds_to_message(error: &ValidationError<'_>, part: &Value) -> bool {
    let is_told = |key: &str, value: &Value| match (error.kind(), key) {
        (ValidationErrorKind::Type { .. } | ValidationErrorKind::Enum { .. }, "type") => true,
        (ValidationErrorKind::Enum { .. }, "enum") => {
            value.as_array().is_some_and(|options| are_all_shown(options))
        }
        _ => false,
    };
    !part.as_object().is_some_and(|part| part.iter().all(|(key, value)| is_told(key, value)))
}

/// Returns a part of a schema where it is small enough to show, or else the examples that its schema gives.
fn shown(part: Option<&Value>, schema: Option<&Value>) -> (Option<Value>, Vec<Value>) {
    let Some(part) = part.filter(|part| part.as_object().is_none_or(|part| !part.is_empty())) else {
        return (None, Vec::new());
    };
    if let Some(part) = bounded(part) {
        return (Some(part), Vec::new());
    }
    let examples = schema.and_then(|schema| schema.get("examples")?.as_array());
    (None, examples.into_iter().flatten().take(MAX_EXAMPLES).filter_map(bounded).collect())
}

fn bounded(schema: &Value) -> Option<Value> {
    json_within(schema, MAX_EXPECTED_BYTES).is_ok().then(|| schema.clone())
}

/// Returns the pointer of a member of the value that a pointer refers to.
pub(crate) fn pointer_below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", pointer_part(name))
}
