//! The helper process that kills all children and their descendants when this process ends for any reason.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use parking_lot::Mutex;
use rustix::process::Pid;

use super::command::DEFAULT_SEARCH_PATH;
use super::descendants;

/// The script of the watchdog. It adds the groups of lines `+PGID` and removes those of lines `-PGID`. The input ends when
/// this process ends, even by `SIGKILL`, because the system closes the pipe. Processes that left their group still carry
/// the mark `$1` in their environment; the script searches for them until two scans in a row find none, with a bounded
/// number of scans. A child that was being started carries the mark too, since the pipe does not break before its program
/// runs. A process with a program and no environment may be in the middle of `exec`, which removes the old environment
/// before it sets the new one.
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

/// Starts the watchdog if it is not running. Must be called before a child is started.
pub(super) fn ensure() -> io::Result<()> {
    with(Watchdog::ensure)
}

/// Registers a group to be killed when this process ends.
pub(super) fn register(group: Pid) -> io::Result<()> {
    with(|watchdog| {
        watchdog.groups.insert(group.as_raw_pid());
        watchdog.send(&format!("+{}\n", group.as_raw_pid()))
    })
}

/// Unregisters a group. Must be called before its id can be reused.
pub(super) fn unregister(group: Pid) {
    let told = with(|watchdog| {
        watchdog.groups.remove(&group.as_raw_pid());
        watchdog.send(&format!("-{}\n", group.as_raw_pid()))
    });
    if let Err(error) = told {
        tracing::warn!(%error, "the watchdog of child processes is gone and did not restart");
    }
}

fn with<T>(act: impl FnOnce(&mut Watchdog) -> T) -> T {
    act(&mut WATCHDOG.lock())
}

impl Watchdog {
    fn ensure(&mut self) -> io::Result<()> {
        if let Some(helper) = &mut self.helper
            && helper.process.try_wait()?.is_none()
        {
            return Ok(());
        }
        let mut process = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "toolcrib-watchdog", &descendants::common()])
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
        // After a restart, the known groups are sent again.
        self.groups.iter().try_for_each(|group| writeln!(helper.orders, "+{group}"))
    }

    /// Sends a line. If the helper has died, starts a new one with all known groups.
    fn send(&mut self, line: &str) -> io::Result<()> {
        let Some(helper) = &mut self.helper else { return self.ensure() };
        if helper.orders.write_all(line.as_bytes()).is_ok() {
            return Ok(());
        }
        if let Some(mut dead) = self.helper.take() {
            // It no longer reads, so it is useless even if it still runs.
            let _ = dead.process.kill();
            dead.process.wait()?;
        }
        self.ensure()
    }
}

/// Returns the process id of the watchdog.
#[cfg(test)]
pub(super) fn helper_id() -> Option<u32> {
    with(|watchdog| watchdog.helper.as_ref().map(|helper| helper.process.id()))
}
