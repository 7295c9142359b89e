//! Aggregates over rows: counts, sums, extremes and means, in total or by group.

use std::collections::HashMap;

use serde_json::{Number, Value, json};
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

use crate::read_result::cancellable_search::CancelFlag;
use crate::read_result::rows::{Field, Order, Term, check_fields, compare};
use crate::text::grouped;

/// The maximum number of groups.
const MAX_GROUPS: usize = 10_000;

/// The requested aggregates.
#[derive(Default)]
pub(crate) struct Aggregates {
    terms: Vec<(AggregateKind, Term)>,
    by: Vec<Field>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    Sum,
    Min,
    Max,
    Mean,
}

impl AggregateKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }
}

/// A sum that does not lose small terms next to large ones (Neumaier's algorithm).
#[derive(Clone, Copy, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        let (large, small) =
            if self.sum.abs() >= number.abs() { (self.sum, number) } else { (number, self.sum) };
        self.lost += (large - sum) + small;
        self.sum = sum;
    }

    fn total(self) -> f64 {
        self.sum + self.lost
    }
}

impl Aggregates {
    /// Parses the requested aggregates: a term for each kind, and the comma-separated fields to group by.
    pub(crate) fn new(
        asked: [(AggregateKind, Option<&str>); 4],
        by: Option<&str>,
        rows: &[&Value],
        cancel: &CancelFlag,
    ) -> Result<Self, ToolError> {
        let mut terms = Vec::new();
        for (kind, text) in asked {
            if let Some(text) = text {
                terms.push((kind, Term::new(text, rows)?));
            }
        }
        let by: Vec<_> = by.into_iter().flat_map(|by| by.split(',')).map(Field::new).collect();
        check_fields(terms.iter().flat_map(|(_, term)| term.fields()).chain(&by), rows, cancel)?;
        Ok(Self { terms, by })
    }

    /// Returns true if no aggregates are requested.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.by.is_empty()
    }

    /// Returns the aggregates of all rows.
    pub(crate) fn of(&self, rows: &[&Value], cancel: &CancelFlag) -> JsonObject {
        let mut aggregates = JsonObject::new();
        for (kind, term) in &self.terms {
            let (value, skipped) = figure(*kind, term, rows, cancel);
            aggregates.insert(kind.as_str().to_owned(), value);
            if skipped > 0 {
                aggregates.insert(format!("{}_skipped", kind.as_str()), skipped.into());
            }
        }
        aggregates
    }

    /// Returns the groups, each with its count and its aggregates: in this order, else the largest first.
    pub(crate) fn groups(
        &self,
        rows: &[&Value],
        order: Option<&Order>,
        cancel: &CancelFlag,
    ) -> Result<Vec<Value>, ToolError> {
        let mut positions: HashMap<String, usize> = HashMap::new();
        let mut groups: Vec<(JsonObject, Vec<&Value>)> = Vec::new();
        for row in rows {
            let key: JsonObject = self
                .by
                .iter()
                .map(|field| (field.name().to_owned(), field.get(row, cancel).cloned().unwrap_or_default()))
                .collect();
            let position = *positions.entry(json!(key).to_string()).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            if groups.len() > MAX_GROUPS {
                let message = format!("there are more than {} groups", grouped(MAX_GROUPS));
                return Err(ToolError::new(ErrorKind::LimitReached, message)
                    .with_hint("narrow it by `where`, or group by another field"));
            }
            if let Some((_, members)) = groups.get_mut(position) {
                members.push(row);
            }
        }
        let told = groups.into_iter().map(|(mut group, members)| {
            group.insert("count".to_owned(), members.len().into());
            group.extend(self.of(&members, cancel));
            Value::Object(group)
        });
        let told: Vec<Value> = told.collect();
        let mut sorted: Vec<&Value> = told.iter().collect();
        match order {
            Some(order) => {
                check_fields(order.fields(), &sorted, cancel)?;
                order.sort(&mut sorted, cancel);
            }
            None => Order::new("-count").sort(&mut sorted, cancel),
        }
        Ok(sorted.into_iter().cloned().collect())
    }
}

/// Returns one aggregate, and the number of rows without a value for it.
fn figure(kind: AggregateKind, term: &Term, rows: &[&Value], cancel: &CancelFlag) -> (Value, usize) {
    let (mut sum, mut count, mut best): (Sum, usize, Option<Value>) = (Sum::default(), 0, None);
    for row in rows {
        if matches!(kind, AggregateKind::Sum | AggregateKind::Mean) {
            if let Some(number) = term.number(row, cancel) {
                sum.add(number);
                count += 1;
            }
            continue;
        }
        let value = term.value(row, cancel).filter(|value| !value.is_null()).cloned();
        let Some(value) = value.or_else(|| term.number(row, cancel).map(to_number)) else { continue };
        count += 1;
        let is_better = best.as_ref().is_none_or(|best| match kind {
            AggregateKind::Min => compare(&value, best).is_lt(),
            _ => compare(&value, best).is_gt(),
        });
        if is_better {
            best = Some(value);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer rows than that")]
    let value = match kind {
        AggregateKind::Sum => to_number(sum.total()),
        AggregateKind::Mean if count > 0 => to_number(sum.total() / count as f64),
        _ => best.unwrap_or_default(),
    };
    (value, rows.len() - count)
}

/// Returns a number as JSON, as an integer if it is whole.
fn to_number(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and no larger than 2^53")]
        return Value::from(number as i64);
    }
    // The last digits of a sum of decimal fractions are rounding errors.
    let number = format!("{number:.14e}").parse().unwrap_or(number);
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
