//! What this process holds.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::runtime::Handle;
use toolcrib_testkit::{Process, processes_of, wait_until};

/// Within which nothing may be left of a server that was closed, or let go of. The conversation itself waits up to five
/// seconds for answers of ours that are still being written.
const CLEAN_UP: Duration = Duration::from_secs(20);

/// How often the figures have to be the same, one look after the other, to be what stays.
const LOOKS: usize = 10;

/// What this process holds: servers and what they have started, descriptors, tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResourceCounts {
    processes: usize,
    descriptors: usize,
    tasks: usize,
}

impl ResourceCounts {
    /// Looks now. The servers are known by the folder that they were started with.
    fn now(folder: &Path) -> Self {
        Self {
            processes: processes_of(folder).unwrap().len(),
            // One of them reads the folder.
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count() - 1,
            tasks: Handle::current().metrics().num_alive_tasks(),
        }
    }

    /// What is held when nothing changes any more.
    pub(super) async fn settled(folder: &Path) -> Self {
        let mut last = Self::now(folder);
        let mut looks = 0;
        let look = || {
            let now = Self::now(folder);
            looks = if now == last { looks + 1 } else { 0 };
            last = now;
            Ok((looks == LOOKS).then_some(()))
        };
        wait_until("that nothing changes", CLEAN_UP, look).await.unwrap();
        last
    }

    /// Fails when more is held for longer than it takes to clean up.
    pub(super) async fn assert_no_more_is_held(&self, folder: &Path) {
        let mut now = Self::now(folder);
        let look = || {
            now = Self::now(folder);
            let no_more = now.processes <= self.processes
                && now.descriptors <= self.descriptors
                && now.tasks <= self.tasks;
            Ok(no_more.then_some(()))
        };
        let clean = wait_until("that no more is held than before", CLEAN_UP, look).await;
        assert!(clean.is_ok(), "held {now:?}, before {self:?}: {:?} {:?}", processes(folder), descriptors());
    }
}

fn processes(folder: &Path) -> Vec<Process> {
    processes_of(folder).unwrap()
}

fn descriptors() -> Vec<String> {
    let entries = fs::read_dir("/proc/self/fd").unwrap();
    entries.filter_map(|entry| Some(fs::read_link(entry.ok()?.path()).ok()?.display().to_string())).collect()
}

/// The most memory that this process has had, in bytes.
pub(super) fn peak_memory() -> u64 {
    peak_memory_of("self").unwrap()
}

/// The most memory that a process has had, in bytes, while it is there.
pub(super) fn peak_memory_of(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
