//! The arrows between crates.

use super::super::arrows::check;
use super::super::rules::{CRATES, CrateRule};
use super::{in_folder, package, printed};
use crate::workspace::Package;

/// Three layers: one crate on the ground, two beside each other above it, two restricted ones on top.
const MADE_UP: &[CrateRule] = &[
    CrateRule::new("ground", 0),
    CrateRule::new("left", 1),
    CrateRule::new("right", 1),
    CrateRule::new("choosy", 2).only(&["ground"]),
    CrateRule::new("calm", 2).never(&["tokio", "left"]),
];

/// Checks a package among the crates of the made-up rules and the packages around every rules.
fn check_made_up(subject: Package) -> Vec<String> {
    let others = ["ground", "left", "right", "choosy", "calm", "toolcrib-testkit"].map(package);
    let around = [in_folder("the-tests", "tests"), in_folder("chores", "xtask")];
    let mut packages: Vec<Package> =
        others.into_iter().chain(around).filter(|other| other.name != subject.name).collect();
    packages.push(subject);
    printed(&check(&packages, MADE_UP))
}

/// Checks a package against the real table, beside all real crates.
fn check_real(subject: Package) -> Vec<String> {
    let mut packages: Vec<Package> =
        CRATES.iter().map(|rule| package(rule.name)).filter(|other| other.name != subject.name).collect();
    packages.push(subject);
    printed(&check(&packages, CRATES))
}

#[test]
fn an_arrow_down_is_fine() {
    assert!(check_made_up(package("left").uses("ground").uses("serde")).is_empty());
}

#[test]
fn an_arrow_up_is_refused() {
    let expected = "ground: is on layer 0 and may not depend on left on layer 1: arrows point down";
    assert_eq!(check_made_up(package("ground").uses("left")), [expected]);
}

#[test]
fn an_arrow_within_a_floor_is_refused() {
    let expected = "left: is on layer 1 and may not depend on right on layer 1: arrows point down";
    assert_eq!(check_made_up(package("left").uses("right")), [expected]);
}

#[test]
fn a_crate_with_a_list_uses_no_other() {
    assert!(check_made_up(package("choosy").uses("ground")).is_empty());
    let expected = "choosy: may not depend on left: of the workspace it uses only ground";
    assert_eq!(check_made_up(package("choosy").uses("left")), [expected]);
}

#[test]
fn what_a_crate_must_never_use_is_refused_at_home_and_from_outside() {
    let found = check_made_up(package("calm").uses("tokio").uses("left"));
    assert_eq!(found, ["calm: must never depend on tokio", "calm: must never depend on left"]);
    assert!(check_made_up(package("calm").tests_with("tokio")).is_empty());
}

#[test]
fn a_crate_without_a_floor_is_refused() {
    let expected = "attic: has no row in xtask/src/tidy/rules.rs: add one with its layer";
    assert_eq!(check_made_up(package("attic")), [expected]);
    assert!(check_made_up(in_folder("quickstart", "examples/quickstart").uses("calm")).is_empty());
}

#[test]
fn nothing_depends_on_what_is_no_part_of_the_house() {
    let expected = "calm: may not depend on chores, which is not a package of the workspace";
    assert_eq!(check_made_up(package("calm").uses("chores")), [expected]);
}

#[test]
fn the_testkit_is_for_tests_only() {
    let message = "may use toolcrib-testkit in its tests only: make it a dev-dependency";
    assert_eq!(check_made_up(package("left").uses("toolcrib-testkit")), [format!("left: {message}")]);
    let example = in_folder("quickstart", "examples/quickstart").uses("toolcrib-testkit");
    assert_eq!(check_made_up(example), [format!("quickstart: {message}")]);

    assert!(check_made_up(package("left").tests_with("toolcrib-testkit")).is_empty());
    assert!(check_made_up(in_folder("the-tests", "tests").uses("toolcrib-testkit")).is_empty());
}

#[test]
fn tests_may_point_up_but_not_to_the_tops() {
    assert!(check_real(package("toolcrib-model").tests_with("toolcrib-search")).is_empty());
    assert!(check_real(package("toolcrib-server").tests_with("toolcrib-runtime")).is_empty());
    for top in ["toolcrib-runtime", "toolcrib-cli"] {
        let expected =
            format!("toolcrib-search: may not depend on {top}, not even in its tests: test it there");
        assert_eq!(check_real(package("toolcrib-search").tests_with(top)), [expected]);
    }
}

#[test]
fn a_top_is_found_behind_another_dependency() {
    let testkit = package("toolcrib-testkit").uses("toolcrib-runtime");
    let packages =
        [testkit, package("toolcrib-runtime"), package("toolcrib-io").tests_with("toolcrib-testkit")];
    let expected = "toolcrib-io: may not depend on toolcrib-runtime by way of toolcrib-testkit, \
                    not even in its tests: test it there";
    assert_eq!(printed(&check(&packages, CRATES)), [expected]);
}

#[test]
fn the_house_keeps_its_promises() {
    for (from, to) in [
        ("toolcrib-model", "tokio"),
        ("toolcrib-model", "async-trait"),
        ("toolcrib-policy", "tokio"),
        ("toolcrib-policy", "toolcrib-schema"),
        ("toolcrib-prompt", "tokio"),
        ("toolcrib-schema", "toolcrib-io"),
        ("toolcrib-registry", "toolcrib-loader-file"),
        ("toolcrib-exec", "sqlx"),
        ("toolcrib-exec", "toolcrib-io"),
        ("toolcrib-agent", "toolcrib-search"),
        ("toolcrib-agent", "toolcrib-exec"),
        ("toolcrib-agent", "toolcrib-loader-mcp"),
        ("toolcrib-meta", "toolcrib-agent"),
        ("toolcrib-tasks", "toolcrib-agent"),
        ("toolcrib-loader-rest", "toolcrib-loader-file"),
        ("toolcrib-modules", "toolcrib-loader-rest"),
        ("toolcrib-runtime", "toolcrib-server"),
    ] {
        assert_eq!(check_real(package(from).uses(to)).len(), 1, "{from} may use {to}");
    }
}
