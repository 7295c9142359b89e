//! `JSONPath` (RFC 9535) with limits.
//!
//! Other libraries evaluate a query to its end, regardless of the work: `$..*..*..*` visits the same values over and
//! over, and a filter inside of a filter visits all values for each of them. Here each step has a cost, and a query
//! that costs too much is an error.
//!
//! `serde_json_path` 0.7 was measured in place of this module. Its evaluation has no limit and cannot be cancelled:
//! `$..[?count($..*) > 1]` takes 10 s in a debug build for a list of 2,000 objects, and four times as long for each
//! doubling, while a stored result has up to 2,000,000 values. Its parser overflows the stack on nested parentheses, it
//! compiles the pattern of `match` again for each value, and its errors name only a position. The conditions of `where`
//! would need a parser and an evaluation of their own.
//!
//! As an extension of the RFC, the `$` at the beginning may be omitted, and a name
//! after a dot may contain `-`. As a restriction, the pattern of `match` and `search` has to be a literal in the query.

use regex::Regex;
use serde_json::Value;

use crate::read_result::cancellable_search::CancelFlag;

mod explain;
mod filter;
mod parse;
mod select;

pub(crate) use explain::explain;

/// The maximum length of a query.
pub(crate) const MAX_QUERY_BYTES: usize = 1_000;

/// The maximum nesting of filters and parentheses.
pub(crate) const MAX_NESTING: usize = 16;

/// The maximum number of values that a query may visit, repeated visits included.
pub(crate) const MAX_STEPS: usize = 20_000_000;

/// The maximum length of a text for `match`, which cannot be cancelled.
pub(crate) const MAX_WHOLE_TEXT_BYTES: usize = 32 * 1024;

/// The maximum number of values that a query may find.
pub(crate) const MAX_MATCHES: usize = 100_000;

/// A query.
#[derive(Debug)]
pub(crate) struct Query {
    segments: Vec<Segment>,
}

/// A standalone condition such as `price < 10 && status == 'open'`: the content of a filter, with bare names for the
/// fields of the value. `and`, `or`, `not`, `=` and `=~` are understood too, and a number equals the text that
/// represents it.
#[derive(Debug)]
pub(crate) struct Filter(Condition);

/// A syntax error of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// The byte position of the error.
    pub(crate) at: usize,
    /// The expected syntax, or the problem.
    pub(crate) message: String,
}

/// The exceeded limit of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryLimit {
    Steps,
    Matches,
    /// A text is too long for `match`.
    Text,
}

#[derive(Debug)]
struct Segment {
    /// True for `..`, which also selects from all values below.
    descends: bool,
    selectors: Vec<Selector>,
}

#[derive(Debug)]
enum Selector {
    Name(String),
    All,
    Index(i64),
    Slice { start: Option<i64>, end: Option<i64>, step: i64 },
    Filter(Condition),
}

/// A condition of a filter.
#[derive(Debug)]
enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Exists(Path),
    Compare(Operand, Comparison, Operand),
    /// A pattern that matches the whole text.
    Matches(Operand, Regex),
    /// A pattern that matches anywhere in the text.
    Searches(Operand, Regex),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A query inside of a filter.
#[derive(Debug)]
struct Path {
    /// True if it starts at the root (`$`) rather than at the value (`@`).
    is_absolute: bool,
    segments: Vec<Segment>,
}

/// One side of a comparison.
#[derive(Debug)]
enum Operand {
    Literal(Value),
    /// The value of a path that selects at most one value, or of `value()`.
    Path(Path),
    Length(Box<Operand>),
    Count(Path),
}

impl Query {
    /// Parses a query.
    pub(crate) fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse::parse(text)
    }

    /// Returns the values that the query finds, in order, unless it is cancelled.
    pub(crate) fn select<'v>(
        &self,
        root: &'v Value,
        cancel: &'v CancelFlag,
    ) -> Result<Vec<&'v Value>, QueryLimit> {
        self.select_within(root, MAX_STEPS, cancel)
    }

    /// Returns the values that the query finds in at most a number of steps.
    pub(crate) fn select_within<'v>(
        &self,
        root: &'v Value,
        steps: usize,
        cancel: &'v CancelFlag,
    ) -> Result<Vec<&'v Value>, QueryLimit> {
        let found = select::Selection::new(root, steps, cancel).select(&self.segments, root)?;
        if found.len() > MAX_MATCHES { Err(QueryLimit::Matches) } else { Ok(found) }
    }
}

impl Filter {
    /// Parses a condition.
    pub(crate) fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse::parse_filter(text).map(Self)
    }

    /// Returns the values that fulfil the condition, unless it is cancelled.
    pub(crate) fn select<'v>(
        &self,
        values: &[&'v Value],
        root: &'v Value,
        cancel: &'v CancelFlag,
    ) -> Result<Vec<&'v Value>, QueryLimit> {
        let selection = select::Selection::new(root, MAX_STEPS, cancel).lenient();
        let mut found = Vec::new();
        for value in values {
            if selection.holds(&self.0, value)? {
                found.push(*value);
            }
        }
        Ok(found)
    }

    /// Returns the keys of the value that the condition refers to by name.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let mut fields = Vec::new();
        self.0.add_fields(&mut fields);
        fields
    }
}

impl Condition {
    fn add_fields<'c>(&'c self, fields: &mut Vec<&'c str>) {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().for_each(|part| part.add_fields(fields)),
            Self::Not(inner) => inner.add_fields(fields),
            Self::Exists(path) => fields.extend(path.field()),
            Self::Compare(left, _, right) => {
                fields.extend([left.field(), right.field()].into_iter().flatten());
            }
            Self::Matches(text, _) | Self::Searches(text, _) => fields.extend(text.field()),
        }
    }
}

impl Operand {
    fn field(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Path(path) | Self::Count(path) => path.field(),
            Self::Length(of) => of.field(),
        }
    }
}

impl Path {
    /// Returns the key of the value that the path starts with.
    fn field(&self) -> Option<&str> {
        match self.segments.first()?.selectors.as_slice() {
            [Selector::Name(name)] if !self.is_absolute => Some(name),
            _ => None,
        }
    }
}

impl Segment {
    /// Returns true if the segment finds at most one value.
    fn is_single(&self) -> bool {
        !self.descends && matches!(self.selectors.as_slice(), [Selector::Name(_) | Selector::Index(_)])
    }
}
