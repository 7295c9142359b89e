//! No path leads a tool out of the workspace, and none makes it wait.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib_io::files::Root;
use toolcrib_model::ErrorKind;

use super::Place;

const SECRET: &str = "secret";

/// Every call that a path can be given to, in each of its arguments.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({"path": path})),
        ("read", json!({"path": path, "encoding": "windows-1252"})),
        ("ls", json!({"path": path})),
        ("tree", json!({"path": path, "include_ignored": true})),
        ("stat", json!({"path": path})),
        ("find", json!({"path": path, "pattern": "*"})),
        ("grep", json!({"path": path, "pattern": "."})),
        ("write", json!({"path": path, "content": "mine", "create_parents": true})),
        ("append", json!({"path": path, "content": "mine", "create_parents": true})),
        ("edit", json!({"path": path, "old_text": SECRET, "new_text": "mine"})),
        ("mkdir", json!({"path": path})),
        ("move", json!({"from": path, "to": "stolen", "overwrite": true})),
        ("move", json!({"from": "inside.txt", "to": path, "overwrite": true})),
        ("copy", json!({"from": path, "to": "stolen", "overwrite": true, "recursive": true})),
        ("copy", json!({"from": "inside.txt", "to": path, "overwrite": true})),
        ("copy", json!({"from": "inside", "to": path, "overwrite": true, "recursive": true})),
        ("delete", json!({"path": path, "recursive": true})),
    ]
}

/// A workspace with files in it, and around it what nobody may reach.
fn place() -> Place {
    let place = Place::new();
    place.put("inside.txt", "inside");
    place.put("inside/x.txt", "inside");
    let outer = place.outer.path();
    fs::write(outer.join("secret.txt"), SECRET).unwrap();
    fs::create_dir_all(outer.join("work-beside")).unwrap();
    fs::write(outer.join("work-beside/secret.txt"), SECRET).unwrap();
    place
}

/// Everything outside is as it was, and nothing of it came in.
fn assert_untouched(place: &Place, about: &str) {
    let outer = place.outer.path();
    let mut names: Vec<_> = fs::read_dir(outer).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["secret.txt", "work", "work-beside"], "{about}");
    for file in ["secret.txt", "work-beside/secret.txt"] {
        assert_eq!(fs::read_to_string(outer.join(file)).unwrap(), SECRET, "{about}");
    }
    assert_eq!(fs::read_dir(outer.join("work-beside")).unwrap().count(), 1, "{about}");
    assert!(fs::symlink_metadata(place.inner().join("stolen")).is_err(), "{about}");
}

#[tokio::test]
async fn a_path_that_leads_out_is_refused_by_every_tool() {
    let place = place();
    let outer = place.outer.path();
    symlink(outer, place.inner().join("up")).unwrap();
    symlink("up", place.inner().join("link-to-link")).unwrap();
    symlink("link-to-link/work-beside", place.inner().join("through")).unwrap();
    symlink("/proc/self/root", place.inner().join("proc")).unwrap();
    symlink("..", place.inner().join("inside/two-up")).unwrap();
    symlink("two-up/..", place.inner().join("inside/three-up")).unwrap();
    let absolute = outer.join("secret.txt");
    let proc = Path::new("/proc/self/root").join(absolute.strip_prefix("/").unwrap());
    let proc_cwd = Path::new("/proc/self/cwd/secret.txt");
    let climbing = place.inner().join("../secret.txt");
    let beside = outer.join("work-beside/secret.txt");
    let spelled =
        [&absolute, &proc, proc_cwd, &climbing, &beside, outer].map(|path: &Path| path.to_str().unwrap());
    let relative = [
        "..",
        "../secret.txt",
        "./../secret.txt",
        "inside/../../secret.txt",
        "inside/../inside.txt",
        "../work-beside/secret.txt",
        "../work/../secret.txt",
        "up/secret.txt",
        "link-to-link/secret.txt",
        "through/secret.txt",
        "inside/three-up/secret.txt",
        "inside/three-up/work-beside/secret.txt",
        "proc/etc/passwd",
        "/",
        "/etc/passwd",
        "/dev/zero",
        "//etc/passwd",
        "inside.txt\0../secret.txt",
        "\0",
    ];
    for path in relative.into_iter().chain(spelled) {
        for (name, arguments) in calls(path) {
            let about = format!("{name} {arguments}");
            let error = place.error(name, arguments).await;
            assert_eq!(error.kind, ErrorKind::ToolFailed, "{about}: {error}");
            assert!(error.message.contains("is outside of the workspace"), "{about}: {error}");
            assert!(error.hint.is_some(), "{about}");
            assert_untouched(&place, &about);
        }
    }
    assert_eq!(fs::read_to_string(place.inner().join("inside.txt")).unwrap(), "inside");
}

#[tokio::test]
async fn a_link_that_leads_out_is_told_moved_and_deleted_as_a_link_and_never_followed() {
    for (target, is_directory) in [("../secret.txt", false), ("..", true), ("../work-beside", true)] {
        let read = ["read", "ls", "tree", "find", "grep", "write", "append", "edit", "mkdir", "copy"];
        let place = place();
        let make = || symlink(target, place.inner().join("out")).unwrap();
        make();
        for (name, arguments) in calls("out").into_iter().filter(|(name, _)| read.contains(name)) {
            let about = format!("{target} {name} {arguments}");
            let error = place.error(name, arguments).await;
            assert!(error.message.contains("out"), "{about}: {error}");
            assert_untouched(&place, &about);
        }
        let walks = [("grep", json!({"pattern": SECRET})), ("find", json!({"pattern": "*secret*"}))];
        for (name, arguments) in walks {
            let found = place.ok(name, arguments).await;
            assert!(!found.to_string().contains(SECRET), "{target} {name}: {found}");
        }
        let told = place.ok("stat", json!({"path": "out"})).await;
        assert_eq!((&told["kind"], told.get("target_kind")), (&json!("symlink"), None), "{is_directory}");
        place.ok("move", json!({"from": "out", "to": "moved"})).await;
        let deleted = place.ok("delete", json!({"path": "moved", "recursive": true})).await;
        assert_eq!((&deleted["kind"], &deleted["entries"]), (&json!("symlink"), &json!(1)));
        make();
        place.ok("move", json!({"from": "inside.txt", "to": "out", "overwrite": true})).await;
        assert_untouched(&place, target);
        symlink(format!("../{target}"), place.inner().join("inside/out")).unwrap();
        assert_eq!(place.ok("delete", json!({"path": "inside", "recursive": true})).await["entries"], 3);
        assert_untouched(&place, target);
    }
}

#[tokio::test]
async fn links_in_a_circle_end_in_an_error() {
    let place = place();
    symlink("b", place.inner().join("a")).unwrap();
    symlink("a", place.inner().join("b")).unwrap();
    symlink(".", place.inner().join("inside/here")).unwrap();
    for path in ["a", "a/x", "inside/here/"] {
        for (name, arguments) in calls(path) {
            if !["stat", "move", "delete", "tree", "ls", "find", "grep", "copy", "mkdir"].contains(&name) {
                place.error(name, arguments).await;
            }
        }
    }
    assert_eq!(place.ok("tree", json!({"path": "inside/here"})).await["tree"], "here@\nx.txt\n");
}

#[tokio::test]
async fn a_name_that_is_too_long_is_an_error_of_no_great_length() {
    let place = place();
    for path in ["x".repeat(300), "x".repeat(100_000), "d/".repeat(100_000), "x/".repeat(2000) + "x"] {
        for (name, arguments) in calls(&path) {
            let error = place.call(name, arguments).await.error;
            // So many directories may be made, if there is room for their names.
            let is_made = path.len() < 4096 && path.contains('/');
            assert!(error.is_some() || is_made, "{name} {}", path.len());
            assert!(error.is_none_or(|error| error.to_string().len() < 10_000), "{name} {}", path.len());
        }
        // What was made was then moved and copied there.
        let _ = fs::remove_file(place.inner().join("stolen"));
        assert_untouched(&place, &path.len().to_string());
        let _ = fs::remove_dir_all(place.inner().join("x"));
        let _ = fs::write(place.inner().join("inside.txt"), "inside");
    }
}

#[tokio::test]
async fn what_is_neither_file_nor_directory_is_neither_opened_nor_waited_for() {
    let place = place();
    let fifo = place.inner().join("special/fifo");
    fs::create_dir(place.inner().join("special")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _listener = UnixListener::bind(place.inner().join("special/socket")).unwrap();
    symlink("special/fifo", place.inner().join("link")).unwrap();
    for path in ["special/fifo", "special/socket", "link"] {
        for (name, arguments) in calls(path) {
            // Moved and deleted it is like anything else.
            if ["stat", "move", "delete"].contains(&name) {
                continue;
            }
            let about = format!("{name} {arguments}");
            let error = place.error(name, arguments).await;
            assert_eq!(error.kind, ErrorKind::ToolFailed, "{about}: {error}");
        }
        let kind = if path == "link" { "symlink" } else { "other" };
        assert_eq!(place.ok("stat", json!({"path": path})).await["kind"], kind);
    }
    assert_eq!(place.ok("grep", json!({"pattern": ".", "path": "special"})).await, json!({"matches": []}));
    assert_eq!(place.ok("tree", json!({"path": "special"})).await["tree"], "fifo\nsocket\n");
    let deleted = place.ok("delete", json!({"path": "special", "recursive": true})).await;
    assert_eq!(deleted["entries"], 3);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn devices_and_the_links_of_proc_are_refused_also_where_they_are_inside() {
    for (root, paths) in [
        ("/dev", ["zero", "null", "tty", "fd/0", "stdin"].as_slice()),
        ("/proc/self", ["root/etc/passwd", "cwd/Cargo.toml", "exe", "fd/0", "root"].as_slice()),
    ] {
        let module = super::super::module(&Root::open(root).unwrap());
        for path in paths {
            for (name, arguments) in [
                ("read", json!({"path": path})),
                ("grep", json!({"path": path, "pattern": "."})),
                ("ls", json!({"path": path})),
                ("append", json!({"path": path, "content": ""})),
            ] {
                let result = crate::tests::call(&module, name, arguments).await;
                assert!(result.error.is_some(), "{root} {name} {path}: {}", result.result);
            }
        }
    }
}
