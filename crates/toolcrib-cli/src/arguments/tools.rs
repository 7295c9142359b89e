//! The arguments of `tools`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct Tools {
    /// The app file.
    pub(crate) app: PathBuf,
    /// List only tools that have all of these words in their name or description, in any case.
    #[arg(long, value_name = "WORDS", conflicts_with = "changed")]
    pub(crate) filter: Option<String>,
    /// List only the tools of this namespace.
    #[arg(long, value_name = "NAME", conflicts_with = "changed")]
    pub(crate) namespace: Option<String>,
    /// Also list the runtime's own tools, and those that people do not pick (`user_selectable: false`).
    #[arg(long, conflicts_with = "changed")]
    pub(crate) all: bool,
    /// Ask the MCP servers, and show what is no longer as it was approved.
    #[arg(long)]
    pub(crate) changed: bool,
}
