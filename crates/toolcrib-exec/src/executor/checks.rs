//! Checks of calls before they run: the caller, the rules, the engines and the hooks.

use std::sync::Arc;

use toolcrib_model::{ErrorKind, ToolCall, ToolError};
use toolcrib_port::CallContext;
use toolcrib_registry::Entry;

use super::Executor;
use crate::check::check;
use crate::hooks;
use crate::judge::{Judged, State};

impl Executor {
    /// Refuses callers to whom every tool is denied.
    pub(super) fn admit(&self, context: &CallContext) -> Result<(), ToolError> {
        if self.policy.admits(context.principal()) {
            return Ok(());
        }
        let message = "the client that this was started for is not one of the app any more";
        Err(ToolError::new(ErrorKind::Denied, message)
            .with_hint("add the client to `serve.tokens` or `serve.oauth.clients`, or cancel the task"))
    }

    /// Returns the error that a call would end with before it runs, as the tools and the rules are now.
    pub(super) fn check_call(&self, call: &ToolCall, context: &CallContext) -> Result<(), ToolError> {
        let snapshot = self.snapshot_of(context);
        let ToolCall { name, arguments, .. } = self.current(call.clone());
        check(&snapshot, &self.policy, &name, arguments, context)
    }

    /// Lets engines refuse calls that they would not run, so that no person is asked about them.
    pub(super) async fn check_engines(
        &self,
        calls: impl Iterator<Item = &mut Judged>,
        context: &CallContext,
    ) {
        let asking = calls.filter(|judged| matches!(judged.state, State::Ask(_)));
        let checking = asking.map(async |judged| {
            let Some(call) = judged.call() else { return };
            let Some(engine) = self.engine(call, context) else { return };
            if let Err(error) = hooks::check(engine.as_ref(), call, context).await {
                judged.state = State::Failed(error);
            }
        });
        futures::future::join_all(checking).await;
    }

    /// Runs the hooks for all calls concurrently.
    pub(super) async fn check(&self, calls: impl Iterator<Item = &mut Judged>, context: &CallContext) {
        if self.hooks.is_empty() {
            return;
        }
        let checking = calls.map(async |judged| {
            let Some(call) = judged.call() else { return };
            if let Err(error) = hooks::before(&self.hooks, call, context).await {
                judged.state = State::Failed(error);
            }
        });
        futures::future::join_all(checking).await;
    }

    pub(super) fn is_current(&self, entry: &Arc<Entry>, context: &CallContext) -> bool {
        let snapshot = self.snapshot_of(context);
        let overloads = snapshot.get(&entry.tool.name);
        overloads.is_some_and(|overloads| {
            overloads.iter().any(|now| {
                Arc::ptr_eq(now, entry)
                    || now.fingerprint == entry.fingerprint
                        && now.source == entry.source
                        && now.tool == entry.tool
            })
        })
    }
}
