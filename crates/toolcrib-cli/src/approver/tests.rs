//! What a person is asked, and which answers count. The transcripts are what stands on the screen.

mod calls;
mod diff;
mod editor;
mod user;

use std::collections::VecDeque;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_model::JsonObject;

use super::TerminalApprover;
use super::prompter::{Dialogue, Prompter};
use crate::ui::printable::{Layout, printable};

/// A person who says and writes what the test wants.
#[derive(Default)]
struct Script {
    lines: Mutex<VecDeque<String>>,
    /// What is saved in the editor, each time that it opens; `None` where there is no editor.
    edits: Option<Mutex<VecDeque<Result<String, String>>>>,
    screen: Mutex<String>,
    is_interruption: bool,
}

impl Script {
    fn saying<const N: usize>(lines: [&str; N]) -> Self {
        Self { lines: Mutex::new(lines.map(str::to_owned).into()), ..Self::default() }
    }

    fn editing<const N: usize>(self, edits: [Result<&str, &str>; N]) -> Self {
        let edits = edits.map(|edit| edit.map(str::to_owned).map_err(str::to_owned));
        Self { edits: Some(Mutex::new(edits.into())), ..self }
    }

    /// Opens dialogues in the middle of something else.
    fn interrupting(self) -> Self {
        Self { is_interruption: true, ..self }
    }

    fn terminal(self) -> TerminalApprover<Self> {
        TerminalApprover::new(self)
    }

    fn put(&self, text: &str) {
        self.screen.lock().push_str(&printable(text, Layout::Lines));
    }
}

impl TerminalApprover<Script> {
    /// All that was shown and typed. Nothing of what was to be said is left.
    fn transcript(&self) -> String {
        assert!(
            self.prompter.lines.lock().is_empty(),
            "{:?}\n{}",
            self.prompter.lines,
            self.prompter.screen.lock()
        );
        let screen = self.prompter.screen.lock();
        // Prompts end with a space, which no snapshot keeps.
        screen.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

#[async_trait]
impl Prompter for Script {
    async fn open(&self) -> Box<dyn Dialogue + '_> {
        Box::new(self)
    }
}

#[async_trait]
impl Dialogue for &Script {
    fn is_interruption(&self) -> bool {
        self.is_interruption
    }

    fn tell(&self, text: &str) {
        self.put(&format!("{text}\n"));
    }

    async fn ask(&self, text: &str, prompt: &str) -> Option<String> {
        let line = self.lines.lock().pop_front();
        let typed = line.as_deref().unwrap_or("<end>");
        let newline = if text.is_empty() { "" } else { "\n" };
        self.put(&format!("{text}{newline}{prompt}{typed}\n"));
        line
    }

    fn has_editor(&self) -> bool {
        self.edits.is_some()
    }

    async fn edit(&self, text: &str, ending: &str) -> Result<String, String> {
        self.put(&format!("<editor on {ending}>\n{text}\n</editor>\n"));
        let mut edits = self.edits.as_ref().unwrap().lock();
        edits.pop_front().unwrap_or_else(|| Err("the editor is gone".into()))
    }

    fn close(self: Box<Self>) {}
}

fn object(value: &Value) -> JsonObject {
    value.as_object().unwrap().clone()
}
