//! What `find` promises.

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;

use super::super::{MAX_PATTERN_BYTES, MAX_RESULT_BYTES};
use super::Place;

async fn paths(place: &Place, arguments: Value) -> Value {
    let mut found = place.ok("find", arguments).await;
    assert_eq!(found.get("notes"), None);
    found["paths"].take()
}

#[tokio::test]
async fn a_glob_without_a_slash_fits_names_at_every_depth() {
    let place = Place::with_notes();
    assert_eq!(
        paths(&place, json!({"pattern": "*.md"})).await,
        json!(["notes/monday.md", "notes/old/april.md"])
    );
    assert_eq!(
        paths(&place, json!({"pattern": "{todo,may}.txt"})).await,
        json!(["notes/old/may.txt", "todo.txt"])
    );
    assert_eq!(paths(&place, json!({"pattern": "old"})).await, json!(["notes/old/"]));
    assert_eq!(
        paths(&place, json!({"pattern": "*"})).await,
        json!([
            "notes/",
            "notes/monday.md",
            "notes/old/",
            "notes/old/april.md",
            "notes/old/may.txt",
            "todo.txt"
        ])
    );
}

#[tokio::test]
async fn a_glob_with_a_slash_fits_paths_below_the_start() {
    let place = Place::with_notes();
    assert_eq!(paths(&place, json!({"pattern": "notes/*.md"})).await, json!(["notes/monday.md"]));
    assert_eq!(paths(&place, json!({"pattern": "./*.txt"})).await, json!(["notes/old/may.txt", "todo.txt"]));
    assert_eq!(paths(&place, json!({"pattern": "notes/*", "path": "notes"})).await, json!([]));
}

#[tokio::test]
async fn results_are_relative_to_the_workspace_however_the_start_is_spelled() {
    let place = Place::with_notes();
    let absolute = place.root.path().join("notes");
    for path in ["notes", "./notes/", "notes/.", absolute.to_str().unwrap()] {
        assert_eq!(
            paths(&place, json!({"pattern": "old/*", "path": path})).await,
            json!(["notes/old/april.md", "notes/old/may.txt"]),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_wrong_glob_is_an_error_that_says_what_is_wrong() {
    let place = Place::new();
    let error = place.error("find", json!({"pattern": "*.{md"})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    assert!(error.message.starts_with("`pattern` is not a glob: unclosed alternate group"), "{error}");
    let long = "?".repeat(MAX_PATTERN_BYTES + 1);
    let error = place.error("find", json!({"pattern": long})).await;
    assert_eq!(error.message, "`pattern` has 1001 bytes, expected at most 1000");
    let nested = "{a,".repeat(MAX_PATTERN_BYTES / 4) + &"}".repeat(MAX_PATTERN_BYTES / 4);
    let error = place.error("find", json!({"pattern": nested})).await;
    assert!(error.message.contains("nest"), "{error}");
}

#[tokio::test]
async fn results_are_cut_at_the_size_of_a_result_and_say_so() {
    const FILES: usize = 400;
    let place = Place::new();
    let name = "x".repeat(200);
    for number in 0..FILES {
        place.put(&format!("{name}{number:03}"), "");
    }
    let found = place.ok("find", json!({"pattern": "x*"})).await;
    let shown = MAX_RESULT_BYTES / (name.len() + 3);
    assert!(shown < FILES);
    assert_eq!(found["paths"].as_array().unwrap().len(), shown);
    assert_eq!(
        found["notes"],
        json!([format!("only the first {shown} are shown: make `pattern` or `path` narrower")])
    );
}
