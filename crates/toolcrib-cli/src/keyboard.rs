//! What a person types: the one reader of standard input, where that is a terminal.
//!
//! A thread reads, and only while somebody waits for a line; what is typed at other times stays with the terminal. So
//! a question that was given up takes no line from the next one, and what was typed before a question can be
//! discarded before it is asked.

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::mem;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use crate::output::{tell, tell_raw};

/// The most bytes of a line. A terminal gives 4 KiB at a time, and Ctrl-D puts such pieces together.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The most bytes of one read; the longest line that a terminal gives at once.
const CHUNK_BYTES: usize = 4096;

/// Whether what was typed ahead can be discarded here. Where it cannot, a person is not asked for approval.
pub(crate) const CAN_DISCARD: bool = cfg!(unix);

/// The keyboard of this process.
pub(crate) fn keyboard() -> &'static Keyboard {
    static KEYBOARD: LazyLock<Keyboard> = LazyLock::new(|| Keyboard::new(terminal::stdin()));
    &KEYBOARD
}

/// Asks for lines, one asker after the other.
pub(crate) struct Keyboard {
    shared: Arc<Shared>,
    /// Held from the question to its answer, so that two questions never stand on the screen at once.
    in_use: tokio::sync::Mutex<()>,
}

struct Shared {
    terminal: Option<File>,
    state: Mutex<State>,
    /// Somebody asked.
    asked: Condvar,
}

#[derive(Default)]
struct State {
    /// Who waits for a line; `None` is sent at the end of the input.
    asker: Option<oneshot::Sender<Option<String>>>,
    /// A line that has not ended.
    partial: Vec<u8>,
    /// A question was given up, and its answer may still be typed.
    is_stale: bool,
    /// The terminal can no longer be read.
    is_over: bool,
}

impl Keyboard {
    fn new(terminal: io::Result<File>) -> Self {
        let shared = Shared { terminal: terminal.ok(), state: Mutex::default(), asked: Condvar::new() };
        let shared = Arc::new(shared);
        let reader = Arc::clone(&shared);
        let started = thread::Builder::new().name("keyboard".into()).spawn(move || reader.read_lines());
        if started.is_err() {
            shared.end();
        }
        Self { shared, in_use: tokio::sync::Mutex::default() }
    }

    /// Shows a question and reads its answer; `None` where there is none. What was typed before the question was
    /// shown is no answer to it, and is discarded.
    pub(crate) async fn answer(&self, question: &str, prompt: &str) -> Option<String> {
        let _in_use = self.in_use.lock().await;
        if !question.is_empty() {
            tell(question);
        }
        self.shared.lock().is_stale = true;
        self.shared.discard().ok()?;
        let line = self.next(prompt).await;
        self.shared.lock().is_stale = false;
        line
    }

    /// Reads the next line; `None` at the end of the input. It may have been typed ahead, unless it may have been the
    /// answer to a question that was given up.
    pub(crate) async fn line(&self, prompt: &str) -> Option<String> {
        let _in_use = self.in_use.lock().await;
        if mem::take(&mut self.shared.lock().is_stale) {
            self.shared.discard().ok()?;
        }
        self.next(prompt).await
    }

    async fn next(&self, prompt: &str) -> Option<String> {
        tell_raw(prompt);
        let (asker, line) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if state.is_over {
                return None;
            }
            state.asker = Some(asker);
        }
        self.shared.asked.notify_one();
        line.await.ok().flatten()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was typed. The reader reads under the same lock, so it cannot hold a line back.
    fn discard(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.partial.clear();
        self.terminal.as_ref().map_or(Ok(()), terminal::discard)
    }

    fn read_lines(&self) {
        if let Some(terminal) = &self.terminal {
            while self.read_some(terminal).is_ok() {}
        }
        self.end();
    }

    fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        // Dropped, it tells whoever waits.
        state.asker = None;
    }

    /// Waits until somebody asks and something is typed, and reads that.
    fn read_some(&self, mut terminal: &File) -> io::Result<()> {
        let state = self.lock();
        let idle = self.asked.wait_while(state, |state| state.asker.is_none());
        drop(idle.unwrap_or_else(PoisonError::into_inner));
        terminal::wait(terminal)?;
        let mut state = self.lock();
        if state.asker.as_ref().is_none_or(oneshot::Sender::is_closed) {
            state.asker = None;
            return Ok(());
        }
        // It may have been discarded by now, and a read that blocks would hold the lock.
        if !terminal::is_ready(terminal)? {
            return Ok(());
        }
        let mut chunk = [0; CHUNK_BYTES];
        let read = match terminal.read(&mut chunk) {
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                return Ok(());
            }
            read => read?,
        };
        state.partial.extend(chunk.iter().take(read));
        let is_whole = read == 0 || state.partial.ends_with(b"\n") || state.partial.len() >= MAX_LINE_BYTES;
        if is_whole {
            let bytes = mem::take(&mut state.partial);
            let line = (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned());
            if let Some(asker) = state.asker.take() {
                // Who gave up in this moment does not miss it.
                let _ = asker.send(line);
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
mod terminal {
    //! Standard input as a terminal of Unix.

    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd as _;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{QueueSelector, tcflush};

    pub(super) fn stdin() -> io::Result<File> {
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    }

    /// Waits until something can be read.
    pub(super) fn wait(terminal: &File) -> io::Result<()> {
        look(terminal, None).map(drop)
    }

    /// Whether something can be read now.
    pub(super) fn is_ready(terminal: &File) -> io::Result<bool> {
        look(terminal, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    /// Throws away what was typed and not read.
    pub(super) fn discard(terminal: &File) -> io::Result<()> {
        Ok(tcflush(terminal, QueueSelector::IFlush)?)
    }

    fn look(terminal: &File, patience: Option<&Timespec>) -> io::Result<bool> {
        match poll(&mut [PollFd::new(terminal, PollFlags::IN)], patience) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            count => Ok(count? > 0),
        }
    }
}

#[cfg(not(unix))]
mod terminal {
    //! Standard input where it can only be read. The reader blocks in `read`, which is well as long as nobody else
    //! than the conversation asks.

    use std::fs::File;
    use std::io;
    use std::os::windows::io::AsHandle as _;

    pub(super) fn stdin() -> io::Result<File> {
        io::stdin().as_handle().try_clone_to_owned().map(File::from)
    }

    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn wait(_terminal: &File) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn is_ready(_terminal: &File) -> io::Result<bool> {
        Ok(true)
    }

    pub(super) fn discard(_terminal: &File) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
