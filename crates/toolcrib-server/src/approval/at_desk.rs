//! The entrance for the calls of a client that can ask its user.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use toolcrib_model::{ToolCall, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};

use super::Desk;

/// The desks of the calls that run, by the sessions of these. A server behind us that asks in the middle of a call does so on
/// its own connection, where nothing else says which call it is for.
static DESKS: LazyLock<Mutex<Desks>> = LazyLock::new(Mutex::default);

/// Those of each session.
type Desks = HashMap<Arc<str>, Vec<Weak<Desk>>>;

/// An entrance that has the questions of its calls put at one desk, on whichever task they run.
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

/// The desk of the only call of a session. Of several, one user must not answer for another's.
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
