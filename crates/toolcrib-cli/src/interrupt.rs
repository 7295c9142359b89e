//! Ctrl-C and SIGTERM.
//!
//! Ctrl-C ends only the current turn; without one, it shuts the process down. SIGTERM always shuts the process down, with
//! the current turn. A second signal before that is done ends the process at once, with its children.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::exit::Exit;
use crate::ui::output::tell;

/// A signal of the user or the system.
#[derive(Clone, Copy, Debug)]
enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// The effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    TurnEnds,
    ProcessLeaves,
    /// It was asked for before.
    ProcessEndsAtOnce,
}

/// The signals to this process, from now on.
#[derive(Default)]
pub(crate) struct Interrupts {
    /// The process is to end in order.
    leave: CancellationToken,
    /// The turn that is going on.
    turn: Mutex<Option<CancellationToken>>,
}

impl Interrupts {
    /// Takes over the signals. They no longer end the process by themselves.
    pub(crate) fn watch() -> Arc<Self> {
        let interrupts = Arc::new(Self::default());
        let watching = Arc::clone(&interrupts);
        let mut signals = Signals::new();
        tokio::spawn(async move {
            loop {
                match watching.heed(signals.next().await) {
                    Effect::TurnEnds => tell("stopping; once more to leave at once"),
                    Effect::ProcessLeaves => {}
                    Effect::ProcessEndsAtOnce => std::process::exit(i32::from(Exit::Failed as u8)),
                }
            }
        });
        interrupts
    }

    /// Begins a turn, which ends when it is dropped.
    pub(crate) fn turn(&self) -> Turn<'_> {
        let cancel = self.leave.child_token();
        *self.turn.lock() = Some(cancel.clone());
        Turn { interrupts: self, cancel }
    }

    /// Waits until the process is to end.
    pub(crate) async fn left(&self) {
        self.leave.cancelled().await;
    }

    /// Returns true if the process is to end.
    pub(crate) fn has_left(&self) -> bool {
        self.leave.is_cancelled()
    }

    fn heed(&self, signal: Signal) -> Effect {
        let turn = self.turn.lock();
        match (signal, &*turn) {
            (Signal::Interrupt, Some(turn)) if !turn.is_cancelled() => {
                turn.cancel();
                Effect::TurnEnds
            }
            (Signal::Interrupt, Some(_)) => Effect::ProcessEndsAtOnce,
            _ if self.has_left() => Effect::ProcessEndsAtOnce,
            _ => {
                self.leave.cancel();
                Effect::ProcessLeaves
            }
        }
    }
}

/// A call, or an answer of the agent, that Ctrl-C ends.
pub(crate) struct Turn<'a> {
    interrupts: &'a Interrupts,
    cancel: CancellationToken,
}

impl Turn<'_> {
    /// Returns the token that is cancelled then.
    pub(crate) fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.interrupts.turn.lock() = None;
    }
}

/// The sources of signals; those that cannot be had never fire.
struct Signals {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    async fn next(&mut self) -> Signal {
        async fn receive(signal: &mut Option<tokio::signal::unix::Signal>) {
            let received = match signal {
                Some(signal) => signal.recv().await,
                None => None,
            };
            if received.is_none() {
                std::future::pending::<()>().await;
            }
        }
        tokio::select! {
            () = receive(&mut self.interrupt) => Signal::Interrupt,
            () = receive(&mut self.terminate) => Signal::Terminate,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self {}
    }

    async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    }
}
