//! The arguments of `toolcrib generate`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `toolcrib generate`.
#[derive(Args, Debug)]
pub(crate) struct Generate {
    /// The task file: an app file with the section `generate`.
    pub(crate) task: PathBuf,
    /// The file to write; by default `generate.output` of the task.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format of the file; by default `generate.format` of the task.
    #[arg(long, value_enum)]
    pub(crate) format: Option<DataFormat>,
    /// The number of conversations; by default `generate.num_outputs` of the task.
    #[arg(long, value_name = "N")]
    pub(crate) num_outputs: Option<NonZeroU32>,
    /// Continue an earlier run of the task, which was interrupted or is to have more conversations.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Begin again, and forget an earlier run.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) restart: bool,
}

/// The formats of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// `messages` and `tools` of the Chat Completions API.
    Openai,
    /// `ChatML` with calls as text.
    Hermes,
    /// Conversations of `ShareGPT`.
    Sharegpt,
    /// `query`, `tools` and `answers`.
    Xlam,
    /// Questions and possible answers of BFCL.
    Bfcl,
    /// Pairs of a chosen and a rejected answer.
    Preferences,
    /// Queries with their tools.
    Retrieval,
}
