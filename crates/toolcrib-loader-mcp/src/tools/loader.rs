//! The loader: lists the tools of a server.

use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::model::Tool as WireTool;
use tokio::time::{Instant, timeout_at};
use toolcrib_io::table::SharedGeneration;
use toolcrib_model::Tool;
use toolcrib_port::{LoadOutcome, Reject, RejectKind, ToolLoader};
use tracing::Instrument as _;

use crate::connection::backoff::MAX_BACKOFF;
use crate::text::{MAX_ERROR_CHARS, MAX_SHOWN_NAME_CHARS, clean};
use crate::tools::catalog::{self, Catalog, RejectedEntry, ServerInfo};
use crate::tools::{conversion, resources_and_prompts, tools_cache};
use crate::{McpConnection, span};

/// The shortest time between two loads of a list that has a lifetime.
const MIN_TTL: Duration = Duration::from_mins(1);

/// The longest time between two loads of a list that has a lifetime.
const MAX_TTL: Duration = Duration::from_hours(24);

/// Loads the tools of a server: from the server itself, or from the cache while a [lazy](crate::McpSource::lazy) server
/// has not been started.
pub struct McpLoader {
    connection: McpConnection,
    source: String,
    state: Mutex<LoaderState>,
}

#[derive(Default)]
struct LoaderState {
    server: ServerInfo,
    /// The time of the next unprompted load: the list expires, or the server may be tried again.
    due: Option<Instant>,
    /// True if the next load asks the server, since the process that did has ended.
    asks_server: bool,
}

impl McpLoader {
    /// Creates the loader for the server of this connection.
    pub fn new(connection: McpConnection) -> Self {
        let source = format!("mcp {}", connection.source().namespace);
        Self { connection, source, state: Mutex::default() }
    }

    /// Fetches the list of the server, and starts the server if it does not run.
    async fn fetch(&self) -> Result<Catalog, RejectedEntry> {
        let source = self.connection.source();
        let deadline = Instant::now() + source.startup_timeout;
        // The startup has the same timeout, and its error says more.
        self.connection.session().await.map_err(|error| RejectedEntry {
            name: None,
            kind: error.reject_kind(),
            reason: error.to_string(),
        })?;
        let changes = self.connection.changes().tools;
        let span = span::request("tools/list", source);
        let fetched = timeout_at(deadline, catalog::fetch(&self.connection).instrument(span.clone())).await;
        let fetched = fetched.unwrap_or_else(|_| {
            let (target, seconds) = (source.target(), source.startup_timeout.as_secs_f32());
            let reason = format!("MCP server `{target}` did not list its tools within {seconds} s");
            Err(RejectedEntry { name: None, kind: RejectKind::Unavailable, reason })
        });
        match fetched {
            Ok((mut catalog, session)) => {
                // Three concurrent requests make a large future, so it is boxed.
                Box::pin(resources_and_prompts::detect_support(&session, &mut catalog.server)).await;
                session.set_digests(catalog.digests(), changes);
                match (&source.generation, &source.tools_cache) {
                    (Some(generation), _) => self.publish(generation, &catalog).await,
                    (None, Some(tools_cache)) => tools_cache.store(source, &catalog),
                    (None, None) => {}
                }
                Ok(catalog)
            }
            Err(broken) => {
                span::failed(&span, "unavailable");
                Err(broken)
            }
        }
    }

    /// Publishes the list, if this process loads it for the others.
    async fn publish(&self, generation: &SharedGeneration, catalog: &Catalog) {
        let published = match generation.is_owner().await {
            Ok(true) => tools_cache::publish(generation, self.connection.source(), catalog).await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = published {
            tracing::warn!(%error, "the tools of `{}` are not shared with other processes", self.source);
        }
    }

    /// Returns the list that is known without the server.
    async fn known(&self) -> Option<Catalog> {
        let source = self.connection.source();
        let Some(generation) = &source.generation else {
            return source.tools_cache.as_ref()?.load(source);
        };
        let published = tools_cache::published(generation).await;
        published.unwrap_or_else(|error| {
            tracing::warn!(%error, "the shared tools of `{}` cannot be read", self.source);
            None
        })
    }

    /// Returns true if another process loads the list.
    async fn is_loaded_elsewhere(&self) -> bool {
        match &self.connection.source().generation {
            Some(generation) => matches!(generation.is_owner().await, Ok(false)),
            None => false,
        }
    }

    /// Converts the list into tools. Tools that differ from the approved ones become rejects.
    async fn convert(&self, catalog: Catalog) -> LoadOutcome {
        let source = self.connection.source();
        let mut loaded = LoadOutcome::default();
        self.state.lock().server = catalog.server.clone();
        for broken in catalog.rejected {
            loaded.rejected.push(self.reject(broken.name.as_deref(), broken.kind, &broken.reason));
        }
        // A name that the server uses is reserved for it, even if its tool is rejected.
        let mut method_tools =
            resources_and_prompts::tools(source, &catalog.server, self.connection.changes());
        method_tools
            .retain(|method_tool| catalog.tools.iter().all(|tool| tool.name != method_tool.name.name()));
        let (mut usable, mut tools) = (Vec::new(), Vec::new());
        for wire in catalog.tools {
            match self.convert_tool(&wire) {
                Ok(tool) => {
                    usable.push(wire);
                    tools.push(tool);
                }
                Err(reason) => {
                    loaded.rejected.push(self.reject(Some(&wire.name), RejectKind::InvalidTool, &reason));
                }
            }
        }
        let quarantined = match &source.trust_lock {
            Some(trust_lock) => trust_lock.check(source, &usable).await,
            None => Vec::new(),
        };
        for (at, (wire, tool)) in usable.iter().zip(tools).enumerate() {
            if quarantined.binary_search(&at).is_ok() {
                loaded.rejected.push(self.reject_changed(wire));
            } else {
                loaded.tools.push(tool);
            }
        }
        loaded.tools.extend(method_tools);
        loaded
    }

    /// Converts a tool, or returns the reason that it cannot be used.
    fn convert_tool(&self, wire: &WireTool) -> Result<Tool, String> {
        match conversion::schema_problem(wire) {
            Some(reason) => Err(reason),
            None => {
                conversion::convert(self.connection.source(), wire.clone()).map_err(|error| error.to_string())
            }
        }
    }

    /// Waits until another process has published another list, or this process has to load it. Returns true in the second
    /// case.
    async fn generation_changed(&self) -> bool {
        match &self.connection.source().generation {
            Some(generation) => generation.changed().await,
            None => std::future::pending().await,
        }
    }

    fn reject_changed(&self, wire: &WireTool) -> Reject {
        let namespace = &self.connection.source().namespace;
        let name = clean(&format!("{namespace}.{}", wire.name), MAX_SHOWN_NAME_CHARS);
        let reason = "it is no longer the tool that was approved; `toolcrib tools --changed` shows the difference, \
                      `toolcrib trust` approves it";
        Reject::tool(&*self.source, name, RejectKind::Changed, reason)
    }

    fn reject(&self, name: Option<&str>, kind: RejectKind, reason: &str) -> Reject {
        let name = name.map(|name| clean(name, MAX_SHOWN_NAME_CHARS));
        // The reason may quote the server.
        Reject { source: self.source.clone(), name, kind, reason: clean(reason, MAX_ERROR_CHARS) }
    }
}

#[async_trait]
impl ToolLoader for McpLoader {
    fn source(&self) -> &str {
        &self.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some(&self.connection.source().namespace)
    }

    async fn load(&self) -> LoadOutcome {
        let source = self.connection.source();
        let is_approved = match &source.trust_lock {
            Some(trust_lock) => trust_lock.admit_server(source).await,
            None => Ok(true),
        };
        let is_approved = match is_approved {
            Ok(is_approved) => is_approved,
            Err(error) => {
                let reason = format!("it is unknown whether the server was approved: {error}");
                self.state.lock().due = Some(Instant::now() + MAX_BACKOFF);
                return LoadOutcome::failed(&*self.source, RejectKind::Unavailable, reason);
            }
        };
        if !is_approved {
            let reason = format!(
                "MCP server `{}` is not the one that was approved under `{}`: its command line or URL has changed, \
                 and it is not started; `toolcrib tools --changed` shows the difference, `toolcrib trust` approves it",
                source.target(),
                source.namespace
            );
            return LoadOutcome::failed(&*self.source, RejectKind::Changed, reason);
        }
        if self.connection.is_suspended() {
            // No caller may use the tools. The known ones can be named by the operator.
            return match self.known().await {
                Some(catalog) => self.convert(catalog).await,
                None => LoadOutcome::default(),
            };
        }
        let asks_server =
            self.connection.take_outdated_list() | std::mem::take(&mut self.state.lock().asks_server);
        if source.lazy
            && !asks_server
            && (!self.connection.is_open() || self.is_loaded_elsewhere().await)
            && let Some(catalog) = self.known().await
        {
            if catalog.server.ignores_discover {
                self.connection.expect_no_discover();
            }
            return self.convert(catalog).await;
        }
        match self.fetch().await {
            Ok(catalog) => {
                self.state.lock().due = catalog.ttl.map(|ttl| Instant::now() + ttl.clamp(MIN_TTL, MAX_TTL));
                self.convert(catalog).await
            }
            Err(broken) => {
                self.state.lock().due =
                    Some(self.connection.retry_at().unwrap_or(Instant::now() + MAX_BACKOFF));
                // The cached tools can be found, and a call of one reports the problem.
                if let Some(generation) = &source.generation {
                    // Another process may reach the server. If the lease cannot be released, it ends soon.
                    let _ = generation.release().await;
                }
                let mut loaded = match self.known().await {
                    Some(catalog) => self.convert(catalog).await,
                    None => LoadOutcome::default(),
                };
                loaded.rejected.insert(0, self.reject(None, broken.kind, &broken.reason));
                loaded
            }
        }
    }

    async fn changed(&self) {
        let due = self.state.lock().due;
        let due = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.connection.changed() => {}
            () = due => {}
            has_to_load = self.generation_changed() => self.state.lock().asks_server = has_to_load,
        }
        self.state.lock().due = None;
    }

    async fn set_suspended(&self, is_suspended: bool) {
        if is_suspended {
            self.connection.suspend().await;
        } else {
            self.connection.resume();
        }
    }

    fn instructions(&self) -> Option<String> {
        self.state.lock().server.instructions.clone()
    }

    fn about(&self) -> Option<String> {
        self.state.lock().server.about.clone()
    }

    fn health(&self) -> Option<Result<&'static str, String>> {
        Some(self.connection.health())
    }
}
