//! The rows of a result: the list to query, and its fields.

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

use crate::read_result::cancellable_search::CancelFlag;
use crate::read_result::jsonpath::{Filter, Query};

/// The maximum depth at which a list is searched for.
const MAX_LIST_DEPTH: usize = 4;

/// The maximum number of values among which the longest list is searched for.
const MAX_LOOKED_AT: usize = 10_000;

/// The maximum number of rows that are read to find the existing fields.
const MAX_COMPARED_ROWS: usize = 1_000;

/// The maximum number of fields in an error.
const MAX_LISTED_FIELDS: usize = 20;

/// The maximum number of factors of a product.
const MAX_FACTORS: usize = 8;

/// The maximum length of a path that is shown.
const MAX_PATH_BYTES: usize = 120;

/// Returns the path and the items of the longest list of a value: the value itself, or a list inside of objects.
pub(crate) fn longest_list(root: &Value) -> Option<(String, &[Value])> {
    if let Value::Array(items) = root {
        return Some(("$".to_owned(), items));
    }
    let mut found: Option<(String, &[Value])> = None;
    let mut left = VecDeque::from([("$".to_owned(), root, 0)]);
    for _ in 0..MAX_LOOKED_AT {
        let Some((path, value, depth)) = left.pop_front() else { break };
        match value {
            Value::Array(items) if found.as_ref().is_none_or(|(_, longest)| items.len() > longest.len()) => {
                found = Some((path, items));
            }
            Value::Object(map) if depth < MAX_LIST_DEPTH => {
                let inside = map.iter().filter(|(_, value)| value.is_array() || value.is_object());
                left.extend(inside.filter_map(|(key, value)| Some((path_of(&path, key)?, value, depth + 1))));
            }
            _ => {}
        }
    }
    found.filter(|(_, items)| !items.is_empty())
}

/// Returns the path of a key, if it is short enough to be shown.
fn path_of(path: &str, key: &str) -> Option<String> {
    let mut bytes = key.bytes();
    let is_plain = bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let step = if is_plain {
        format!(".{key}")
    } else {
        format!("['{}']", key.replace('\\', "\\\\").replace('\'', "\\'"))
    };
    let is_short = path.len() + step.len() <= MAX_PATH_BYTES && !key.chars().any(char::is_control);
    is_short.then(|| format!("{path}{step}"))
}

/// A field of a row: a key, or a path below one.
pub(crate) struct Field {
    name: String,
    path: Option<Query>,
}

impl Field {
    pub(crate) fn new(name: &str) -> Self {
        let name = name.trim().to_owned();
        let path = Query::parse(&name).ok();
        Self { name, path }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value of this field of a row. `.` and `@` are the row itself.
    pub(crate) fn get<'v>(&self, row: &'v Value, cancel: &'v CancelFlag) -> Option<&'v Value> {
        if matches!(self.name.as_str(), "." | "@" | "$" | "") {
            return Some(row);
        }
        if let Some(value) = row.get(&self.name) {
            return Some(value);
        }
        self.path.as_ref()?.select(row, cancel).ok()?.first().copied()
    }
}

/// A numeric term: a field, or a product of fields and numbers.
pub(crate) struct Term {
    factors: Vec<Factor>,
}

enum Factor {
    Field(Field),
    Number(f64),
}

impl Term {
    /// Parses a term. A name with a `*` in it is a field if a row has it.
    pub(crate) fn new(text: &str, rows: &[&Value]) -> Result<Self, ToolError> {
        let is_field = rows.iter().take(MAX_COMPARED_ROWS).any(|row| row.get(text.trim()).is_some());
        let parts: Vec<_> = if is_field { vec![text] } else { text.split('*').collect() };
        if parts.len() > MAX_FACTORS || parts.len() > 1 && parts.iter().any(|part| part.trim().is_empty()) {
            let message = format!("{text:?} is not a field or a product of up to {MAX_FACTORS} fields");
            return Err(
                ToolError::new(ErrorKind::InvalidArgs, message).with_hint("as \"price\" or \"qty * price\"")
            );
        }
        let factor = |part: &str| match part.trim().parse::<f64>() {
            Ok(number) if !is_field => Factor::Number(number),
            _ => Factor::Field(Field::new(part)),
        };
        Ok(Self { factors: parts.into_iter().map(factor).collect() })
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.factors.iter().filter_map(|factor| match factor {
            Factor::Field(field) => Some(field),
            Factor::Number(_) => None,
        })
    }

    /// Returns the value of a term that consists of one field.
    pub(crate) fn value<'v>(&self, row: &'v Value, cancel: &'v CancelFlag) -> Option<&'v Value> {
        match self.factors.as_slice() {
            [Factor::Field(field)] => field.get(row, cancel),
            _ => None,
        }
    }

    /// Returns the number of a row; `None` if it has none.
    pub(crate) fn number(&self, row: &Value, cancel: &CancelFlag) -> Option<f64> {
        self.factors.iter().try_fold(1.0, |product, factor| match factor {
            Factor::Number(number) => Some(product * number),
            Factor::Field(field) => Some(product * number(field.get(row, cancel)?)?),
        })
    }
}

/// Returns the number that a value is, or that its text represents.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// Checks that at least one row has each of these fields.
pub(crate) fn check_fields<'f>(
    fields: impl IntoIterator<Item = &'f Field>,
    rows: &[&Value],
    cancel: &CancelFlag,
) -> Result<(), ToolError> {
    let rows: Vec<_> = rows.iter().take(MAX_COMPARED_ROWS).collect();
    for field in fields {
        if !rows.is_empty() && rows.iter().all(|row| field.get(row, cancel).is_none()) {
            return Err(no_field(field.name(), rows.iter().copied().copied()));
        }
    }
    Ok(())
}

/// Returns an error if no row has one of the filter's fields. It is called if no row fulfils the filter.
pub(crate) fn check_filter(filter: &Filter, rows: &[&Value]) -> Result<(), ToolError> {
    let rows: Vec<&Value> = rows.iter().take(MAX_COMPARED_ROWS).copied().collect();
    let unknown = filter.fields().into_iter().find(|name| rows.iter().all(|row| row.get(name).is_none()));
    match unknown {
        Some(name) if !rows.is_empty() => Err(no_field(name, rows.iter().copied())),
        _ => Ok(()),
    }
}

fn no_field<'v>(name: &str, rows: impl Iterator<Item = &'v Value>) -> ToolError {
    let (mut keys, mut seen) = (Vec::new(), HashSet::new());
    for key in rows.filter_map(Value::as_object).flat_map(JsonObject::keys) {
        if keys.len() <= MAX_COMPARED_ROWS && key.len() <= MAX_PATH_BYTES && seen.insert(key) {
            keys.push(key.as_str());
        }
    }
    let mut message =
        format!("no row has a field `{}`", toolcrib_model::text::truncate_bytes(name, MAX_PATH_BYTES));
    // Writing to a string cannot fail.
    if let Some(meant) = nearest(name, keys.iter().copied()) {
        let _ = write!(message, ", did you mean `{meant}`?");
    }
    let listed: Vec<_> = keys.iter().take(MAX_LISTED_FIELDS).copied().collect();
    let _ = match listed.as_slice() {
        [] => write!(message, "; the rows are not objects: `.` is a row itself"),
        listed => write!(message, "; the fields are: {}", listed.join(", ")),
    };
    if keys.len() > MAX_LISTED_FIELDS {
        message.push_str(", …");
    }
    ToolError::new(ErrorKind::InvalidArgs, message)
}

/// The fields by which rows are sorted, each with true for descending order.
pub(crate) struct Order(Vec<(Field, bool)>);

impl Order {
    /// Parses `price`, `-price` or `-price, name`.
    pub(crate) fn new(text: &str) -> Self {
        let key = |part: &str| {
            let part = part.trim();
            match part.strip_prefix('-') {
                Some(name) => (Field::new(name), true),
                None => (Field::new(part.strip_prefix('+').unwrap_or(part)), false),
            }
        };
        Self(text.split(',').filter(|part| !part.trim().is_empty()).map(key).collect())
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.0.iter().map(|(field, _)| field)
    }

    /// Sorts rows. Rows without a value come last.
    pub(crate) fn sort(&self, rows: &mut [&Value], cancel: &CancelFlag) {
        let null = Value::Null;
        for (field, descends) in self.0.iter().rev() {
            rows.sort_by_cached_key(|row| SortKey {
                value: field.get(row, cancel).unwrap_or(&null).clone(),
                descends: *descends,
            });
        }
    }
}

#[derive(PartialEq, Eq)]
struct SortKey {
    value: Value,
    descends: bool,
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            (left, right) if self.descends => compare(right, left),
            (left, right) => compare(left, right),
        }
    }
}

/// Compares two values: numbers, also those in texts, come before texts, and texts before others.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => match (number(left), number(right)) {
            (Some(left), Some(right)) => left.total_cmp(&right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => match (left, right) {
                (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
                (Value::String(_), _) => Ordering::Less,
                (_, Value::String(_)) => Ordering::Greater,
                _ => Ordering::Equal,
            },
        },
    }
}
