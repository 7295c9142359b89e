//! What `edit` promises.

use std::fs;

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;

use super::super::{MAX_DIFF_BYTES, MAX_WRITE_BYTES};
use super::Place;

fn edit(old_text: &str, new_text: &str) -> Value {
    json!({"path": "x.txt", "old_text": old_text, "new_text": new_text})
}

fn text(place: &Place) -> String {
    fs::read_to_string(place.inner().join("x.txt")).unwrap()
}

#[tokio::test]
async fn a_text_is_replaced_where_it_stands_once_and_the_difference_is_shown() {
    let place = Place::new();
    place.put("x.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    let edited = place.ok("edit", edit("three\nfour", "3\n4\n4b")).await;
    assert_eq!(text(&place), "one\ntwo\n3\n4\n4b\nfive\nsix\nseven\n");
    assert_eq!((&edited["replaced"], &edited["bytes"]), (&json!(1), &json!(30)));
    assert_eq!(
        edited["diff"],
        "--- x.txt\n+++ x.txt\n@@ -1,7 +1,8 @@\n one\n two\n-three\n-four\n+3\n+4\n+4b\n five\n six\n seven\n"
    );
    place.ok("edit", edit("one\n", "")).await;
    assert!(text(&place).starts_with("two\n"));
}

#[tokio::test]
async fn a_text_that_stands_there_several_times_is_left_unless_all_are_meant() {
    let place = Place::new();
    place.put("x.txt", "a b\na\n\nb a\n");
    let error = place.error("edit", edit("a", "c")).await;
    assert_eq!(error.message, "`old_text` occurs in `x.txt` 3 times, at the lines 1, 2, 4");
    assert!(error.hint.is_some_and(|hint| hint.contains("`replace_all`")));
    assert_eq!(text(&place), "a b\na\n\nb a\n");
    let mut all = edit("a", "c");
    all["replace_all"] = true.into();
    assert_eq!(place.ok("edit", all).await["replaced"], 3);
    assert_eq!(text(&place), "c b\nc\n\nb c\n");
    place.put("x.txt", "a\n".repeat(50));
    let error = place.error("edit", edit("a", "c")).await;
    assert!(error.message.ends_with("50 times, at the lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"), "{error}");
}

#[tokio::test]
async fn a_text_that_is_not_there_is_answered_with_what_is_like_it() {
    let place = Place::new();
    place.put("x.txt", "fn a() {\n    b();\n}\n");
    for (old, hint) in [
        (
            "  b();\n  c();",
            "its first line resembles line 2: read the file from there, and copy the text exactly",
        ),
        ("nowhere", "`filesystem.read` shows the content of the file"),
    ] {
        let error = place.error("edit", edit(old, "x")).await;
        assert_eq!(error.message, "`old_text` does not occur in `x.txt`");
        assert_eq!(error.hint.as_deref(), Some(hint));
    }
    place.put("x.txt", "a\r\nb\r\n");
    let hint = place.error("edit", edit("a\nb", "x")).await.hint.unwrap();
    assert!(hint.contains("end with `\\r\\n`"), "{hint}");
}

#[tokio::test]
async fn what_cannot_be_an_edit_is_refused_and_changes_nothing() {
    let place = Place::with_notes();
    place.put("x.txt", "x\n");
    place.put("large.txt", "x".repeat(MAX_WRITE_BYTES + 1));
    place.put("latin1.txt", b"caf\xe9");
    let grow = json!({"path": "x.txt", "old_text": "x", "new_text": "y".repeat(MAX_WRITE_BYTES)});
    for (arguments, kind, told) in [
        (edit("", "y"), ErrorKind::InvalidArgs, "`old_text` is empty"),
        (edit("x", "x"), ErrorKind::InvalidArgs, "are the same"),
        (grow, ErrorKind::ToolFailed, "would have more than 4194304 bytes"),
        (
            json!({"path": "large.txt", "old_text": "x", "new_text": "y"}),
            ErrorKind::ToolFailed,
            "has more than 4194304 bytes",
        ),
        (
            json!({"path": "latin1.txt", "old_text": "caf", "new_text": "y"}),
            ErrorKind::ToolFailed,
            "is not text in UTF-8",
        ),
        (json!({"path": "notes", "old_text": "a", "new_text": "b"}), ErrorKind::ToolFailed, "is not a file"),
        (json!({"path": "none", "old_text": "a", "new_text": "b"}), ErrorKind::ToolFailed, "does not exist"),
    ] {
        let error = place.error("edit", arguments).await;
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(told), "{error}");
    }
    assert_eq!(text(&place), "x\n");
}

#[tokio::test]
async fn a_long_difference_is_cut_between_lines_and_says_so() {
    let place = Place::new();
    place.put("x.txt", "a line\n".repeat(20_000));
    let all = json!({"path": "x.txt", "old_text": "line", "new_text": "row", "replace_all": true});
    let edited = place.ok("edit", all).await;
    let diff = edited["diff"].as_str().unwrap();
    assert!(diff.len() <= MAX_DIFF_BYTES && diff.ends_with('\n'));
    let shown = diff.lines().count();
    assert_eq!(edited["notes"], json!([format!("{} lines of the diff are not shown", 40_003 - shown)]));
}
