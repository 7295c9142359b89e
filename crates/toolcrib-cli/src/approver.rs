//! Who answers when policy wants approval.

#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_exec::DenyAll;
use toolcrib_policy::Question;
use toolcrib_port::{Answer, Approver, Asked};

use crate::keyboard::{CAN_DISCARD, keyboard};
use crate::printable::excerpt;

/// The most arguments that a question shows.
const MAX_ARGUMENTS: usize = 20;

/// The most bytes of an argument's name that a question shows.
const MAX_NAME_BYTES: usize = 100;

/// The most bytes of an argument's value, of the side effects or of the rule that a question shows.
const MAX_VALUE_BYTES: usize = 1000;

/// The approver of this process: `--yes`, the person at the terminal, or nobody.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    if yes {
        Arc::new(Yes)
    } else if CAN_DISCARD && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        Arc::new(Terminal)
    } else {
        Arc::new(DenyAll)
    }
}

/// The operator said `--yes`.
struct Yes;

#[async_trait]
impl Approver for Yes {
    async fn ask(&self, batch: &mut [Asked]) {
        for asked in batch {
            asked.answer = Some(Answer::Approved(asked.question().approve()));
        }
    }
}

/// The person at the terminal.
struct Terminal;

#[async_trait]
impl Approver for Terminal {
    async fn ask(&self, batch: &mut [Asked]) {
        for asked in batch {
            let question = asked.question();
            let said = keyboard().answer(&describe(question), "run it? [y/N, or say why not] ").await;
            asked.answer = Some(answer(question, said.as_deref()));
        }
    }
}

/// What a line means. Only a plain yes is one; the end of the input is a no.
fn answer(question: &Question, said: Option<&str>) -> Answer {
    match said.unwrap_or_default().trim() {
        "y" | "Y" | "yes" => Answer::Approved(question.approve()),
        "" | "n" | "N" | "no" => Answer::Denied(None),
        said => Answer::Denied(Some(said.to_owned())),
    }
}

/// The question as lines. Each argument has one, whatever its name and value hold.
fn describe(question: &Question) -> String {
    let tool = excerpt(&question.tool, MAX_VALUE_BYTES);
    let rule = excerpt(&question.rule, MAX_VALUE_BYTES);
    let mut text = format!("\n{tool} wants to run (risk {}; {rule})", question.risk);
    for (name, value) in question.arguments.iter().take(MAX_ARGUMENTS) {
        let name = excerpt(name, MAX_NAME_BYTES);
        let value = excerpt(&value.to_string(), MAX_VALUE_BYTES);
        text.extend(["\n  ", &name, ": ", &value]);
    }
    let more = question.arguments.len().saturating_sub(MAX_ARGUMENTS);
    if more > 0 {
        text.extend(["\n  … and ", &more.to_string(), " more arguments, which are not shown"]);
    }
    if !question.side_effects.is_empty() {
        let side_effects = excerpt(&question.side_effects.join(", "), MAX_VALUE_BYTES);
        text.extend(["\n  side effects: ", &side_effects]);
    }
    text
}
