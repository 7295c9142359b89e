//! The arguments of `toolcrib policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `toolcrib policy`.
#[derive(Args, Debug)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

/// The commands of `toolcrib policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Compare the decisions about calls with a table of expected ones.
    ///
    /// The table is YAML or JSON: a list of cases with `tool` and `expect` (`grant`, `approve`, `deny`, or `absent`), and
    /// optionally `arguments`, `agent`, `token`, `session`, and the deciding `rule`. The exit code is 1 if a case fails.
    #[command(after_help = "Example:\n  toolcrib policy test app.yaml policy-cases.yaml")]
    Test {
        /// The app file.
        app: PathBuf,
        /// The table of cases.
        cases: PathBuf,
    },
}
