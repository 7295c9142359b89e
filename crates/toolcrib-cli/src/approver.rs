//! Approvals and answers of the person at the terminal.

mod calls;
pub(crate) mod diff;
mod edit;
mod editor;
pub(crate) mod markdown;
mod prompter;
pub(crate) mod reply;
mod rule_writer;
pub(crate) mod show;
mod user;

#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_exec::DenyAll;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::{Answer, ApprovalRequest, Approver, CallContext};

use crate::terminal::{CAN_DISCARD, Console, console};
use calls::{Drafts, Scope};
use prompter::{ConsolePrompter, Dialogue as _, Prompter};
use reply::Reach;
pub(crate) use rule_writer::RuleWriter;

/// Returns the approver of this process: `--yes`, the user at the terminal, or one that denies. With a writer, an
/// approval may become a rule of the app file.
pub(crate) fn approver(yes: bool, rules: Option<RuleWriter>) -> Arc<dyn Approver> {
    approver_within(Reach::Values, yes, rules)
}

/// Returns the same for a process that makes one call, so that no approval in memory outlasts it.
pub(crate) fn approver_of_one_call(yes: bool, rules: RuleWriter) -> Arc<dyn Approver> {
    approver_within(Reach::Once, yes, Some(rules))
}

fn approver_within(reach: Reach, yes: bool, rules: Option<RuleWriter>) -> Arc<dyn Approver> {
    let is_attended = CAN_DISCARD && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let person: Arc<dyn Approver> = if is_attended {
        Arc::new(TerminalApprover {
            scope: Scope { reach, rules },
            ..TerminalApprover::new(ConsolePrompter::new(Arc::clone(console())))
        })
    } else {
        Arc::new(DenyAll)
    };
    if yes { Arc::new(Yes(person)) } else { person }
}

/// Asks an operator a question that waits at another process; `None` at the end of the input.
pub(crate) async fn ask_operator(
    console: &Arc<Console>,
    place: &str,
    question: &UserQuestion,
) -> Option<UserAnswer> {
    let prompter = ConsolePrompter::new(Arc::clone(console));
    let dialogue = prompter.dialogue().await;
    dialogue.tell(&format!("\n{place}"));
    let answer = user::ask(&dialogue, question).await;
    let has_ended = dialogue.has_ended();
    Box::new(dialogue).close();
    (!has_ended).then_some(answer)
}

/// Returns the approver that asks the person at this console.
#[cfg(test)]
pub(crate) fn at_console(console: Arc<Console>) -> Arc<dyn Approver> {
    Arc::new(TerminalApprover::new(ConsolePrompter::new(console)))
}

/// The operator said `--yes`, to calls. What an agent asks its user is still for the person.
struct Yes(Arc<dyn Approver>);

#[async_trait]
impl Approver for Yes {
    async fn available(&self) {}

    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        for asked in batch {
            asked.answer = Some(Answer::Approved(asked.question().approve()));
        }
    }

    async fn ask_user(&self, question: &UserQuestion, context: &CallContext) -> UserAnswer {
        self.0.ask_user(question, context).await
    }

    fn has_user(&self) -> bool {
        self.0.has_user()
    }
}

/// The person at the terminal.
struct TerminalApprover<P> {
    prompter: P,
    scope: Scope,
    drafts: Drafts,
}

impl<P: Prompter> TerminalApprover<P> {
    fn new(prompter: P) -> Self {
        Self { prompter, scope: Scope { reach: Reach::Values, rules: None }, drafts: Drafts::default() }
    }
}

#[async_trait]
impl<P: Prompter> Approver for TerminalApprover<P> {
    async fn available(&self) {}

    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        let dialogue = self.prompter.open().await;
        calls::ask(&*dialogue, &self.drafts, &self.scope, batch).await;
        dialogue.close();
    }

    async fn ask_user(&self, question: &UserQuestion, _context: &CallContext) -> UserAnswer {
        let dialogue = self.prompter.open().await;
        let answer = user::ask(&*dialogue, question).await;
        dialogue.close();
        answer
    }

    fn has_user(&self) -> bool {
        true
    }
}
