//! The arguments of `trace`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct Trace {
    /// An app file, or an audit log that ends in `.jsonl`.
    pub(crate) source: PathBuf,
    /// The session to show; of an audit log all sessions unless given.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The file to write; it replaces an earlier one.
    #[arg(long, value_name = "FILE", default_value = "trace.html")]
    pub(crate) output: PathBuf,
}
