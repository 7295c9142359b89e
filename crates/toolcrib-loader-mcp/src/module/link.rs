//! A session's connection to a server, and the engine for the tools of that server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

use super::ExternalResult;
use super::servers::{IDLE_TIME, Servers};
use crate::{McpConnection, McpEngine, McpSource};

/// A connection to a server.
pub(super) struct Link {
    pub(super) connection: McpConnection,
    pub(super) engine: McpEngine,
    /// The source name of its tools. It is unique, so that an approval for this connection does not apply to another.
    pub(super) source: Arc<str>,
    used: Mutex<Instant>,
}

impl Link {
    pub(super) fn new(source: McpSource) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("mcp {} (connection {number})", source.namespace);
        let connection = McpConnection::new(source);
        let engine = McpEngine::new(connection.clone());
        Self { connection, engine, source: name.into(), used: Mutex::new(Instant::now()) }
    }

    pub(super) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    pub(super) fn is_idle(&self) -> bool {
        self.used.lock().elapsed() >= IDLE_TIME
    }
}

/// An engine for the tools of a server in a session.
pub(super) struct LinkEngine {
    pub(super) link: Arc<Link>,
    pub(super) servers: Weak<Servers>,
    /// The session, and its name for the server.
    pub(super) key: (Arc<str>, String),
}

impl LinkEngine {
    /// Adds a hint to an error after which the tools are outdated. If the server cannot be reached any more, they are
    /// removed.
    async fn with_reconnect_hint(&self, error: ToolError) -> ToolError {
        if self.link.connection.has_failed() {
            if let Some(servers) = self.servers.upgrade() {
                servers.disconnect_failed(&self.key, &self.link).await;
            }
            let hint = format!("`{}` is disconnected; `mcp.connect` connects to it again", self.key.1);
            return error.with_hint(hint).with_retryable(false);
        }
        if error.kind == ErrorKind::ToolChanged {
            let hint =
                format!("disconnect `{}` and connect to it again to get its current tools", self.key.1);
            return error.with_hint(hint);
        }
        error
    }
}

#[async_trait]
impl ToolEngine for LinkEngine {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        self.link.touch();
        let mut result = self.link.engine.invoke(call, context).await;
        match result.error.take() {
            Some(error) => result.error = Some(self.with_reconnect_hint(error).await),
            None => result.result = json!(ExternalResult::new(&self.key.1, result.result)),
        }
        result
    }

    fn reports_progress(&self) -> bool {
        true
    }
}
