//! The arguments of `serve` and `approve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::caller::{Identity, Otlp};

#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The app file.
    pub(crate) app: PathBuf,
    /// On standard input and output; the default.
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Over Streamable HTTP, at `/mcp` on this port of 127.0.0.1 or on this address. One that other machines reach
    /// wants
    /// `serve.tokens` or `serve.oauth` in the app.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// The surface that clients are shown; `serve.surface` by default.
    #[arg(long)]
    pub(crate) surface: Option<SurfaceArgument>,
    /// Limit all clients to one of the `profiles` of the app.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) otlp: Otlp,
}

#[derive(Args, Debug)]
pub(crate) struct ConsoleArguments {
    /// The app file.
    pub(crate) app: PathBuf,
    /// The port of 127.0.0.1; any free one by default.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
}

#[derive(Args, Debug)]
pub(crate) struct Approve {
    /// The app file.
    pub(crate) app: PathBuf,
    /// Allow the call with this id, once, or say yes to the question. `--json` lists those that wait.
    #[arg(long, value_name = "ID", conflicts_with = "deny")]
    pub(crate) allow: Option<String>,
    /// The values for a question: `content`, `choice`, `fields` by their names, or `feedback` in words.
    #[arg(long, value_name = "JSON", requires = "allow")]
    pub(crate) with: Option<String>,
    /// Deny the call, or say no to the question.
    #[arg(long, value_name = "ID")]
    pub(crate) deny: Option<String>,
    /// A text for the model.
    #[arg(long, value_name = "TEXT", requires = "deny")]
    pub(crate) feedback: Option<String>,
}

/// The surface that clients are shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SurfaceArgument {
    /// All tools while they fit, else the tools by which others are found.
    Auto,
    /// All tools.
    Direct,
    /// The tools by which others are found and run.
    Discovery,
    /// These, and the pinned tools.
    Mixed,
}

/// Returns a port of this machine alone, or a whole address.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.strip_prefix("localhost:").unwrap_or(text);
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| "an address is a port, or an address with a port as 127.0.0.1:8080".to_owned())
}
