//! The arguments of `install` and `import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Install {
    /// The client whose configuration is used.
    #[arg(required_unless_present = "list")]
    pub(crate) client: Option<Client>,
    /// The app that is served.
    #[arg(long, value_name = "FILE", default_value = "app.yaml", conflicts_with = "undo")]
    pub(crate) app: PathBuf,
    /// The name of the server at the client.
    #[arg(long, default_value = "toolcrib")]
    pub(crate) name: String,
    /// The configuration of the project in this folder, rather than that of the user.
    #[arg(long, conflicts_with = "file")]
    pub(crate) project: bool,
    /// The configuration file, where it is somewhere else.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Take the entry out; what it replaced is put back.
    #[arg(long)]
    pub(crate) undo: bool,
    /// Write without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Say which clients are found here.
    #[arg(long, conflicts_with_all = ["client", "undo"])]
    pub(crate) list: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Import {
    /// Configuration files; those of the clients that are found here unless given.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Only this client, or how the files are to be read.
    #[arg(long, value_name = "CLIENT")]
    pub(crate) from: Option<Client>,
    /// The app file that is written.
    #[arg(long, value_name = "FILE", default_value = "app.yaml")]
    pub(crate) output: PathBuf,
    /// Write over a file that is there; a copy of it is kept.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A client of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    #[value(name = "vscode")]
    VsCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}
