//! The helper that kills our children and their descendants when we end, however we end.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

use super::command::DEFAULT_SEARCH_PATH;
use super::mark;

/// Keeps the groups of the lines `+PGID`, less those of the lines `-PGID`. The input ends when we do: the system
/// closes our end of the pipe even after a `SIGKILL`. What has left its group still carries the mark `$1` in its
/// environment, and is looked for again until there is no more twice in a row, at most so often. A child that we were
/// starting when we were killed carries it too: the pipe does not break before its program runs. What runs a program and
/// has no environment is perhaps in the middle of `exec`, which takes the old one away before it gives the new one.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
groups=
while IFS= read -r line; do
  case $line in
    +*) groups="$groups ${line#+}" ;;
    -*) kept=
        for group in $groups; do [ "$group" = "${line#-}" ] || kept="$kept $group"; done
        groups=$kept ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done
quiet=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
  found=$(grep -slF -e "$1" /proc/[0-9]*/environ)
  for file in $found; do process=${file#/proc/}; kill -KILL "${process%/environ}"; done
  [ -z "$found" ] || { quiet=0; continue; }
  changing=
  for file in $(grep -sL '' /proc/[0-9]*/environ); do [ ! -e "${file%environ}exe" ] || changing=1; done
  if [ -n "$changing" ]; then quiet=0; else quiet=$((quiet + 1)); fi
  [ "$quiet" -lt 2 ] || break
  sleep 0.01
done
"#;

static WATCHDOG: Mutex<Watchdog> = Mutex::new(Watchdog { helper: None, groups: BTreeSet::new() });

struct Watchdog {
    helper: Option<Helper>,
    groups: BTreeSet<i32>,
}

struct Helper {
    process: Child,
    orders: ChildStdin,
}

/// Starts the watchdog if it does not run. To be called before a child is started, so that none is without one.
pub(super) fn ensure() -> io::Result<()> {
    with(Watchdog::ensure)
}

/// Has the group killed when we end.
pub(super) fn register(group: Pid) -> io::Result<()> {
    with(|watchdog| {
        watchdog.groups.insert(group.as_raw_pid());
        watchdog.tell(&format!("+{}\n", group.as_raw_pid()))
    })
}

/// Lets go of the group. To be called before its id is free for others.
pub(super) fn unregister(group: Pid) {
    let told = with(|watchdog| {
        watchdog.groups.remove(&group.as_raw_pid());
        watchdog.tell(&format!("-{}\n", group.as_raw_pid()))
    });
    if let Err(error) = told {
        tracing::warn!(%error, "the watchdog of child processes is gone and did not restart");
    }
}

fn with<T>(act: impl FnOnce(&mut Watchdog) -> T) -> T {
    act(&mut WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Watchdog {
    fn ensure(&mut self) -> io::Result<()> {
        if let Some(helper) = &mut self.helper
            && helper.process.try_wait()?.is_none()
        {
            return Ok(());
        }
        let mut process = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "toolcrib-watchdog", &mark::common()])
            .env_clear()
            .env("PATH", DEFAULT_SEARCH_PATH)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let orders = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let helper = self.helper.insert(Helper { process, orders });
        // After a restart the groups that the one before knew are told again.
        self.groups.iter().try_for_each(|group| writeln!(helper.orders, "+{group}"))
    }

    /// Sends a line; if the helper has died, a new one is told all that there is to know.
    fn tell(&mut self, line: &str) -> io::Result<()> {
        let Some(helper) = &mut self.helper else { return self.ensure() };
        if helper.orders.write_all(line.as_bytes()).is_ok() {
            return Ok(());
        }
        if let Some(mut dead) = self.helper.take() {
            // It no longer reads, so it is of no use even if it still runs.
            let _ = dead.process.kill();
            dead.process.wait()?;
        }
        self.ensure()
    }
}

/// The process id of the watchdog.
#[cfg(test)]
pub(super) fn helper_id() -> Option<u32> {
    with(|watchdog| watchdog.helper.as_ref().map(|helper| helper.process.id()))
}
