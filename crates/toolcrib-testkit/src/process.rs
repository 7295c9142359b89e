//! Running processes, read from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A process that was running when it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// The process id.
    pub id: u32,
    /// The command line, with its words joined by blanks.
    pub command: String,
    parent: u32,
    /// The start time, in ticks since boot; distinguishes the process from a later one with the same id.
    started: u64,
}

impl Process {
    /// Returns true if it still runs. Zombies do not.
    pub fn is_alive(&self) -> bool {
        Self::read(self.id).is_some_and(|now| now.started == self.started)
    }

    /// Returns the process with this id, if it runs.
    fn read(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // "pid (name) state parent …", where the name may contain any characters; the start time is the 20th field
        // after it.
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split_whitespace();
        let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
        if matches!(state, "Z" | "X") {
            return None;
        }
        let started = fields.nth(17)?.parse().ok()?;
        let words = fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&words).replace('\0', " ").trim_end().to_owned();
        Some(Self { id, command, parent, started })
    }

    /// Returns true if it runs inside a folder, or a variable of its environment names the folder.
    fn belongs_to(&self, folder: &Path) -> bool {
        if fs::read_link(format!("/proc/{}/cwd", self.id)).is_ok_and(|cwd| cwd.starts_with(folder)) {
            return true;
        }
        let environment = fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default();
        let name = folder.as_os_str().as_bytes();
        !name.is_empty() && environment.windows(name.len()).any(|window| window == name)
    }
}

/// Returns the descendants of a process: its children, their children, and so on.
pub fn descendants(of: u32) -> Result<Vec<Process>> {
    let all = running()?;
    let mut family = BTreeSet::from([of]);
    let mut found: Vec<Process> = Vec::new();
    loop {
        let children = |process: &&Process| family.contains(&process.parent) && !family.contains(&process.id);
        let generation: Vec<Process> = all.iter().filter(children).cloned().collect();
        if generation.is_empty() {
            return Ok(found);
        }
        family.extend(generation.iter().map(|process| process.id));
        found.extend(generation);
    }
}

/// Returns the processes that run inside a folder, or were started with a variable that names it. Unlike
/// [`descendants`] it also finds those whose parents have ended. A test that runs programs with `HOME` in a separate
/// folder finds all processes that they leave behind.
pub fn processes_of(folder: &Path) -> Result<Vec<Process>> {
    let folder = folder.canonicalize().with_context(|| format!("{} is not there", folder.display()))?;
    let mut found = running()?;
    found.retain(|process| process.belongs_to(&folder));
    Ok(found)
}

/// Returns all processes except this one.
fn running() -> Result<Vec<Process>> {
    let entries = fs::read_dir("/proc").context("processes are looked up in /proc, which is not there")?;
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(ids.filter(|id| *id != std::process::id()).filter_map(Process::read).collect())
}
