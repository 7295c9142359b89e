//! What a process holds, and how much more it may hold in the end.

use std::fmt;
use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::runtime::Handle;
use toolcrib_testkit::{descendants, wait_until};

/// How much more memory may be in use in the end than at the most while warming up, in bytes: allocators keep what they
/// had, in other pieces each time. Descriptors, children and tasks may not be one more.
const MORE_MEMORY: u64 = 4 * MEBIBYTE;

/// How many more threads there may be: the runtime keeps those that block for a while after they have done so.
const MORE_THREADS: usize = 4;

const MEBIBYTE: u64 = 1024 * 1024;

/// Within which a pause has to become quiet.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often the counts have to be the same, one look after the other.
const LOOKS: usize = 20;

/// What a process holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Resident memory, in bytes.
    memory: u64,
    descriptors: usize,
    /// Processes below this one, the watchdog among them.
    children: usize,
    tasks: usize,
    threads: usize,
}

impl Figures {
    pub(crate) const TITLE: &'static str = "   memory  descriptors  children  tasks  threads";

    /// What is held when the counts no longer change.
    pub(crate) async fn settled() -> Result<Self> {
        Self::settled_of(std::process::id()).await
    }

    /// The same of another process, whose tasks nobody knows.
    pub(crate) async fn settled_of(process: u32) -> Result<Self> {
        let mut last = Self::now(process)?;
        let mut looks = 0;
        let look = || {
            let now = Self::now(process)?;
            looks = if now.counts() == last.counts() { looks + 1 } else { 0 };
            last = now;
            Ok((looks == LOOKS).then_some(()))
        };
        wait_until("that it is quiet", PATIENCE, look).await?;
        Ok(last)
    }

    fn now(process: u32) -> Result<Self> {
        let is_own = process == std::process::id();
        let count =
            |what: &str| -> Result<usize> { Ok(fs::read_dir(format!("/proc/{process}/{what}"))?.count()) };
        Ok(Self {
            memory: resident(process)?,
            // One of our own reads the folder.
            descriptors: count("fd")? - usize::from(is_own),
            children: descendants(process)?.len(),
            tasks: if is_own { Handle::current().metrics().num_alive_tasks() } else { 0 },
            threads: count("task")?,
        })
    }

    fn counts(&self) -> [(&'static str, usize); 4] {
        [
            ("descriptors", self.descriptors),
            ("children", self.children),
            ("tasks", self.tasks),
            ("threads", self.threads),
        ]
    }

    /// The larger of each.
    pub(crate) fn most(&self, other: &Self) -> Self {
        Self {
            memory: self.memory.max(other.memory),
            descriptors: self.descriptors.max(other.descriptors),
            children: self.children.max(other.children),
            tasks: self.tasks.max(other.tasks),
            threads: self.threads.max(other.threads),
        }
    }

    /// What may be held in the end where this was held after warming up.
    pub(crate) fn bound(&self) -> Self {
        Self { memory: self.memory + MORE_MEMORY, threads: self.threads + MORE_THREADS, ..self.clone() }
    }

    /// What of this is over the bound.
    pub(crate) fn beyond(&self, bound: &Self) -> Vec<&'static str> {
        let counts = self.counts().into_iter().zip(bound.counts());
        let mut beyond: Vec<_> =
            counts.filter(|((_, count), (_, most))| count > most).map(|((name, _), _)| name).collect();
        if self.memory > bound.memory {
            beyond.insert(0, "memory");
        }
        beyond
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.memory * 10 / MEBIBYTE;
        let memory = format!("{}.{} MiB", tenths / 10, tenths % 10);
        let Self { descriptors, children, tasks, threads, .. } = self;
        write!(f, "{memory:>9}  {descriptors:>11}  {children:>8}  {tasks:>5}  {threads:>7}")
    }
}

fn resident(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("there is no VmRSS")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024)
}
