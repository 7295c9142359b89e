//! Alternatives: which of them was meant.

use serde_json::Value;

use super::Repair;
use super::node::{MAX_PROBES, Node, ProbeId, Union};
use super::path::Path;
use super::walk::{RepairWalk, Stop};
use crate::value_size::size;

/// A value that fits one alternative, and what made it so.
struct Candidate {
    value: Value,
    repairs: Vec<Repair>,
}

impl Candidate {
    /// Fewer changes come first, then those that go less far.
    fn cost(&self) -> (usize, u32) {
        (self.repairs.len(), self.repairs.iter().map(|repair| repair.change.distance()).sum())
    }
}

impl<'p> RepairWalk<'p> {
    /// `anyOf`, `oneOf` and `if` of a part. What is accepted already is not touched.
    pub(super) fn fit_alternatives(
        &mut self,
        node: &'p Node,
        value: &mut Value,
        path: &Path<'_>,
    ) -> Result<(), Stop> {
        for part in self.plan.together(node) {
            for union in &part.unions {
                self.fit_union(union, value, path)?;
            }
            for condition in &part.conditions {
                let holds = self.accepts(condition.probe, value)?;
                let consequence = if holds { condition.then } else { condition.otherwise };
                if let Some(id) = consequence {
                    self.part(id, value, path)?;
                }
            }
        }
        Ok(())
    }

    fn fit_union(&mut self, union: &'p Union, value: &mut Value, path: &Path<'_>) -> Result<(), Stop> {
        match self.accepting(union, value)? {
            0 => {}
            1 => return Ok(()),
            // Two of which only one may accept it: nothing says which.
            _ => return if union.is_exclusive { Err(Stop::Hopeless) } else { Ok(()) },
        }
        let mut candidates = Vec::new();
        for (id, probe) in &union.branches {
            self.spend(size(value))?;
            let mut copy = value.clone();
            let before = self.repairs.len();
            let outcome = self.part(*id, &mut copy, path);
            let repairs = self.repairs.split_off(before);
            match outcome {
                Err(Stop::Exhausted) => return Err(Stop::Exhausted),
                Err(Stop::Hopeless) => continue,
                Ok(()) => {}
            }
            if !repairs.is_empty() && self.accepts(*probe, &mut copy)? {
                candidates.push(Candidate { value: copy, repairs });
            }
        }
        // A stable order: of equals the first stays first.
        candidates.sort_by_key(Candidate::cost);
        for mut candidate in candidates {
            if !union.is_exclusive || self.accepting(union, &mut candidate.value)? == 1 {
                *value = candidate.value;
                self.repairs.extend(candidate.repairs);
                return Ok(());
            }
        }
        Err(Stop::Hopeless)
    }

    /// Returns the number of alternatives that accept the value. For `anyOf`, the first one suffices.
    fn accepting(&mut self, union: &'p Union, value: &mut Value) -> Result<usize, Stop> {
        let mut accepting = 0;
        for (_, probe) in &union.branches {
            accepting += usize::from(self.accepts(*probe, value)?);
            if accepting > 0 && !union.is_exclusive {
                break;
            }
        }
        Ok(accepting)
    }

    fn accepts(&mut self, probe: ProbeId, value: &mut Value) -> Result<bool, Stop> {
        if probe >= MAX_PROBES {
            return Err(Stop::Exhausted);
        }
        self.spend(size(value))?;
        Ok(self.plan.accepts(probe, value))
    }
}
