//! What an app says about an MCP server.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_model::Secret;
use url::Url;

use crate::{ManifestCache, Pins};

use crate::McpAuth;

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
    /// Whether the server is started by the first call rather than by the first load, when there is a manifest of it;
    /// `true` unless it is set.
    pub lazy: bool,
    /// Where the manifest of the server is kept; nowhere when absent.
    pub manifests: Option<ManifestCache>,
    /// What was approved of the server; anything when absent.
    pub pins: Option<Arc<Pins>>,
    /// Which server it is, for manifests and pins.
    identity: Option<String>,
    /// The secrets in its command line or URL.
    secrets: Vec<Secret>,
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
    /// A server behind a URL.
    Http {
        /// The endpoint, as `https://example.com/mcp`.
        url: String,
        /// Headers sent with every request, such as `Authorization`.
        headers: Vec<(String, Secret)>,
        /// Whether the address may be a loopback or private one.
        allow_private: bool,
        /// What is spoken there.
        protocol: HttpProtocol,
        /// How we are authorized there, unless the headers say it.
        auth: Option<Box<McpAuth>>,
    },
}

/// What is spoken to a server behind a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpProtocol {
    /// Streamable HTTP; where the server does not know it, HTTP with server-sent events.
    #[default]
    Any,
    /// Streamable HTTP, of revision 2025-03-26 and later.
    Streamable,
    /// HTTP with server-sent events, of revision 2024-11-05.
    Sse,
}

impl McpSource {
    /// A server that is started by a command.
    pub fn stdio(namespace: impl Into<String>, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        Self::new(namespace, McpTransport::Stdio { command, env: BTreeMap::new(), cwd: None })
    }

    /// A server behind a URL, at a public address.
    pub fn http(namespace: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(namespace, McpTransport::http(url))
    }

    /// A server that is reached as the transport says.
    pub fn new(namespace: impl Into<String>, transport: McpTransport) -> Self {
        let namespace = namespace.into();
        Self {
            namespace,
            transport,
            startup_timeout: DEFAULT_STARTUP_TIMEOUT,
            trusted: false,
            lazy: true,
            manifests: None,
            pins: None,
            identity: None,
            secrets: Vec::new(),
        }
    }

    /// Starts the server at the first load, whatever is known of it.
    pub fn eager(mut self) -> Self {
        self.lazy = false;
        self
    }

    /// Keeps the manifest of the server there.
    pub fn with_manifests(mut self, manifests: ManifestCache) -> Self {
        self.manifests = Some(manifests);
        self
    }

    /// Holds the server and its tools to what was approved.
    pub fn with_pins(mut self, pins: Arc<Pins>) -> Self {
        self.pins = Some(pins);
        self
    }

    /// Says which server it is, for manifests and pins: its command line or URL as the operator wrote it, with the names of
    /// secrets rather than the secrets. It is [`target`](Self::target) unless it is set.
    pub fn with_identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// Adds secrets that stand in the command line or the URL. What a server says of them is not kept on disk. The values of
    /// the query of a URL, and its password, are secrets in any case.
    pub fn with_secrets(mut self, secrets: impl IntoIterator<Item = Secret>) -> Self {
        self.secrets.extend(secrets);
        self
    }

    pub(crate) fn identity(&self) -> Cow<'_, str> {
        self.identity.as_deref().map_or_else(|| self.target().into(), Cow::Borrowed)
    }

    /// Sets how long starting may take.
    pub fn with_startup_timeout(mut self, startup_timeout: Duration) -> Self {
        self.startup_timeout = startup_timeout;
        self
    }

    /// Sets how we are authorized at a server behind a URL.
    pub fn with_auth(mut self, settings: McpAuth) -> Self {
        if let McpTransport::Http { auth, .. } = &mut self.transport {
            *auth = Some(Box::new(settings));
        }
        self
    }

    /// Says that the server's own word counts.
    pub fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// What the server was told and nobody else should hear.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let mut secrets = self.secrets.clone();
        match &self.transport {
            McpTransport::Stdio { env, .. } => secrets.extend(env.values().cloned()),
            McpTransport::Http { url, headers, auth, .. } => {
                let issued = auth.iter().flat_map(|auth| auth.issued.all());
                let own = auth.iter().flat_map(|auth| [&auth.client_secret, &auth.private_key]).flatten();
                secrets.extend(headers.iter().map(|(_, value)| value).chain(own).cloned().chain(issued));
                secrets.extend(secrets_of_url(url));
            }
        }
        secrets
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

/// Returns the password of a URL and the values of its query, as they are written and as they are meant.
fn secrets_of_url(url: &str) -> Vec<Secret> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let written = url.query().into_iter().flat_map(|query| query.split('&'));
    let written = written.filter_map(|pair| Some(pair.split_once('=')?.1.to_owned()));
    let meant = url.query_pairs().map(|(_, value)| value.into_owned());
    let password = url.password().map(str::to_owned);
    written.chain(meant).chain(password).map(Secret::new).collect()
}

impl McpTransport {
    /// A URL at a public address, without headers.
    pub fn http(url: impl Into<String>) -> Self {
        Self::Http {
            url: url.into(),
            headers: Vec::new(),
            allow_private: false,
            protocol: HttpProtocol::Any,
            auth: None,
        }
    }

    /// Sets whether the address behind the URL need not be public. A transport over pipes has no address.
    pub(crate) fn allowing_private(mut self, is_allowed: bool) -> Self {
        if let Self::Http { allow_private, .. } = &mut self {
            *allow_private = is_allowed;
        }
        self
    }
}
