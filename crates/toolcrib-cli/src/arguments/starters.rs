//! The arguments of `init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct Init {
    /// The folder to write to; made when it is not there.
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// The kind of app.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) template: Template,
}

/// The kind of app that a starter is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// An agent with file tools. It runs without a key.
    #[default]
    Agent,
    /// Several sources behind one MCP server, for a client such as an editor.
    Gateway,
    /// The operations of an OpenAPI document as tools.
    Openapi,
    /// Tools written in Python.
    Python,
    /// Two agents, one of which calls the other. It runs without a key.
    Team,
}
