//! The table itself: it says nothing twice, and nothing that its own layers forbid.

use std::collections::BTreeSet;

use super::super::rules::CRATES;

#[test]
fn each_crate_has_one_row() {
    let names: BTreeSet<_> = CRATES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), CRATES.len());
}

#[test]
fn each_listed_arrow_points_down() {
    for rule in CRATES {
        for name in rule.only.into_iter().flatten() {
            let below = CRATES.iter().find(|other| other.name == *name);
            let below = below.unwrap_or_else(|| panic!("{} lists {name}, which has no row", rule.name));
            assert!(below.layer < rule.layer, "{} lists {name}, which is not below it", rule.name);
        }
    }
}
