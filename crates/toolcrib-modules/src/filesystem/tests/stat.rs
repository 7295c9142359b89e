//! What `stat` promises.

use serde_json::json;

use super::Place;

#[cfg(unix)]
#[tokio::test]
async fn what_is_at_a_path_is_told_and_a_symlink_is_told_as_one() {
    use std::fs::{File, Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, UNIX_EPOCH};
    let place = Place::with_notes();
    let file = File::options().append(true).open(place.inner().join("todo.txt")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_hours(24)).unwrap();
    set_permissions(place.inner().join("todo.txt"), Permissions::from_mode(0o640)).unwrap();
    symlink("todo.txt", place.inner().join("link")).unwrap();
    symlink("/etc/passwd", place.inner().join("out")).unwrap();
    assert_eq!(
        place.ok("stat", json!({"path": "./todo.txt"})).await,
        json!({
            "path": "todo.txt", "kind": "file", "bytes": 11, "modified": "Fri, 02 Jan 1970 00:00:00 GMT",
            "permissions": "640",
        })
    );
    let link = place.ok("stat", json!({"path": "link"})).await;
    assert_eq!((&link["kind"], &link["target"]), (&json!("symlink"), &json!("todo.txt")));
    assert_eq!((link.get("bytes"), &link["target_kind"]), (None, &json!("file")));
    let out = place.ok("stat", json!({"path": "out"})).await;
    assert_eq!((&out["target"], out.get("target_kind")), (&json!("/etc/passwd"), None));
    assert_eq!(place.ok("stat", json!({"path": "notes"})).await["kind"], "directory");
    assert_eq!(place.ok("stat", json!({"path": "."})).await["path"], "");
    let error = place.error("stat", json!({"path": "notes/none"})).await;
    assert!(error.message.contains("does not exist"), "{error}");
}
