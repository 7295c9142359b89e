//! The validator, set up as this crate uses it.

use jsonschema::{Draft, PatternOptions, Registry, Validator};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::Error;

/// The most bytes a compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The address under which the probes know the schema. Nothing is ever asked for it.
const ADDRESS: &str = "toolcrib:schema";

const TYPES: &str = "string, number, integer, boolean, object, array and null";

/// Returns the draft that `$schema` names, or 2020-12 for a missing or unknown one.
pub(crate) fn draft_of(schema: &Value) -> Draft {
    match Draft::default().detect(schema) {
        Draft::Unknown => Draft::default(),
        known => known,
    }
}

/// Returns a validator that fetches nothing and matches patterns in linear time.
pub(crate) fn build(schema: &Value, draft: Draft) -> Result<Validator, Error> {
    options(draft).build(schema).map_err(|error| refusal(&error))
}

fn options<'a>(draft: Draft) -> jsonschema::ValidationOptions<'a> {
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    jsonschema::options().with_draft(draft).offline().with_pattern_options(patterns)
}

/// Something that values are checked against on its own.
#[derive(Debug)]
pub(crate) enum Probe {
    /// A part of the schema, by its JSON pointer.
    Part(String),
    /// A pattern for texts.
    Pattern(String),
}

/// One validator for many parts of a schema: the member `0` of a value is checked against the first probe, and so on.
/// One for all shares what the parts refer to.
pub(crate) fn probes(schema: &Value, draft: Draft, probes: &[Probe]) -> Option<Validator> {
    if probes.is_empty() {
        return None;
    }
    let registry = Registry::new().draft(draft).add(ADDRESS, schema).ok()?.prepare().ok()?;
    let members: Map<String, Value> = probes
        .iter()
        .enumerate()
        .map(|(number, probe)| {
            let schema = match probe {
                Probe::Part(pointer) => {
                    json!({"$ref": format!("{ADDRESS}#{}", utf8_percent_encode(pointer, FRAGMENT))})
                }
                Probe::Pattern(pattern) => json!({"pattern": pattern}),
            };
            (number.to_string(), schema)
        })
        .collect();
    options(draft).with_registry(&registry).build(&json!({"properties": members})).ok()
}

/// The characters of JSON pointers that a URL fragment encodes.
const FRAGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns true if a pattern can be matched in linear time and within the limits.
pub(crate) fn is_linear(pattern: &str) -> bool {
    options(Draft::default()).build(&json!({"pattern": pattern})).is_ok()
}

/// Returns true if a pattern is a regular expression of ECMA-262, with or without literal braces (its annex B, which
/// browsers and most libraries follow), or of a backtracking engine.
pub(crate) fn is_pattern(pattern: &str) -> bool {
    let is_standard = |pattern: &str| {
        let format = jsonschema::options().should_validate_formats(true).build(&json!({"format": "regex"}));
        format.is_ok_and(|format| format.is_valid(&pattern.into()))
    };
    needs_backtracking(pattern) || is_standard(pattern) || is_standard(&with_literal_braces(pattern))
}

/// Returns the pattern with a backslash before each brace that belongs to no repetition.
fn with_literal_braces(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let taken = if from.starts_with('\\') {
            from.chars().take(2).map(char::len_utf8).sum()
        } else if let Some(length) = repetition(from) {
            length
        } else {
            out.push('\\');
            1
        };
        let (piece, after) = from.split_at_checked(taken).unwrap_or((from, ""));
        out.push_str(piece);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the length of a repetition at the start of a text: `{2}`, `{2,}` or `{2,5}`.
fn repetition(text: &str) -> Option<usize> {
    let (inside, _) = text.strip_prefix('{')?.split_once('}')?;
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!least.is_empty() && is_number(least) && is_number(most)).then_some(inside.len() + 2)
}

/// Returns true if a pattern needs a backtracking engine, because of look-around or back-references.
pub(crate) fn needs_backtracking(pattern: &str) -> bool {
    let backtracking =
        PatternOptions::fancy_regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    jsonschema::options()
        .offline()
        .with_pattern_options(backtracking)
        .build(&json!({"pattern": pattern}))
        .is_ok()
}

fn refusal(error: &jsonschema::ValidationError<'_>) -> Error {
    if let jsonschema::error::ValidationErrorKind::Referencing(inner) = error.kind()
        && let jsonschema::ReferencingError::Unretrievable { uri, .. } = inner
    {
        return Error::ExternalRef { reference: uri.clone() };
    }
    let path = error.instance_path().to_string();
    // The messages of the meta-schema are hard to understand.
    let message = match path.rsplit('/').next() {
        Some("type") => format!("{} is no type; the types are {TYPES}", error.instance()),
        Some("pattern") => format!("{} is no regular expression", error.instance()),
        _ => error.to_string(),
    };
    Error::Invalid { path, message }
}
