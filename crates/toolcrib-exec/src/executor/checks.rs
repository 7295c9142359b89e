//! Checks of calls before they run: the caller, the rules, the engines and the hooks.

use std::sync::Arc;

use tokio::sync::watch;
use toolcrib_model::{ErrorKind, Tool, ToolCall, ToolError, ToolTraits};
use toolcrib_port::CallContext;
use toolcrib_registry::Entry;

use super::{DryRun, Executor};
use crate::authorize::{CallState, ResolvedCall, authorize, reaches_only};
use crate::deferred_check::check;
use crate::hooks;

impl Executor {
    /// Returns true if a call is read-only: its tool has low risk and no side effects, and if it forwards calls, the
    /// same holds for them.
    pub fn only_reads(&self, call: &ToolCall, context: &CallContext) -> bool {
        reaches_only(ToolTraits::is_read_only, &self.snapshot_of(context), &self.policy, call, context)
    }

    /// Returns true if a call may safely be repeated: it is read-only, or its tool declares itself idempotent, and if
    /// it forwards calls, the same holds for them.
    pub fn may_repeat(&self, call: &ToolCall, context: &CallContext) -> bool {
        reaches_only(ToolTraits::may_repeat, &self.snapshot_of(context), &self.policy, call, context)
    }

    /// Refuses callers to whom every tool is denied.
    pub(super) fn admit(&self, context: &CallContext) -> Result<(), ToolError> {
        if self.policy.admits(context.principal()) {
            return Ok(());
        }
        let message = "the client that this was started for is no longer a client of the app";
        let hint = [self.hints.unknown_client, Some("cancel the task")];
        let hint = hint.into_iter().flatten().collect::<Vec<_>>().join(", or ");
        Err(ToolError::new(ErrorKind::Denied, message).with_hint(hint))
    }

    /// Returns the error that a call would end with before it runs, under the current tools and rules.
    pub(super) fn check_call(&self, call: &ToolCall, context: &CallContext) -> Result<(), ToolError> {
        let snapshot = self.snapshot_of(context);
        let ToolCall { name, arguments, .. } = self.current(call.clone());
        check(&snapshot, &self.policy, &name, arguments, context)
    }

    /// Returns true if a call may run without approval, under the current tools and rules.
    pub fn may_run(&self, call: &ToolCall, context: &CallContext) -> bool {
        let snapshot = self.snapshot_of(context);
        let ToolCall { name, arguments, .. } = self.current(call.clone());
        let resolved = authorize(&snapshot, &self.policy, &name, arguments, None, context);
        self.admit(context).is_ok() && matches!(resolved.state, CallState::Authorized(_))
    }

    /// Resolves, validates and decides a call under the current tools and rules, without making it.
    pub fn dry_run(&self, call: ToolCall, context: &CallContext) -> DryRun {
        let snapshot = self.snapshot_of(context);
        let ToolCall { name, arguments, .. } = self.current(call);
        DryRun::new(authorize(&snapshot, &self.policy, &name, arguments, None, context))
    }

    /// Subscribes to changes of what a call that reads returns; `None` if its source does not announce any. Only a call
    /// that needs no approval can be watched.
    ///
    /// # Errors
    ///
    /// Returns the error that the call would end with before it runs, or the error of the source.
    pub async fn watch(
        &self,
        call: ToolCall,
        context: &CallContext,
    ) -> Result<Option<watch::Receiver<u64>>, ToolError> {
        self.admit(context)?;
        let snapshot = self.snapshot_of(context);
        let ToolCall { name, arguments, .. } = self.current(call);
        let resolved = authorize(&snapshot, &self.policy, &name, arguments, None, context);
        match resolved.state {
            CallState::Authorized(call) => match self.engine(&call, context) {
                Some(engine) => engine.watch(&call, context).await,
                None => Ok(None),
            },
            CallState::Failed(error) => Err(error),
            CallState::PendingApproval(_) | CallState::Taken => {
                let message = "a person approves each time that it is read, so changes are not announced";
                Err(ToolError::new(ErrorKind::Denied, message))
            }
        }
    }

    /// Runs the checks of the engines, so that no approval is requested for a call that an engine would refuse.
    pub(super) async fn check_engines(
        &self,
        calls: impl Iterator<Item = &mut ResolvedCall>,
        context: &CallContext,
    ) {
        let asking = calls.filter(|resolved| matches!(resolved.state, CallState::PendingApproval(_)));
        let checking = asking.map(async |resolved| {
            let Some(call) = resolved.call() else { return };
            // The engine knows the original tool.
            let call = call.originals.first().unwrap_or(call);
            let Some(engine) = self.engine(call, context) else { return };
            if let Err(error) = hooks::check(engine.as_ref(), call, context).await {
                resolved.state = CallState::Failed(error);
            }
        });
        futures::future::join_all(checking).await;
    }

    /// Runs the hooks for all calls concurrently.
    pub(super) async fn check(&self, calls: impl Iterator<Item = &mut ResolvedCall>, context: &CallContext) {
        if self.hooks.is_empty() {
            return;
        }
        let checking = calls.map(async |resolved| {
            let Some(call) = resolved.call() else { return };
            let tool = call.tool.name.shown();
            let checks = self.run_hooks(resolved, context);
            if let Err(error) = hooks::within_time(checks, &tool, context).await {
                resolved.state = CallState::Failed(error);
            }
        });
        futures::future::join_all(checking).await;
    }

    /// Runs the hooks for one call, in order, and applies each verdict before the next hook.
    async fn run_hooks(&self, resolved: &mut ResolvedCall, context: &CallContext) -> Result<(), ToolError> {
        for hook in &self.hooks {
            let Some(call) = resolved.call() else { return Ok(()) };
            if !hook.applies_to(&call.tool) {
                continue;
            }
            match hooks::before(hook.as_ref(), call, context).await {
                Ok(verdict) => hooks::apply(resolved, hook.name(), verdict, &self.policy, context)?,
                Err(error) => {
                    let (tool, name) = (call.tool.name.shown(), hook.name());
                    hooks::record_failure(resolved, name);
                    if !hook.fails_open() {
                        return Err(error);
                    }
                    tracing::warn!(hook = name, tool = %tool, %error, "a hook failed; the call is not checked");
                }
            }
        }
        Ok(())
    }

    /// Returns the names of the hooks that check the calls of a tool, in their order.
    pub fn hooks_of<'a>(&'a self, tool: &'a Tool) -> impl Iterator<Item = &'a str> {
        self.hooks.iter().filter(|hook| hook.applies_to(tool)).map(|hook| hook.name())
    }

    /// Returns the names of the hooks that apply to none of these tools.
    pub fn unused_hooks<'a>(&'a self, tools: &'a [&'a Tool]) -> impl Iterator<Item = &'a str> {
        let unused = self.hooks.iter().filter(|hook| !tools.iter().any(|tool| hook.applies_to(tool)));
        unused.map(|hook| hook.name())
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
