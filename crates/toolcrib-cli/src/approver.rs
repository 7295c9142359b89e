//! Who answers when policy wants approval, and when an agent asks its user.

mod calls;
mod desk;
mod diff;
mod edit;
mod editor;
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

use crate::keyboard::CAN_DISCARD;
use calls::Drafts;
use desk::{AtTerminal, Desk};

/// The approver of this process: `--yes`, the person at the terminal, or nobody.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    let is_attended = CAN_DISCARD && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let person: Arc<dyn Approver> =
        if is_attended { Arc::new(Terminal::new(AtTerminal::new())) } else { Arc::new(DenyAll) };
    if yes { Arc::new(Yes(person)) } else { person }
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
struct Terminal<D> {
    desk: D,
    /// Held while something is asked, so that two questions are never mixed.
    in_use: tokio::sync::Mutex<()>,
    drafts: Drafts,
}

impl<D: Desk> Terminal<D> {
    fn new(desk: D) -> Self {
        Self { desk, in_use: tokio::sync::Mutex::default(), drafts: Drafts::default() }
    }
}

#[async_trait]
impl<D: Desk> Approver for Terminal<D> {
    async fn ask(&self, batch: &mut [Asked]) {
        let _in_use = self.in_use.lock().await;
        calls::ask(&self.desk, &self.drafts, batch).await;
    }

    async fn ask_user(&self, question: &UserQuestion) -> UserAnswer {
        let _in_use = self.in_use.lock().await;
        user::ask(&self.desk, question).await
    }

    fn has_user(&self) -> bool {
        true
    }
}
