//! The chat prompt: a line editor on a terminal, and plain lines elsewhere.

use std::pin::pin;
use std::sync::atomic::Ordering;

use super::line_editor::{LineEditor, Read};
use super::paste::{self, Message};
use super::{Author, Console, Screen, Stream};

/// Moves to a new line below the text that was typed.
const BELOW: &str = "\u{1b}[J\r\n";

impl Console {
    /// Reads messages with this editor from now on.
    pub(crate) fn use_editor(&self, editor: LineEditor) {
        // The first one stays.
        let _ = self.editor.set(editor);
    }

    /// Waits until no editor reads the terminal, so that it is as it was before.
    pub(crate) async fn released(&self) {
        if let Some(editor) = self.editor.get() {
            editor.stop();
            editor.released().await;
        }
    }

    /// Reads a message at the chat prompt; `None` at the end of the input. Pasted lines are one message. A dialogue
    /// goes first, also when the prompt is open already; what was typed by then is discarded.
    pub(crate) async fn line(&self, prompt: &str) -> Option<String> {
        match self.editor.get() {
            Some(editor) => self.edited_line(editor, prompt).await,
            None => self.plain_line(prompt).await,
        }
    }

    async fn plain_line(&self, prompt: &str) -> Option<String> {
        let mut queued = self.queued.subscribe();
        loop {
            // The sender lives as long as this console.
            let _ = queued.wait_for(|count| *count == 0).await;
            let _in_use = self.in_use.lock().await;
            self.write_control(paste::ON);
            self.screen().write(Stream::Err, Author::Program, prompt);
            self.is_interrupted.store(false, Ordering::Release);
            let read = tokio::select! {
                biased;
                message = self.message() => Some(message),
                _ = queued.wait_for(|count| *count > 0) => None,
            };
            self.write_control(paste::OFF);
            if let Some(message) = read {
                self.is_withdrawn.store(false, Ordering::Release);
                return message;
            }
            self.is_interrupted.store(true, Ordering::Release);
            self.screen().write(Stream::Err, Author::Program, "\n");
        }
    }

    async fn message(&self) -> Option<String> {
        let mut message = Message::default();
        loop {
            let line = self.keyboard.line().await?;
            if message.push(&line) {
                return Some(message.into_text());
            }
        }
    }

    async fn edited_line(&self, editor: &LineEditor, prompt: &str) -> Option<String> {
        let mut queued = self.queued.subscribe();
        let mut is_asked_twice = false;
        loop {
            // The sender lives as long as this console.
            let _ = queued.wait_for(|count| *count == 0).await;
            let _in_use = self.in_use.lock().await;
            self.keyboard.leave();
            self.is_interrupted.store(false, Ordering::Release);
            let open = OpenPrompt::new(self.screen());
            let read = {
                let mut reading = pin!(editor.read(prompt));
                let read = tokio::select! {
                    biased;
                    read = &mut reading => Some(read),
                    _ = queued.wait_for(|count| *count > 0) => None,
                    () = self.screen().output_is_held() => None,
                };
                if let Some(read) = read {
                    read
                } else {
                    editor.stop();
                    reading.await
                }
            };
            match read {
                Read::Message(text) => {
                    self.is_withdrawn.store(false, Ordering::Release);
                    return Some(text);
                }
                Read::End => return None,
                Read::Interrupted(had_text) => {
                    if is_asked_twice && !had_text {
                        return None;
                    }
                    is_asked_twice = !had_text;
                    if !had_text {
                        open.tell("(Ctrl-C again, or Ctrl-D, ends the conversation)\n");
                    }
                }
                Read::Stopped => {
                    self.is_interrupted.store(*queued.borrow() > 0, Ordering::Release);
                    open.tell(BELOW);
                }
            }
        }
    }

    /// Writes a sequence that only a terminal understands.
    fn write_control(&self, sequence: &str) {
        let screen = self.screen();
        if screen.is_terminal(Stream::Err) {
            screen.write(Stream::Err, Author::Program, sequence);
        }
    }
}

/// Holds output back while the prompt is open: it would be written into the text that is typed.
struct OpenPrompt<'a>(&'a Screen);

impl<'a> OpenPrompt<'a> {
    fn new(screen: &'a Screen) -> Self {
        screen.begin_prompt();
        Self(screen)
    }

    fn tell(&self, text: &str) {
        self.0.write_dialogue(text);
    }
}

impl Drop for OpenPrompt<'_> {
    fn drop(&mut self) {
        self.0.end_dialogue();
    }
}
