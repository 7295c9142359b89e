//! The tasks: requests of a user, and the steps by which an agent fulfils them.

mod large;
mod other;
mod requests;
mod servers;
mod services;
mod shop;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::agent::Agent;
use crate::app::World;

/// One task.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub(crate) id: &'static str,
    /// The words of the user.
    pub(crate) request: &'static str,
    /// Does the task and returns the answer to the user.
    run: fn(&mut Agent<'_>, &World) -> Result<String>,
    /// Texts that the answer contains.
    facts: &'static [&'static str],
    /// Checks the side effects.
    check: Option<fn(&World) -> Result<()>>,
}

impl Task {
    const fn new(
        id: &'static str,
        request: &'static str,
        run: fn(&mut Agent<'_>, &World) -> Result<String>,
        facts: &'static [&'static str],
    ) -> Self {
        Self { id, request, run, facts, check: None }
    }

    const fn with_check(mut self, check: fn(&World) -> Result<()>) -> Self {
        self.check = Some(check);
        self
    }

    /// Does the task; an error where it did not end as it should.
    pub(crate) fn run(&self, agent: &mut Agent<'_>, world: &World) -> Result<()> {
        let answer = (self.run)(agent, world)?;
        for fact in self.facts {
            ensure!(answer.contains(fact), "expected {fact:?} in the answer, found {answer:?}");
        }
        self.check.map_or(Ok(()), |check| check(world))
    }
}

/// Returns all tasks, in the order in which they are run.
pub(crate) fn all() -> Vec<Task> {
    [shop::TASKS, large::TASKS, services::TASKS, requests::TASKS, servers::TASKS, other::TASKS].concat()
}

/// Checks that among the entries is exactly one for which this holds.
fn ensure_one(entries: &[Value], what: &str, holds: impl Fn(&Value) -> bool) -> Result<()> {
    let count = entries.iter().filter(|entry| holds(entry)).count();
    ensure!(count == 1, "expected one {what}, found {count} in {}", Value::from(entries.to_vec()));
    Ok(())
}

/// Returns `true` if a member of an entry has this value.
fn is(entry: &Value, pointer: &str, value: impl Into<Value>) -> bool {
    entry.pointer(pointer) == Some(&value.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_forty_tasks_at_least_and_each_has_a_name_of_its_own_and_an_end_that_is_checked() {
        let tasks = all();
        assert!(tasks.len() >= 40, "{}", tasks.len());
        assert_eq!(tasks.iter().map(|task| task.id).collect::<BTreeSet<_>>().len(), tasks.len());
        for task in tasks {
            assert!(!task.facts.is_empty() || task.check.is_some(), "{}", task.id);
        }
    }
}
