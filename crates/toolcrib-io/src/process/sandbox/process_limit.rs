//! The number of processes of a sandboxed program. The limit of the system counts all processes of a user, and does not hold
//! for root, whose programs get a control group.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use super::{MAX_OPEN_FILES, unavailable};
use crate::Error;

/// The beginning of the names of control groups.
const PREFIX: &str = "toolcrib-";

/// The mount point of control groups.
const MOUNT: &str = "/sys/fs/cgroup";

/// The number of attempts to remove a control group, and the pause between them. The killed processes of a group leave it
/// when their parent collects them.
const MAX_REMOVALS: usize = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(2);

/// The number of the next control group.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A control group. Dropping it removes the group, if no process is left.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    /// Creates a group for at most this number of processes, if the limit of the system does not hold for this user.
    pub(super) fn of_root(max_processes: u32) -> Result<Option<Self>, Error> {
        if !getuid().is_root() {
            return Ok(None);
        }
        let failed = |error: &dyn std::fmt::Display| {
            unavailable(format!(
                "the number of its processes cannot be limited: root has no such limit, and there is no control group \
                 for it: {error}; run Toolcrib as another user, or set `max_processes: unlimited`"
            ))
        };
        let parent = parent().map_err(|error| failed(&error))?;
        remove_abandoned(&parent);
        let name = format!("{PREFIX}{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let group = Self { folder: parent.join(name) };
        fs::create_dir(&group.folder).map_err(|error| failed(&error))?;
        fs::write(group.folder.join("pids.max"), max_processes.to_string())
            .map_err(|error| failed(&error))?;
        Ok(Some(group))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for _ in 0..MAX_REMOVALS {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
                    thread::sleep(REMOVAL_PAUSE);
                }
                _ => return,
            }
        }
    }
}

/// Returns the control group of this process, in which groups with a number of processes can be created.
fn parent() -> io::Result<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let found = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        match controllers {
            "" => Some(Path::new(MOUNT).join(path)),
            _ if controllers.split(',').any(|name| name == "pids") => {
                Some(Path::new(MOUNT).join("pids").join(path))
            }
            _ => None,
        }
    };
    let folders: Vec<PathBuf> = groups.lines().filter_map(found).collect();
    // Version 1 names the controller in the path; in version 2 it is enabled for the groups inside.
    if let Some(folder) =
        folders.iter().find(|folder| folder.starts_with(format!("{MOUNT}/pids")) && folder.is_dir())
    {
        return Ok(folder.clone());
    }
    let controllers =
        |folder: &PathBuf| fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
    let folder =
        folders.into_iter().find(|folder| controllers(folder).split_whitespace().any(|name| name == "pids"));
    let folder = folder.ok_or_else(|| io::Error::other("the controller `pids` is not available"))?;
    fs::write(folder.join("cgroup.subtree_control"), "+pids")?;
    Ok(folder)
}

/// Removes groups of processes that were killed before they could remove them. Those in use cannot be removed.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Limits this process: the number of processes, open files, the size of files, and no core dumps.
pub(super) fn apply(max_processes: Option<u32>, group: Option<&Path>, file_bytes: u64) -> io::Result<()> {
    if let Some(group) = group {
        fs::write(group.join("cgroup.procs"), process::id().to_string())?;
    } else if let Some(max_processes) = max_processes {
        limit(Resource::Nproc, processes_of_user()?.saturating_add(max_processes.into()))?;
    }
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, file_bytes)?;
    limit(Resource::Nofile, MAX_OPEN_FILES)
}

fn limit(resource: Resource, limit: u64) -> io::Result<()> {
    let limit = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
    Ok(setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?)
}

/// Returns the number of threads that the user of this process has now.
fn processes_of_user() -> io::Result<u64> {
    let user = getuid().as_raw().to_string();
    let mut count = 0;
    for process in fs::read_dir("/proc")?.filter_map(Result::ok) {
        // It may have ended meanwhile.
        let Ok(status) = fs::read_to_string(process.path().join("status")) else { continue };
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
        if field("Uid:") == Some(user.as_str()) {
            count += field("Threads:").and_then(|threads| threads.parse::<u64>().ok()).unwrap_or(1);
        }
    }
    Ok(count)
}
