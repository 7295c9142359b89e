//! Tests of installations without a package manager: an installation is complete or absent.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use super::{Lock, STAMP, reason, settle};

fn lock(version: &str) -> Lock {
    Lock {
        files: [
            ("requirements.txt", "clock\n".to_owned()),
            ("constraints.txt", format!("clock=={version}\n")),
        ],
    }
}

fn write_server(folder: &Path) -> Result<()> {
    Ok(fs::write(folder.join("server.py"), "new")?)
}

#[test]
fn what_is_missing_is_installed_and_leaves_no_partial_folder() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("clock");
    settle(&home, &lock("2"), write_server).unwrap();
    assert_eq!(fs::read_to_string(home.join("server.py")).unwrap(), "new");
    let entries: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(entries, ["clock"]);
}

#[test]
fn what_is_there_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("clock");
    settle(&home, &lock("2"), write_server).unwrap();
    settle(&home, &lock("2"), |_| bail!("installed twice")).unwrap();
}

#[test]
fn another_lock_replaces_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("clock");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(STAMP), lock("1").stamp()).unwrap();
    fs::write(home.join("old.py"), "old").unwrap();
    settle(&home, &lock("2"), write_server).unwrap();
    assert!(home.join("server.py").exists());
    assert!(!home.join("old.py").exists());
}

#[test]
fn a_half_install_is_redone() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("clock");
    let half = |partial: &Path| {
        fs::write(partial.join("half.py"), "half")?;
        bail!("the network is gone")
    };
    settle(&home, &lock("2"), half).unwrap_err();
    assert!(!home.exists());

    settle(&home, &lock("2"), write_server).unwrap();
    assert!(home.join("server.py").exists());
    assert!(!home.join("half.py").exists());
}

#[test]
fn the_reason_of_a_failure_is_its_first_error() {
    let npm =
        "npm error code ECONNREFUSED\nnpm error syscall connect\nnpm error A complete log is elsewhere\n";
    assert_eq!(reason(npm), "npm error code ECONNREFUSED");
    let pip = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No matching distribution\n";
    assert_eq!(reason(pip), "ERROR: Could not find a version");
    assert_eq!(reason("one thing\nNo module named pip\n\n"), "No module named pip");
    assert_eq!(reason(""), "no reason given");
}
