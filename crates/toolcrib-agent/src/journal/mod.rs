//! The journal of a run, by which it is resumed after a crash.
//!
//! Each [`Entry`] is written as soon as its event has happened, and before anything that follows from it: a call without an
//! entry has not begun. [`Conversation::restore`](crate::Conversation::restore) reads the entries.

mod restore;

#[cfg(test)]
mod tests;

use std::io;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Message;
use crate::chat::{Picture, RequestedCall, Usage};
use crate::report::Spent;

pub(crate) use restore::{Answer, OpenCall, OpenRun};

/// Something that happened in a run. As JSON it stands on one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Entry {
    /// A run began with this prompt.
    Began {
        /// The prompt of the user.
        prompt: String,
    },
    /// Something was said to the model: a prompt, results, notes.
    Said {
        /// The messages that were added to the conversation.
        messages: Vec<Message>,
    },
    /// A note was put at the end of the last message, which had been kept without it.
    Noted {
        /// The note.
        text: String,
    },
    /// The model replied.
    Replied {
        /// The message that was added to the conversation.
        message: Message,
        /// Its calls as it wrote them, with the ids that they have in the conversation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<RequestedCall>,
        /// The usage of the turn.
        #[serde(default)]
        usage: Usage,
        /// The name of the model, where it is not the one that was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The user was told something about the requests to the model: another attempt, or another model.
    Noticed {
        /// The text.
        text: String,
    },
    /// The model replied with nothing.
    SaidNothing {
        /// The usage of the turn.
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
        /// True if the call succeeded.
        ok: bool,
        /// The result as the model will read it.
        answer: String,
        /// A text of the runtime after the result; usually empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        /// The wire names of the deferred tools that it loads.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        loads: Vec<String>,
        /// The pictures of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
        /// The duration of the call, in milliseconds; entries of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    /// The conversation was made shorter, and is this now.
    Compacted {
        /// All of it.
        messages: Vec<Message>,
        /// The index of the message with the prompt.
        prompt_at: usize,
        /// The usage of the summary.
        #[serde(default)]
        usage: Usage,
    },
    /// Agents and apps that the run gave work to have spent something, and those below them.
    SpentBelow {
        /// The amount since the previous entry of this kind.
        spent: Spent,
    },
    /// The run ended, for any reason. There is nothing to resume.
    Ended,
}

/// Keeps what happens in runs.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Keeps entries behind those before, in this order. With `lasts` they have to outlive a failure of the power when this
    /// returns; else the end of the process is enough. What cannot be kept ends the run.
    async fn write(&self, entries: &[Entry], lasts: bool) -> io::Result<()>;
}
