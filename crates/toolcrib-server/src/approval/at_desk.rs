//! A tool caller for clients that can ask their user.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use toolcrib_model::{ToolCall, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};

use super::Desk;

/// The elicitation sessions of the running calls, by MCP session. An upstream server that asks in the middle of a call
/// does so on its connection, where no field names the call.
static DESKS: LazyLock<Mutex<Desks>> = LazyLock::new(Mutex::default);

/// The elicitation sessions of each MCP session.
type Desks = HashMap<Arc<str>, Vec<Weak<Desk>>>;

/// A caller that sends the questions of its calls to one elicitation session, regardless of the task that they run on.
pub(crate) struct AtDesk {
    entrance: Arc<dyn ToolCaller>,
    desk: Arc<Desk>,
    session: Arc<str>,
}

impl AtDesk {
    pub(crate) fn new(entrance: Arc<dyn ToolCaller>, desk: &Arc<Desk>, session: &Arc<str>) -> Self {
        let mut desks = DESKS.lock().unwrap_or_else(PoisonError::into_inner);
        desks.entry(Arc::clone(session)).or_default().push(Arc::downgrade(desk));
        Self { entrance, desk: Arc::clone(desk), session: Arc::clone(session) }
    }
}

impl Drop for AtDesk {
    fn drop(&mut self) {
        let mut desks = DESKS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_session) = desks.get_mut(&self.session) else { return };
        of_session.retain(|desk| !std::ptr::eq(desk.as_ptr(), Arc::as_ptr(&self.desk)));
        if of_session.is_empty() {
            desks.remove(&self.session);
        }
    }
}

/// Returns the elicitation session of a session's only running call. With several calls, the user of one must not
/// answer for another.
pub(super) fn only_desk_of(session: &str) -> Option<Arc<Desk>> {
    let desks = DESKS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut open = desks.get(session)?.iter().filter_map(Weak::upgrade).filter(|desk| !desk.is_left());
    let first = open.next()?;
    open.next().is_none().then_some(first)
}

#[async_trait]
impl ToolCaller for AtDesk {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        Arc::clone(&self.desk).serve(self.entrance.call(call, context)).await
    }

    async fn call_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        Arc::clone(&self.desk).serve(self.entrance.call_all(calls, context)).await
    }

    fn inner(&self) -> Option<&dyn ToolCaller> {
        Some(self.entrance.as_ref())
    }
}
