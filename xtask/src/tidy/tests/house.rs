//! The table itself: it says nothing twice, and nothing that its own floors forbid.

use std::collections::BTreeSet;

use super::super::house::ROOMS;

#[test]
fn each_crate_has_one_row() {
    let names: BTreeSet<_> = ROOMS.iter().map(|room| room.name).collect();
    assert_eq!(names.len(), ROOMS.len());
}

#[test]
fn each_listed_arrow_points_down() {
    for room in ROOMS {
        for name in room.only.into_iter().flatten() {
            let below = ROOMS.iter().find(|other| other.name == *name);
            let below = below.unwrap_or_else(|| panic!("{} lists {name}, which has no row", room.name));
            assert!(below.floor < room.floor, "{} lists {name}, which is not below it", room.name);
        }
    }
}
