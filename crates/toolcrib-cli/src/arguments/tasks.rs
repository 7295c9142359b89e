//! The arguments of `tasks`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Tasks {
    /// The app file.
    pub(crate) app: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Option<TasksCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// All of them; the same as without a command.
    List,
    /// One of them, with all there is to know.
    Show {
        /// Its id.
        id: String,
    },
    /// End one.
    Cancel {
        /// Its id.
        id: String,
    },
    /// A line for each that begins, ends or stands otherwise than before, until Ctrl-C.
    Tail,
}
