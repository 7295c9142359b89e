//! What `.gitignore` leaves out.

use serde_json::json;

use super::super::{MAX_IGNORE_BYTES, MAX_IGNORE_FILES};
use super::Place;

fn place() -> Place {
    let place = Place::new();
    place.put(".gitignore", "# what is made\n/target\n*.log\n!kept.log\nsub/only.txt\n");
    place.put("target/made.txt", "needle");
    place.put("src/target/a.txt", "needle");
    place.put("src/x.log", "needle");
    place.put("src/kept.log", "needle");
    place.put("sub/.gitignore", "!*.log\nlocal.txt\n");
    place.put("sub/x.log", "needle");
    place.put("sub/only.txt", "needle");
    place.put("sub/local.txt", "needle");
    place.put("sub/deep/local.txt", "needle");
    place.put("local.txt", "needle");
    place.put(".git/config", "needle");
    place
}

#[tokio::test]
async fn what_gitignore_says_is_neither_found_nor_searched_nor_shown() {
    let place = place();
    let expected = ["local.txt", "src/kept.log", "src/target/a.txt", "sub/x.log"];
    let notes = json!(["5 entries were left out by `.gitignore`: set `include_ignored` to see all"]);
    let found = place.ok("find", json!({"pattern": "*.{txt,log}"})).await;
    assert_eq!(found, json!({"paths": expected, "notes": notes}));
    let found = place.ok("grep", json!({"pattern": "needle"})).await;
    let paths: Vec<_> = found["matches"].as_array().unwrap().iter().map(|found| &found["path"]).collect();
    assert_eq!((json!(paths), &found["notes"]), (json!(expected), &notes));
    let tree = place.ok("tree", json!({"depth": 9})).await;
    assert_eq!(
        tree["tree"],
        ".gitignore\nlocal.txt\nsrc/\n  kept.log\n  target/\n    a.txt\nsub/\n  .gitignore\n  deep/\n  x.log\n"
    );
}

#[tokio::test]
async fn all_is_looked_at_when_asked_for() {
    let place = place();
    let found = place.ok("grep", json!({"pattern": "needle", "include_ignored": true})).await;
    assert_eq!((found["matches"].as_array().unwrap().len(), found.get("notes")), (10, None));
    let found = place.ok("find", json!({"pattern": "config", "include_ignored": true})).await;
    assert_eq!(found, json!({"paths": [".git/config"]}));
}

#[tokio::test]
async fn rules_of_the_directories_above_hold_below_and_a_directory_that_is_named_is_looked_at() {
    let place = place();
    let found = place.ok("find", json!({"pattern": "*.txt", "path": "sub"})).await;
    assert_eq!(found["paths"], json!([]));
    let found = place.ok("find", json!({"pattern": "*.txt", "path": "target"})).await;
    assert_eq!(found["paths"], json!(["target/made.txt"]));
}

#[tokio::test]
async fn rules_that_are_too_many_leave_nothing_out_and_say_so() {
    let place = Place::new();
    place.put("x.txt", "");
    place.put(".gitignore", "x.txt\n".repeat(usize::try_from(MAX_IGNORE_BYTES).unwrap() / 6 + 1));
    let found = place.ok("find", json!({"pattern": "*.txt"})).await;
    assert_eq!(
        found,
        json!({"paths": ["x.txt"], "notes": [
            "1 `.gitignore` was not understood, or one too many: nothing was left out by it"
        ]})
    );
    let place = Place::new();
    for number in 0..=MAX_IGNORE_FILES {
        place.put(&format!("{number:04}/.gitignore"), "x.txt");
        place.put(&format!("{number:04}/x.txt"), "");
    }
    let found = place.ok("find", json!({"pattern": "*.txt"})).await;
    assert_eq!(found["paths"], json!([format!("{MAX_IGNORE_FILES:04}/x.txt")]));
}

#[tokio::test]
async fn rules_that_make_no_sense_are_passed_over() {
    let place = Place::new();
    place.put(".gitignore", b"\xff\xfe[\n{{{{\n\\\n**/**/**\0\n[z-a]\na{b,c\n*.log\n");
    place.put("x.log", "");
    place.put("x.txt", "");
    let found = place.ok("find", json!({"pattern": "x.*"})).await;
    assert_eq!(found["paths"], json!(["x.txt"]));
}
