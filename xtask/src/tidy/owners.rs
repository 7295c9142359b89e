//! The owners of third-party crates: what is known in one place can be bounded, and replaced, in one place.

use super::rules::{Owner, TESTKIT, TESTS_FOLDER};
use super::violation::Violation;
use crate::workspace::{Dependency, Package};

/// Checks what ships of every package against the table of owners.
pub(super) fn check(packages: &[Package], owners: &[Owner]) -> Vec<Violation> {
    let ships = packages.iter().filter(|package| package.name != TESTKIT && package.folder != TESTS_FOLDER);
    let used = ships.flat_map(|package| {
        let normal = package.dependencies.iter().filter(|dependency| !dependency.dev);
        normal.map(move |dependency| (package, dependency))
    });
    used.flat_map(|(package, dependency)| {
        owners
            .iter()
            .filter(|owner| concerns(owner, dependency) && !owner.crates.contains(&package.name.as_str()))
            .map(|owner| Violation::of(&package.name, message(owner)))
    })
    .collect()
}

fn concerns(owner: &Owner, dependency: &Dependency) -> bool {
    let feature = |wanted: &str| dependency.features.iter().any(|feature| feature == wanted);
    owner.package == dependency.name && owner.feature.is_none_or(feature)
}

fn message(owner: &Owner) -> String {
    let what = match owner.feature {
        Some(feature) => format!("the feature {feature:?} of {}", owner.package),
        None => owner.package.to_owned(),
    };
    if owner.crates.is_empty() {
        format!("may not use {what}: no crate may")
    } else {
        format!("may not use {what}: it belongs to {}", owner.crates.join(", "))
    }
}
