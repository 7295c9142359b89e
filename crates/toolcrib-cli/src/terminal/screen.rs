//! Output to the terminal, held back while a person is asked.

use std::collections::VecDeque;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::{LazyLock, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The most bytes of output that are held back. Of more, the oldest are left out.
const MAX_HELD_BYTES: usize = 4 * 1024 * 1024;

/// A stream of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// The author of an output. A question that follows a model's text is asked more carefully.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    Program,
    Model,
}

/// The device that a screen writes to.
pub(crate) trait Display: Send + Sync {
    fn write(&self, stream: Stream, text: &str);

    /// Returns true if a person reads the stream.
    fn is_terminal(&self, stream: Stream) -> bool;
}

/// The only writer to standard output and standard error.
///
/// While a dialogue is open, it owns the terminal: other output waits until the dialogue ends. Output to files and
/// programs does not wait.
pub(crate) struct Screen {
    display: Box<dyn Display>,
    state: Mutex<ScreenState>,
    /// Notified when output is held back.
    held: Notify,
}

struct ScreenState {
    is_in_dialogue: bool,
    held: VecDeque<(Stream, Author, String)>,
    held_bytes: usize,
    is_cut: bool,
    last_author: Author,
    status: Status,
}

/// The line that says what is happening.
#[derive(Default)]
struct Status {
    text: Option<String>,
    is_shown: bool,
    /// True if the last line on the terminal has not ended, so that there is no place for this one.
    is_mid_line: bool,
}

/// Moves to the beginning of the line, and erases it.
const ERASE_LINE: &str = "\r\u{1b}[K";

/// Returns the screen of this process.
pub(crate) fn screen() -> &'static Screen {
    static SCREEN: LazyLock<Screen> = LazyLock::new(|| Screen::new(Box::new(Standard)));
    &SCREEN
}

impl Screen {
    pub(crate) fn new(display: Box<dyn Display>) -> Self {
        let state = ScreenState {
            is_in_dialogue: false,
            held: VecDeque::new(),
            held_bytes: 0,
            is_cut: false,
            last_author: Author::Program,
            status: Status::default(),
        };
        Self { display, state: Mutex::new(state), held: Notify::new() }
    }

    /// Writes, now or after the open dialogue.
    pub(crate) fn write(&self, stream: Stream, author: Author, text: &str) {
        let mut state = self.state.lock();
        if state.is_in_dialogue && self.display.is_terminal(stream) {
            state.hold(stream, author, text);
            self.held.notify_one();
        } else {
            state.last_author = author;
            // Within the lock, so that no dialogue begins before it is written.
            self.put(&mut state, stream, text);
            self.draw_status(&mut state);
        }
    }

    /// Shows a line that says what is happening, below all other output and never over a dialogue; or removes it.
    pub(crate) fn show_status(&self, status: Option<String>) {
        let mut state = self.state.lock();
        self.erase_status(&mut state);
        state.status.text = status;
        self.draw_status(&mut state);
    }

    fn put(&self, state: &mut ScreenState, stream: Stream, text: &str) {
        if self.display.is_terminal(stream) && !text.is_empty() {
            self.erase_status(state);
            state.status.is_mid_line = !text.ends_with('\n');
        }
        self.display.write(stream, text);
    }

    fn draw_status(&self, state: &mut ScreenState) {
        if state.is_in_dialogue || state.status.is_mid_line || state.status.is_shown {
            return;
        }
        if let Some(text) = &state.status.text {
            self.display.write(Stream::Err, text);
            state.status.is_shown = true;
        }
    }

    fn erase_status(&self, state: &mut ScreenState) {
        if std::mem::take(&mut state.status.is_shown) {
            self.display.write(Stream::Err, ERASE_LINE);
        }
    }

    /// Begins a dialogue, and returns the author of the last output before it.
    pub(super) fn begin_dialogue(&self) -> Author {
        let mut state = self.state.lock();
        self.erase_status(&mut state);
        state.is_in_dialogue = true;
        state.last_author
    }

    /// Begins a chat prompt, which owns the terminal as a dialogue does.
    pub(super) fn begin_prompt(&self) {
        let mut state = self.state.lock();
        state.status.is_mid_line = false;
        self.erase_status(&mut state);
        state.is_in_dialogue = true;
        state.last_author = Author::Program;
    }

    /// Waits until output is held back.
    pub(super) async fn output_is_held(&self) {
        loop {
            let notified = self.held.notified();
            if !self.state.lock().held.is_empty() {
                return;
            }
            notified.await;
        }
    }

    /// Writes as the open dialogue.
    pub(super) fn write_dialogue(&self, text: &str) {
        let mut state = self.state.lock();
        state.last_author = Author::Program;
        self.put(&mut state, Stream::Err, text);
    }

    /// Ends the dialogue and writes all that was held back.
    pub(crate) fn end_dialogue(&self) {
        let mut state = self.state.lock();
        state.is_in_dialogue = false;
        state.held_bytes = 0;
        if std::mem::take(&mut state.is_cut) {
            self.put(&mut state, Stream::Err, "(earlier output was left out while you were asked)\n");
        }
        while let Some((stream, author, text)) = state.held.pop_front() {
            state.last_author = author;
            self.put(&mut state, stream, &text);
        }
        self.draw_status(&mut state);
    }

    /// Returns true if a person reads the stream.
    pub(crate) fn is_terminal(&self, stream: Stream) -> bool {
        self.display.is_terminal(stream)
    }
}

impl ScreenState {
    fn hold(&mut self, stream: Stream, author: Author, text: &str) {
        self.held_bytes += text.len();
        self.held.push_back((stream, author, text.to_owned()));
        while self.held_bytes > MAX_HELD_BYTES {
            let Some((_, _, oldest)) = self.held.pop_front() else { break };
            self.held_bytes -= oldest.len();
            self.is_cut = true;
        }
    }
}

/// The first error of a write to standard output.
static OUTPUT_ERROR: OnceLock<String> = OnceLock::new();

/// Returns the first error of a write to standard output. A reader that hung up does not count.
pub(crate) fn output_error() -> Option<&'static str> {
    OUTPUT_ERROR.get().map(String::as_str)
}

/// The standard streams of this process. A reader that hung up does not count as an error.
struct Standard;

impl Display for Standard {
    fn write(&self, stream: Stream, text: &str) {
        match stream {
            Stream::Out => {
                let mut out = std::io::stdout().lock();
                if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
                    && error.kind() != ErrorKind::BrokenPipe
                {
                    // The first one says why.
                    let _ = OUTPUT_ERROR.set(error.to_string());
                }
            }
            Stream::Err => {
                let _ = std::io::stderr().lock().write_all(text.as_bytes());
            }
        }
    }

    fn is_terminal(&self, stream: Stream) -> bool {
        static OUT: LazyLock<bool> = LazyLock::new(|| std::io::stdout().is_terminal());
        static ERR: LazyLock<bool> = LazyLock::new(|| std::io::stderr().is_terminal());
        match stream {
            Stream::Out => *OUT,
            Stream::Err => *ERR,
        }
    }
}
