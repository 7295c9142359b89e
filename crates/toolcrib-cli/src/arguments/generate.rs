//! The arguments of `toolcrib generate`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `toolcrib generate`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Generate {
    #[command(subcommand)]
    pub(crate) command: Option<GenerateCommand>,
    /// The task file: an app file with the section `generate`.
    #[arg(required = true)]
    pub(crate) task: Option<PathBuf>,
    /// The file to write; by default `generate.output` of the task.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format of the file; by default `generate.format` of the task.
    #[arg(long, value_enum)]
    pub(crate) format: Option<DataFormat>,
    /// The spelling of tool names; by default `generate.names` of the task, or that of the format.
    #[arg(long, value_enum)]
    pub(crate) names: Option<NameSpelling>,
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

/// The commands of `toolcrib generate`.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Check the conversations of a file: calls that fit their tools, and values that come from somewhere.
    ///
    /// Reads JSON lines with `messages` and `tools` of the Chat Completions API. The exit code is 1 if there is a
    /// finding.
    #[command(after_help = "Example:\n  toolcrib generate check data.jsonl")]
    Check {
        /// The file.
        file: PathBuf,
    },
}

/// The spellings of tool names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameSpelling {
    /// `namespace::name`.
    Qualified,
    /// `namespace.name`.
    Dotted,
    /// `namespace__name`, as APIs of models take it.
    Wire,
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
