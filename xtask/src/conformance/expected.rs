//! The known failures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use toml::de::{DeTable, DeValue};

use super::{REVISIONS, Side};

/// The key of the tables about our server; those of the client stand by themselves.
const SERVER: &str = "server";

/// The failures that are known, by side, revision and scenario.
pub(super) struct Expected {
    failures: BTreeMap<(Side, String, String), Failure>,
}

/// A scenario that fails.
#[derive(Debug, PartialEq)]
pub(super) struct Failure {
    /// The checks that fail.
    pub(super) checks: BTreeSet<String>,
    pub(super) reason: String,
}

impl Expected {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    /// Reads `["REVISION"."SCENARIO"]` tables with `checks` and `reason`, and the same under `server`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut expected = Self { failures: BTreeMap::new() };
        for (key, value) in DeTable::parse(text)?.into_inner() {
            let key = key.into_inner();
            let table = value.get_ref().as_table().with_context(|| format!("{key} is no table"))?;
            if key == SERVER {
                for (revision, scenarios) in table {
                    let scenarios = scenarios.get_ref().as_table();
                    let scenarios =
                        scenarios.with_context(|| format!("{} is no table", revision.get_ref()))?;
                    expected.add(Side::Server, revision.get_ref(), scenarios)?;
                }
            } else {
                expected.add(Side::Client, &key, table)?;
            }
        }
        Ok(expected)
    }

    fn add(&mut self, side: Side, revision: &str, scenarios: &DeTable<'_>) -> Result<()> {
        ensure!(REVISIONS.contains(&revision), "{revision} is not run; there is {}", REVISIONS.join(", "));
        for (scenario, failure) in scenarios {
            let scenario = scenario.get_ref();
            let failure =
                Failure::read(failure.get_ref()).with_context(|| format!("{revision} {scenario}"))?;
            self.failures.insert((side, revision.to_owned(), scenario.to_string()), failure);
        }
        Ok(())
    }

    pub(super) fn of(&self, side: Side, revision: &str, scenario: &str) -> Option<&Failure> {
        self.failures.get(&(side, revision.to_owned(), scenario.to_owned()))
    }

    /// The scenarios of a revision that are expected to fail.
    pub(super) fn scenarios(&self, side: Side, revision: &str) -> impl Iterator<Item = &str> {
        self.failures
            .keys()
            .filter(move |(known, of, _)| *known == side && of == revision)
            .map(|(_, _, scenario)| scenario.as_str())
    }
}

impl Failure {
    fn read(value: &DeValue<'_>) -> Result<Self> {
        let table = value.as_table().context("is no table")?;
        for key in table.keys() {
            ensure!(["checks", "reason"].contains(&&**key.get_ref()), "has an unknown key {}", key.get_ref());
        }
        let checks = table.get("checks").and_then(|checks| checks.get_ref().as_array());
        let checks = checks.context("has no list of `checks`")?.iter();
        let checks: Option<BTreeSet<_>> =
            checks.map(|check| check.get_ref().as_str().map(str::to_owned)).collect();
        let checks = checks.context("has a check that is no text")?;
        let reason = table.get("reason").and_then(|reason| reason.get_ref().as_str()).unwrap_or_default();
        ensure!(!checks.is_empty(), "names no check");
        ensure!(!reason.trim().is_empty(), "has no `reason`");
        Ok(Self { checks, reason: reason.to_owned() })
    }
}
