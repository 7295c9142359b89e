//! What `write` and `mkdir` promise.

use std::fs;

use serde_json::json;
use toolcrib_model::ErrorKind;

use super::super::MAX_WRITE_BYTES;
use super::Place;

#[tokio::test]
async fn a_file_is_made_and_then_replaced() {
    let place = Place::new();
    let written = place.ok("write", json!({"path": "./x.txt", "content": "a long text"})).await;
    assert_eq!(written, json!({"path": "x.txt", "bytes": 11, "created": true}));
    let written = place.ok("write", json!({"path": "x.txt", "content": "short"})).await;
    assert_eq!(written, json!({"path": "x.txt", "bytes": 5, "created": false}));
    assert_eq!(fs::read_to_string(place.inner().join("x.txt")).unwrap(), "short");
}

#[tokio::test]
async fn directories_above_a_file_are_made_only_when_asked_for() {
    let place = Place::new();
    let error = place.error("write", json!({"path": "a/b/x.txt", "content": "x"})).await;
    assert_eq!(
        error.to_string(),
        "tool_failed: cannot write `a/b/x.txt`: the directory `a/b` does not exist (set `create_parents` to true to create it)"
    );
    assert!(!place.inner().join("a").exists());
    place.ok("write", json!({"path": "a/b/x.txt", "content": "x", "create_parents": true})).await;
    assert_eq!(fs::read_to_string(place.inner().join("a/b/x.txt")).unwrap(), "x");
}

#[tokio::test]
async fn a_directory_is_made_once() {
    let place = Place::new();
    assert_eq!(place.ok("mkdir", json!({"path": "a/b/"})).await, json!({"path": "a/b", "created": true}));
    assert!(place.inner().join("a/b").is_dir());
    assert_eq!(place.ok("mkdir", json!({"path": "a/b"})).await, json!({"path": "a/b", "created": false}));
}

#[tokio::test]
async fn nothing_is_written_over_something_of_another_kind() {
    let place = Place::with_notes();
    let error = place.error("write", json!({"path": "notes", "content": "x"})).await;
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::ToolFailed, "`notes` is not a file"));
    for path in ["todo.txt", "todo.txt/sub"] {
        let error = place.error("mkdir", json!({"path": path})).await;
        assert_eq!(error.kind, ErrorKind::ToolFailed);
        assert!(error.message.contains(path) && error.hint.is_some(), "{error}");
    }
    assert_eq!(fs::read_to_string(place.inner().join("todo.txt")).unwrap(), "milk\nbread\n");
}

#[tokio::test]
async fn a_content_beyond_the_bound_is_refused_and_nothing_is_written() {
    let place = Place::new();
    let error =
        place.error("write", json!({"path": "x.txt", "content": "x".repeat(MAX_WRITE_BYTES + 1)})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    assert!(!place.inner().join("x.txt").exists());
}
