//! `JSONPath` (RFC 9535) within bounds.
//!
//! Libraries for it evaluate a query to its end, however much work that is: `$..*..*..*` visits the same values over and
//! over, and a filter inside of a filter looks at all values for each of them. Here each step is paid for, and a query
//! that costs too much is an error. Beyond the RFC, the `$` at the beginning may be left out, and a `-` may stand in a
//! name after a dot. Short of it, the pattern of `match` and `search` has to be a text in the query.

use regex::Regex;
use serde_json::Value;

use super::seek::Asker;

mod explain;
mod filter;
mod parse;
mod select;

pub(super) use explain::explain;

/// The longest query.
pub(super) const MAX_QUERY_BYTES: usize = 1_000;

/// How deep filters and parentheses may nest.
pub(super) const MAX_NESTING: usize = 16;

/// The most values that a query may look at, those that it looks at again included.
pub(super) const MAX_STEPS: usize = 20_000_000;

/// The longest text that `match` is tried on, which has to look at it as a whole.
pub(super) const MAX_WHOLE_TEXT_BYTES: usize = 32 * 1024;

/// The most values that a query may find.
pub(super) const MAX_MATCHES: usize = 100_000;

/// A query.
#[derive(Debug)]
pub(super) struct Query {
    segments: Vec<Segment>,
}

/// A condition by itself, as `price < 10 && status == 'open'`: what stands in a filter, with bare names for the fields of
/// the value. `and`, `or`, `not`, `=` and `=~` are understood too, and a number equals the text that says it.
#[derive(Debug)]
pub(super) struct Filter(Condition);

/// A text is no query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    /// The byte at which it stops to be one.
    pub(super) at: usize,
    /// What is wrong there.
    pub(super) message: String,
}

/// Why a query was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exceeded {
    Steps,
    Matches,
    /// A text is too long to be matched as a whole.
    Text,
}

#[derive(Debug)]
struct Segment {
    /// Whether it goes for the values below as well: `..`.
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

/// What a filter asks of each value.
#[derive(Debug)]
enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Exists(Path),
    Compare(Operand, Comparison, Operand),
    /// The whole of a text.
    Matches(Operand, Regex),
    /// Anywhere in a text.
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
    /// Whether it starts at the root (`$`) rather than at the value (`@`).
    is_absolute: bool,
    segments: Vec<Segment>,
}

/// One side of a comparison.
#[derive(Debug)]
enum Operand {
    Literal(Value),
    /// The value of a path that means one at most, or of `value()`.
    Path(Path),
    Length(Box<Operand>),
    Count(Path),
}

impl Query {
    /// Reads a query.
    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        parse::parse(text)
    }

    /// The values that it finds, in order, as long as somebody waits for them.
    pub(super) fn select<'v>(&self, root: &'v Value, asker: &'v Asker) -> Result<Vec<&'v Value>, Exceeded> {
        self.select_within(root, MAX_STEPS, asker)
    }

    /// The same in so many steps.
    pub(super) fn select_within<'v>(
        &self,
        root: &'v Value,
        steps: usize,
        asker: &'v Asker,
    ) -> Result<Vec<&'v Value>, Exceeded> {
        let found = select::Selection::new(root, steps, asker).select(&self.segments, root)?;
        if found.len() > MAX_MATCHES { Err(Exceeded::Matches) } else { Ok(found) }
    }
}

impl Filter {
    /// Reads a condition.
    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        parse::parse_filter(text).map(Self)
    }

    /// Returns those of these values that fulfil it, as long as somebody waits for them.
    pub(super) fn select<'v>(
        &self,
        values: &[&'v Value],
        root: &'v Value,
        asker: &'v Asker,
    ) -> Result<Vec<&'v Value>, Exceeded> {
        let selection = select::Selection::new(root, MAX_STEPS, asker).lenient();
        let mut found = Vec::new();
        for value in values {
            if selection.holds(&self.0, value)? {
                found.push(*value);
            }
        }
        Ok(found)
    }

    /// Returns the keys of the value that it asks for by name.
    pub(super) fn fields(&self) -> Vec<&str> {
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
    /// Returns the key of the value that it begins with.
    fn field(&self) -> Option<&str> {
        match self.segments.first()?.selectors.as_slice() {
            [Selector::Name(name)] if !self.is_absolute => Some(name),
            _ => None,
        }
    }
}

impl Segment {
    /// Whether it finds one value at most.
    fn is_single(&self) -> bool {
        !self.descends && matches!(self.selectors.as_slice(), [Selector::Name(_) | Selector::Index(_)])
    }
}
