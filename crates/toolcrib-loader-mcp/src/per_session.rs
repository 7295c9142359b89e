//! A server for each session, where servers hold what belongs to one.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{Approver, CallContext, ToolEngine};

use crate::{McpConnection, McpEngine};

/// How many sessions have a server of a source at once, unless the source says otherwise.
pub const DEFAULT_SESSION_SERVERS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// The server of a session that has called nothing for so long may have to make room for that of another one.
pub const SESSION_IDLE_TIME: Duration = Duration::from_mins(10);

/// Calls the tools of a source in a server that is the session's own: it is started by the first call of the session, and ends
/// with it.
pub struct SessionEngines {
    /// What the tools were loaded from. No call goes there.
    loaded: McpConnection,
    most: NonZeroUsize,
    /// Whom to ask what a server wants to know from the user.
    approver: OnceLock<Arc<dyn Approver>>,
    /// By session; nothing once it is closed.
    own: Mutex<Option<Own>>,
}

type Own = BTreeMap<Arc<str>, Served>;

struct Served {
    engine: Arc<McpEngine>,
    /// When its last call began, or ended.
    used: Instant,
}

impl Served {
    /// Whether it can go without a call noticing. One that somebody else holds is in a call.
    fn is_free(&self) -> bool {
        Arc::strong_count(&self.engine) == 1
    }
}

impl SessionEngines {
    /// The engines for the tools that are loaded over this connection, for so many sessions at once.
    pub fn new(loaded: McpConnection, most: NonZeroUsize) -> Self {
        Self { loaded, most, approver: OnceLock::new(), own: Mutex::new(Some(Own::new())) }
    }

    fn own(&self) -> MutexGuard<'_, Option<Own>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine of a session, and what makes room for it.
    fn engine(&self, session: &Arc<str>) -> Result<(Arc<McpEngine>, Own), ToolError> {
        let target = || self.loaded.source().target();
        let closed = || unavailable(format!("MCP server `{}` is closed", target()));
        let mut own = self.own();
        let own = own.as_mut().ok_or_else(closed)?;
        if let Some(served) = own.get_mut(session) {
            served.used = Instant::now();
            return Ok((Arc::clone(&served.engine), Own::new()));
        }
        let mut leaving = Own::new();
        if own.len() >= self.most.get() {
            leaving = make_room(own);
        }
        if own.len() >= self.most.get() {
            let message = format!(
                "{} sessions have an MCP server `{}` of their own, and no more are started",
                self.most,
                target()
            );
            return Err(unavailable(message).with_hint("do without the tool, or try again later"));
        }
        let engine = McpEngine::new(self.loaded.another());
        if let Some(approver) = self.approver.get() {
            engine.attend(approver);
        }
        let engine = Arc::new(engine);
        own.insert(Arc::clone(session), Served { engine: Arc::clone(&engine), used: Instant::now() });
        Ok((engine, leaving))
    }
}

/// Takes out those whose server does not run, or else the one that has been idle for longest.
fn make_room(own: &mut Own) -> Own {
    let dead: Own = own.extract_if(.., |_, served| served.is_free() && !served.engine.is_open()).collect();
    if !dead.is_empty() {
        return dead;
    }
    let idle =
        own.iter().filter(|(_, served)| served.is_free() && served.used.elapsed() >= SESSION_IDLE_TIME);
    let oldest = idle.min_by_key(|(_, served)| served.used).map(|(session, _)| Arc::clone(session));
    oldest.and_then(|session| own.remove_entry(&session)).into_iter().collect()
}

#[async_trait]
impl ToolEngine for SessionEngines {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let (engine, leaving) = match self.engine(&context.session) {
            Ok(found) => found,
            Err(error) => return call.failed(error),
        };
        let (result, ()) = tokio::join!(engine.invoke(call, context), close(leaving));
        drop(engine);
        if let Some(served) = self.own().as_mut().and_then(|own| own.get_mut(&context.session)) {
            served.used = Instant::now();
        }
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
