//! The arguments of `add` and `registry`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use url::Url;

/// The app file that an entry is written into.
#[derive(Args, Debug)]
pub(crate) struct TargetApp {
    /// The app file.
    #[arg(long, value_name = "FILE", default_value = "app.yaml")]
    pub(crate) app: PathBuf,
    /// Write without asking.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// `toolcrib add`.
#[derive(Args, Debug)]
pub(crate) struct Add {
    #[command(subcommand)]
    pub(crate) source: AddSource,
}

/// The sources that `toolcrib add` writes.
#[derive(Debug, Subcommand)]
pub(crate) enum AddSource {
    /// Add an MCP server: a command line behind `--`, or a URL.
    #[command(
        after_help = "Examples:\n  toolcrib add mcp files -- npx -y @modelcontextprotocol/server-filesystem ./work\n  \
                            toolcrib add mcp crm --url https://crm.example/mcp\n  \
                            toolcrib add mcp github --env GITHUB_TOKEN -- npx -y @modelcontextprotocol/server-github"
    )]
    Mcp {
        /// The namespace of its tools.
        namespace: String,
        /// The URL of the server.
        #[arg(long, required_unless_present = "command", conflicts_with = "command")]
        url: Option<Url>,
        /// A variable that the server gets: the name of one that is set where the app runs, or a name with a value.
        #[arg(long, value_name = "NAME[=VALUE]", conflicts_with = "url")]
        env: Vec<String>,
        #[command(flatten)]
        target: TargetApp,
        /// The program and its arguments.
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Add an OpenAPI document, whose operations become tools.
    #[command(
        name = "openapi",
        after_help = "Examples:\n  toolcrib add openapi pets https://pets.example/openapi.json\n  toolcrib add openapi \
                      library library.yaml --base-url http://127.0.0.1:8765"
    )]
    OpenApi {
        /// The namespace of its tools.
        namespace: String,
        /// The document: a path or a URL.
        #[arg(value_name = "FILE|URL")]
        document: String,
        /// The server of the calls, instead of those that the document names. One with a private address is called only
        /// if it is given here.
        #[arg(long, value_name = "URL")]
        base_url: Option<Url>,
        #[command(flatten)]
        target: TargetApp,
    },
    /// Add a tool file.
    #[command(after_help = "Example:\n  toolcrib add tool weather tools.yaml --engine weather")]
    Tool {
        /// The namespace of its tools.
        namespace: String,
        /// The tool file.
        file: PathBuf,
        /// The engine of `tools.engines` that runs them.
        #[arg(long, value_name = "NAME")]
        engine: Option<String>,
        #[command(flatten)]
        target: TargetApp,
    },
}

/// `toolcrib registry`.
#[derive(Args, Debug)]
pub(crate) struct RegistryArguments {
    /// The base URL of the registry, which has the API v0.1 of the official one. By default `TOOLCRIB_REGISTRY`, or
    /// `https://registry.modelcontextprotocol.io`.
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) registry: Option<Url>,
    #[command(subcommand)]
    pub(crate) command: RegistryCommand,
}

/// The commands of `toolcrib registry`.
#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// Search the registry for servers whose name contains a text.
    #[command(after_help = "Example:\n  toolcrib registry search filesystem")]
    Search {
        /// A part of the name.
        query: String,
        /// The number of servers to show.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
        limit: u8,
    },
    /// Show a server: its packages, what each would run, and what it has to be given.
    #[command(after_help = "Example:\n  toolcrib registry show io.github.example/notes")]
    Show {
        #[command(flatten)]
        server: ServerArgument,
    },
    /// Write an entry of a server with a fixed version into the app file, after showing what it would run.
    #[command(after_help = "Examples:\n  toolcrib registry add io.github.example/notes\n  \
                            toolcrib registry add io.github.example/notes --type pypi --set folder=./notes\n  \
                            toolcrib registry add ./server.json --namespace notes\n  \
                            toolcrib registry add ./notes.mcpb")]
    Add {
        #[command(flatten)]
        server: ServerArgument,
        /// The namespace of its tools; by default the last part of its name.
        #[arg(long)]
        namespace: Option<String>,
        /// The kind of package, such as `npm` or `pypi`, or `remote`; by default the first that can be run.
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// A value that the server has to be given.
        #[arg(long, value_name = "NAME=VALUE")]
        set: Vec<String>,
        #[command(flatten)]
        target: TargetApp,
    },
}

/// A server of the registry, or of a file.
#[derive(Args, Debug)]
pub(crate) struct ServerArgument {
    /// The name of the server in the registry, or the path of a `server.json` or `.mcpb` file.
    pub(crate) name: String,
    /// The version; by default the latest.
    #[arg(long)]
    pub(crate) version: Option<String>,
}
