//! What files of lines promise.

use std::os::unix::fs::PermissionsExt as _;

use super::Root;
use crate::Error;

const NO_BOUND: u64 = 1 << 20;

#[test]
fn a_line_is_added_to_a_file_that_only_its_owner_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    for line in ["one\n", "two\n"] {
        root.append_line("log.jsonl", line.as_bytes(), NO_BOUND).unwrap();
    }
    let path = folder.path().join("log.jsonl");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_has_grown_to_its_bound_is_put_aside_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    for line in ["1234\n", "5678\n", "90ab\n", "cdef\n", "ghij\n"] {
        root.append_line("log", line.as_bytes(), 10).unwrap();
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((read("log"), read("log.1")), ("ghij\n".to_owned(), "90ab\ncdef\n".to_owned()));
    root.append_line("log", b"longer than the bound\n", 10).unwrap();
    assert_eq!((read("log"), read("log.1")), ("longer than the bound\n".to_owned(), "ghij\n".to_owned()));
}

#[test]
fn a_torn_line_spoils_no_other() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log"), "{\"tor").unwrap();
    Root::open(folder.path()).unwrap().append_line("log", b"{}\n", NO_BOUND).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "{\"tor\n{}\n");
}

#[test]
fn no_line_is_lost_where_several_write_and_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let (writers, lines) = (4, 50);
    // The bound is met once: half of the lines go to each file.
    let bound = u64::try_from(writers * lines / 2 * "0-000\n".len()).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let root = Root::open(folder.path()).unwrap();
            scope.spawn(move || {
                for line in 0..lines {
                    root.append_line("log", format!("{writer}-{line:03}\n").as_bytes(), bound).unwrap();
                }
            });
        }
    });
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let mut all: Vec<String> = (read("log") + &read("log.1")).lines().map(str::to_owned).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), writers * lines);
}

#[test]
fn what_is_no_file_and_what_leads_out_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("log"), folder.path().join("link")).unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    for path in ["../log", "link"] {
        let refused = root.append_line(path, b"x\n", NO_BOUND).unwrap_err();
        assert!(matches!(refused, Error::OutsideRoot { .. }), "{path}: {refused}");
    }
    assert!(matches!(root.append_line("folder", b"x\n", NO_BOUND), Err(Error::WrongKind { .. })));
    assert!(std::fs::read_dir(elsewhere.path()).unwrap().next().is_none());
}
