//! The tool list of a server.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerPeerInfo, ServerResult, Tool as WireTool,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_port::RejectKind;

use crate::apps::has_app;
use crate::connection::ServerResponse;
use crate::connection::session::{RequestError, Session};
use crate::text::{MAX_ABOUT_CHARS, MAX_ERROR_CHARS, MAX_INSTRUCTIONS_CHARS, MAX_SHOWN_NAME_CHARS, clean};
use crate::tools::digest::{Digests, definition, digest};
use crate::transport::argument_headers;
use crate::transport::message_recovery::unreadable_entry;
use crate::{McpConnection, McpTransport};

/// The largest number of pages of tools fetched from one server.
pub const MAX_PAGES: usize = 1_000;

/// The largest number of tools accepted from one server.
pub const MAX_TOOLS: usize = 20_000;

/// The largest total size of the tools accepted from one server, as compact JSON: 32 MiB.
const MAX_LIST_BYTES: u64 = 32 * 1024 * 1024;

/// A snapshot of the tool list of a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<WireTool>,
    /// The entries that are not valid tools.
    #[serde(skip)]
    pub(crate) rejected: Vec<RejectedEntry>,
    /// The lifetime of the list, as declared by the server.
    #[serde(skip)]
    pub(crate) ttl: Option<Duration>,
    /// The other capabilities and texts of the server.
    pub(crate) server: ServerInfo,
}

/// The description that a server gives of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent, and each is written to the cache"
)]
pub(crate) struct ServerInfo {
    /// The server's instructions on the use of its tools.
    pub(crate) instructions: Option<String>,
    /// The title and the description of the server, on one line.
    #[serde(default)]
    pub(crate) about: Option<String>,
    /// True if the server has user interfaces (MCP Apps): a tool names one, or they are among its resources.
    #[serde(default)]
    pub(crate) has_apps: bool,
    /// True if the server announces changes of single resources.
    #[serde(default)]
    pub(crate) subscribes: bool,
    /// True if the server lists resources other than user interfaces. Before the server is asked: true if it declares the capability. The same
    /// holds for templates and prompts.
    pub(crate) has_resources: bool,
    pub(crate) has_templates: bool,
    pub(crate) has_prompts: bool,
    /// True if it completes the arguments of its prompts and templates.
    #[serde(default)]
    pub(crate) completes: bool,
    /// True if the server does not answer `server/discover` in time.
    #[serde(default)]
    pub(crate) ignores_discover: bool,
}

/// An entry of the list, or the remainder of the list, that cannot be used.
#[derive(Clone, Debug)]
pub(crate) struct RejectedEntry {
    pub(crate) name: Option<String>,
    pub(crate) kind: RejectKind,
    pub(crate) reason: String,
}

impl ServerInfo {
    fn of(server: &ServerPeerInfo) -> Self {
        let instructions = server.instructions.as_deref().map(|text| clean(text, MAX_INSTRUCTIONS_CHARS));
        Self {
            instructions: instructions.filter(|text| !text.is_empty()),
            about: about(server),
            has_apps: false,
            subscribes: server
                .capabilities
                .resources
                .as_ref()
                .is_some_and(|resources| resources.subscribe == Some(true)),
            has_resources: server.capabilities.resources.is_some(),
            has_templates: server.capabilities.resources.is_some(),
            has_prompts: server.capabilities.prompts.is_some(),
            completes: server.capabilities.completions.is_some(),
            ignores_discover: false,
        }
    }
}

/// Returns the title and the description of a server on one line; `None` if it has neither.
fn about(server: &ServerPeerInfo) -> Option<String> {
    let info = server.server_info.as_ref()?;
    let line = |text: &Option<String>| {
        let text = clean(text.as_deref()?, MAX_ABOUT_CHARS);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty()).then_some(line)
    };
    match (line(&info.title), line(&info.description)) {
        (Some(title), Some(description)) => Some(format!("{title}: {description}")),
        (title, description) => title.or(description),
    }
}

impl Catalog {
    /// Returns the digests of the tools.
    pub(crate) fn digests(&self) -> Digests {
        self.tools.iter().map(|tool| (tool.name.to_string(), digest(&tool.name, &definition(tool)))).collect()
    }
}

/// Fetches all pages of the tool list. Pages that arrived before a failure are discarded: half a list would look like a
/// server that has lost its other tools.
pub(crate) async fn fetch(connection: &McpConnection) -> Result<(Catalog, Arc<Session>), RejectedEntry> {
    let target = connection.source().target();
    let broken = |kind, reason| RejectedEntry { name: None, kind, reason };
    let mut listing = ToolListing::default();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let request = || {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))
        };
        let ServerResponse { result, session } = connection
            .request(request, None)
            .await
            .map_err(|fault| broken(kind_of(&fault), error_message(&target, fault)))?;
        let Some(mut page) = ToolsPage::read(result) else {
            let reason =
                format!("MCP server `{target}` answered `tools/list` with something other than tools");
            return Err(broken(RejectKind::Syntax, reason));
        };
        if !Arc::ptr_eq(listing.session.get_or_insert_with(|| Arc::clone(&session)), &session) {
            let reason = format!("MCP server `{target}` was restarted while it listed its tools");
            return Err(broken(RejectKind::Unavailable, reason));
        }
        if sends_argument_headers(connection, &session) {
            page.reject_invalid_annotations();
        }
        let catalog = &mut listing.catalog;
        catalog.ttl = catalog.ttl.into_iter().chain(page.ttl).min();
        let rest = match page.next_cursor {
            _ if listing.take(page.tools) => Some((
                RejectKind::TooLarge,
                format!(
                    "MCP server `{target}` lists more than {MAX_TOOLS} tools or {} MiB; the rest is left out",
                    MAX_LIST_BYTES >> 20
                ),
            )),
            None => None,
            next if next == cursor => Some((
                RejectKind::Syntax,
                format!("MCP server `{target}` names the same next page twice; the rest is left out"),
            )),
            next => {
                cursor = next;
                continue;
            }
        };
        listing.catalog.rejected.extend(rest.map(|(kind, reason)| broken(kind, reason)));
        return Ok(listing.catalog.of(session));
    }
    let reason =
        format!("MCP server `{target}` lists its tools on more than {MAX_PAGES} pages; the rest is left out");
    listing.catalog.rejected.push(broken(RejectKind::TooLarge, reason));
    match listing.session {
        Some(session) => Ok(listing.catalog.of(session)),
        None => Err(broken(RejectKind::Unavailable, format!("MCP server `{target}` was not asked"))),
    }
}

/// Returns true if call arguments are also sent as HTTP headers.
fn sends_argument_headers(connection: &McpConnection, session: &Session) -> bool {
    session.has_no_handshake() && matches!(connection.source().transport, McpTransport::Http { .. })
}

/// The entries collected from the pages so far.
#[derive(Default)]
struct ToolListing {
    catalog: Catalog,
    names: HashSet<String>,
    bytes: u64,
    /// The session of the first page. All pages have to come from one session: a restarted server has another list.
    session: Option<Arc<Session>>,
}

impl ToolListing {
    /// Adds the entries of a page. Returns true if a limit is exceeded. Of two entries with the same name only the
    /// first is used: a call carries only the name, so the two could not be told apart.
    fn take(&mut self, entries: Vec<Result<WireTool, RejectedEntry>>) -> bool {
        for entry in entries {
            if self.catalog.tools.len() + self.catalog.rejected.len() >= MAX_TOOLS {
                return true;
            }
            match entry {
                Ok(tool) if self.names.contains(tool.name.as_ref()) => {
                    let reason = "it is listed twice, and only the first entry is used".into();
                    let name = Some(tool.name.to_string());
                    self.catalog.rejected.push(RejectedEntry { name, kind: RejectKind::Duplicate, reason });
                }
                Ok(tool) => {
                    self.bytes += size(&tool);
                    if self.bytes > MAX_LIST_BYTES {
                        return true;
                    }
                    self.names.insert(tool.name.to_string());
                    self.catalog.tools.push(tool);
                }
                Err(entry) => self.catalog.rejected.push(entry),
            }
        }
        false
    }
}

/// Returns the size of a tool as compact JSON, in bytes.
fn size(tool: &WireTool) -> u64 {
    struct ByteCounter(u64);
    impl io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len() as u64);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    // Writing to the counter cannot fail, and the tool was parsed from JSON.
    let _ = serde_json::to_writer(&mut count, tool);
    count.0
}

impl Catalog {
    fn of(mut self, session: Arc<Session>) -> (Self, Arc<Session>) {
        self.server = session.server().map(|server| ServerInfo::of(&server)).unwrap_or_default();
        self.server.has_apps = self.tools.iter().any(has_app);
        self.server.ignores_discover = session.ignores_discover();
        (self, session)
    }
}

fn kind_of(fault: &RequestError) -> RejectKind {
    match fault {
        RequestError::NoServer(error) => error.reject_kind(),
        _ => RejectKind::Unavailable,
    }
}

fn error_message(target: &str, fault: RequestError) -> String {
    match fault {
        RequestError::NoServer(error) => error.to_string(),
        RequestError::Rpc(error) => {
            let message = clean(&error.message, MAX_ERROR_CHARS);
            format!("MCP server `{target}` answers `tools/list` with an error: {message}")
        }
        RequestError::Unreadable(reason) => {
            format!("MCP server `{target}` answers `tools/list`, and {reason}")
        }
        RequestError::NotSent(reason) | RequestError::SessionExpired(reason) => {
            format!("MCP server `{target}` cannot be reached: {reason}")
        }
        RequestError::Rejected { reason, .. } => {
            format!("MCP server `{target}` refuses to list its tools: {reason}")
        }
        RequestError::Lost { how, stderr } => format!("MCP server `{target}` {how} of `tools/list`{stderr}"),
    }
}

struct ToolsPage {
    tools: Vec<Result<WireTool, RejectedEntry>>,
    next_cursor: Option<String>,
    ttl: Option<Duration>,
}

impl ToolsPage {
    /// Reads a page. If rmcp could not parse it, its tools are read one by one, so that a broken tool hides no other.
    fn read(result: ServerResult) -> Option<Self> {
        if let ServerResult::ListToolsResult(page) = result {
            return Some(Self {
                tools: page.tools.into_iter().map(Ok).collect(),
                next_cursor: page.next_cursor,
                ttl: lifetime(page.ttl_ms),
            });
        }
        let page = serde_json::to_value(result).ok()?;
        let tools = page.get("tools")?.as_array()?.iter().map(read_tool).collect();
        let next_cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        let ttl = lifetime(page.get("ttlMs").and_then(Value::as_u64));
        Some(Self { tools, next_cursor, ttl })
    }

    /// Rejects tools whose header annotations are invalid, as rmcp does on the pages that it parses.
    fn reject_invalid_annotations(&mut self) {
        for entry in &mut self.tools {
            if let Ok(tool) = entry
                && let Err(reason) = argument_headers::check(&tool.input_schema)
            {
                let name = Some(tool.name.to_string());
                *entry = Err(RejectedEntry { name, kind: RejectKind::InvalidTool, reason });
            }
        }
    }
}

/// Returns the lifetime of the list. Zero forbids caching; such a list is used until the server announces a change.
fn lifetime(milliseconds: Option<u64>) -> Option<Duration> {
    milliseconds.filter(|milliseconds| *milliseconds > 0).map(Duration::from_millis)
}

fn read_tool(tool: &Value) -> Result<WireTool, RejectedEntry> {
    let broken = |reason: &str| RejectedEntry {
        name: tool.get("name").and_then(Value::as_str).map(|name| clean(name, MAX_SHOWN_NAME_CHARS)),
        kind: RejectKind::InvalidTool,
        reason: clean(reason, MAX_ERROR_CHARS),
    };
    match unreadable_entry(tool) {
        Some(reason) => Err(broken(reason)),
        None => serde_json::from_value(tool.clone())
            .map_err(|error| broken(&format!("not a valid tool: {error}"))),
    }
}
