//! The arrows between the crates of the workspace: they point down, and some never exist.

use std::collections::BTreeSet;

use super::rules::{CRATES_FOLDER, CrateRule, TESTKIT, TESTS_FOLDER, TOPS};
use super::violation::Violation;
use crate::workspace::{Dependency, Package};

/// Checks every dependency of every package against the table.
pub(super) fn check(packages: &[Package], rules: &[CrateRule]) -> Vec<Violation> {
    let graph = DependencyGraph { packages, rules };
    packages.iter().flat_map(|package| graph.check_package(package)).collect()
}

struct DependencyGraph<'a> {
    packages: &'a [Package],
    rules: &'a [CrateRule],
}

impl DependencyGraph<'_> {
    fn check_package(&self, package: &Package) -> Vec<Violation> {
        let rule = self.rule(&package.name);
        let mut messages = Vec::new();
        if rule.is_none() && package.folder.starts_with(CRATES_FOLDER) && package.name != TESTKIT {
            messages.push("has no row in xtask/src/tidy/rules.rs: add one with its layer".to_owned());
        }
        for dependency in &package.dependencies {
            let target = self.packages.iter().find(|member| member.name == dependency.name);
            let message = match (rule, target) {
                _ if dependency.dev => rule.and_then(|rule| self.dev_arrow(rule, &dependency.name)),
                (Some(rule), _) if rule.never.contains(&dependency.name.as_str()) => {
                    Some(format!("must never depend on {}", dependency.name))
                }
                (_, Some(target)) => self.arrow(package, rule, target),
                (_, None) => None,
            };
            messages.extend(message);
        }
        messages.iter().map(|message| Violation::of(&package.name, message)).collect()
    }

    /// What is wrong with a normal or build dependency of `package` on another member.
    fn arrow(&self, package: &Package, rule: Option<&CrateRule>, target: &Package) -> Option<String> {
        let name = &target.name;
        if name == TESTKIT {
            let free = package.folder == TESTS_FOLDER;
            return (!free).then(|| format!("may use {TESTKIT} in its tests only: make it a dev-dependency"));
        }
        if !target.folder.starts_with(CRATES_FOLDER) {
            return Some(format!("may not depend on {name}, which is not a package of the workspace"));
        }
        let (rule, below) = (rule?, self.rule(name)?);
        if below.layer >= rule.layer {
            let (from, to) = (rule.layer, below.layer);
            return Some(format!(
                "is on layer {from} and may not depend on {name} on layer {to}: arrows point down"
            ));
        }
        let allowed = rule.only?;
        (!allowed.contains(&name.as_str())).then(|| {
            format!("may not depend on {name}: of the workspace it uses only {}", allowed.join(", "))
        })
    }

    /// What is wrong with a dev-dependency: it may point anywhere, unless it brings one of the tops into the
    /// tests of a crate below.
    fn dev_arrow(&self, rule: &CrateRule, name: &str) -> Option<String> {
        let mut reached = BTreeSet::new();
        self.reach(name, &mut reached);
        let top = TOPS.iter().find(|top| {
            reached.contains(**top) && self.rule(top).is_some_and(|above| above.layer > rule.layer)
        })?;
        let by = if *top == name { String::new() } else { format!(" by way of {name}") };
        Some(format!("may not depend on {top}{by}, not even in its tests: test it there"))
    }

    /// Adds a package and all that it needs when it is built as a dependency.
    fn reach(&self, name: &str, reached: &mut BTreeSet<String>) {
        if !reached.insert(name.to_owned()) {
            return;
        }
        let package = self.packages.iter().find(|package| package.name == name);
        let dependencies = package.into_iter().flat_map(|package| &package.dependencies);
        for Dependency { name, .. } in dependencies.filter(|dependency| !dependency.dev) {
            self.reach(name, reached);
        }
    }

    fn rule(&self, name: &str) -> Option<&CrateRule> {
        self.rules.iter().find(|rule| rule.name == name)
    }
}
