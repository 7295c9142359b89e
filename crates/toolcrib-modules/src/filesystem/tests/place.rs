//! What `move`, `copy` and `delete` promise.

use std::fs;

use serde_json::json;
use toolcrib_model::ErrorKind;

use super::super::MAX_CHANGED_ENTRIES;
use super::Place;

fn text(place: &Place, path: &str) -> Option<String> {
    fs::read_to_string(place.inner().join(path)).ok()
}

#[tokio::test]
async fn files_and_directories_are_moved() {
    let place = Place::with_notes();
    let moved = place.ok("move", json!({"from": "./todo.txt", "to": "notes/todo.txt"})).await;
    assert_eq!(moved, json!({"from": "todo.txt", "to": "notes/todo.txt"}));
    place.ok("move", json!({"from": "notes", "to": "journal"})).await;
    assert_eq!(text(&place, "journal/todo.txt").unwrap(), "milk\nbread\n");
    assert_eq!((text(&place, "todo.txt"), place.inner().join("notes").exists()), (None, false));
}

#[tokio::test]
async fn files_and_directories_are_copied() {
    let place = Place::with_notes();
    let copied = place.ok("copy", json!({"from": "todo.txt", "to": "notes/todo.txt"})).await;
    assert_eq!(copied, json!({"from": "todo.txt", "to": "notes/todo.txt", "files": 1, "bytes": 11}));
    let error = place.error("copy", json!({"from": "notes", "to": "journal"})).await;
    assert_eq!(error.hint.as_deref(), Some("set `recursive` to true to copy all that is in it"));
    let copied = place.ok("copy", json!({"from": "notes", "to": "journal", "recursive": true})).await;
    assert_eq!((&copied["files"], copied.get("notes")), (&json!(4), None));
    assert_eq!(text(&place, "journal/old/april.md"), text(&place, "notes/old/april.md"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_copy_can_be_run_as_its_original_can_and_symlinks_are_left_out() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    place.put("bin/run", "#!/bin/sh\n");
    fs::set_permissions(place.inner().join("bin/run"), fs::Permissions::from_mode(0o4755)).unwrap();
    symlink("../../secret.txt", place.inner().join("bin/link")).unwrap();
    let copied = place.ok("copy", json!({"from": "bin", "to": "copy", "recursive": true})).await;
    assert_eq!(copied["notes"], json!(["1 entry was left out: not files"]));
    let mode = fs::metadata(place.inner().join("copy/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert!(fs::symlink_metadata(place.inner().join("copy/link")).is_err());
}

#[tokio::test]
async fn what_is_there_is_replaced_only_when_asked_for() {
    for tool in ["move", "copy"] {
        let place = Place::with_notes();
        place.put("there.txt", "there");
        let error = place.error(tool, json!({"from": "todo.txt", "to": "there.txt"})).await;
        assert_eq!(error.message, "there is already something at `there.txt`", "{tool}");
        assert!(error.hint.is_some_and(|hint| hint.contains("`overwrite`")));
        assert_eq!(text(&place, "there.txt").unwrap(), "there");
        place.ok(tool, json!({"from": "todo.txt", "to": "there.txt", "overwrite": true})).await;
        assert_eq!(text(&place, "there.txt").unwrap(), "milk\nbread\n");
        place.error(tool, json!({"from": "there.txt", "to": "notes", "overwrite": true})).await;
        assert!(place.inner().join("notes/old/may.txt").exists(), "{tool}");
        assert_eq!(
            fs::read_dir(place.inner())
                .unwrap()
                .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.') })
                .count(),
            0,
            "nothing is left of what failed"
        );
    }
}

#[tokio::test]
async fn nothing_is_put_into_itself_or_where_there_is_no_directory() {
    let place = Place::with_notes();
    for (tool, to, told) in [
        ("move", "notes/old/inner", "is inside of what was to be moved"),
        ("copy", "notes/old/inner", "is inside of `notes`, which was to be copied"),
        ("move", "none/x", "the directory `none` does not exist"),
    ] {
        let recursive = tool == "copy";
        let mut arguments = json!({"from": "notes", "to": to});
        if recursive {
            arguments["recursive"] = true.into();
        }
        let error = place.error(tool, arguments).await;
        assert!(error.message.contains(told), "{tool}: {error}");
    }
    for tool in ["move", "copy"] {
        let error = place.error(tool, json!({"from": "none", "to": "x"})).await;
        assert!(error.message.contains("`none` does not exist"), "{tool}: {error}");
        let error = place.error(tool, json!({"from": "todo.txt", "to": "none/x"})).await;
        assert_eq!(error.hint.as_deref(), Some("`filesystem.mkdir` creates it"), "{tool}: {error}");
    }
}

#[tokio::test]
async fn a_file_is_deleted_and_a_directory_only_when_asked_for() {
    let place = Place::with_notes();
    let deleted = place.ok("delete", json!({"path": "todo.txt"})).await;
    assert_eq!(deleted, json!({"path": "todo.txt", "kind": "file", "entries": 1}));
    let error = place.error("delete", json!({"path": "notes"})).await;
    assert_eq!(error.hint.as_deref(), Some("set `recursive` to true to delete all that is in it"));
    let deleted = place.ok("delete", json!({"path": "notes", "recursive": true})).await;
    assert_eq!(deleted, json!({"path": "notes", "kind": "directory", "entries": 5}));
    assert_eq!(fs::read_dir(place.inner()).unwrap().count(), 0);
    assert_eq!(place.error("delete", json!({"path": "todo.txt"})).await.kind, ErrorKind::ToolFailed);
}

#[tokio::test]
async fn the_workspace_itself_stays() {
    let place = Place::with_notes();
    for path in [".", "", "./", place.root.path().to_str().unwrap()] {
        for (tool, arguments) in [
            ("delete", json!({"path": path, "recursive": true})),
            ("move", json!({"from": path, "to": "x"})),
            ("move", json!({"from": "notes", "to": path, "overwrite": true})),
            ("copy", json!({"from": path, "to": "x", "recursive": true})),
        ] {
            let error = place.error(tool, arguments).await;
            assert_eq!(error.kind, ErrorKind::InvalidArgs, "{tool} {path:?}");
            assert!(error.message.contains("is the workspace itself"), "{error}");
        }
    }
    assert!(place.inner().join("notes/old/may.txt").exists());
}

#[tokio::test]
async fn more_than_one_call_deletes_or_copies_is_left_as_it_is() {
    let place = Place::new();
    let many = place.inner().join("many");
    for folder in 0..2 {
        fs::create_dir_all(many.join(folder.to_string())).unwrap();
        for number in 0..MAX_CHANGED_ENTRIES / 2 {
            fs::write(many.join(format!("{folder}/{number}")), "").unwrap();
        }
    }
    for (tool, arguments) in [
        ("delete", json!({"path": "many", "recursive": true})),
        ("copy", json!({"from": "many", "to": "copy", "recursive": true})),
    ] {
        place.error(tool, arguments).await;
    }
    assert_eq!(fs::read_dir(many.join("1")).unwrap().count(), MAX_CHANGED_ENTRIES / 2);
    assert!(!place.inner().join("copy").exists());
    place.ok("delete", json!({"path": "many/1", "recursive": true})).await;
    place.ok("delete", json!({"path": "many", "recursive": true})).await;
}
