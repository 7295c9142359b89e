//! The arguments of `sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct Sessions {
    /// The app file.
    pub(crate) app: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// All of them, the newest first; the same as without a command.
    List,
    /// The conversation of one.
    Show {
        /// Its id.
        id: String,
    },
    /// Delete the conversation of one, and the results that were stored with it.
    Rm {
        /// Its id.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Write the conversation of one as Markdown, or with `--json` as JSON.
    Export {
        /// Its id.
        id: String,
        /// The file to write; standard output unless given. A file that exists is not written over.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}
