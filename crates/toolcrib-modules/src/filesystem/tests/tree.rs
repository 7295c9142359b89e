//! What `tree` promises.

use serde_json::json;

use super::super::MAX_TREE_ENTRIES;
use super::Place;

#[tokio::test]
async fn a_tree_shows_names_to_a_depth() {
    let place = Place::with_notes();
    let tree = place.ok("tree", json!({})).await;
    let all = "notes/\n  monday.md\n  old/\n    april.md\n    may.txt\ntodo.txt\n";
    assert_eq!(tree, json!({"tree": all}));
    let tree = place.ok("tree", json!({"depth": 2})).await;
    assert_eq!(tree["tree"], "notes/\n  monday.md\n  old/\ntodo.txt\n");
    assert_eq!(
        tree["notes"],
        json!(["what is in the directories at level 2 is not shown: make `depth` larger"])
    );
    assert_eq!(
        place.ok("tree", json!({"path": "notes/old", "depth": 1})).await["tree"],
        "april.md\nmay.txt\n"
    );
}

#[tokio::test]
async fn a_tree_is_cut_and_says_so() {
    let place = Place::new();
    for number in 0..=MAX_TREE_ENTRIES {
        place.put(&format!("{number:04}"), "");
    }
    let tree = place.ok("tree", json!({})).await;
    assert_eq!(tree["tree"].as_str().unwrap().lines().count(), MAX_TREE_ENTRIES);
    assert_eq!(
        tree["notes"],
        json!(["only the first 1000 are shown: make `path` narrower, or `depth` smaller"])
    );
}
