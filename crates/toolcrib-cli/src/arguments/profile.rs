//! The arguments of `profile`, `enable` and `disable`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    #[command(subcommand)]
    pub(crate) command: ProfileCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// The profiles with the number of their tools, the selected one, and the overrides.
    List {
        /// The app file.
        app: PathBuf,
    },
    /// Limit the clients that no other profile limits, also of servers that run.
    Use {
        /// The app file.
        app: PathBuf,
        /// The profile.
        #[arg(required_unless_present = "none", conflicts_with = "none")]
        name: Option<String>,
        /// Select no profile.
        #[arg(long)]
        none: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OverrideArguments {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The tool in any spelling, the namespace, or the source, as `toolcrib tools` prints them. `tool:NAME`,
    /// `namespace:NAME` and `source:NAME` say which.
    pub(crate) target: String,
}
