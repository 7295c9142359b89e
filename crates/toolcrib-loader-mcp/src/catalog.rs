//! What a server lists.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerPeerInfo, ServerResult, Tool as WireTool,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::Fingerprint;
use toolcrib_port::RejectKind;

use crate::connection::Answer;
use crate::message::unreadable_entry;
use crate::session::{Fault, Session};
use crate::text::{MAX_ABOUT_CHARS, MAX_ERROR_CHARS, MAX_INSTRUCTIONS_CHARS, MAX_SHOWN_NAME_CHARS, clean};
use crate::{McpConnection, McpTransport, mirror};

/// The most pages of tools that are fetched from one server.
pub const MAX_PAGES: usize = 1_000;

/// The most tools that are taken from one server.
pub const MAX_TOOLS: usize = 20_000;

/// The most bytes of tools that are taken from one server, counted as compact JSON: 32 MiB.
pub const MAX_LIST_BYTES: u64 = 32 * 1024 * 1024;

/// The tools of a server by their names, each with the digest of all that it says.
pub(crate) type Digests = HashMap<String, Fingerprint>;

/// What a server lists at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<WireTool>,
    /// What is listed and is no tool.
    #[serde(skip)]
    pub(crate) broken: Vec<Broken>,
    /// How long the list is good, by the server's own word.
    #[serde(skip)]
    pub(crate) ttl: Option<Duration>,
    /// What else there is to be had.
    pub(crate) server: Server,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and written to the cache as one"
)]
pub(crate) struct Server {
    /// How its tools are meant to be used.
    pub(crate) instructions: Option<String>,
    /// The title and the description of the server, on one line.
    #[serde(default)]
    pub(crate) about: Option<String>,
    /// Whether it lists resources; where it was not asked, whether it may have any. So for the others.
    pub(crate) has_resources: bool,
    pub(crate) has_templates: bool,
    pub(crate) has_prompts: bool,
    /// True if it completes the arguments of its prompts and templates.
    #[serde(default)]
    pub(crate) completes: bool,
    /// Whether it leaves those waiting who ask for its era.
    #[serde(default)]
    pub(crate) ignores_discover: bool,
}

/// An entry of the list, or the rest of it, that cannot be used.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) name: Option<String>,
    pub(crate) kind: RejectKind,
    pub(crate) reason: String,
}

impl Server {
    fn of(server: &ServerPeerInfo) -> Self {
        let instructions = server.instructions.as_deref().map(|text| clean(text, MAX_INSTRUCTIONS_CHARS));
        Self {
            instructions: instructions.filter(|text| !text.is_empty()),
            about: about(server),
            has_resources: server.capabilities.resources.is_some(),
            has_templates: server.capabilities.resources.is_some(),
            has_prompts: server.capabilities.prompts.is_some(),
            completes: server.capabilities.completions.is_some(),
            ignores_discover: false,
        }
    }
}

/// Returns the title and the description that a server gives itself; `None` where it has but a name.
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
    /// The digests of the tools.
    pub(crate) fn digests(&self) -> Digests {
        self.tools.iter().map(|tool| (tool.name.to_string(), digest(&tool.name, &definition(tool)))).collect()
    }
}

/// What a tool says of itself: all that a person who approves it has seen.
pub(crate) fn definition(tool: &WireTool) -> Value {
    json!({
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    })
}

/// The digest of a tool's name and [`definition`].
pub(crate) fn digest(name: &str, definition: &Value) -> Fingerprint {
    Fingerprint::of(&json!({"name": name, "definition": definition}))
}

/// Fetches all pages. What came before a failure is thrown away: half a list would look like a server that has lost its
/// other tools.
pub(crate) async fn fetch(connection: &McpConnection) -> Result<(Catalog, Arc<Session>), Broken> {
    let target = connection.source().target();
    let broken = |kind, reason| Broken { name: None, kind, reason };
    let mut listing = Listing::default();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let request = || {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))
        };
        let Answer { result, session } = connection
            .request(request, None)
            .await
            .map_err(|fault| broken(kind_of(&fault), explain(&target, fault)))?;
        let Some(mut page) = Page::read(result) else {
            let reason = format!("MCP server `{target}` answers `tools/list` with something else than tools");
            return Err(broken(RejectKind::Syntax, reason));
        };
        if !Arc::ptr_eq(listing.session.get_or_insert_with(|| Arc::clone(&session)), &session) {
            let reason = format!("MCP server `{target}` was started anew while it listed its tools");
            return Err(broken(RejectKind::Unavailable, reason));
        }
        if mirrors_arguments(connection, &session) {
            page.leave_out_bad_marks();
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
        listing.catalog.broken.extend(rest.map(|(kind, reason)| broken(kind, reason)));
        return Ok(listing.catalog.of(session));
    }
    let reason =
        format!("MCP server `{target}` lists its tools on more than {MAX_PAGES} pages; the rest is left out");
    listing.catalog.broken.push(broken(RejectKind::TooLarge, reason));
    match listing.session {
        Some(session) => Ok(listing.catalog.of(session)),
        None => Err(broken(RejectKind::Unavailable, format!("MCP server `{target}` was not asked"))),
    }
}

/// Whether arguments of calls are sent in headers as well.
fn mirrors_arguments(connection: &McpConnection, session: &Session) -> bool {
    session.is_new_era() && matches!(connection.source().transport, McpTransport::Http { .. })
}

/// What has been listed so far.
#[derive(Default)]
struct Listing {
    catalog: Catalog,
    names: HashSet<String>,
    bytes: u64,
    /// All pages come from one life of the server: what another one lists is something else.
    session: Option<Arc<Session>>,
}

impl Listing {
    /// Adds the entries of a page; true when there are too many. Of two entries of one name the first counts: a call says
    /// the name only, so that the other would be called by what was read of the first.
    fn take(&mut self, entries: Vec<Result<WireTool, Broken>>) -> bool {
        for entry in entries {
            if self.catalog.tools.len() + self.catalog.broken.len() >= MAX_TOOLS {
                return true;
            }
            match entry {
                Ok(tool) if self.names.contains(tool.name.as_ref()) => {
                    let reason = "it is listed twice, and only the first of them is used".into();
                    let name = Some(tool.name.to_string());
                    self.catalog.broken.push(Broken { name, kind: RejectKind::Duplicate, reason });
                }
                Ok(tool) => {
                    self.bytes += size(&tool);
                    if self.bytes > MAX_LIST_BYTES {
                        return true;
                    }
                    self.names.insert(tool.name.to_string());
                    self.catalog.tools.push(tool);
                }
                Err(entry) => self.catalog.broken.push(entry),
            }
        }
        false
    }
}

/// The bytes of a tool as compact JSON.
fn size(tool: &WireTool) -> u64 {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len() as u64);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Writing to it does not fail, and a tool was JSON before.
    let _ = serde_json::to_writer(&mut count, tool);
    count.0
}

impl Catalog {
    fn of(mut self, session: Arc<Session>) -> (Self, Arc<Session>) {
        self.server = session.server().map(|server| Server::of(&server)).unwrap_or_default();
        self.server.ignores_discover = session.ignores_discover();
        (self, session)
    }
}

fn kind_of(fault: &Fault) -> RejectKind {
    match fault {
        Fault::NoServer(error) => error.reject_kind(),
        _ => RejectKind::Unavailable,
    }
}

fn explain(target: &str, fault: Fault) -> String {
    match fault {
        Fault::NoServer(error) => error.to_string(),
        Fault::Rpc(error) => {
            let message = clean(&error.message, MAX_ERROR_CHARS);
            format!("MCP server `{target}` answers `tools/list` with an error: {message}")
        }
        Fault::Unreadable(reason) => format!("MCP server `{target}` answers `tools/list`, and {reason}"),
        Fault::NotSent(reason) | Fault::SessionExpired(reason) => {
            format!("MCP server `{target}` cannot be reached: {reason}")
        }
        Fault::TurnedAway { reason, .. } => {
            format!("MCP server `{target}` refuses to list its tools: {reason}")
        }
        Fault::Lost { how, said } => format!("MCP server `{target}` {how} of `tools/list`{said}"),
    }
}

struct Page {
    tools: Vec<Result<WireTool, Broken>>,
    next_cursor: Option<String>,
    ttl: Option<Duration>,
}

impl Page {
    /// Reads a page tool by tool where rmcp could not read it as a whole, so that one broken tool hides no other.
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

    /// Leaves out tools with marks that no header can be made of, as rmcp does on the pages that it reads itself.
    fn leave_out_bad_marks(&mut self) {
        for entry in &mut self.tools {
            if let Ok(tool) = entry
                && let Err(reason) = mirror::check(&tool.input_schema)
            {
                let name = Some(tool.name.to_string());
                *entry = Err(Broken { name, kind: RejectKind::InvalidTool, reason });
            }
        }
    }
}

/// A lifetime of zero says that the list is not to be kept; it is kept until the server says that it has changed.
fn lifetime(milliseconds: Option<u64>) -> Option<Duration> {
    milliseconds.filter(|milliseconds| *milliseconds > 0).map(Duration::from_millis)
}

fn read_tool(tool: &Value) -> Result<WireTool, Broken> {
    let broken = |reason: &str| Broken {
        name: tool.get("name").and_then(Value::as_str).map(|name| clean(name, MAX_SHOWN_NAME_CHARS)),
        kind: RejectKind::InvalidTool,
        reason: clean(reason, MAX_ERROR_CHARS),
    };
    match unreadable_entry(tool) {
        Some(reason) => Err(broken(reason)),
        None => serde_json::from_value(tool.clone())
            .map_err(|error| broken(&format!("not a tool as the protocol has it: {error}"))),
    }
}
