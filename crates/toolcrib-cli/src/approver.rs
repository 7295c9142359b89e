//! Approvals and answers of the person at the terminal.

mod calls;
mod diff;
mod edit;
mod editor;
mod markdown;
mod prompter;
pub(crate) mod reply;
pub(crate) mod show;
mod user;

#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_exec::DenyAll;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::{Answer, Approver, Asked};

use crate::terminal::{CAN_DISCARD, Console, console};
use calls::Drafts;
use prompter::{ConsolePrompter, Prompter};

/// The approver of this process: `--yes`, the person at the terminal, or nobody.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    let is_attended = CAN_DISCARD && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let person = if is_attended { at_console(Arc::clone(console())) } else { Arc::new(DenyAll) };
    if yes { Arc::new(Yes(person)) } else { person }
}

/// Returns the approver that asks the person at this console.
pub(crate) fn at_console(console: Arc<Console>) -> Arc<dyn Approver> {
    Arc::new(Terminal::new(ConsolePrompter::new(console)))
}

/// The operator said `--yes`, to calls. What an agent asks its user is still for the person.
struct Yes(Arc<dyn Approver>);

#[async_trait]
impl Approver for Yes {
    async fn ask(&self, batch: &mut [Asked]) {
        for asked in batch {
            asked.answer = Some(Answer::Approved(asked.question().approve()));
        }
    }

    async fn ask_user(&self, question: &UserQuestion) -> UserAnswer {
        self.0.ask_user(question).await
    }

    fn has_user(&self) -> bool {
        self.0.has_user()
    }
}

/// The person at the terminal.
struct Terminal<P> {
    prompter: P,
    drafts: Drafts,
}

impl<P: Prompter> Terminal<P> {
    fn new(prompter: P) -> Self {
        Self { prompter, drafts: Drafts::default() }
    }
}

#[async_trait]
impl<P: Prompter> Approver for Terminal<P> {
    async fn ask(&self, batch: &mut [Asked]) {
        let dialogue = self.prompter.open().await;
        calls::ask(&*dialogue, &self.drafts, batch).await;
        dialogue.close();
    }

    async fn ask_user(&self, question: &UserQuestion) -> UserAnswer {
        let dialogue = self.prompter.open().await;
        let answer = user::ask(&*dialogue, question).await;
        dialogue.close();
        answer
    }

    fn has_user(&self) -> bool {
        true
    }
}
