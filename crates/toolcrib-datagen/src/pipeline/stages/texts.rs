//! The stages that describe the user, and the rejected answer of a preference pair.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::conversation::{Message, RejectedBranch};
use crate::pipeline::error::StageError;
use crate::pipeline::item::Item;
use crate::pipeline::settings::StageKind;
use crate::pipeline::stage::{Asker, Stage, StageContext};

/// The most characters of a text that a model writes.
const MAX_TEXT_CHARS: usize = 8_000;

/// Returns a text without the spaces around it.
///
/// # Errors
///
/// Returns an error if it is empty or too long.
pub(super) fn text(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.chars().nth(MAX_TEXT_CHARS) {
        _ if text.is_empty() => Err("the text is empty".to_owned()),
        Some(_) => Err(format!("the text is longer than {MAX_TEXT_CHARS} characters")),
        None => Ok(text.to_owned()),
    }
}

/// `persona`.
pub(super) struct Persona(pub(super) Asker);

#[async_trait]
impl Stage for Persona {
    fn kind(&self) -> StageKind {
        StageKind::Persona
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct PersonaReply {
            persona: String,
        }
        let check = |_: &Item, reply: PersonaReply| text(&reply.persona);
        item.persona = self.0.ask(item, context, 0, check).await?;
        Ok(())
    }
}

/// `scenario`.
pub(super) struct Scenario(pub(super) Asker);

#[async_trait]
impl Stage for Scenario {
    fn kind(&self) -> StageKind {
        StageKind::Scenario
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct ScenarioReply {
            scenario: String,
        }
        let check = |_: &Item, reply: ScenarioReply| text(&reply.scenario);
        item.scenario = self.0.ask(item, context, 0, check).await?;
        Ok(())
    }
}

/// `preference`.
pub(super) struct Preference(pub(super) Asker);

#[async_trait]
impl Stage for Preference {
    fn kind(&self) -> StageKind {
        StageKind::Preference
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct PreferenceReply {
            answer: String,
        }
        let check = |item: &Item, reply: PreferenceReply| {
            let rejected = text(&reply.answer)?;
            let chosen = item.conversation.messages.last();
            if matches!(chosen, Some(Message::Assistant { content, .. }) if *content == rejected) {
                return Err("the answer is the same".to_owned());
            }
            Ok(rejected)
        };
        let rejected = self.0.ask(item, context, 0, check).await?;
        let from = item.conversation.messages.len().saturating_sub(1);
        item.conversation.rejected =
            Some(RejectedBranch { from, messages: vec![Message::assistant(rejected)] });
        Ok(())
    }
}
