//! The stages of a turn that add what goes wrong in it: an unclear message of the user, and a wrong call.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_model::{ErrorKind, ToolError};

use super::texts::text;
use super::turn::says_no_names;
use crate::Kind;
use crate::conversation::{Call, Message};
use crate::pipeline::error::StageError;
use crate::pipeline::item::Item;
use crate::pipeline::plan::{self, PlannedCall};
use crate::pipeline::settings::StageKind;
use crate::pipeline::stage::{Asker, Stage, StageContext};

/// `clarify`: the assistant asks for the omitted argument, or which of two calls is meant.
pub(super) struct Clarify(pub(super) Asker);

#[async_trait]
impl Stage for Clarify {
    fn kind(&self) -> StageKind {
        StageKind::Clarify
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct ClarifyReply {
            question: String,
            reply: String,
        }
        if item.omitted.is_none() && item.alternative.is_none() {
            return Ok(());
        }
        let check = |item: &Item, reply: ClarifyReply| {
            let (question, reply) = (text(&reply.question)?, text(&reply.reply)?);
            says_no_names(&question, item)?;
            says_no_names(&reply, item)?;
            Ok((question, reply))
        };
        let (question, reply) = self.0.ask(item, context, 0, check).await?;
        item.conversation.messages.push(Message::assistant(question));
        item.conversation.messages.push(Message::user(reply));
        Ok(())
    }
}

/// `error_turn`.
pub(super) struct ErrorTurn(pub(super) Asker);

#[async_trait]
impl Stage for ErrorTurn {
    fn kind(&self) -> StageKind {
        StageKind::ErrorTurn
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct ErrorTurnReply {
            call: PlannedCall,
            error: String,
        }
        if item.conversation.kind != Kind::ErrorRecovery {
            return Ok(());
        }
        let check = |item: &Item, reply: ErrorTurnReply| {
            let (call, error) = (reply.call.call(item.call_id()), text(&reply.error)?);
            plan::check_call(&call, &item.conversation.tools, false)?;
            let is_same = |planned: &Call| planned.name == call.name && planned.arguments == call.arguments;
            if item.plan.iter().any(is_same) {
                Err("this is the planned call".to_owned())
            } else {
                Ok((call, error))
            }
        };
        let (call, error) = self.0.ask(item, context, 0, check).await?;
        let error = ToolError::new(ErrorKind::ToolFailed, error);
        let result = Message::failure(call.id.clone(), &error);
        item.conversation.messages.extend([Message::calls([call]), result]);
        Ok(())
    }
}
