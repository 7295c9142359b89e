//! What is kept of a run while it goes on, so that it goes on after a crash.
//!
//! Each [`Entry`] is written as soon as what it tells has happened, and before what follows from it: a call that is
//! not known to have begun did not. [`Conversation::restore`](crate::Conversation::restore) reads them back.

mod restore;

#[cfg(test)]
mod tests;

use std::io;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Message, Picture, RequestedCall, Spent, Usage};

pub(crate) use restore::{OpenCall, OpenRun};

/// Something that happened in a run. As JSON it stands on one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Entry {
    /// A run began with this prompt.
    Began {
        /// What was asked.
        prompt: String,
    },
    /// Something was said to the model: a prompt, results, notes.
    Said {
        /// What was added to the conversation.
        messages: Vec<Message>,
    },
    /// A note was put at the end of the last message, which had been kept without it.
    Noted {
        /// The note.
        text: String,
    },
    /// The model replied.
    Replied {
        /// What was added to the conversation.
        message: Message,
        /// Its calls as it wrote them, with the ids that they have in the conversation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<RequestedCall>,
        /// What the turn cost.
        #[serde(default)]
        usage: Usage,
    },
    /// The model replied with nothing.
    SaidNothing {
        /// What the turn cost.
        #[serde(default)]
        usage: Usage,
    },
    /// A call is about to be run.
    Begun {
        /// Its id.
        call_id: String,
    },
    /// A call has its result.
    Finished {
        /// Its id.
        call_id: String,
        /// Whether it succeeded.
        ok: bool,
        /// The result as the model will read it.
        answer: String,
        /// The pictures of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
    },
    /// The conversation was made shorter, and is this now.
    Compacted {
        /// All of it.
        messages: Vec<Message>,
        /// Which of them holds the prompt.
        prompt_at: usize,
        /// What the summary cost.
        #[serde(default)]
        usage: Usage,
    },
    /// Agents and apps that the run gave work to have spent something, and those below them.
    SpentBelow {
        /// How much, since this was kept before.
        spent: Spent,
    },
    /// The run ended, for whatever reason. There is nothing to go on with.
    Ended,
}

/// Keeps what happens in runs.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Keeps entries behind those before, in this order. With `lasts` they have to outlive a failure of the power when this
    /// returns; else the end of the process is enough. What cannot be kept ends the run.
    async fn write(&self, entries: &[Entry], lasts: bool) -> io::Result<()>;
}
