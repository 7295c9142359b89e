//! What an app says about an MCP server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use toolcrib_model::Secret;

/// How long a server may take to start, answer the handshake and list its tools, unless the source says otherwise.
pub const DEFAULT_STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// One MCP server and the namespace of its tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpSource {
    /// The namespace that the tools appear in.
    pub namespace: String,
    /// How to reach the server.
    pub transport: McpTransport,
    /// How long starting, the handshake and the listing of the tools may take together;
    /// [`DEFAULT_STARTUP_TIMEOUT`] unless it is set.
    pub startup_timeout: Duration,
    /// Whether the server's own word counts where it makes a tool look harmless (`readOnlyHint`, `idempotentHint`).
    /// What makes a tool look harmful counts in any case.
    pub trusted: bool,
}

/// How to reach a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum McpTransport {
    /// A child process that is spoken to over its standard input and output.
    Stdio {
        /// The program and its arguments. No shell reads them.
        command: Vec<String>,
        /// Variables set for the process.
        env: BTreeMap<String, Secret>,
        /// The directory that it runs in; ours when absent.
        cwd: Option<PathBuf>,
    },
    /// A server behind a URL, spoken to over Streamable HTTP.
    Http {
        /// The endpoint, as `https://example.com/mcp`.
        url: String,
        /// Headers sent with every request, such as `Authorization`.
        headers: Vec<(String, Secret)>,
        /// Whether the address may be a loopback or private one.
        allow_private: bool,
    },
}

impl McpSource {
    /// A server that is started by a command.
    pub fn stdio(namespace: impl Into<String>, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        Self::new(namespace, McpTransport::Stdio { command, env: BTreeMap::new(), cwd: None })
    }

    /// A server behind a URL, at a public address.
    pub fn http(namespace: impl Into<String>, url: impl Into<String>) -> Self {
        let transport = McpTransport::Http { url: url.into(), headers: Vec::new(), allow_private: false };
        Self::new(namespace, transport)
    }

    /// A server that is reached as the transport says.
    pub fn new(namespace: impl Into<String>, transport: McpTransport) -> Self {
        let namespace = namespace.into();
        Self { namespace, transport, startup_timeout: DEFAULT_STARTUP_TIMEOUT, trusted: false }
    }

    /// Sets how long starting may take.
    pub fn with_startup_timeout(mut self, startup_timeout: Duration) -> Self {
        self.startup_timeout = startup_timeout;
        self
    }

    /// Says that the server's own word counts.
    pub fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// The server as messages name it: the command line, or the URL without user, password, query and fragment.
    pub fn target(&self) -> String {
        match &self.transport {
            McpTransport::Stdio { command, .. } => command.join(" "),
            McpTransport::Http { url, .. } => {
                let public = url.split(['?', '#']).next().unwrap_or_default();
                let Some((scheme, rest)) = public.split_once("://") else { return public.to_owned() };
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = authority.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}{path}")
            }
        }
    }
}
