//! A conversation with the person at the terminal.

use std::io::IsTerminal as _;
use std::pin::pin;

use toolcrib_app::state_name;
use toolcrib_io::files::state_folder;

use super::slash::{self, AfterCommand, Totals};
use super::{Session, exit_of};
use crate::exit::Exit;
use crate::terminal::{LineEditor, console};
use crate::ui::output::tell;
use crate::ui::style::is_colourful;

impl Session<'_> {
    /// Holds a conversation until its end.
    pub(super) async fn talk(&mut self) -> Exit {
        self.is_chat = true;
        if has_line_editor() {
            let history = state_folder("history").map(|folder| folder.join(state_name(&self.app)));
            let (editor, problem) = LineEditor::new(history, is_colourful());
            if let Some(problem) = problem {
                tell(&format!("note: {problem}"));
            }
            console().use_editor(editor);
        }
        tell(&format!("talk to {}; /help lists commands, Ctrl-D ends", self.setup.id));
        let exit = self.turns().await;
        console().released().await;
        exit
    }

    async fn turns(&mut self) -> Exit {
        let mut totals = Totals::default();
        loop {
            if let Some(summary) = self.runtime.tasks().summary().await {
                tell(&summary);
            }
            let Some(line) = self.line().await else {
                // The next output starts on a new line.
                tell("");
                return Exit::Ok;
            };
            if line.trim().is_empty() {
                continue;
            }
            if let Some(command) = slash::parse(&line) {
                match self.command(command, &totals).await {
                    AfterCommand::GoOn => continue,
                    AfterCommand::Quit => return Exit::Ok,
                }
            }
            let finished = self.ask(&line).await;
            totals.add(&finished);
            self.tell(&finished);
            if self.interrupts.has_left() {
                return exit_of(&finished);
            }
        }
    }

    /// Reads the next message, and shows notifications that come meanwhile. `None` at the end of the conversation.
    async fn line(&self) -> Option<String> {
        let mut line = pin!(console().line("> "));
        loop {
            let told = self.runtime.tasks().told();
            tokio::select! {
                biased;
                () = self.interrupts.left() => return None,
                line = &mut line => return line,
                () = told => self.tell_news().await,
            }
        }
    }

    /// Shows new notifications. The agent reads them with its next turn.
    async fn tell_news(&self) {
        if let Some(latest) = self.runtime.tasks().latest(self.id).await {
            tell(&format!("\nnote: {latest}"));
        }
    }
}

/// Returns true if a person reads and writes at a terminal that can move its cursor.
fn has_line_editor() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !is_dumb
        && std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && std::io::stderr().is_terminal()
}
