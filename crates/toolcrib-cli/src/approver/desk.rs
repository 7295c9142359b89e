//! Where a person sits: what is shown there, typed there and edited there.

use async_trait::async_trait;

use super::editor;
use crate::keyboard::keyboard;
use crate::output::tell;

/// Where a person sits.
#[async_trait]
pub(super) trait Desk: Send + Sync {
    /// Shows lines.
    fn tell(&self, text: &str);

    /// Shows lines, if there are any, and reads the answer to the prompt; `None` at the end of the input.
    async fn ask(&self, text: &str, prompt: &str) -> Option<String>;

    /// Whether there is an editor.
    fn has_editor(&self) -> bool;

    /// Lets the person change a text in the editor, as a file with such an ending. An error says why that failed.
    async fn edit(&self, text: &str, ending: &str) -> Result<String, String>;
}

/// The terminal of this process.
pub(super) struct AtTerminal {
    editor: Option<Vec<String>>,
}

impl AtTerminal {
    pub(super) fn new() -> Self {
        Self { editor: editor::command(|name| std::env::var(name).ok()) }
    }
}

#[async_trait]
impl Desk for AtTerminal {
    fn tell(&self, text: &str) {
        tell(text);
    }

    async fn ask(&self, text: &str, prompt: &str) -> Option<String> {
        let line = keyboard().answer(text, prompt).await;
        if line.is_none() {
            // The end of the input leaves the prompt's line open.
            tell("");
        }
        line
    }

    fn has_editor(&self) -> bool {
        self.editor.is_some()
    }

    async fn edit(&self, text: &str, ending: &str) -> Result<String, String> {
        match &self.editor {
            Some(command) => editor::edit(command, text, ending).await,
            None => Err("no editor is set; set VISUAL or EDITOR".to_owned()),
        }
    }
}
