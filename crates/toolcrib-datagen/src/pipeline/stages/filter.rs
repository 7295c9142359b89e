//! The stage that decides whether a conversation is kept.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::pipeline::error::StageError;
use crate::pipeline::item::Item;
use crate::pipeline::settings::StageKind;
use crate::pipeline::stage::{Asker, Stage, StageContext};
use crate::validate::validate;

/// `filter`: a conversation without findings, which all judges accept, is kept.
pub(super) struct Filter {
    pub(super) asker: Asker,
    pub(super) votes: u32,
}

#[async_trait]
impl Stage for Filter {
    fn kind(&self) -> StageKind {
        StageKind::Filter
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct Vote {
            keep: bool,
            #[serde(default)]
            reason: String,
        }
        if let Some(finding) = validate(&item.conversation).first() {
            let detail = format!("{}: {}", finding.location, finding.detail);
            return Err(StageError::drop(StageKind::Filter, finding.reason.code(), detail));
        }
        for number in 0..self.votes {
            let vote = self.asker.ask(item, context, number.into(), |_, vote: Vote| Ok(vote)).await?;
            if !vote.keep {
                return Err(StageError::drop(StageKind::Filter, "rejected", vote.reason));
            }
        }
        Ok(())
    }
}
