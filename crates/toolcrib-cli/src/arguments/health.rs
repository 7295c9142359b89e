//! The arguments of `health`.

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct Health {
    /// The server, as `HOST:PORT` or as a URL.
    #[arg(default_value = "127.0.0.1:8080")]
    pub(crate) address: String,
}
