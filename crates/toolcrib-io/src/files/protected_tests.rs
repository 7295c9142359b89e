//! Tests of protected files in real directories, by every route that leads to one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Existing, ProtectedFiles, Root};
use crate::Error;

/// A root in which `app.yaml`, the folder `tools` and the file `later/lock`, which does not exist, are protected.
struct Place {
    outer: TempDir,
    root: Root,
}

impl Place {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("work");
        fs::create_dir_all(inner.join("tools/deep")).unwrap();
        fs::create_dir_all(inner.join("notes")).unwrap();
        fs::write(inner.join("app.yaml"), "deny").unwrap();
        fs::write(inner.join("tools/run.sh"), "true").unwrap();
        fs::write(inner.join("notes/a.txt"), "a").unwrap();
        let files = ProtectedFiles::default();
        files.protect_file(inner.join("app.yaml"));
        files.protect_folder(inner.join("tools"));
        files.protect_file(inner.join("later/lock"));
        let root = Root::open(&inner).unwrap().with_protected(files);
        Self { outer, root }
    }

    fn inner(&self) -> PathBuf {
        self.outer.path().join("work")
    }

    /// Asserts that no way of writing to a path is open, and that nothing changed.
    fn refuses(&self, path: &str) {
        let (root, source) = (&self.root, "notes/a.txt");
        let before = fs::read(self.inner().join(path)).ok();
        let tried = [
            ("write", root.write(path, b"mine")),
            ("append", root.append(path, b"mine").map(drop)),
            ("copy", root.copy(source, path, 100, Existing::Replace).map(drop)),
            ("rename onto", root.rename(source, path, Existing::Replace)),
            ("rename", root.rename(path, "notes/gone", Existing::Replace)),
            ("remove", root.remove(path)),
            ("remove as a tree", root.remove_tree(path, 100, &|| true).map(drop)),
            ("check", root.check_write(path)),
        ];
        for (way, result) in tried {
            assert!(matches!(result, Err(Error::FileProtected { .. })), "{way} {path}: {result:?}");
        }
        assert_eq!(fs::read(self.inner().join(path)).ok(), before, "{path}");
        assert!(self.inner().join(source).exists());
    }
}

#[test]
fn a_protected_file_is_not_changed_in_any_way_and_can_be_read() {
    let place = Place::new();
    for path in
        ["app.yaml", "./app.yaml", "APP.yaml", "tools/run.sh", "Tools/RUN.sh", "tools/new.sh", "tools/deep/x"]
    {
        place.refuses(path);
    }
    assert_eq!(place.root.read("app.yaml", 0, 10).unwrap().bytes, b"deny");
    assert_eq!(place.root.list("tools").unwrap().entries.len(), 2);
    place.root.write("notes/app.yaml", b"another").unwrap();
}

#[test]
fn a_protected_path_cannot_be_created() {
    let place = Place::new();
    fs::create_dir(place.inner().join("later")).unwrap();
    place.refuses("later/lock");
    assert!(matches!(place.root.create_dir_all("tools/more/deep"), Err(Error::FileProtected { .. })));
    fs::create_dir_all(place.inner().join("stage")).unwrap();
    fs::write(place.inner().join("stage/lock"), "mine").unwrap();
    fs::remove_dir(place.inner().join("later")).unwrap();
    let moved = place.root.rename("stage", "later", Existing::Keep);
    assert!(matches!(moved, Err(Error::FileProtected { .. })), "{moved:?}");
}

#[test]
fn no_symlink_leads_to_a_protected_file() {
    let place = Place::new();
    symlink("app.yaml", place.inner().join("alias.yaml")).unwrap();
    symlink("..", place.inner().join("notes/up")).unwrap();
    symlink("tools", place.inner().join("bin")).unwrap();
    for path in ["notes/up/app.yaml", "bin/run.sh", "bin/new.sh", "notes/up/tools/run.sh"] {
        place.refuses(path);
    }
    for result in
        [place.root.write("alias.yaml", b"mine"), place.root.append("alias.yaml", b"mine").map(drop)]
    {
        assert!(matches!(result, Err(Error::FileProtected { .. })), "{result:?}");
    }
    assert_eq!(fs::read_to_string(place.inner().join("app.yaml")).unwrap(), "deny");
}

#[test]
fn a_symlink_on_the_way_to_a_protected_file_stays_where_it_leads() {
    let place = Place::new();
    fs::create_dir(place.inner().join("v1")).unwrap();
    fs::write(place.inner().join("v1/tools.yaml"), "v1").unwrap();
    symlink("v1", place.inner().join("current")).unwrap();
    let files = ProtectedFiles::default();
    files.protect_file(place.inner().join("current/tools.yaml"));
    let root = Root::open(place.inner()).unwrap().with_protected(files);
    for result in [
        root.write("v1/tools.yaml", b"mine"),
        root.remove("current"),
        root.rename("notes", "current", Existing::Replace),
        root.rename("v1", "v0", Existing::Keep),
    ] {
        assert!(matches!(result, Err(Error::FileProtected { .. })), "{result:?}");
    }
}

#[test]
fn no_hard_link_leads_to_a_protected_file() {
    let place = Place::new();
    fs::hard_link(place.inner().join("app.yaml"), place.inner().join("notes/one")).unwrap();
    fs::hard_link(place.inner().join("tools/run.sh"), place.inner().join("notes/two")).unwrap();
    for path in ["notes/one", "notes/two"] {
        for result in [place.root.append(path, b"mine").map(drop), place.root.check_write(path)] {
            assert!(matches!(result, Err(Error::FileProtected { .. })), "{path}: {result:?}");
        }
    }
    fs::hard_link(place.inner().join("notes/a.txt"), place.inner().join("notes/three")).unwrap();
    place.root.append("notes/three", b"b").unwrap();
}

#[test]
fn a_directory_with_something_protected_in_it_is_neither_moved_nor_removed() {
    let place = Place::new();
    let files = ProtectedFiles::default();
    files.protect_file(place.inner().join("notes/deep/app.yaml"));
    let root = Root::open(place.inner()).unwrap().with_protected(files);
    for result in
        [root.rename("notes", "old", Existing::Keep), root.remove_tree("notes", 100, &|| true).map(drop)]
    {
        assert!(matches!(result, Err(Error::FileProtected { .. })), "{result:?}");
    }
    root.write("notes/b.txt", b"b").unwrap();
    root.remove("notes/b.txt").unwrap();
}

#[test]
fn what_is_hidden_is_not_read() {
    let place = Place::new();
    fs::write(place.inner().join("token"), "secret").unwrap();
    let files = ProtectedFiles::default();
    files.hide_folder(place.inner().join("notes"));
    files.hide_file(place.inner().join("token"));
    let root = Root::open(place.inner()).unwrap().with_protected(files);
    for path in ["notes/a.txt", "token"] {
        let read = root.read(path, 0, 10);
        assert!(matches!(read, Err(Error::FileProtected { .. })), "{path}: {read:?}");
    }
    assert!(matches!(root.list("notes"), Err(Error::FileProtected { .. })));
}
