//! The owners of third-party crates.

use super::super::owners::check;
use super::super::rules::{OWNERS, Owner};
use super::{in_folder, package, printed};
use crate::workspace::{Dependency, Package};

const MADE_UP: &[Owner] = &[
    Owner::of("http", &["door"]),
    Owner::of("forbidden", &[]),
    Owner::of_feature("async", "fork", &["door"]),
];

fn with_feature(name: &str, feature: &str) -> Package {
    let mut package = package(name);
    let features = vec!["other".to_owned(), feature.to_owned()];
    package.dependencies.push(Dependency { name: "async".to_owned(), dev: false, features });
    package
}

#[test]
fn the_owner_may_and_others_may_not() {
    let packages = [package("door").uses("http"), package("wall").uses("http").uses("serde")];
    assert_eq!(printed(&check(&packages, MADE_UP)), ["wall: may not use http: it belongs to door"]);
}

#[test]
fn what_has_no_owner_is_for_nobody() {
    let packages = [package("door").uses("forbidden")];
    assert_eq!(printed(&check(&packages, MADE_UP)), ["door: may not use forbidden: no crate may"]);
}

#[test]
fn a_feature_is_owned_apart_from_its_crate() {
    let packages =
        [with_feature("door", "fork"), with_feature("wall", "fork"), with_feature("layer", "time")];
    let expected = "wall: may not use the feature \"fork\" of async: it belongs to door";
    assert_eq!(printed(&check(&packages, MADE_UP)), [expected]);
}

#[test]
fn examples_and_chores_are_not_exempt() {
    let packages =
        [in_folder("chores", "xtask").uses("http"), in_folder("show", "examples/show").uses("http")];
    assert_eq!(check(&packages, MADE_UP).len(), 2);
}

#[test]
fn tests_use_what_they_need() {
    let packages = [
        package("wall").tests_with("http"),
        package("toolcrib-testkit").uses("http"),
        in_folder("the-tests", "tests").uses("http"),
    ];
    assert!(check(&packages, MADE_UP).is_empty());
}

#[test]
fn the_doors_to_the_world_are_in_one_crate() {
    for door in ["reqwest", "rustix", "process-wrap", "cap-std"] {
        assert_eq!(check(&[package("toolcrib-modules").uses(door)], OWNERS).len(), 1, "{door}");
        assert!(check(&[package("toolcrib-io").uses(door)], OWNERS).is_empty(), "{door}");
    }
}
