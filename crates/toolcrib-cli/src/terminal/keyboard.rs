//! The one reader of standard input, where that is a terminal.
//!
//! A thread reads, and only while a line is requested; text that is typed at other times stays in the terminal's buffer. So a
//! withdrawn question takes no line from the next one, and text typed before a question can be discarded before it is asked.

use std::io::{self, ErrorKind};
use std::mem;
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::tty::Input;

/// The most bytes of a line. A terminal gives 4 KiB at a time, and Ctrl-D joins such pieces.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The most bytes of one read; the longest line that a terminal gives at once.
const CHUNK_BYTES: usize = 4096;

/// Reader of lines.
pub(super) struct Keyboard {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    input: Option<Box<dyn Input>>,
    state: Mutex<KeyboardState>,
    /// Notified when a line is requested.
    wanted: Condvar,
}

#[derive(Default)]
struct KeyboardState {
    reader: Reader,
    /// A line that has not ended, or lines that were read with the one before them.
    partial: Vec<u8>,
    /// A question was withdrawn, and its answer may still be typed.
    is_stale: bool,
    /// The terminal can no longer be read.
    is_over: bool,
}

impl KeyboardState {
    /// Returns the end of the first line, behind its line break.
    fn line_end(&self) -> Option<usize> {
        self.partial.iter().position(|byte| *byte == b'\n').map(|at| at + 1)
    }
}

/// The recipient of the next line.
#[derive(Default)]
enum Reader {
    #[default]
    None,
    /// `None` is sent at the end of the input.
    One(oneshot::Sender<Option<String>>),
    /// A question was withdrawn; a late answer is told so.
    Late(Box<dyn Fn() + Send>),
}

impl Reader {
    fn is_gone(&self) -> bool {
        match self {
            Self::None => true,
            Self::One(sender) => sender.is_closed(),
            Self::Late(_) => false,
        }
    }
}

impl Keyboard {
    /// Creates a keyboard with a thread that reads it.
    pub(super) fn new(input: io::Result<Box<dyn Input>>) -> Self {
        let keyboard = Self::without_thread(input);
        let reader = Arc::clone(&keyboard.shared);
        let started = thread::Builder::new().name("keyboard".into()).spawn(move || reader.read_lines());
        if started.is_err() {
            keyboard.shared.end();
        }
        keyboard
    }

    /// Creates a keyboard that reads when its [`Shared::read_some`] is called.
    pub(super) fn without_thread(input: io::Result<Box<dyn Input>>) -> Self {
        let shared = Shared { input: input.ok(), state: Mutex::default(), wanted: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Discards what was typed so far, shows the prompt, and reads the answer to the question that stands on the screen;
    /// `None` at the end of the input. What is typed once the prompt is there is never discarded.
    pub(super) async fn answer(&self, show_prompt: impl FnOnce()) -> Option<String> {
        self.shared.state.lock().is_stale = true;
        self.shared.discard().ok()?;
        show_prompt();
        let line = self.next().await;
        self.shared.state.lock().is_stale = false;
        line
    }

    /// Reads the next line; `None` at the end of the input. It may have been typed ahead, unless it may have been the answer
    /// to a question that was withdrawn.
    pub(super) async fn line(&self) -> Option<String> {
        if mem::take(&mut self.shared.state.lock().is_stale) {
            self.shared.discard().ok()?;
        }
        self.next().await
    }

    /// Leaves the terminal to another reader. What may have been the answer to a withdrawn question is discarded.
    pub(super) fn leave(&self) {
        let is_stale = {
            let mut state = self.shared.state.lock();
            state.reader = Reader::None;
            mem::take(&mut state.is_stale)
        };
        if is_stale {
            // What cannot be discarded is shown at the prompt.
            let _ = self.shared.discard();
        }
    }

    /// Calls this for each line until the next one is requested: its question was withdrawn.
    pub(super) fn expect_late_answers(&self, too_late: Box<dyn Fn() + Send>) {
        {
            let mut state = self.shared.state.lock();
            if state.is_over {
                return;
            }
            state.is_stale = true;
            state.reader = Reader::Late(too_late);
        }
        self.shared.wanted.notify_one();
    }

    async fn next(&self) -> Option<String> {
        let (sender, line) = oneshot::channel();
        {
            let mut state = self.shared.state.lock();
            if state.is_over {
                return None;
            }
            state.reader = Reader::One(sender);
        }
        self.shared.wanted.notify_one();
        line.await.ok().flatten()
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Shared {
    /// Discards what was typed. The reader reads under the same lock, so it cannot hold a line back.
    fn discard(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.partial.clear();
        self.input.as_ref().map_or(Ok(()), |input| input.discard())
    }

    /// Returns true if a line is requested.
    #[cfg(test)]
    pub(super) fn is_reading(&self) -> bool {
        !self.state.lock().reader.is_gone()
    }

    fn read_lines(&self) {
        if let Some(input) = &self.input {
            while self.wait(input.as_ref()).and_then(|()| self.read_some(input.as_ref())).is_ok() {}
        }
        self.end();
    }

    fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        // Dropped, it tells the recipient.
        state.reader = Reader::None;
    }

    /// Waits until a line is requested and there is input.
    fn wait(&self, input: &dyn Input) -> io::Result<()> {
        let mut state = self.state.lock();
        self.wanted.wait_while(&mut state, |state| matches!(state.reader, Reader::None));
        if state.line_end().is_some() {
            return Ok(());
        }
        drop(state);
        input.wait()
    }

    /// Reads what is typed, if it is still wanted.
    pub(super) fn read_some(&self, input: &dyn Input) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.reader.is_gone() {
            state.reader = Reader::None;
            return Ok(());
        }
        let mut is_over = false;
        if state.line_end().is_none() {
            // It may have been discarded by now, and a read that blocks would hold the lock.
            if !input.is_ready()? {
                return Ok(());
            }
            let mut chunk = [0; CHUNK_BYTES];
            let read = match input.read(&mut chunk) {
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                    return Ok(());
                }
                read => read?,
            };
            state.partial.extend(chunk.iter().take(read));
            is_over = read == 0;
        }
        let end = state.line_end();
        if end.is_none() && !is_over && state.partial.len() < MAX_LINE_BYTES {
            return Ok(());
        }
        // A terminal gives one line at a time, and a file or a program gives several.
        let rest = end.map(|end| state.partial.split_off(end)).unwrap_or_default();
        let bytes = mem::replace(&mut state.partial, rest);
        let line = (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned());
        match mem::take(&mut state.reader) {
            Reader::None => {}
            // A recipient that gave up in this moment does not miss it.
            Reader::One(sender) => drop(sender.send(line)),
            Reader::Late(too_late) => {
                if line.is_some() {
                    too_late();
                    state.reader = Reader::Late(too_late);
                }
            }
        }
        Ok(())
    }
}
