//! What a walk promises.

use tokio_util::sync::CancellationToken;
use toolcrib_model::ErrorKind;

use super::super::MAX_WALK_DEPTH;
use super::super::walk::Walk;
use super::Place;
use crate::blocking::Cancellation;

#[test]
fn a_walk_ends_with_the_call_that_it_is_for() {
    let place = Place::with_notes();
    let token = CancellationToken::new();
    let stop = Cancellation::on(token.clone());
    let mut walk = Walk::new(&place.root, ".", &stop).unwrap();
    assert!(walk.next().unwrap().is_some());
    token.cancel();
    let error = walk.next().err().unwrap();
    assert_eq!(error.kind, ErrorKind::Cancelled);
}

#[test]
fn a_walk_that_gets_too_deep_says_so() {
    let place = Place::new();
    let deep = "d/".repeat(MAX_WALK_DEPTH + 5);
    place.root.create_dir_all(deep).unwrap();
    let stop = Cancellation::on(CancellationToken::new());
    let mut walk = Walk::new(&place.root, "", &stop).unwrap();
    let mut depth = 0;
    while walk.next().unwrap().is_some() {
        depth += 1;
    }
    assert_eq!(depth, MAX_WALK_DEPTH);
    assert_eq!(
        walk.notes(),
        ["there are more entries than one call looks at: start at a directory further down"]
    );
}

#[cfg(unix)]
#[test]
fn symlinks_are_met_and_not_followed() {
    let place = Place::with_notes();
    std::os::unix::fs::symlink("..", place.inner().join("notes/loop")).unwrap();
    let stop = Cancellation::on(CancellationToken::new());
    let mut walk = Walk::new(&place.root, "notes", &stop).unwrap();
    let mut below = Vec::new();
    while let Some(found) = walk.next().unwrap() {
        below.push(found.below);
    }
    assert_eq!(below, ["loop", "monday.md", "old", "old/april.md", "old/may.txt"]);
}
