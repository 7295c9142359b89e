//! A tool caller for clients that can ask their user.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use toolcrib_model::{ToolCall, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};

use super::ElicitationSession;

/// The elicitation sessions of the running calls, by MCP session. An upstream server that asks in the middle of a call
/// does so on its connection, where no field names the call.
static ELICITATION_SESSIONS: LazyLock<Mutex<SessionMap>> = LazyLock::new(Mutex::default);

/// The elicitation sessions of each MCP session.
type SessionMap = HashMap<Arc<str>, Vec<Weak<ElicitationSession>>>;

/// A caller that sends the questions of its calls to one elicitation session, regardless of the task that they run on.
pub(crate) struct ElicitingCaller {
    inner: Arc<dyn ToolCaller>,
    elicitation: Arc<ElicitationSession>,
    session: Arc<str>,
}

impl ElicitingCaller {
    pub(crate) fn new(
        inner: Arc<dyn ToolCaller>,
        elicitation: &Arc<ElicitationSession>,
        session: &Arc<str>,
    ) -> Self {
        let mut sessions = ELICITATION_SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.entry(Arc::clone(session)).or_default().push(Arc::downgrade(elicitation));
        Self { inner, elicitation: Arc::clone(elicitation), session: Arc::clone(session) }
    }
}

impl Drop for ElicitingCaller {
    fn drop(&mut self) {
        let mut sessions = ELICITATION_SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_session) = sessions.get_mut(&self.session) else { return };
        of_session.retain(|elicitation| !std::ptr::eq(elicitation.as_ptr(), Arc::as_ptr(&self.elicitation)));
        if of_session.is_empty() {
            sessions.remove(&self.session);
        }
    }
}

/// Returns the elicitation session of a session's only running call. With several calls, the user of one must not
/// answer for another.
pub(super) fn only_elicitation_of(session: &str) -> Option<Arc<ElicitationSession>> {
    let sessions = ELICITATION_SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut open = sessions
        .get(session)?
        .iter()
        .filter_map(Weak::upgrade)
        .filter(|elicitation| !elicitation.is_abandoned());
    let first = open.next()?;
    open.next().is_none().then_some(first)
}

#[async_trait]
impl ToolCaller for ElicitingCaller {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        Arc::clone(&self.elicitation).serve(self.inner.call(call, context)).await
    }

    async fn call_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        Arc::clone(&self.elicitation).serve(self.inner.call_all(calls, context)).await
    }

    fn inner(&self) -> Option<&dyn ToolCaller> {
        Some(self.inner.as_ref())
    }
}
