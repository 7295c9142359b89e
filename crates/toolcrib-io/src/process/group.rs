//! A child's process group: signalled as long as its id is ours, killed and let go when the child ends, together with
//! what has left it.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::watch;

use super::descendants::Mark;
use super::exit::Exit;
use super::sandbox::{ResourceLimit, StartedContainer};
use super::watchdog;

/// The stack of the thread that waits for a child, in bytes. It calls little more than `waitid`.
const REAPER_STACK_BYTES: usize = 128 * 1024;

/// A process group led by a child. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    /// The container whose client is the leader.
    container: Option<Arc<StartedContainer>>,
    /// True while the leader, dead or alive, holds the id of the group. Signals are sent only under this lock: once the
    /// leader is reaped, other processes may get the id.
    held: Arc<Mutex<bool>>,
    pub(super) exit: Exit,
}

impl Group {
    /// Takes over a child that leads its own group and ends with this process, and keeps its limit until it has ended. On
    /// an error the group is gone.
    pub(super) fn adopt(
        program: &str,
        leader: Pid,
        mark: Mark,
        child: Child,
        limit: Option<ResourceLimit>,
    ) -> io::Result<Self> {
        let held = Arc::new(Mutex::new(true));
        let (sender, status) = watch::channel(None);
        let exit = Exit { program: program.to_owned(), status };
        let container = limit.as_ref().and_then(ResourceLimit::container).cloned();
        let group = Self { leader, container, held: Arc::clone(&held), exit };
        let reaper = move || {
            reap(leader, &mark, (child, limit.as_ref()), &held, &sender);
            drop(limit);
        };
        // A thread, not a task: children are reaped even where the runtime has stopped. If it does not start, the
        // group is killed by its drop, and the leader stays a zombie until we end.
        std::thread::Builder::new()
            .name("toolcrib-reaper".into())
            .stack_size(REAPER_STACK_BYTES)
            .spawn(reaper)?;
        Ok(group)
    }

    /// Returns the process id of the leader, which is the id of the group.
    pub(super) fn id(&self) -> u32 {
        self.leader.as_raw_pid().unsigned_abs()
    }

    /// Asks every process of the group to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every process of the group. The client of a container ends by the removal of that.
    pub(super) fn kill(&self) {
        match &self.container {
            Some(container) => container.begin_removal(),
            None => self.signal(Signal::KILL),
        }
    }

    fn signal(&self, signal: Signal) {
        let held = self.held.lock();
        if *held {
            // It fails only if no process is left, which is the purpose of the signal.
            let _ = kill_process_group(self.leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until the leader has died, kills its remaining descendants inside and outside of the group, and only then releases
/// the id. The removal of a container sees by it that its client has ended.
fn reap(
    leader: Pid,
    mark: &Mark,
    (mut child, limit): (Child, Option<&ResourceLimit>),
    held: &Mutex<bool>,
    status: &watch::Sender<Option<ExitStatus>>,
) {
    // NOWAIT leaves the dead leader in place, so that the group keeps its id until it is killed.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(leader), options).is_err_and(|error| error == Errno::INTR) {}
    let _ = kill_process_group(leader, Signal::KILL);
    mark.end_bearers();
    let collected = {
        let mut held = held.lock();
        watchdog::unregister(leader);
        let collected = child.wait();
        *held = false;
        collected
    };
    if let Some(limit) = limit {
        limit.end();
    }
    // Without a status the sender is dropped, and those who wait learn that it is lost.
    if let Ok(collected) = collected {
        status.send_replace(Some(collected));
    }
}
