//! The executor.

mod checks;
mod dry_run;
mod handle;
mod originals;
mod projection;
mod results;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, JsonObject, ResultNote, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Approvals, Authorized, Call, Consent, Policy};
use toolcrib_port::{Approver, CallContext, ToolCaller, ToolEngine};
use toolcrib_registry::{Entry, Snapshot, ToolRegistry};
use toolcrib_results::Results;
use tracing::Instrument as _;

pub use self::dry_run::DryRun;
use self::handle::ExecutorHandle;
use self::projection::projection_below;
use crate::approval::{ApprovalProcess, MAX_EDITS};
use crate::audit::{Audit, CallRecorder};
use crate::authorize::{CallState, ResolvedCall, authorize, exists_for, is_visible};
use crate::flow::{CallChain, FlowControl, ProcessCount, SharedRates, limited_as};
use crate::heartbeat::Heartbeat;
use crate::hooks::fault;
use crate::limits::{DEFAULT_APPROVAL_WAIT, MAX_APPROVAL_WAIT, MAX_DEADLINE, MIN_APPROVAL_WAIT, deadline_of};
use crate::{FlowSettings, Hook, OperatorHints, call_errors, hooks, invoke};

/// The executor: every call of a tool goes through it.
pub struct Executor {
    registry: Arc<ToolRegistry>,
    policy: Arc<Policy>,
    approver: Arc<dyn Approver>,
    approvals: Approvals,
    engines: RwLock<HashMap<String, Arc<dyn ToolEngine>>>,
    hooks: Vec<Arc<dyn Hook>>,
    approval_wait: Duration,
    flow: FlowControl,
    results: Arc<Results>,
    audit: Audit,
    renamed: Option<fn(&ToolCall) -> Option<ToolCall>>,
    hints: OperatorHints,
}

impl Executor {
    /// Creates an executor without engines.
    pub fn new(registry: Arc<ToolRegistry>, policy: Arc<Policy>, approver: Arc<dyn Approver>) -> Self {
        Self {
            registry,
            policy,
            approver,
            approvals: Approvals::new(),
            engines: RwLock::default(),
            hooks: Vec::new(),
            approval_wait: DEFAULT_APPROVAL_WAIT,
            flow: FlowControl::default(),
            results: Arc::default(),
            audit: Audit::default(),
            renamed: None,
            hints: OperatorHints::default(),
        }
    }

    /// Sets the time limit for a person's answer, between [`MIN_APPROVAL_WAIT`] and [`MAX_APPROVAL_WAIT`]; after it the
    /// call is denied. The default is [`DEFAULT_APPROVAL_WAIT`].
    pub fn with_approval_wait(mut self, wait: Duration) -> Self {
        self.approval_wait = wait.clamp(MIN_APPROVAL_WAIT, MAX_APPROVAL_WAIT);
        self
    }

    /// Sets the limits on concurrency, rate and time, and those of the result cache.
    pub fn with_flow(mut self, settings: FlowSettings) -> Self {
        self.flow = FlowControl::new(settings);
        self
    }

    /// Sets the store that counts the calls of exact rate limits, after [`with_flow`](Self::with_flow). Without it, this
    /// process counts them alone.
    pub fn with_shared_rates(mut self, rates: Arc<dyn SharedRates>) -> Self {
        self.flow = self.flow.with_shared_rates(rates);
        self
    }

    /// Returns the number of processes that share the rate limits. It is 1 until it is set.
    pub fn processes(&self) -> &ProcessCount {
        self.flow.processes()
    }

    /// Sets the processing of results. [`tools`](toolcrib_results::tools) must be given the same `results`.
    pub fn with_results(mut self, results: Arc<Results>) -> Self {
        self.results = results;
        self
    }

    /// Sets the audit log.
    pub fn with_audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// Accepts former names of tools: `renamed` returns the call to make instead of a call by a name that no tool has.
    pub fn with_earlier_names(mut self, renamed: fn(&ToolCall) -> Option<ToolCall>) -> Self {
        self.renamed = Some(renamed);
        self
    }

    /// Sets the advice to the operator in errors.
    pub fn with_operator_hints(mut self, hints: OperatorHints) -> Self {
        self.hints = hints;
        self
    }

    /// Adds a custom hook; hooks run in the order in which they were added.
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Adds the engine of a source.
    pub fn with_engine(self, source: impl Into<String>, engine: Arc<dyn ToolEngine>) -> Self {
        self.add_engine(source, engine);
        self
    }

    /// Adds the engine of a source, and tells it if there is a user to ask.
    pub fn add_engine(&self, source: impl Into<String>, engine: Arc<dyn ToolEngine>) {
        engine.set_has_user(self.approver.has_user());
        self.engines.write().insert(source.into(), engine);
    }

    /// Returns the registry that calls are resolved against.
    pub fn registry(&self) -> &Arc<ToolRegistry> {
        &self.registry
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Runs a call through the full pipeline. Returns exactly one result in every case.
    pub async fn call(self: &Arc<Self>, call: ToolCall, context: &CallContext) -> ToolResult {
        self.call_below(call, context, &CallChain::default()).await
    }

    /// Runs several calls concurrently, each through the full pipeline. All are authorized before any runs, and all
    /// approvals are requested together. Returns exactly one result for each, in the order of the calls.
    pub async fn call_all(self: &Arc<Self>, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        self.call_all_below(calls, context, &CallChain::default()).await
    }

    /// Returns the tools that the caller of this context may use.
    fn visible_tools(&self, context: &CallContext) -> Vec<Arc<Tool>> {
        let snapshot = self.snapshot_of(context);
        let entries = snapshot.iter().map(|entry| &entry.tool);
        entries.filter(|tool| is_visible(tool, &self.policy, context)).cloned().collect()
    }

    /// Returns the tools that a name means to the caller of this context.
    fn find_tools(&self, name: &str, context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let snapshot = self.snapshot_of(context);
        // A former name means the tool that a call by it runs.
        let ToolCall { name, .. } = self.current(ToolCall::new(name, JsonObject::new()));
        let exists = |tool: &Tool| exists_for(tool, &self.policy, context);
        let is_visible = |entry: &Entry| is_visible(&entry.tool, &self.policy, context);
        let found = snapshot.find_among(&name, &exists, &is_visible);
        let overloads = found.map_err(|error| ToolError::from(&error))?;
        Ok(overloads.iter().map(|entry| Arc::clone(&entry.tool)).collect())
    }

    /// Returns the tools of the session that a call belongs to.
    fn snapshot_of(&self, context: &CallContext) -> Arc<Snapshot> {
        self.registry.snapshot_of(&context.session)
    }

    /// Returns the call that a call by a former name means, or the call itself. Tools of a session have no former
    /// names.
    fn current(&self, call: ToolCall) -> ToolCall {
        match self.renamed.and_then(|renamed| renamed(&call)) {
            Some(renamed) if self.registry.snapshot().find(&call.name, |_| true).is_err() => renamed,
            _ => call,
        }
    }

    /// Returns this executor as a [`ToolCaller`] for code that calls tools. It does not keep the executor alive.
    pub fn tool_caller(self: &Arc<Self>) -> Arc<dyn ToolCaller> {
        self.handle(CallChain::default())
    }

    fn handle(self: &Arc<Self>, call_chain: CallChain) -> Arc<dyn ToolCaller> {
        let executor = Arc::downgrade(self);
        Arc::new(ExecutorHandle { executor, results: Arc::clone(&self.results), call_chain })
    }

    /// Removes the approvals and results of a session that has ended, and ends the engines' work for it.
    pub async fn end_session(&self, session: &str) {
        self.approvals.forget(session);
        self.results.forget(session);
        self.registry.end_session(session);
        let engines: Vec<_> = self.engines.read().values().cloned().collect();
        futures::future::join_all(engines.iter().map(|engine| engine.end_session(session))).await;
    }

    /// Closes all engines concurrently.
    pub async fn close(&self) {
        let engines = std::mem::take(&mut *self.engines.write());
        futures::future::join_all(engines.values().map(|engine| engine.close())).await;
    }

    async fn call_below(
        self: &Arc<Self>,
        call: ToolCall,
        context: &CallContext,
        above: &CallChain,
    ) -> ToolResult {
        let mut calls = [self.begin(call, context)];
        self.request_approvals(&mut calls, context).await;
        let [call] = calls;
        self.finish(call, context, above).await
    }

    async fn call_all_below(
        self: &Arc<Self>,
        calls: Vec<ToolCall>,
        context: &CallContext,
        above: &CallChain,
    ) -> Vec<ToolResult> {
        let mut calls: Vec<_> = calls.into_iter().map(|call| self.begin(call, context)).collect();
        self.request_approvals(&mut calls, context).await;
        let running = calls.into_iter().map(|call| self.finish(call, context, above));
        futures::future::join_all(running).await
    }

    fn begin(&self, call: ToolCall, context: &CallContext) -> CallInProgress {
        let started = Instant::now();
        let mut recorder = self.audit.begin(&call, context);
        let snapshot = self.snapshot_of(context);
        let ToolCall { name, arguments, call_id } = self.current(call);
        let mut resolved = authorize(&snapshot, &self.policy, &name, arguments, call_id.clone(), context);
        if let Err(error) = self.audit.check() {
            resolved.state = CallState::Failed(error);
        }
        match &resolved.state {
            CallState::Authorized(call) => recorder.set_call(call, call.decision(), resolved.repairs.len()),
            CallState::PendingApproval(asking) => {
                recorder.set_call(asking.call(), asking.decision(), resolved.repairs.len());
            }
            CallState::Failed(_) | CallState::Taken => {
                if let Some(entry) = &resolved.entry {
                    recorder.set_tool(entry, snapshot.generation());
                }
                if let Some((entry, decision)) = &resolved.denied {
                    recorder.set_tool(entry, snapshot.generation());
                    recorder.set_decision(decision);
                }
            }
        }
        CallInProgress { name, call_id, started, resolved, recorder }
    }

    /// Returns the reason why audit records are missing, if some could not be written.
    pub fn audit_problem(&self) -> Option<String> {
        self.audit.problem()
    }

    /// Runs the hooks and the engines' checks, then requests the necessary approvals.
    async fn request_approvals(&self, calls: &mut [CallInProgress], context: &CallContext) {
        self.check(calls.iter_mut().map(|call| &mut call.resolved), context).await;
        let mut rounds = 0;
        while calls.iter().any(CallInProgress::is_pending) && rounds <= MAX_EDITS {
            rounds += 1;
            self.ask(calls, context).await;
        }
        if rounds == 0 {
            return;
        }
        for call in calls.iter_mut().filter(|call| call.is_pending()) {
            let message = format!("hooks changed the arguments that the user wrote for `{}`", call.name);
            let error = ToolError::new(ErrorKind::ApprovalDenied, message);
            call.resolved.state = CallState::Failed(error.with_hint("the call did not run; tell the user"));
        }
        for call in calls {
            call.recorder.approval_ended();
            // Answers take time, and a refresh may have replaced the tool meanwhile, or an operator may have disabled it.
            if let (CallState::Authorized(_), Some(entry)) = (&call.resolved.state, &call.resolved.entry)
                && !(self.is_current(entry, context)
                    && self.policy.is_visible(&entry.tool, context.principal()))
            {
                let message =
                    format!("`{}` is not as it was when this call was made", entry.tool.name.shown());
                let error = ToolError::new(ErrorKind::ToolChanged, message);
                call.resolved.state = CallState::Failed(error.with_hint("look the tool up again"));
            }
        }
    }

    /// Runs the engines' checks of the calls that need approval, and requests it. The hooks then check the arguments that
    /// a person wrote; if they change them, the call needs approval again.
    async fn ask(&self, calls: &mut [CallInProgress], context: &CallContext) {
        self.check_engines(calls.iter_mut().map(|call| &mut call.resolved), context).await;
        let mut pending: Vec<_> = calls.iter_mut().filter(|call| call.is_pending()).collect();
        for call in &mut pending {
            call.recorder.approval_requested();
        }
        let asking = ApprovalProcess {
            approver: self.approver.as_ref(),
            approvals: &self.approvals,
            policy: &self.policy,
            time_limit: self.approval_wait,
        };
        asking.ask(pending.iter_mut().map(|call| &mut call.resolved), context).await;
        let asked = pending.into_iter().map(|call| &mut call.resolved);
        self.check(asked.filter(|resolved| resolved.is_edited()), context).await;
    }

    /// Returns the engine for the source of a call: one of the app, or one that the session of the call has added.
    fn engine(&self, call: &Call, context: &CallContext) -> Option<Arc<dyn ToolEngine>> {
        let engines = self.engines.read();
        let of_app = engines.get(&*call.source).cloned();
        of_app.or_else(|| self.registry.session_engine(&context.session, &call.source))
    }

    async fn finish(
        self: &Arc<Self>,
        call: CallInProgress,
        context: &CallContext,
        above: &CallChain,
    ) -> ToolResult {
        let CallInProgress { name, call_id, started, resolved, mut recorder } = call;
        let ResolvedCall { entry, repairs, state, hooks, .. } = resolved;
        recorder.add_hooks(hooks.records);
        let reported = || entry.as_ref().map_or_else(|| name.clone(), |entry| entry.tool.name.to_string());
        let outcome = match state {
            CallState::Authorized(authorized) => {
                let span = recorder.span().clone();
                match recorder.start_running(&authorized) {
                    Ok(()) => self.run(&authorized, context, above, &mut recorder).instrument(span).await,
                    Err(error) => Err(error),
                }
            }
            CallState::Failed(error) => Err(error),
            // Every approval is answered or has failed before this.
            CallState::PendingApproval(_) | CallState::Taken => Err(fault("the approval", &name)),
        };
        let mut result = outcome.unwrap_or_else(|error| ToolResult::failed(None, reported(), error));
        recorder.set_result(&result);
        result.call_id = call_id;
        if !hooks.changes.is_empty() {
            result.note(ResultNote::HookChanges(hooks.changes));
        }
        if !repairs.is_empty() {
            // A nested call may have repairs too.
            result.add_repairs(repairs.iter().filter_map(|repair| serde_json::to_value(repair).ok()));
        }
        let tool = entry.as_ref().map(|entry| &entry.tool);
        let result = self.project(result, tool, context).await;
        let mut result = self.results.shape(result, tool, context);
        if let Err(error) = self.results.save().await {
            result.note(ResultNote::Warning(format!(
                "only this process can read the rest of the result by its handle: {}",
                error.message
            )));
        }
        result.note(ResultNote::Took(started.elapsed()));
        recorder.finish(&result);
        result
    }

    /// Runs one call; `shown` is the call as its caller made it.
    async fn invoke(
        self: &Arc<Self>,
        call: &Authorized<Call>,
        shown: &Call,
        context: &CallContext,
        above: &CallChain,
        recorder: &mut CallRecorder,
    ) -> Result<ToolResult, ToolError> {
        let Some(engine) = self.engine(call, context) else {
            return Err(call_errors::no_engine(call, &self.hints));
        };
        let access = invoke::access_of(call)?;
        let started = Instant::now();
        let (source, tool) = limited_as(call);
        let own = deadline_of(tool, source, self.flow.settings());
        let outer = context.extended_deadline();
        let deadline = match (own.map(|duration| started + duration), outer) {
            (Some(own), Some(outer)) => Some(own.min(outer)),
            (own, outer) => own.or(outer),
        };
        if let Some(error) = invoke::too_late(call, context, deadline, started) {
            return Err(error);
        }
        // A call that only forwards another starts when that one does.
        let forwards = call.tool.forwarding().is_some();
        let journal = context.journal.as_ref().filter(|_| !forwards);
        if let Some(journal) = journal {
            journal.record_start().await?;
        }
        let attempt = |call_chain| {
            let mut inner = context.clone();
            inner.deadline = deadline;
            inner.phase = context.phase.child();
            inner.projection = projection_below(&call.tool, context);
            if !forwards {
                inner.phase.start();
                inner.journal = None;
            }
            inner.depth += 1;
            // What a tool calls, the host of a user interface has not asked for.
            inner.app_host = false;
            inner.access = access.clone();
            inner.trace = recorder.trace();
            inner.approver = Some(Arc::clone(&self.approver));
            inner.caller = Some(self.handle(call_chain));
            let heartbeat = own.filter(|_| engine.reports_progress()).map(|time_limit| {
                let latest = started + MAX_DEADLINE;
                let latest = outer.map_or(latest, |outer| outer.min(latest));
                self.heartbeat(&mut inner, time_limit, latest)
            });
            invoke::invoke(engine.as_ref(), call, inner, heartbeat, started)
        };
        let mut result = self.flow.run(call, context, above, deadline, engine.is_in_process(), attempt).await;
        if !self.hooks.is_empty() {
            self.results.redact(&mut result);
            let checked = hooks::after(&self.hooks, shown, result, context).await;
            recorder.add_hooks(checked.records);
            result = checked.result;
        }
        // A forwarded call has recorded its rule already.
        result.metadata.entry("rule").or_insert_with(|| call.decision().rule.to_string().into());
        result.metadata.entry("generation").or_insert_with(|| call.generation.into());
        if call.consent() == Consent::Edited {
            // The caller knows only the arguments that it sent.
            result.note(ResultNote::EditedArguments(shown.arguments.clone()));
        }
        Ok(result)
    }

    /// Puts a heartbeat between the engine and the progress listener of the call.
    fn heartbeat(&self, context: &mut CallContext, time_limit: Duration, latest: Instant) -> Arc<Heartbeat> {
        // A retry has the remaining time of the call.
        let first = context.deadline.unwrap_or(latest);
        let redactor = self.results.secrets().redactor();
        let heartbeat = Arc::new(Heartbeat::new(
            first,
            time_limit,
            latest,
            context.phase.clone(),
            context.progress.take(),
            redactor,
        ));
        context.progress = Some(heartbeat.clone());
        context.deadline = Some(latest);
        heartbeat
    }
}

impl CallInProgress {
    fn is_pending(&self) -> bool {
        matches!(self.resolved.state, CallState::PendingApproval(_))
    }
}

/// A call in progress, from its arrival to its result.
struct CallInProgress {
    /// The name as it was called.
    name: String,
    call_id: Option<String>,
    started: Instant,
    resolved: ResolvedCall,
    recorder: CallRecorder,
}
