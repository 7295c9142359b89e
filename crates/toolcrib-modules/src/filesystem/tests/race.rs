//! A directory that somebody swaps for a symlink to the outside, again and again, while tools work in it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib_io::files::Root;
use toolcrib_model::ToolError;

use super::super::{edit, find, grep, ls, move_copy_delete, read, tree, write};
use super::Place;
use crate::blocking::Cancellation;

/// How many calls race with the swaps at least.
const CALLS: usize = 100_000;

/// How often the directory is swapped meanwhile at least.
const SWAPS: usize = 100_000;

/// What stands in the files outside.
const SECRET: &str = "secret";

/// What stands in the files inside.
const INSIDE: &str = "inside";

/// One call of this many looks through directories, which takes far longer than any other.
const WALKS: usize = 25;

/// The calls that are made over and over, each with a new number.
fn call(round: usize) -> (&'static str, Value) {
    if round.is_multiple_of(WALKS) {
        return match round / WALKS % 4 {
            0 => ("grep", json!({"path": "door", "pattern": "."})),
            1 => ("find", json!({"pattern": "*"})),
            2 => ("tree", json!({"path": "door"})),
            _ => ("grep", json!({"pattern": SECRET})),
        };
    }
    match round % 12 {
        0 => ("read", json!({"path": "door/file.txt"})),
        1 => ("write", json!({"path": "door/file.txt", "content": INSIDE})),
        2 => ("append", json!({"path": "door/log.txt", "content": "i"})),
        3 => ("edit", json!({"path": "door/file.txt", "old_text": "s", "new_text": "S"})),
        4 => ("ls", json!({"path": "door"})),
        5 => ("copy", json!({"from": "door/file.txt", "to": "copy.txt", "overwrite": true})),
        6 => ("copy", json!({"from": "inside.txt", "to": format!("door/n{}", round % 7), "overwrite": true})),
        7 => ("move", json!({"from": format!("door/n{}", round % 7), "to": "moved.txt", "overwrite": true})),
        8 => ("delete", json!({"path": "door/file.txt"})),
        9 => ("write", json!({"path": "door/deep/new.txt", "content": INSIDE, "create_parents": true})),
        10 => ("delete", json!({"path": "door/deep", "recursive": true})),
        _ => ("mkdir", json!({"path": format!("door/made{}", round % 5)})),
    }
}

/// Does what a tool does.
fn act(root: &Root, stop: &Cancellation, (name, arguments): (&str, Value)) -> Result<Value, ToolError> {
    let on = |arguments| (root, stop, arguments);
    match name {
        "read" => run(read::read, on(arguments)),
        "write" => run(write::write, on(arguments)),
        "append" => run(write::append, on(arguments)),
        "mkdir" => run(write::mkdir, on(arguments)),
        "edit" => run(edit::edit, on(arguments)),
        "ls" => run(ls::ls, on(arguments)),
        "tree" => run(tree::tree, on(arguments)),
        "find" => run(find::find, on(arguments)),
        "grep" => run(grep::grep, on(arguments)),
        "copy" => run(move_copy_delete::copy, on(arguments)),
        "move" => run(move_copy_delete::rename, on(arguments)),
        "delete" => run(move_copy_delete::delete, on(arguments)),
        other => panic!("{other}"),
    }
}

fn run<A: DeserializeOwned, T: Serialize>(
    work: fn(&Root, &A, &Cancellation) -> Result<T, ToolError>,
    (root, stop, arguments): (&Root, &Cancellation, Value),
) -> Result<Value, ToolError> {
    let done = work(root, &serde_json::from_value(arguments).unwrap(), stop)?;
    Ok(serde_json::to_value(done).unwrap())
}

/// Makes `door` a directory and a symlink to the outside by turns, each in one step.
fn swap(inner: &Path, outside: &Path, done: &AtomicBool, swaps: &AtomicUsize) {
    let [door, folder, link] = ["door", ".folder", ".link"].map(|name| inner.join(name));
    while !done.load(Ordering::Relaxed) {
        symlink(outside, &link).unwrap();
        // Neither of the two is there for a moment, which the tools meet too.
        fs::rename(&door, &folder).unwrap();
        put(&link, &door);
        thread::yield_now();
        fs::remove_file(&door).unwrap();
        put(&folder, &door);
        thread::yield_now();
        swaps.fetch_add(1, Ordering::Relaxed);
    }
}

/// Gives something the name `door`, which a tool may have given to a new directory meanwhile.
fn put(from: &Path, door: &Path) {
    while let Err(error) = fs::rename(from, door) {
        assert!(fs::symlink_metadata(door).is_ok_and(|there| there.is_dir()), "{error}");
        // Where something new was put into it meanwhile, the next round removes that.
        let _ = fs::remove_dir_all(door);
    }
}

/// All that is outside: names and contents.
fn outside(folder: &Path) -> Vec<(String, Option<String>)> {
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).ok())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn nothing_outside_is_read_or_changed_while_a_directory_is_swapped_for_a_link() {
    let place = Place::new();
    place.put("inside.txt", INSIDE);
    place.put("door/file.txt", INSIDE);
    let secrets = place.outer.path().join("outside");
    fs::create_dir_all(secrets.join("deep")).unwrap();
    for name in ["file.txt", "log.txt", "n0", "n1", "n2", "n3", "n4", "n5", "n6", "only-outside.txt"] {
        fs::write(secrets.join(name), SECRET).unwrap();
    }
    fs::write(secrets.join("deep/new.txt"), SECRET).unwrap();
    let before = (outside(&secrets), outside(&secrets.join("deep")));
    let (done, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut round, mut failed) = (0, 0);
    let inner = place.inner();
    thread::scope(|scope| {
        let swapping = scope.spawn(|| swap(&inner, &secrets, &done, &swaps));
        // What races is the work of the tools, without the way to it.
        let stop = Cancellation::on(CancellationToken::new());
        while round < CALLS || swaps.load(Ordering::Relaxed) < SWAPS {
            let result = act(&place.root, &stop, call(round));
            failed += usize::from(result.is_err());
            let told = result.map_or_else(|error| error.to_string(), |told| told.to_string());
            let leaks = told.contains(SECRET) || told.contains("only-outside");
            if leaks {
                done.store(true, Ordering::Relaxed);
            }
            assert!(!leaks, "{:?}: {told}", call(round));
            assert!(!swapping.is_finished(), "nothing races any more");
            round += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    let done = round - failed;
    assert!(
        failed > CALLS / 100 && done > CALLS / 100,
        "one side of the race was hardly met: {failed}, {done}"
    );
    assert_eq!((outside(&secrets), outside(&secrets.join("deep"))), before);
    for file in ["copy.txt", "moved.txt"] {
        let text = fs::read_to_string(inner.join(file)).unwrap_or_default();
        assert!(!text.to_lowercase().contains(SECRET), "{file}: {text}");
    }
}
