//! The configuration of an MCP server.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use toolcrib_io::process::Sandbox;
use toolcrib_io::table::SharedGeneration;
use toolcrib_model::{Secret, SubjectToken, ToolError};
use toolcrib_oauth::client::LoginLinks;
use toolcrib_sdk::UserHeaders;
use url::Url;

use crate::tools::{ToolsCache, TrustLock};

use crate::oauth::{ClientSettings, Grant};

/// The default time for a server to start, to answer the handshake and to list its tools.
pub const DEFAULT_STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// An MCP server and the namespace of its tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpSource {
    /// The namespace of the tools.
    pub namespace: String,
    /// The transport to the server.
    pub transport: McpTransport,
    /// The time limit for starting, the handshake and the list of the tools together; [`DEFAULT_STARTUP_TIMEOUT`] by
    /// default.
    pub startup_timeout: Duration,
    /// True if hints of the server that make a tool look harmless (`readOnlyHint`, `idempotentHint`) are believed.
    /// Hints that make a tool look harmful are always believed.
    pub trusted: bool,
    /// True if the first call starts the server rather than the first load, provided that its tool list is cached;
    /// `true` by default.
    pub lazy: bool,
    /// The cache for the tool list; no cache if absent.
    pub tools_cache: Option<ToolsCache>,
    /// The tool list that processes on several machines share. It takes the place of the cache; each process loads the list if
    /// absent.
    pub generation: Option<Arc<SharedGeneration>>,
    /// The lock with the approved server and tools; everything is approved if absent.
    pub trust_lock: Option<Arc<TrustLock>>,
    /// The identity of the server for the cache and the lock: its command line or URL as the operator wrote it, with the
    /// names of secrets instead of their values. The default is [`target`](Self::target).
    pub identity: Option<String>,
    /// True if each user has a login of their own at a server behind a URL. Calls are then made over a connection of the
    /// user, and calls without a user are refused. The tools are listed with the login that belongs to no user.
    pub per_user: bool,
    /// Headers whose values belong to the user of a call, as with [`per_user`](Self::per_user). The tools are listed
    /// without them.
    pub user_headers: UserHeaders,
    /// The logins of users by a link, with [`per_user`](Self::per_user). Without them, a call of a user without a login
    /// fails, with the command to log in by.
    pub login_links: Option<LoginLinks>,
    /// Secrets that occur in the command line or the URL. Texts of the server that contain them are not written to disk.
    /// The query values and the password of a URL are always secrets.
    pub secrets: Vec<Secret>,
}

/// The transport to a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum McpTransport {
    /// A child process, with messages over its standard input and output.
    Stdio {
        /// The program and its arguments. No shell interprets them.
        command: Vec<String>,
        /// Variables set for the process.
        env: BTreeMap<String, Secret>,
        /// The working directory; that of this process if absent.
        cwd: Option<PathBuf>,
        /// The restrictions of the process; none if absent.
        sandbox: Option<Arc<Sandbox>>,
    },
    /// A server behind a URL.
    Http {
        /// The endpoint, as `https://example.com/mcp`.
        url: String,
        /// Headers sent with every request, such as `Authorization`.
        headers: Vec<(String, Secret)>,
        /// True if the address may be a loopback or private one.
        allow_private: bool,
        /// The protocol to use.
        protocol: HttpProtocol,
        /// The authorization, unless the headers contain it.
        auth: Option<Box<ClientSettings>>,
    },
}

/// The protocol for a server behind a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpProtocol {
    /// Streamable HTTP; HTTP with server-sent events if the server does not support it.
    #[default]
    Any,
    /// Streamable HTTP, of revision 2025-03-26 and later.
    Streamable,
    /// HTTP with server-sent events, of revision 2024-11-05.
    Sse,
}

impl McpSource {
    /// Creates a source for a server that a command starts.
    pub fn stdio(namespace: impl Into<String>, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let command = command.into_iter().map(Into::into).collect();
        Self::new(namespace, McpTransport::Stdio { command, env: BTreeMap::new(), cwd: None, sandbox: None })
    }

    /// Creates a source for a server behind a URL, at a public address.
    pub fn http(namespace: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(namespace, McpTransport::http(url))
    }

    /// Creates a source for a server with this transport.
    pub fn new(namespace: impl Into<String>, transport: McpTransport) -> Self {
        let namespace = namespace.into();
        Self {
            namespace,
            transport,
            startup_timeout: DEFAULT_STARTUP_TIMEOUT,
            trusted: false,
            lazy: true,
            tools_cache: None,
            generation: None,
            trust_lock: None,
            identity: None,
            per_user: false,
            user_headers: UserHeaders::default(),
            login_links: None,
            secrets: Vec::new(),
        }
    }

    /// Sets the cache for the tool list.
    pub fn with_tools_cache(mut self, tools_cache: ToolsCache) -> Self {
        self.tools_cache = Some(tools_cache);
        self
    }

    /// Returns the identity of the server.
    pub(crate) fn identity(&self) -> Cow<'_, str> {
        self.identity.as_deref().map_or_else(|| self.target().into(), Cow::Borrowed)
    }

    /// Sets the time limit for starting.
    pub fn with_startup_timeout(mut self, startup_timeout: Duration) -> Self {
        self.startup_timeout = startup_timeout;
        self
    }

    /// Sets the authorization for a server behind a URL.
    pub fn with_auth(mut self, settings: ClientSettings) -> Self {
        if let McpTransport::Http { auth, .. } = &mut self.transport {
            *auth = Some(Box::new(settings));
        }
        self
    }

    /// Returns the same source with the login of a user.
    pub fn for_user(mut self, user: &str) -> Self {
        if let McpTransport::Http { auth: Some(auth), .. } = &mut self.transport {
            **auth = ClientSettings::clone(auth).with_user(user);
        }
        self
    }

    /// Returns true if each user has a connection.
    pub(crate) fn is_per_user(&self) -> bool {
        self.per_user || !self.user_headers.is_empty() || self.exchanges_tokens()
    }

    /// Returns true if calls have a token that is exchanged for the token of the caller.
    pub(crate) fn exchanges_tokens(&self) -> bool {
        let McpTransport::Http { auth: Some(auth), .. } = &self.transport else { return false };
        matches!(auth.grant, Grant::TokenExchange(_))
    }

    /// Returns the same source with the token that a user came with.
    pub(crate) fn for_subject(mut self, subject: Arc<SubjectToken>) -> Self {
        if let McpTransport::Http { auth: Some(auth), .. } = &mut self.transport {
            **auth = ClientSettings::clone(auth).with_subject(subject);
        }
        self
    }

    /// Returns the headers of requests of a user, in place of those of the same names.
    pub(crate) async fn headers_of(&self, user: &str) -> Result<Vec<(String, Secret)>, ToolError> {
        let McpTransport::Http { headers, .. } = &self.transport else { return Ok(Vec::new()) };
        let is_replaced = |name: &str| {
            self.user_headers.contains(name)
                || self.exchanges_tokens() && name.eq_ignore_ascii_case(AUTHORIZATION.as_str())
        };
        let of_all = headers.iter().filter(|(name, _)| !is_replaced(name)).cloned();
        Ok(of_all.chain(self.user_headers.for_user(user).await?).collect())
    }

    /// Returns the same source with other headers.
    pub(crate) fn with_headers(mut self, of_user: Vec<(String, Secret)>) -> Self {
        if let McpTransport::Http { headers, .. } = &mut self.transport {
            *headers = of_user;
        }
        self
    }

    /// Returns all secrets that the server receives.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let mut secrets = self.secrets.clone();
        match &self.transport {
            McpTransport::Stdio { env, .. } => secrets.extend(env.values().cloned()),
            McpTransport::Http { url, headers, auth, .. } => {
                secrets.extend(headers.iter().map(|(_, value)| value.clone()));
                secrets.extend(auth.iter().flat_map(|auth| auth.secrets()));
                secrets.extend(secrets_of_url(url));
            }
        }
        secrets
    }

    /// Returns the name of the server in messages: the command line, or the URL without user, password, query and
    /// fragment.
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

/// Returns the password of a URL and the values of its query, both encoded and decoded.
fn secrets_of_url(url: &str) -> Vec<Secret> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let written = url.query().into_iter().flat_map(|query| query.split('&'));
    let written = written.filter_map(|pair| Some(pair.split_once('=')?.1.to_owned()));
    let meant = url.query_pairs().map(|(_, value)| value.into_owned());
    let password = url.password().map(str::to_owned);
    written.chain(meant).chain(password).map(Secret::new).collect()
}

impl McpTransport {
    /// Creates a transport for a URL at a public address, without headers.
    pub fn http(url: impl Into<String>) -> Self {
        Self::Http {
            url: url.into(),
            headers: Vec::new(),
            allow_private: false,
            protocol: HttpProtocol::Any,
            auth: None,
        }
    }

    /// Permits or forbids a private address behind the URL. A transport over pipes has no address.
    pub(crate) fn allowing_private(mut self, is_allowed: bool) -> Self {
        if let Self::Http { allow_private, .. } = &mut self {
            *allow_private = is_allowed;
        }
        self
    }
}
