//! The arguments of `toolcrib script`.

use std::path::PathBuf;

use clap::Args;

use super::{Caller, Otlp};

#[derive(Args, Debug)]
pub(crate) struct Script {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The JavaScript file, or `-` for standard input.
    #[arg(value_name = "FILE|-", required_unless_present = "resume")]
    pub(crate) file: Option<String>,
    /// Resume the paused script with this id.
    #[arg(long, value_name = "ID", conflicts_with = "file")]
    pub(crate) resume: Option<String>,
    /// Show the calls with their times.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Approve what the policy would ask about.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) caller: Caller,
    #[command(flatten)]
    pub(crate) otlp: Otlp,
}
