//! The terminal of this process: output, the chat prompt, and dialogues with the person at it.
//!
//! A dialogue owns the terminal. While one is open, nothing else is written to the terminal and nothing else is read from it:
//! other output waits, and an open chat prompt is put off. What was typed before a question stands on the screen is
//! discarded, so an answer is always one to the last thing shown. A dialogue that is dropped before it is closed was
//! withdrawn, which is shown at once; later answers to it are told that they came too late.

mod chat_prompt;
mod keyboard;
mod line_editor;
mod paste;
mod screen;
mod tty;

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use crate::ui::printable::{Layout, printable};
use crate::ui::style::is_colourful;
use crate::ui::style::with_coloured_risk;
use crate::ui::width::{terminal_width, wrapped};
use keyboard::Keyboard;

pub(crate) use line_editor::LineEditor;
pub(crate) use screen::{Author, Screen, Stream, output_error, screen};

/// True where typed-ahead input can be discarded. Where it cannot, no person is asked for approval.
pub(crate) const CAN_DISCARD: bool = cfg!(unix);

/// Returns the console of this process.
pub(crate) fn console() -> &'static Arc<Console> {
    static CONSOLE: LazyLock<Arc<Console>> =
        LazyLock::new(|| Arc::new(Console::new(ScreenRef::Process, Keyboard::new(tty::stdin()))));
    &CONSOLE
}

/// Input and output of a terminal, for one speaker at a time.
pub(crate) struct Console {
    screen: ScreenRef,
    keyboard: Keyboard,
    /// The editor of the chat prompt; without it, the terminal's own line input is used.
    editor: OnceLock<LineEditor>,
    /// Held by the open dialogue, or by the chat prompt.
    in_use: Arc<Mutex<()>>,
    /// The number of dialogues that are open or wait for their turn.
    queued: watch::Sender<usize>,
    /// A dialogue put off the chat prompt, which has not been shown again.
    is_interrupted: AtomicBool,
    /// The last dialogue was withdrawn, and no line has been read since.
    is_withdrawn: AtomicBool,
}

/// The screen that a console writes to.
enum ScreenRef {
    Process,
    #[cfg(all(test, unix))]
    Own(Arc<Screen>),
}

impl Console {
    fn new(screen: ScreenRef, keyboard: Keyboard) -> Self {
        Self {
            screen,
            keyboard,
            editor: OnceLock::new(),
            in_use: Arc::default(),
            queued: watch::Sender::default(),
            is_interrupted: AtomicBool::new(false),
            is_withdrawn: AtomicBool::new(false),
        }
    }

    /// Opens a dialogue when earlier ones have ended. It interrupts the chat prompt.
    pub(crate) async fn dialogue(self: &Arc<Self>) -> ConsoleDialogue {
        let queued = Queued::new(self);
        let in_use = Arc::clone(&self.in_use).lock_owned().await;
        let last_author = self.screen().begin_dialogue();
        let is_interruption = last_author == Author::Model
            || self.is_interrupted.load(Ordering::Acquire)
            || self.is_withdrawn.load(Ordering::Acquire);
        ConsoleDialogue {
            console: Arc::clone(self),
            is_interruption,
            is_closed: false,
            _in_use: in_use,
            _queued: queued,
        }
    }

    /// Waits until no dialogue is open or waits for its turn.
    pub(crate) async fn no_dialogue(&self) {
        // The sender lives as long as this console.
        let _ = self.queued.subscribe().wait_for(|count| *count == 0).await;
    }

    fn screen(&self) -> &Screen {
        match &self.screen {
            ScreenRef::Process => screen(),
            #[cfg(all(test, unix))]
            ScreenRef::Own(screen) => screen,
        }
    }
}

/// A dialogue that is open or waits for its turn.
struct Queued(Arc<Console>);

impl Queued {
    fn new(console: &Arc<Console>) -> Self {
        console.queued.send_modify(|count| *count += 1);
        Self(Arc::clone(console))
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.queued.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Exclusive use of the terminal, until it is closed or dropped.
pub(crate) struct ConsoleDialogue {
    console: Arc<Console>,
    is_interruption: bool,
    is_closed: bool,
    // In this order: the next dialogue has its turn before the chat prompt has.
    _in_use: OwnedMutexGuard<()>,
    _queued: Queued,
}

impl ConsoleDialogue {
    /// Returns true if the dialogue began in the middle of something else: an open chat prompt, a model's text, or a
    /// question that was withdrawn. A person may be about to answer that.
    pub(crate) fn is_interruption(&self) -> bool {
        self.is_interruption
    }

    /// Shows lines.
    pub(crate) fn tell(&self, text: &str) {
        let text = printable(text, Layout::Lines) + "\n";
        let text = if is_colourful() { with_coloured_risk(&text) } else { text };
        self.console.screen().write_dialogue(&text);
    }

    /// Shows lines, if there are any, and reads the answer to the prompt; `None` at the end of the input. What was
    /// typed before the prompt stood on the screen is no answer to it.
    pub(crate) async fn ask(&self, text: &str, prompt: &str) -> Option<String> {
        if !text.is_empty() {
            self.tell(text);
        }
        let mut prompt = printable(prompt, Layout::Lines);
        if self.console.screen().is_terminal(Stream::Err) {
            prompt = wrapped(&prompt, terminal_width());
        }
        let line = self.console.keyboard.answer(|| self.console.screen().write_dialogue(&prompt)).await;
        match &line {
            Some(_) => self.console.is_withdrawn.store(false, Ordering::Release),
            // The end of the input leaves the prompt's line open.
            None => self.tell(""),
        }
        line
    }

    /// Ends the dialogue: it has an answer.
    pub(crate) fn close(mut self) {
        self.is_closed = true;
    }
}

impl Drop for ConsoleDialogue {
    fn drop(&mut self) {
        if !self.is_closed {
            self.tell("\n(withdrawn: this question no longer waits for an answer)");
            self.console.is_withdrawn.store(true, Ordering::Release);
            let console = Arc::downgrade(&self.console);
            self.console.keyboard.expect_late_answers(Box::new(move || {
                if let Some(console) = console.upgrade() {
                    let text = "too late: the question was withdrawn, and your answer has no effect\n";
                    console.screen().write(Stream::Err, Author::Program, text);
                }
            }));
        }
        self.console.screen().end_dialogue();
    }
}
