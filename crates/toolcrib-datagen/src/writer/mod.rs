//! The output formats.
//!
//! Each conversation becomes one JSON line or more. [`Format::rows`] renders them; an [`Output`] writes them to files.

mod bfcl;
mod chat_ml;
mod messages;
mod names;
mod output;
mod retrieval;
mod schema_type;
mod share_gpt;
mod xlam;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use names::NameStyle;
pub use output::{Output, WriteError};

use crate::conversation::Conversation;
use names::Names;

/// The output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// `{messages, tools}` of the Chat Completions API of `OpenAI`.
    #[default]
    Openai,
    /// `{text}` in `ChatML`, with calls in `<tool_call>` elements, as models of the Hermes family write them.
    Hermes,
    /// `{conversations, system, tools}` of `ShareGPT`, with the roles `human`, `gpt`, `function_call` and
    /// `observation`.
    Sharegpt,
    /// `{id, query, tools, answers}` of xLAM: the first message of the user, and the first calls.
    Xlam,
    /// `question` and `possible_answer` of the Berkeley Function-Calling Leaderboard, in two files.
    Bfcl,
    /// `{prompt, chosen, rejected, tools}` for conversations with a rejected branch.
    Preferences,
    /// `{id, query, relevant, hard_negatives}` for the training and the evaluation of search, with a file of tools.
    Retrieval,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Openai,
        Self::Hermes,
        Self::Sharegpt,
        Self::Xlam,
        Self::Bfcl,
        Self::Preferences,
        Self::Retrieval,
    ];

    /// Returns the name, as in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Hermes => "hermes",
            Self::Sharegpt => "sharegpt",
            Self::Xlam => "xlam",
            Self::Bfcl => "bfcl",
            Self::Preferences => "preferences",
            Self::Retrieval => "retrieval",
        }
    }

    /// Returns the default spelling of tool names: the APIs of model vendors take wire names only.
    pub fn default_names(self) -> NameStyle {
        match self {
            Self::Openai | Self::Hermes | Self::Sharegpt | Self::Preferences => NameStyle::Wire,
            Self::Xlam | Self::Bfcl => NameStyle::Dotted,
            Self::Retrieval => NameStyle::Qualified,
        }
    }

    /// Renders a conversation.
    pub fn rows(self, conversation: &Conversation, style: NameStyle) -> Rows {
        let names = Names::new(&conversation.tools, style);
        match self {
            Self::Openai => Rows::main([messages::row(conversation, &names)]),
            Self::Hermes => Rows::main([chat_ml::row(conversation, &names)]),
            Self::Sharegpt => Rows::main([share_gpt::row(conversation, &names)]),
            Self::Xlam => Rows::main(xlam::row(conversation, &names)),
            Self::Bfcl => bfcl::rows(conversation, &names),
            Self::Preferences => Rows::main(messages::pair(conversation, &names)),
            Self::Retrieval => retrieval::rows(conversation, &names),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
            format!("expected a format, found `{text}`; the formats are: {}", known.join(", "))
        })
    }
}

/// The rendered lines of one conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The lines of the main file.
    pub main: Vec<Value>,
    /// The lines of the second file, of formats that have one: the answers of BFCL, the tools of retrieval.
    pub second: Vec<Value>,
}

impl Rows {
    fn main(rows: impl IntoIterator<Item = Value>) -> Self {
        Self { main: rows.into_iter().collect(), second: Vec::new() }
    }
}
