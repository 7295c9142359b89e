//! A server for each session, where servers hold what belongs to one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{Approver, CallContext, ToolEngine};

use crate::{McpConnection, McpEngine};

/// How many sessions have a server of a source at once.
pub const MAX_SESSION_SERVERS: usize = 16;

/// The server of a session that has called nothing for so long makes room for that of another one.
pub const SESSION_IDLE_TIME: Duration = Duration::from_mins(30);

/// Calls the tools of a source in a server that is the session's own: it is started by the first call of the session, and ends
/// with it.
pub struct SessionEngines {
    /// What the tools were loaded from. No call goes there.
    loaded: McpConnection,
    /// Whom to ask what a server wants to know from the user.
    approver: OnceLock<Arc<dyn Approver>>,
    /// By session; nothing once it is closed.
    own: Mutex<Option<Own>>,
}

type Own = BTreeMap<Arc<str>, Served>;

struct Served {
    engine: Arc<McpEngine>,
    used: Instant,
}

impl SessionEngines {
    /// The engines for the tools that are loaded over this connection.
    pub fn new(loaded: McpConnection) -> Self {
        Self { loaded, approver: OnceLock::new(), own: Mutex::new(Some(Own::new())) }
    }

    fn own(&self) -> MutexGuard<'_, Option<Own>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine of a session. Those that make room for it are returned with it.
    fn engine(&self, session: &Arc<str>) -> Result<(Arc<McpEngine>, Own), ToolError> {
        let mut own = self.own();
        let target = self.loaded.source().target();
        let own = own.as_mut().ok_or_else(|| unavailable(format!("MCP server `{target}` is closed")))?;
        if let Some(served) = own.get_mut(session) {
            served.used = Instant::now();
            return Ok((Arc::clone(&served.engine), Own::new()));
        }
        let mut idle = Own::new();
        if own.len() >= MAX_SESSION_SERVERS {
            // One that somebody holds is in a call.
            idle = own
                .extract_if(.., |_, served| {
                    Arc::strong_count(&served.engine) == 1 && served.used.elapsed() >= SESSION_IDLE_TIME
                })
                .collect();
        }
        if own.len() >= MAX_SESSION_SERVERS {
            let message = format!(
                "{MAX_SESSION_SERVERS} sessions have an MCP server `{target}` of their own, and no more are started"
            );
            return Err(unavailable(message).with_hint("do without the tool, or try again later"));
        }
        let engine = McpEngine::new(self.loaded.another());
        if let Some(approver) = self.approver.get() {
            engine.attend(approver);
        }
        let engine = Arc::new(engine);
        own.insert(Arc::clone(session), Served { engine: Arc::clone(&engine), used: Instant::now() });
        Ok((engine, idle))
    }
}

#[async_trait]
impl ToolEngine for SessionEngines {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let (engine, idle) = match self.engine(&context.session) {
            Ok(found) => found,
            Err(error) => return call.failed(error),
        };
        close(idle).await;
        let result = engine.invoke(call, context).await;
        if result.error.as_ref().is_some_and(|error| error.kind == ErrorKind::ToolChanged) {
            self.loaded.ask_for_load();
        }
        result
    }

    fn reports_progress(&self) -> bool {
        true
    }

    fn attend(&self, approver: &Arc<dyn Approver>) {
        self.approver.get_or_init(|| Arc::clone(approver));
    }

    async fn end_session(&self, session: &str) {
        let served = self.own().as_mut().and_then(|own| own.remove(session));
        if let Some(served) = served {
            served.engine.close().await;
        }
    }

    async fn close(&self) {
        let own = self.own().take().unwrap_or_default();
        tokio::join!(close(own), self.loaded.close());
    }
}

async fn close(own: Own) {
    join_all(own.values().map(|served| served.engine.close())).await;
}

fn unavailable(message: String) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, message)
}
