//! Who answers when policy wants approval.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_exec::DenyAll;
use toolcrib_policy::Question;
use toolcrib_port::{Answer, Approver};

/// The approver of this process: `--yes`, the person at the terminal, or nobody.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    if yes {
        Arc::new(Yes)
    } else if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        Arc::new(Terminal)
    } else {
        Arc::new(DenyAll)
    }
}

/// The operator said `--yes`.
struct Yes;

#[async_trait]
impl Approver for Yes {
    async fn ask(&self, question: &Question) -> Answer {
        Answer::Approved(question.digest)
    }
}

/// The person at the terminal.
struct Terminal;

#[async_trait]
impl Approver for Terminal {
    async fn ask(&self, question: &Question) -> Answer {
        let shown = describe(question);
        let digest = question.digest;
        let asked = tokio::task::spawn_blocking(move || {
            eprint!("{shown}\nrun it? [y/N, or say why not] ");
            let _ = std::io::stderr().flush();
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).map(|_| line)
        });
        match asked.await {
            Ok(Ok(line)) => match line.trim() {
                "y" | "Y" | "yes" => Answer::Approved(digest),
                "" | "n" | "N" | "no" => Answer::Denied(None),
                said => Answer::Denied(Some(said.to_owned())),
            },
            _ => Answer::Nobody,
        }
    }
}

fn describe(question: &Question) -> String {
    let mut text = format!("\n{} wants to run (risk {}; {})", question.tool, question.risk, question.rule);
    for (name, value) in &question.arguments {
        // JSON keeps control characters of a value from reaching the terminal.
        text.extend(["\n  ", name, ": ", &value.to_string()]);
    }
    if !question.side_effects.is_empty() {
        text.extend(["\n  side effects: ", &question.side_effects.join(", ")]);
    }
    text
}
