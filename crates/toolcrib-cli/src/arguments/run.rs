//! The arguments of `run` and `chat`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Caller, Otlp};

#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The prompt; else the app's own, else a conversation on a terminal, else standard input.
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Args, Debug)]
pub(crate) struct Chat {
    /// The app file.
    pub(crate) app: PathBuf,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// The options of a run and of a conversation.
#[derive(Args, Debug)]
pub(crate) struct RunOptions {
    /// The agent; the first one by default.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Keep the conversation under this id, and go on with it: without a prompt, with the run that was broken off.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Show the model's reasoning: nothing, or all of it, dim on a terminal.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) reasoning: Reasoning,
    /// Write the model's turns to a file, for `--replay`.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Play the model's turns from a file; the tools really run.
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// The schema of the answer, in JSON or YAML. By default that of the app.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Approve what the policy would ask about.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Write a page of HTML that shows the turns and calls as a timeline.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) caller: Caller,
    #[command(flatten)]
    pub(crate) otlp: Otlp,
}

/// The part of the model's reasoning to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reasoning {
    /// Nothing.
    #[default]
    Hide,
    /// All of it, on standard error.
    Show,
}
