//! The evaluation of queries.

use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::Value;

use super::{QueryLimit, Segment, Selector};
use crate::read_result::cancellable_search::CancelFlag;

/// One evaluation, with its remaining steps.
pub(super) struct Selection<'v> {
    pub(super) root: &'v Value,
    pub(super) cancel: &'v CancelFlag,
    left: Cell<usize>,
    /// True if a number equals the text that represents it.
    pub(super) is_lenient: bool,
}

impl<'v> Selection<'v> {
    pub(super) fn new(root: &'v Value, steps: usize, cancel: &'v CancelFlag) -> Self {
        Self { root, cancel, left: Cell::new(steps), is_lenient: false }
    }

    /// Compares numbers with texts that represent numbers.
    pub(super) fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Spends a number of steps.
    pub(super) fn pay(&self, steps: usize) -> Result<(), QueryLimit> {
        if self.cancel.is_cancelled() {
            // The request was cancelled.
            return Err(QueryLimit::Steps);
        }
        self.left.set(self.left.get().checked_sub(steps).ok_or(QueryLimit::Steps)?);
        Ok(())
    }

    /// Returns the values that the segments find, starting from one value.
    pub(super) fn select(&self, segments: &[Segment], from: &'v Value) -> Result<Vec<&'v Value>, QueryLimit> {
        let mut found = vec![from];
        for segment in segments {
            let mut next = Vec::new();
            for value in found {
                if segment.descends {
                    self.descend(segment, value, &mut next)?;
                } else {
                    self.apply(segment, value, &mut next)?;
                }
            }
            found = next;
        }
        Ok(found)
    }

    /// Applies a segment to a value and all values below it. The parser limits the nesting.
    fn descend(
        &self,
        segment: &Segment,
        value: &'v Value,
        found: &mut Vec<&'v Value>,
    ) -> Result<(), QueryLimit> {
        self.pay(1)?;
        self.apply(segment, value, found)?;
        children(value).try_for_each(|child| match child {
            Value::Array(_) | Value::Object(_) => self.descend(segment, child, found),
            _ => Ok(()),
        })
    }

    fn apply(
        &self,
        segment: &Segment,
        value: &'v Value,
        found: &mut Vec<&'v Value>,
    ) -> Result<(), QueryLimit> {
        segment.selectors.iter().try_for_each(|selector| self.choose(selector, value, found))
    }

    fn choose(
        &self,
        selector: &Selector,
        value: &'v Value,
        found: &mut Vec<&'v Value>,
    ) -> Result<(), QueryLimit> {
        self.pay(1)?;
        match selector {
            Selector::Name(name) => found.extend(value.as_object().and_then(|map| map.get(name))),
            Selector::Index(index) => {
                found.extend(value.as_array().and_then(|items| items.get(position(*index, items.len())?)));
            }
            Selector::All => {
                for child in children(value) {
                    self.pay(1)?;
                    found.push(child);
                }
            }
            Selector::Slice { start, end, step } => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                for position in slice(items.len(), *start, *end, *step) {
                    self.pay(1)?;
                    found.extend(items.get(position));
                }
            }
            Selector::Filter(condition) => {
                for child in children(value) {
                    self.pay(1)?;
                    if self.holds(condition, child)? {
                        found.push(child);
                    }
                }
            }
        }
        Ok(())
    }
}

fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().into_iter().flatten();
    items.chain(value.as_object().into_iter().flat_map(serde_json::Map::values))
}

/// Returns the position of an index, which counts from the end if it is negative.
fn position(index: i64, length: usize) -> Option<usize> {
    let from_end = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { length.checked_sub(from_end) } else { Some(from_end) }
}

/// Returns the positions of a slice, by the rules of section 2.3.4.2 of the RFC.
fn slice(length: usize, start: Option<i64>, end: Option<i64>, step: i64) -> Box<dyn Iterator<Item = usize>> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
    let absolute = |index: i64| if index < 0 { length + index } else { index };
    let places = move |range: std::ops::Range<i64>| range.filter_map(|place| usize::try_from(place).ok());
    match step.cmp(&0) {
        Ordering::Greater => {
            let start = absolute(start.unwrap_or(0)).clamp(0, length);
            let end = absolute(end.unwrap_or(length)).clamp(0, length);
            Box::new(places(start..end.max(start)).step_by(stride))
        }
        Ordering::Less => {
            let start = start.map_or(length - 1, absolute).clamp(-1, length - 1);
            let end = end.map_or(-1, absolute).clamp(-1, length - 1);
            Box::new(places(end + 1..start.max(end) + 1).rev().step_by(stride))
        }
        Ordering::Equal => Box::new(std::iter::empty()),
    }
}
