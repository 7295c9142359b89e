//! The arrows between the crates of the workspace: they point down, and some never exist.

use std::collections::BTreeSet;

use super::house::{CRATES_FOLDER, Room, TESTKIT, TESTS_FOLDER, TOPS};
use super::violation::Violation;
use crate::workspace::{Dependency, Package};

/// Checks every dependency of every package against the table.
pub(super) fn check(packages: &[Package], rooms: &[Room]) -> Vec<Violation> {
    let house = House { packages, rooms };
    packages.iter().flat_map(|package| house.check_package(package)).collect()
}

struct House<'a> {
    packages: &'a [Package],
    rooms: &'a [Room],
}

impl House<'_> {
    fn check_package(&self, package: &Package) -> Vec<Violation> {
        let room = self.room(&package.name);
        let mut messages = Vec::new();
        if room.is_none() && package.folder.starts_with(CRATES_FOLDER) && package.name != TESTKIT {
            messages.push("has no row in xtask/src/tidy/house.rs: say on which floor it lives".to_owned());
        }
        for dependency in &package.dependencies {
            let target = self.packages.iter().find(|member| member.name == dependency.name);
            let message = match (room, target) {
                _ if dependency.dev => room.and_then(|room| self.dev_arrow(room, &dependency.name)),
                (Some(room), _) if room.never.contains(&dependency.name.as_str()) => {
                    Some(format!("must never depend on {}", dependency.name))
                }
                (_, Some(target)) => self.arrow(package, room, target),
                (_, None) => None,
            };
            messages.extend(message);
        }
        messages.iter().map(|message| Violation::of(&package.name, message)).collect()
    }

    /// What is wrong with a normal or build dependency of `package` on another member.
    fn arrow(&self, package: &Package, room: Option<&Room>, target: &Package) -> Option<String> {
        let name = &target.name;
        if name == TESTKIT {
            let free = package.folder == TESTS_FOLDER;
            return (!free).then(|| format!("may use {TESTKIT} in its tests only: make it a dev-dependency"));
        }
        if !target.folder.starts_with(CRATES_FOLDER) {
            return Some(format!("may not depend on {name}, which is no part of the house"));
        }
        let (room, below) = (room?, self.room(name)?);
        if below.floor >= room.floor {
            let (from, to) = (room.floor, below.floor);
            return Some(format!(
                "is on floor {from} and may not depend on {name} on floor {to}: arrows point down"
            ));
        }
        let allowed = room.only?;
        (!allowed.contains(&name.as_str())).then(|| {
            format!("may not depend on {name}: of the workspace it uses only {}", allowed.join(", "))
        })
    }

    /// What is wrong with a dev-dependency: it may point anywhere, unless it brings one of the tops into the
    /// tests of a crate below.
    fn dev_arrow(&self, room: &Room, name: &str) -> Option<String> {
        let mut reached = BTreeSet::new();
        self.reach(name, &mut reached);
        let top = TOPS.iter().find(|top| {
            reached.contains(**top) && self.room(top).is_some_and(|above| above.floor > room.floor)
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

    fn room(&self, name: &str) -> Option<&Room> {
        self.rooms.iter().find(|room| room.name == name)
    }
}
