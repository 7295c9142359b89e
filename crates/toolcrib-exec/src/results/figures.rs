//! Figures over rows: counts, sums, extremes and means, of all or by groups.

use std::collections::HashMap;

use serde_json::{Number, Value, json};
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

use super::rows::{Field, Order, Term, check_fields, compare};
use super::seek::Asker;
use super::words::grouped;

/// The most groups.
const MAX_GROUPS: usize = 10_000;

/// The figures that were asked for.
#[derive(Default)]
pub(super) struct Figures {
    terms: Vec<(Kind, Term)>,
    by: Vec<Field>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sum,
    Min,
    Max,
    Mean,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }
}

/// A sum that does not lose what is small beside what is large (Neumaier's).
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

impl Figures {
    /// Reads what is asked for: a term for each kind, and the fields to group by, with commas between them.
    pub(super) fn new(
        asked: [(Kind, Option<&str>); 4],
        by: Option<&str>,
        rows: &[&Value],
        asker: &Asker,
    ) -> Result<Self, ToolError> {
        let mut terms = Vec::new();
        for (kind, text) in asked {
            if let Some(text) = text {
                terms.push((kind, Term::new(text, rows)?));
            }
        }
        let by: Vec<_> = by.into_iter().flat_map(|by| by.split(',')).map(Field::new).collect();
        check_fields(terms.iter().flat_map(|(_, term)| term.fields()).chain(&by), rows, asker)?;
        Ok(Self { terms, by })
    }

    /// Whether nothing is asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.by.is_empty()
    }

    /// Returns the figures of all rows.
    pub(super) fn of(&self, rows: &[&Value], asker: &Asker) -> JsonObject {
        let mut figures = JsonObject::new();
        for (kind, term) in &self.terms {
            let (value, skipped) = figure(*kind, term, rows, asker);
            figures.insert(kind.as_str().to_owned(), value);
            if skipped > 0 {
                figures.insert(format!("{}_skipped", kind.as_str()), skipped.into());
            }
        }
        figures
    }

    /// Returns the groups, each with its count and its figures: in this order, else the largest first.
    pub(super) fn groups(
        &self,
        rows: &[&Value],
        order: Option<&Order>,
        asker: &Asker,
    ) -> Result<Vec<Value>, ToolError> {
        let mut positions: HashMap<String, usize> = HashMap::new();
        let mut groups: Vec<(JsonObject, Vec<&Value>)> = Vec::new();
        for row in rows {
            let key: JsonObject = self
                .by
                .iter()
                .map(|field| (field.name().to_owned(), field.get(row, asker).cloned().unwrap_or_default()))
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
            group.extend(self.of(&members, asker));
            Value::Object(group)
        });
        let told: Vec<Value> = told.collect();
        let mut sorted: Vec<&Value> = told.iter().collect();
        match order {
            Some(order) => {
                check_fields(order.fields(), &sorted, asker)?;
                order.sort(&mut sorted, asker);
            }
            None => Order::new("-count").sort(&mut sorted, asker),
        }
        Ok(sorted.into_iter().cloned().collect())
    }
}

/// Returns one figure, and how many rows have nothing that it can be made of.
fn figure(kind: Kind, term: &Term, rows: &[&Value], asker: &Asker) -> (Value, usize) {
    let (mut sum, mut count, mut best): (Sum, usize, Option<Value>) = (Sum::default(), 0, None);
    for row in rows {
        if matches!(kind, Kind::Sum | Kind::Mean) {
            if let Some(number) = term.number(row, asker) {
                sum.add(number);
                count += 1;
            }
            continue;
        }
        let value = term.value(row, asker).filter(|value| !value.is_null()).cloned();
        let Some(value) = value.or_else(|| term.number(row, asker).map(to_number)) else { continue };
        count += 1;
        let is_better = best.as_ref().is_none_or(|best| match kind {
            Kind::Min => compare(&value, best).is_lt(),
            _ => compare(&value, best).is_gt(),
        });
        if is_better {
            best = Some(value);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer rows than that")]
    let value = match kind {
        Kind::Sum => to_number(sum.total()),
        Kind::Mean if count > 0 => to_number(sum.total() / count as f64),
        _ => best.unwrap_or_default(),
    };
    (value, rows.len() - count)
}

/// Returns a number as JSON: whole where it is.
fn to_number(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and no larger than 2^53")]
        return Value::from(number as i64);
    }
    // What a sum of decimal fractions leaves in the last digits says nothing.
    let number = format!("{number:.14e}").parse().unwrap_or(number);
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
