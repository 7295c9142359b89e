//! Dialogues with the person at the terminal, and their editor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

use super::editor;
use crate::terminal::{self, Console};

/// Source of dialogues with a person.
#[async_trait]
pub(super) trait Prompter: Send + Sync {
    /// Opens a dialogue when earlier ones have ended.
    async fn open(&self) -> Box<dyn Dialogue + '_>;
}

/// A dialogue with a person. Dropped before it is closed, it is withdrawn.
#[async_trait]
pub(super) trait Dialogue: Send + Sync {
    /// Returns true if the person may be about to answer something else.
    fn is_interruption(&self) -> bool;

    /// Shows lines.
    fn tell(&self, text: &str);

    /// Shows lines, if there are any, and reads the answer to the prompt; `None` at the end of the input.
    async fn ask(&self, text: &str, prompt: &str) -> Option<String>;

    /// Returns true if there is an editor.
    fn has_editor(&self) -> bool;

    /// Lets the person change a text in the editor, as a file with this ending. An error says why that failed.
    async fn edit(&self, text: &str, ending: &str) -> Result<String, String>;

    /// Ends the dialogue: it has an answer.
    fn close(self: Box<Self>);
}

/// A terminal, with the editor that the environment names.
pub(super) struct ConsolePrompter {
    console: Arc<Console>,
    editor: Option<Vec<String>>,
}

/// A dialogue at a terminal.
pub(super) struct PromptDialogue<'a> {
    dialogue: terminal::ConsoleDialogue,
    editor: Option<&'a [String]>,
    has_ended: AtomicBool,
}

impl ConsolePrompter {
    pub(super) fn new(console: Arc<Console>) -> Self {
        Self { console, editor: editor::command(|name| std::env::var(name).ok()) }
    }

    /// Opens a dialogue when earlier ones have ended.
    pub(super) async fn dialogue(&self) -> PromptDialogue<'_> {
        let dialogue = self.console.dialogue().await;
        PromptDialogue { dialogue, editor: self.editor.as_deref(), has_ended: AtomicBool::new(false) }
    }
}

#[async_trait]
impl Prompter for ConsolePrompter {
    async fn open(&self) -> Box<dyn Dialogue + '_> {
        Box::new(self.dialogue().await)
    }
}

impl PromptDialogue<'_> {
    /// Returns true if the input ended before an answer.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Dialogue for PromptDialogue<'_> {
    fn is_interruption(&self) -> bool {
        self.dialogue.is_interruption()
    }

    fn tell(&self, text: &str) {
        self.dialogue.tell(text);
    }

    async fn ask(&self, text: &str, prompt: &str) -> Option<String> {
        let line = self.dialogue.ask(text, prompt).await;
        if line.is_none() {
            self.has_ended.store(true, Ordering::Relaxed);
        }
        line
    }

    fn has_editor(&self) -> bool {
        self.editor.is_some()
    }

    async fn edit(&self, text: &str, ending: &str) -> Result<String, String> {
        match self.editor {
            Some(command) => editor::edit(command, text, ending).await,
            None => Err("no editor is set; set VISUAL or EDITOR".to_owned()),
        }
    }

    fn close(self: Box<Self>) {
        self.dialogue.close();
    }
}
