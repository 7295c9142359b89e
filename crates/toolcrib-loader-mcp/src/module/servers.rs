//! The connected servers of all sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_io::http::names_private_address;
use toolcrib_io::process::Sandbox;
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::tool::EquivalentCall;
use toolcrib_model::{ErrorKind, JsonObject, Risk, Tool, ToolError};
use toolcrib_policy::{Access, Call};
use toolcrib_port::{CallContext, ToolEngine as _, ToolLoader as _};
use toolcrib_registry::SessionTools;
use toolcrib_registry::session_tools::{AddedTools, SessionSource, SessionToolsError};
use toolcrib_sdk::Lifecycle;
use url::{Origin, Url};

use super::link::{Link, LinkEngine};
use crate::text::{MAX_ERROR_CHARS, clean};
use crate::tools::resources_and_prompts::ServerMethod;
use crate::{McpLoader, McpSource, McpTransport};

/// The largest number of connected servers, in all sessions together.
pub(crate) const MAX_SERVERS: usize = 16;

/// The prefix of the namespaces of servers; the name of the server follows.
pub const NAMESPACE_PREFIX: &str = "mcp_";

/// The idle time after which a server may be disconnected in favour of another one.
pub(crate) const IDLE_TIME: Duration = Duration::from_mins(30);

/// The largest number of tools in the result of `connect`.
pub(crate) const MAX_SHOWN_TOOLS: usize = 50;

/// The largest number of unusable tools that `connect` reports.
const MAX_NOTES: usize = 10;

/// The longest name of a server, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// The hint for a private URL that the configuration does not name.
const PRIVATE_HINT: &str = "check `url`, or use a server at a public address; the operator names the origin of a private one under \
                            `private_origins`";

/// The setting that [`PRIVATE_HINT`] names.
const PRIVATE_ORIGINS: &str = "private_origins";

/// The address of a server.
pub(super) enum Address {
    Command(Vec<String>),
    Url(Url),
}

impl Address {
    /// Parses the arguments of a call, which contain one of the two.
    pub(super) fn of(command: Option<Vec<String>>, url: Option<String>) -> Result<Self, ToolError> {
        match (command, url) {
            (Some(command), None) if command.first().is_some_and(|program| !program.is_empty()) => {
                Ok(Self::Command(command))
            }
            (None, Some(url)) => match Url::parse(&url) {
                Ok(url) if matches!(url.scheme(), "http" | "https") && url.host_str().is_some() => {
                    Ok(Self::Url(url))
                }
                _ => Err(invalid("`url` is not an address like `https://example.com/mcp`")),
            },
            (Some(_), None) => Err(invalid("`command` is empty; its first word names the program")),
            _ => Err(invalid("a server has a `command` that starts it, or a `url`: one of the two")),
        }
    }

    /// Refuses a program that may not be started, or a host that may not be reached.
    fn check(&self, rules: &AccessRules, context: &CallContext) -> Result<(), ToolError> {
        let denied =
            |message: String, hint: &str| Err(ToolError::new(ErrorKind::Denied, message).with_hint(hint));
        let hint = "use a server that is allowed, or ask the user";
        let access = context.narrow(&rules.access);
        match self {
            Self::Command(command) => {
                let program = command.first().map_or("", String::as_str);
                if !access.allows_program(program) {
                    return denied(format!("`{program}` may not be started"), hint);
                }
            }
            Self::Url(url) => {
                let host = url.host_str().unwrap_or_default();
                let port = url.port_or_known_default().unwrap_or_default();
                if !access.allows_host(host, port) {
                    return denied(format!("`{host}:{port}` may not be reached"), hint);
                }
                if names_private_address(url) && !rules.allows_private(url) {
                    let message = format!("`{host}:{port}` is a private address, which may not be reached");
                    return denied(message, PRIVATE_HINT)
                        .map_err(|error| error.with_setting(PRIVATE_ORIGINS));
                }
            }
        }
        Ok(())
    }

    /// Returns the hint for a server that cannot be reached.
    fn hint(&self, rules: &AccessRules) -> &'static str {
        match self {
            Self::Command(_) => "check the words of `command`, or ask the user",
            Self::Url(url) if rules.allows_private(url) => {
                "check `url`, or ask the user whether the server runs"
            }
            // The host name may resolve to a private address.
            Self::Url(_) => PRIVATE_HINT,
        }
    }
}

/// The programs that the module may start, and the hosts that it may reach.
pub(super) struct AccessRules {
    pub(super) access: Access,
    /// The origins that may have private addresses.
    pub(super) private_origins: Vec<Origin>,
    /// The restrictions of servers that are started by a command.
    pub(super) sandbox: Option<Arc<Sandbox>>,
}

impl AccessRules {
    fn allows_private(&self, url: &Url) -> bool {
        self.private_origins.contains(&url.origin())
    }
}

/// A connected server.
pub(super) struct Server {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) instructions: Option<String>,
    /// The tools as the session sees them.
    pub(super) tools: Vec<Arc<Tool>>,
    pub(super) link: Arc<Link>,
}

impl Server {
    /// Calls one of its tools.
    pub(super) async fn call(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.name.name() == name).ok_or_else(|| {
            let names: Vec<&str> =
                self.tools.iter().take(MAX_SHOWN_TOOLS).map(|tool| tool.name.name()).collect();
            ToolError::new(ErrorKind::UnknownTool, format!("`{}` has no tool `{name}`", self.name))
                .with_hint(format!("it has: {}", names.join(", ")))
        })?;
        if is_found_by_name(tool, context) {
            // The tool was added after the call had been authorized by the rules for `call_tool` alone.
            let named = tool.name.dotted();
            let message = format!("`{name}` has become the tool `{named}`, and the call did not run");
            return Err(ToolError::new(ErrorKind::ToolChanged, message)
                .with_hint(format!("make the call again, or call `{named}`")));
        }
        let response = self.link.engine.call(&self.call_of(Arc::clone(tool), arguments), context).await?;
        Ok(response.value)
    }

    /// Calls a method other than `tools/call`.
    pub(super) async fn call_method(
        &self,
        method: ServerMethod,
        arguments: Value,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let tool = method
            .tool(&self.link.connection.source().namespace)
            .map_err(|error| invalid(error.to_string()))?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = self.call_of(Arc::new(tool), arguments);
        Ok(self.link.engine.call_method(&call, method, context).await?.value)
    }

    fn call_of(&self, tool: Arc<Tool>, arguments: JsonObject) -> Call {
        let mut call = Call::new(tool, self.link.connection.source().namespace.as_str().into(), 0);
        call.arguments = arguments;
        call
    }
}

/// Returns true if a call of this tool by its name reaches this tool, or is refused.
fn is_found_by_name(tool: &Tool, context: &CallContext) -> bool {
    let Some(caller) = &context.caller else { return false };
    let found = caller.catalogue().find_tools(&tool.name.to_string(), context);
    !matches!(found, Err(error) if error.kind == ErrorKind::UnknownTool)
}

/// The servers by session and name.
type ServerMap = BTreeMap<(Arc<str>, String), Arc<Server>>;

/// The connected servers of all sessions.
pub(super) struct Servers {
    rules: AccessRules,
    folder: PathBuf,
    /// The tools that are added to sessions.
    session_tools: SessionTools,
    connected: Mutex<ServerMap>,
}

impl Servers {
    pub(super) fn new(rules: AccessRules, folder: PathBuf, session_tools: SessionTools) -> Self {
        Self { rules, folder, session_tools, connected: Mutex::default() }
    }

    /// Returns the servers of a session, by name.
    pub(super) fn of(&self, session: &str) -> Vec<Arc<Server>> {
        let servers = self.connected.lock();
        servers.iter().filter(|((of, _), _)| **of == *session).map(|(_, server)| Arc::clone(server)).collect()
    }

    /// Returns the server with this name, and marks it as used.
    pub(super) fn find(&self, session: &Arc<str>, name: &str) -> Result<Arc<Server>, ToolError> {
        let server = self.connected.lock().get(&(Arc::clone(session), name.to_owned())).cloned();
        let server = server.ok_or_else(|| unknown_server(name))?;
        server.link.touch();
        Ok(server)
    }

    /// Connects to a server for the session of a call. Returns it with notes on its unusable tools.
    pub(super) async fn connect(
        self: &Arc<Self>,
        context: &CallContext,
        name: String,
        address: Address,
    ) -> Result<(Arc<Server>, Vec<String>), ToolError> {
        let session = &context.session;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
            let message = format!(
                "`server` should be a name of letters, digits, `_` and `-`, of at most {MAX_NAME_BYTES}"
            );
            return Err(invalid(message));
        }
        address.check(&self.rules, context)?;
        let hint = address.hint(&self.rules);
        let key = (Arc::clone(session), name.clone());
        self.evict_idle(&key).await?;
        let namespace = namespace_of(&name);
        self.session_tools
            .check(session, &namespace)
            .map_err(|error| self.name_error(session, &name, &error))?;
        let transport = match address {
            Address::Command(command) => McpTransport::Stdio {
                command,
                env: BTreeMap::new(),
                cwd: Some(self.folder.clone()),
                sandbox: self.rules.sandbox.clone(),
            },
            Address::Url(url) => {
                let allow_private = self.rules.allows_private(&url);
                McpTransport::http(url).allowing_private(allow_private)
            }
        };
        let mut source = McpSource::new(namespace, transport);
        source.lazy = false;
        let link = Arc::new(Link::new(source));
        // The handshake tells the server if there is a user to ask.
        link.engine.set_has_user(context.approver.as_ref().is_some_and(|approver| approver.has_user()));
        let loader = McpLoader::new(link.connection.clone());
        let mut loaded = loader.load().await;
        // No host renders the user interfaces of this server.
        loaded.tools.retain(|tool| !tool.traits().only_for_apps);
        if let Some(failed) = loaded.rejected.iter().find(|reject| reject.name.is_none()) {
            link.connection.close().await;
            return Err(ToolError::new(ErrorKind::Unavailable, failed.reason.clone())
                .with_hint(hint)
                .with_setting(PRIVATE_ORIGINS));
        }
        let mut notes: Vec<String> = loaded.rejected.into_iter().map(|reject| reject.reason).collect();
        let added = match self.add_tools(&key, &link, loaded.tools).await {
            Ok(added) => added,
            Err(error) => {
                link.connection.close().await;
                return Err(self.name_error(session, &name, &error));
            }
        };
        notes.extend(added.rejected.iter().map(|reject| {
            let name = reject.name.as_deref().unwrap_or_default().replacen(NAMESPACE_SEPARATOR, ".", 1);
            clean(&format!("`{name}`: {}", reject.reason), MAX_ERROR_CHARS)
        }));
        let server = Arc::new(Server {
            name,
            address: link.connection.source().target(),
            instructions: loader.instructions(),
            tools: added.tools,
            link,
        });
        // Other calls may have connected meanwhile.
        let refused = {
            let mut servers = self.connected.lock();
            let refused = fits(&servers, &key);
            if refused.is_ok() {
                servers.insert(key.clone(), Arc::clone(&server));
            }
            refused
        };
        if let Err(error) = refused {
            self.end(ServerMap::from([(key, server)])).await;
            return Err(error);
        }
        Ok((server, truncated(notes)))
    }

    /// Adds the tools of a server to those of the session. No hint of the server makes them harmless, and the rules for
    /// `call_tool` apply to all of them.
    async fn add_tools(
        self: &Arc<Self>,
        (session, name): &(Arc<str>, String),
        link: &Arc<Link>,
        tools: Vec<Tool>,
    ) -> Result<AddedTools, SessionToolsError> {
        let call_tool = super::call_tool(self);
        let governed = |tool: Tool| {
            let tool = if tool.traits().risk < Risk::Medium { tool.with_risk(Risk::Medium) } else { tool };
            let (call_tool, call_source) = call_tool.as_ref()?;
            let (server, own) = (json!(name), json!(tool.name.name()));
            // The results of both are labelled as external text.
            let equivalent = EquivalentCall {
                tool: Arc::clone(call_tool),
                source: Arc::clone(call_source),
                fixed: JsonObject::from_iter([("server".to_owned(), server), ("tool".to_owned(), own)]),
                arguments_key: "arguments".to_owned(),
            };
            Some(tool.with_output_parameters(call_tool.output_parameters.clone()).with_equivalent(equivalent))
        };
        let engine = LinkEngine {
            link: Arc::clone(link),
            servers: Arc::downgrade(self),
            key: (Arc::clone(session), name.clone()),
        };
        let source = SessionSource {
            name: Arc::clone(&link.source),
            namespace: link.connection.source().namespace.clone(),
            tools: tools.into_iter().filter_map(governed).collect(),
            engine: Arc::new(engine),
        };
        self.session_tools.add(session, source).await
    }

    /// Returns the error for a name that cannot be used, with a hint that suggests a free one.
    fn name_error(&self, session: &str, name: &str, error: &SessionToolsError) -> ToolError {
        match error {
            SessionToolsError::NamespaceTaken { namespace } => {
                let message = format!("the namespace `{namespace}` of `{name}` has other tools already");
                let is_free =
                    |other: &String| self.session_tools.check(session, &namespace_of(other)).is_ok();
                let free = (2..=MAX_SERVERS + 2).map(|number| format!("{name}_{number}")).find(is_free);
                let hint = match free.filter(|free| free.len() <= MAX_NAME_BYTES) {
                    Some(free) => format!("give the server another name, such as `{free}`"),
                    None => "give the server another name".to_owned(),
                };
                invalid(message).with_hint(hint)
            }
            other => ToolError::new(ErrorKind::ToolFailed, other.to_string())
                .with_hint("disconnect a server that you no longer need"),
        }
    }

    /// Disconnects from a server, and ends it.
    pub(super) async fn disconnect(&self, session: &Arc<str>, name: &str) -> Result<(), ToolError> {
        let server = self.connected.lock().remove_entry(&(Arc::clone(session), name.to_owned()));
        self.end(ServerMap::from([server.ok_or_else(|| unknown_server(name))?])).await;
        Ok(())
    }

    /// Disconnects from a server that has ended and cannot be reached again.
    pub(super) async fn disconnect_failed(&self, key: &(Arc<str>, String), link: &Arc<Link>) {
        let failed: ServerMap = {
            let mut servers = self.connected.lock();
            servers.extract_if(.., |of, server| of == key && Arc::ptr_eq(&server.link, link)).collect()
        };
        self.end(failed).await;
    }

    /// Removes the tools of servers from their sessions, and closes the connections.
    async fn end(&self, servers: ServerMap) {
        for ((session, _), server) in &servers {
            self.session_tools.remove(session, &server.link.source);
        }
        join_all(servers.values().map(|server| server.link.connection.close())).await;
    }

    /// Disconnects from idle servers if the limit is reached. Fails if the new server exceeds it nevertheless.
    async fn evict_idle(&self, key: &(Arc<str>, String)) -> Result<(), ToolError> {
        let mut idle = ServerMap::new();
        let fits = {
            let mut servers = self.connected.lock();
            if servers.len() >= MAX_SERVERS {
                idle = servers.extract_if(.., |_, server| server.link.is_idle()).collect();
            }
            fits(&servers, key)
        };
        self.end(idle).await;
        fits
    }
}

#[async_trait]
impl Lifecycle for Servers {
    /// Disconnects from the servers of a session.
    async fn end_session(&self, session: &str) {
        let servers: ServerMap =
            self.connected.lock().extract_if(.., |(of, _), _| **of == *session).collect();
        self.end(servers).await;
    }

    /// Disconnects from all servers.
    async fn close(&self) {
        let servers = std::mem::take(&mut *self.connected.lock());
        self.end(servers).await;
    }
}

/// Returns the namespace of the tools of a server.
fn namespace_of(server: &str) -> String {
    format!("{NAMESPACE_PREFIX}{server}")
}

/// Returns the first notes, and the number of the others.
fn truncated(mut notes: Vec<String>) -> Vec<String> {
    let beyond = notes.len().saturating_sub(MAX_NOTES);
    notes.truncate(MAX_NOTES);
    if beyond > 0 {
        notes.push(format!("and {beyond} more tools cannot be used"));
    }
    notes
}

/// Checks that there is room for a server, and that its name is free.
fn fits(servers: &ServerMap, key: &(Arc<str>, String)) -> Result<(), ToolError> {
    if servers.contains_key(key) {
        let message = format!("there is already a server `{}`", key.1);
        return Err(invalid(message).with_hint("give this one another name, or disconnect that one"));
    }
    if servers.len() >= MAX_SERVERS {
        let message = format!("{MAX_SERVERS} servers are connected, which is the limit");
        return Err(ToolError::new(ErrorKind::ToolFailed, message)
            .with_hint("disconnect one that you no longer need"));
    }
    Ok(())
}

fn unknown_server(name: &str) -> ToolError {
    let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
    invalid(format!("there is no server `{shown}`"))
        .with_hint("`mcp.list_servers` lists them, `mcp.connect` connects to one")
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
