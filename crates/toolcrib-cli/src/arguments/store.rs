//! The arguments of `toolcrib store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Store {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Its location, the version of its tables, and the number of records of each kind.
    Status {
        /// The app file.
        app: PathBuf,
    },
    /// Create the tables, or migrate them to the version of this program.
    Migrate {
        /// The app file.
        app: PathBuf,
    },
}
