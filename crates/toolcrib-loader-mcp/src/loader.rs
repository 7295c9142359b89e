//! From a server to its tools.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::Tool as WireTool;
use tokio::time::{Instant, timeout_at};
use toolcrib_model::Tool;
use toolcrib_port::{LoadOutcome, Reject, RejectKind, ToolLoader};
use tracing::Instrument as _;

use crate::catalog::{self, Broken, Catalog, Server};
use crate::text::{MAX_ERROR_CHARS, MAX_SHOWN_NAME_CHARS, clean};
use crate::{MAX_BACKOFF, McpConnection, extras, span, tool};

/// The shortest time that a list is kept, whatever lifetime the server gives it.
const MIN_TTL: Duration = Duration::from_mins(1);

/// The longest time that a list is kept which the server gives a lifetime.
const MAX_TTL: Duration = Duration::from_hours(24);

/// Loads the tools of a server: from the server itself, or from the manifest that was kept of it while a
/// [lazy](crate::McpSource::lazy) server has not been started.
pub struct McpLoader {
    connection: McpConnection,
    source: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    server: Server,
    /// When to load again without being told to: the list is good until then, or the server may be tried again.
    due: Option<Instant>,
}

impl McpLoader {
    /// The loader of the server behind this connection.
    pub fn new(connection: McpConnection) -> Self {
        let source = format!("mcp {}", connection.source().namespace);
        Self { connection, source, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the server lists now. It is started if it does not run.
    async fn fetch(&self) -> Result<Catalog, Broken> {
        let source = self.connection.source();
        let deadline = Instant::now() + source.startup_timeout;
        // A server that does not start has the same time, and its own error says more.
        self.connection.session().await.map_err(|error| Broken {
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
            Err(Broken { name: None, kind: RejectKind::Unavailable, reason })
        });
        match fetched {
            Ok((mut catalog, session)) => {
                // Three requests at once take much room, and are made only here.
                Box::pin(extras::ask(&session, &mut catalog.server)).await;
                session.set_digests(catalog.digests(), changes);
                if let Some(manifests) = &source.manifests {
                    manifests.store(source, &catalog);
                }
                Ok(catalog)
            }
            Err(broken) => {
                span::failed(&span, "unavailable");
                Err(broken)
            }
        }
    }

    /// Turns what is listed into tools, all but those that are not what was approved.
    fn convert(&self, catalog: Catalog) -> LoadOutcome {
        let source = self.connection.source();
        let mut loaded = LoadOutcome::default();
        self.state().server = catalog.server.clone();
        for broken in catalog.broken {
            loaded.rejected.push(self.reject(broken.name.as_deref(), broken.kind, &broken.reason));
        }
        // A name that the server uses is its own, whatever becomes of the tool.
        let mut extras = extras::tools(source, &catalog.server, self.connection.changes());
        extras.retain(|extra| catalog.tools.iter().all(|tool| tool.name != extra.name.name()));
        let (mut usable, mut tools) = (Vec::new(), Vec::new());
        for wire in catalog.tools {
            match self.usable(&wire) {
                Ok(tool) => {
                    usable.push(wire);
                    tools.push(tool);
                }
                Err(reason) => {
                    loaded.rejected.push(self.reject(Some(&wire.name), RejectKind::InvalidTool, &reason));
                }
            }
        }
        let pins = source.pins.as_ref();
        let quarantined = pins.map(|pins| pins.check(source, &usable)).unwrap_or_default();
        for (at, (wire, tool)) in usable.iter().zip(tools).enumerate() {
            if quarantined.binary_search(&at).is_ok() {
                loaded.rejected.push(self.changed(wire));
            } else {
                loaded.tools.push(tool);
            }
        }
        loaded.tools.extend(extras);
        loaded
    }

    /// The tool, or why it is none.
    fn usable(&self, wire: &WireTool) -> Result<Tool, String> {
        match tool::misfit(wire) {
            Some(reason) => Err(reason),
            None => tool::convert(self.connection.source(), wire.clone()).map_err(|error| error.to_string()),
        }
    }

    fn changed(&self, wire: &WireTool) -> Reject {
        let namespace = &self.connection.source().namespace;
        let name = clean(&format!("{namespace}.{}", wire.name), MAX_SHOWN_NAME_CHARS);
        let reason = "it is no longer the tool that was approved; `toolcrib tools --changed` shows the difference, \
                      `toolcrib trust` approves it";
        Reject::tool(&*self.source, name, RejectKind::Changed, reason)
    }

    fn reject(&self, name: Option<&str>, kind: RejectKind, reason: &str) -> Reject {
        let name = name.map(|name| clean(name, MAX_SHOWN_NAME_CHARS));
        // It may quote what the server sent.
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
        if let Some(pins) = &source.pins
            && !pins.admit_server(source)
        {
            let reason = format!(
                "MCP server `{}` is not the one that was approved under `{}`: its command line or URL has changed, \
                 and it is not started; `toolcrib tools --changed` shows the difference, `toolcrib trust` approves it",
                source.target(),
                source.namespace
            );
            return LoadOutcome::failed(&*self.source, RejectKind::Changed, reason);
        }
        let manifest = || source.manifests.as_ref().and_then(|manifests| manifests.load(source));
        if source.lazy
            && !self.connection.is_open()
            && let Some(catalog) = manifest()
        {
            if catalog.server.ignores_discover {
                self.connection.expect_silence();
            }
            return self.convert(catalog);
        }
        match self.fetch().await {
            Ok(catalog) => {
                self.state().due = catalog.ttl.map(|ttl| Instant::now() + ttl.clamp(MIN_TTL, MAX_TTL));
                self.convert(catalog)
            }
            Err(broken) => {
                self.state().due = Some(self.connection.retry_at().unwrap_or(Instant::now() + MAX_BACKOFF));
                // Its tools are known, so that they are found, and what is wrong is told when one is called.
                let mut loaded = manifest().map(|catalog| self.convert(catalog)).unwrap_or_default();
                loaded.rejected.insert(0, self.reject(None, broken.kind, &broken.reason));
                loaded
            }
        }
    }

    async fn changed(&self) {
        let due = self.state().due;
        let due = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.connection.changed() => {}
            () = due => {}
        }
        self.state().due = None;
    }

    fn instructions(&self) -> Option<String> {
        self.state().server.instructions.clone()
    }

    fn about(&self) -> Option<String> {
        self.state().server.about.clone()
    }

    fn health(&self) -> Option<Result<&'static str, String>> {
        Some(self.connection.health())
    }
}
