//! The way of a call from its name to its result.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call, Policy, Verdict};
use toolcrib_port::{Approver, CallContext, ToolCaller, ToolEngine};
use toolcrib_registry::{Entry, Snapshot, ToolRegistry};

use crate::{Limits, MAX_DEPTH, approve, bound, explain, invoke};

/// The one entrance to execution.
pub struct Executor {
    registry: Arc<ToolRegistry>,
    policy: Arc<Policy>,
    approver: Arc<dyn Approver>,
    engines: RwLock<HashMap<String, Arc<dyn ToolEngine>>>,
    limits: Limits,
}

impl Executor {
    /// An executor without engines.
    pub fn new(registry: Arc<ToolRegistry>, policy: Arc<Policy>, approver: Arc<dyn Approver>) -> Self {
        Self { registry, policy, approver, engines: RwLock::default(), limits: Limits::default() }
    }

    /// Sets the bounds.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds the engine of a source.
    pub fn with_engine(self, source: impl Into<String>, engine: Arc<dyn ToolEngine>) -> Self {
        self.add_engine(source, engine);
        self
    }

    /// Adds the engine of a source.
    pub fn add_engine(&self, source: impl Into<String>, engine: Arc<dyn ToolEngine>) {
        self.engines.write().unwrap_or_else(PoisonError::into_inner).insert(source.into(), engine);
    }

    /// The tools that calls are resolved against.
    pub fn registry(&self) -> &Arc<ToolRegistry> {
        &self.registry
    }

    /// The rules of the gate.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Runs a call through the whole gate. There is exactly one result, whatever happens.
    pub async fn call(self: &Arc<Self>, call: ToolCall, context: &CallContext) -> ToolResult {
        let started = tokio::time::Instant::now();
        let (name, call_id) = (call.name.clone(), call.call_id.clone());
        let span = tracing::info_span!("tools/call", tool = %name);
        let outcome = tracing::Instrument::instrument(self.run(call, context), span).await;
        let mut result = outcome.unwrap_or_else(|(name, error)| ToolResult::failed(None, name, error));
        result.call_id = call_id;
        if let Some(error) = &mut result.error {
            bound::bound_error(error);
        }
        result.metadata.insert("ms".into(), millis(started.elapsed()).into());
        match &result.error {
            None => tracing::info!(tool = %result.name, "ok"),
            Some(error) => tracing::info!(tool = %result.name, kind = %error.kind, "failed"),
        }
        result
    }

    /// This executor, as whatever calls tools sees it. It does not keep the executor alive.
    pub fn entrance(self: &Arc<Self>) -> Arc<dyn ToolCaller> {
        Arc::new(Entrance(Arc::downgrade(self)))
    }

    /// Closes all engines, side by side.
    pub async fn close(&self) {
        let engines = std::mem::take(&mut *self.engines.write().unwrap_or_else(PoisonError::into_inner));
        futures::future::join_all(engines.values().map(|engine| engine.close())).await;
    }

    /// An error comes with the name under which it is reported: the tool's once it is known, before that the caller's.
    async fn run(
        self: &Arc<Self>,
        call: ToolCall,
        context: &CallContext,
    ) -> Result<ToolResult, (String, ToolError)> {
        if context.depth >= MAX_DEPTH {
            let message = format!("calls are nested deeper than {MAX_DEPTH} levels");
            return Err((call.name, ToolError::new(ErrorKind::LimitReached, message)));
        }
        let snapshot = self.registry.snapshot();
        let call = self.resolve(&snapshot, call)?;
        let name = call.tool.name.to_string();
        let authorized = self.authorize(call, context).await.map_err(|error| (name.clone(), error))?;
        self.invoke(authorized, context).await.map_err(|error| (name, error))
    }

    fn is_visible(&self, entry: &Entry) -> bool {
        self.policy.is_visible(&entry.tool)
    }

    /// Finds the tool and checks the arguments. Tools that policy denies take no part in it.
    fn resolve(&self, snapshot: &Snapshot, call: ToolCall) -> Result<Call, (String, ToolError)> {
        let overloads = match snapshot.find(&call.name, |entry| self.is_visible(entry)) {
            Ok(overloads) => overloads,
            Err(error) => return Err((call.name, ToolError::from(&error))),
        };
        match overloads.validate(&call.arguments) {
            Ok(entry) => {
                let generation = snapshot.generation();
                let mut resolved = Call::new(Arc::clone(&entry.tool), Arc::clone(&entry.source), generation);
                resolved.arguments = call.arguments;
                resolved.call_id = call.call_id;
                Ok(resolved)
            }
            Err(Some(error)) => Err((error.nearest.tool.name.to_string(), explain::overload_error(&error))),
            Err(None) => {
                let message = format!("there is no tool `{}`", call.name);
                Err((call.name, ToolError::new(ErrorKind::UnknownTool, message)))
            }
        }
    }

    async fn authorize(&self, call: Call, context: &CallContext) -> Result<Authorized<Call>, ToolError> {
        match self.policy.authorize(call, &context.session) {
            Verdict::Granted(authorized) => Ok(authorized),
            Verdict::Denied(decision) => Err(explain::denied(&decision)),
            Verdict::Ask(pending) => {
                approve::ask(self.approver.as_ref(), *pending, self.limits.approval_wait, context).await
            }
        }
    }

    async fn invoke(
        self: &Arc<Self>,
        call: Authorized<Call>,
        context: &CallContext,
    ) -> Result<ToolResult, ToolError> {
        let engine =
            self.engines.read().unwrap_or_else(PoisonError::into_inner).get(call.source.as_ref()).cloned();
        let Some(engine) = engine else {
            let message = format!("`{}` has no engine to run it", call.tool.name.dotted());
            let hint =
                format!("its source is {}; set `engine:` there to one of `tools.engines`", call.source);
            return Err(ToolError::new(ErrorKind::Unavailable, message)
                .with_hint(hint)
                .with_retryable(false));
        };
        let mut inner = context.clone();
        inner.depth += 1;
        inner.caller = Some(self.entrance());
        let rule = call.decision().rule.clone();
        let generation = call.generation;
        let deadline = self.limits.deadline_of(&call.tool);
        let result = invoke::invoke(engine.as_ref(), call, inner, deadline).await;
        let mut result = bound::bound(result, self.limits.result_bytes);
        // A forwarded call has said already which rule let it through.
        result.metadata.entry("rule").or_insert_with(|| rule.into());
        result.metadata.entry("generation").or_insert_with(|| generation.into());
        Ok(result)
    }
}

struct Entrance(Weak<Executor>);

#[async_trait]
impl ToolCaller for Entrance {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        if let Some(executor) = self.0.upgrade() {
            executor.call(call, context).await
        } else {
            let error = ToolError::new(ErrorKind::Cancelled, "the runtime is shutting down");
            ToolResult::failed(call.call_id, call.name, error)
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
