//! The arguments of `doctor` and `health`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// An app file, whose agents and sources are looked at too.
    pub(crate) app: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Health {
    /// The server, as `HOST:PORT` or as a URL.
    #[arg(default_value = "127.0.0.1:8080")]
    pub(crate) address: String,
}
