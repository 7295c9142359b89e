//! A conversation that is being generated.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_agent::chat::Usage;

use super::settings::StageKind;
use crate::conversation::{Call, Conversation, ConversationTool, Message};
use crate::session::SessionState;

/// A conversation that is being generated. The store keeps it after each stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Item {
    /// The number of the item in its run, from 0.
    pub index: u64,
    /// The conversation so far.
    pub conversation: Conversation,
    /// The tools that the plan may use, and the conversation may not offer.
    pub plannable: Vec<ConversationTool>,
    /// The description of the user.
    pub persona: String,
    /// The situation of the user.
    pub scenario: String,
    /// The planned calls of the current turn. Their arguments may refer to results: `$1.field`.
    pub plan: Vec<Call>,
    /// The argument of the first planned call that the user leaves out.
    pub omitted: Option<String>,
    /// The call that an ambiguous message of the user could mean instead of the planned one.
    pub alternative: Option<Call>,
    /// The words that the assistant searches for the planned tool with.
    pub query: Option<String>,
    /// The number of turns that the conversation is to have.
    pub turns: u32,
    /// The number of complete turns.
    pub complete_turns: u32,
    /// The number of messages of the complete turns.
    pub complete_messages: usize,
    /// The state of the session in which its calls run.
    pub session: SessionState,
    /// The position of the next stage.
    pub next_stage: usize,
    /// The usage of the models.
    pub usage: Usage,
    /// The end of the generation; `None` while it continues.
    pub outcome: Option<ItemOutcome>,
}

/// The end of the generation of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ItemOutcome {
    /// The conversation is part of the data set.
    Kept,
    /// The conversation is not used.
    Dropped(Dropped),
}

/// The reason why a conversation is not used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// The stage.
    pub stage: StageKind,
    /// The reason, as one word.
    pub reason: String,
    /// The details, for people.
    pub detail: String,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.stage.name(), self.reason, self.detail)
    }
}

impl Item {
    /// Returns the context of a prompt: what the item consists of so far.
    pub(crate) fn context(&self, stage: StageKind) -> Value {
        // The stages that work out the plan for themselves must not read it.
        let with_plan = !matches!(
            stage,
            StageKind::Verify | StageKind::Search | StageKind::Persona | StageKind::Scenario
        );
        // The assistant may not have all tools that the request is about.
        let tools = match stage {
            StageKind::Search
            | StageKind::ErrorTurn
            | StageKind::Answer
            | StageKind::Filter
            | StageKind::Preference => &self.conversation.tools,
            _ => &self.plannable,
        };
        let mut context = serde_json::json!({
            "stage": stage.name(),
            "kind": self.conversation.kind,
            "item": self.index,
            "turn": self.complete_turns,
            "persona": self.persona,
            "scenario": self.scenario,
            "tools": tools,
            "conversation": self.conversation.messages,
        });
        if with_plan && let Some(context) = context.as_object_mut() {
            let shown = |call: &Call| serde_json::json!({"name": call.name, "arguments": call.arguments});
            let plan: Vec<_> = self.plan.iter().map(shown).collect();
            context.insert("plan".to_owned(), plan.into());
            if let Some(alternative) = &self.alternative {
                context.insert("alternative".to_owned(), shown(alternative));
            }
            if let Some(omitted) = &self.omitted {
                context.insert("omitted".to_owned(), omitted.as_str().into());
            }
        }
        context
    }

    /// Returns an identifier for a call, unique in the conversation.
    pub(crate) fn call_id(&self) -> String {
        let calls = self.conversation.messages.iter().map(|message| match message {
            Message::Assistant { calls, .. } => calls.len(),
            _ => 0,
        });
        format!("call_{}", calls.sum::<usize>() + 1)
    }
}
