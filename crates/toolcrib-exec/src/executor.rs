//! The one entrance to execution.

mod checks;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Approvals, Authorized, Call, Consent, Policy};
use toolcrib_port::{Approver, CallContext, Media, ToolCaller, ToolEngine};
use toolcrib_registry::{Snapshot, ToolRegistry};
use tracing::Instrument as _;

use crate::approve::Asking;
use crate::audit::{Audit, Pending};
use crate::flow::{limited_as, milliseconds};
use crate::heartbeat::Heartbeat;
use crate::hooks::fault;
use crate::judge::{Judged, State, judge, may_repeat, only_reads};
use crate::liberal::Forwards;
use crate::limits::{MAX_DEADLINE, deadline_of};
use crate::{
    DEFAULT_APPROVAL_WAIT, Flow, FlowSettings, Hook, Lineage, MAX_APPROVAL_WAIT, MIN_APPROVAL_WAIT, Results,
    explain, hooks, invoke,
};

/// The one entrance to execution.
pub struct Executor {
    registry: Arc<ToolRegistry>,
    policy: Arc<Policy>,
    approver: Arc<dyn Approver>,
    approvals: Approvals,
    engines: RwLock<HashMap<String, Arc<dyn ToolEngine>>>,
    hooks: Vec<Arc<dyn Hook>>,
    approval_wait: Duration,
    flow: Flow,
    results: Arc<Results>,
    audit: Audit,
    renamed: Option<fn(&ToolCall) -> Option<ToolCall>>,
}

impl Executor {
    /// An executor without engines.
    pub fn new(registry: Arc<ToolRegistry>, policy: Arc<Policy>, approver: Arc<dyn Approver>) -> Self {
        Self {
            registry,
            policy,
            approver,
            approvals: Approvals::new(),
            engines: RwLock::default(),
            hooks: Vec::new(),
            approval_wait: DEFAULT_APPROVAL_WAIT,
            flow: Flow::default(),
            results: Arc::default(),
            audit: Audit::default(),
            renamed: None,
        }
    }

    /// Sets how long a person may take to answer, between [`MIN_APPROVAL_WAIT`] and [`MAX_APPROVAL_WAIT`]; after that the
    /// call is denied. [`DEFAULT_APPROVAL_WAIT`] when it is not set.
    pub fn with_approval_wait(mut self, wait: Duration) -> Self {
        self.approval_wait = wait.clamp(MIN_APPROVAL_WAIT, MAX_APPROVAL_WAIT);
        self
    }

    /// Sets how much may run at once, how often, for how long, and for how long it is kept.
    pub fn with_flow(mut self, settings: FlowSettings) -> Self {
        self.flow = Flow::new(settings);
        self
    }

    /// Sets what becomes of results. What [`result_tools`](crate::result_tools) reads has to be the same.
    pub fn with_results(mut self, results: Arc<Results>) -> Self {
        self.results = results;
        self
    }

    /// Sets where records of calls go.
    pub fn with_audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// Accepts names that tools had before: a call by a name that nothing has is made as the call that this gives for it.
    pub fn with_earlier_names(mut self, renamed: fn(&ToolCall) -> Option<ToolCall>) -> Self {
        self.renamed = Some(renamed);
        self
    }

    /// Adds a check of one's own; hooks run in the order in which they were added.
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Adds the engine of a source.
    pub fn with_engine(self, source: impl Into<String>, engine: Arc<dyn ToolEngine>) -> Self {
        self.add_engine(source, engine);
        self
    }

    /// Adds the engine of a source, and tells it whom to ask.
    pub fn add_engine(&self, source: impl Into<String>, engine: Arc<dyn ToolEngine>) {
        engine.attend(&self.approver);
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
        self.call_below(call, context, &Lineage::default()).await
    }

    /// Runs several calls side by side, each through the whole gate. All are judged before any runs, and what needs an
    /// answer is asked together. There is exactly one result for each, in the order of the calls.
    pub async fn call_all(self: &Arc<Self>, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        self.call_all_below(calls, context, &Lineage::default()).await
    }

    /// Whether a call only looks: its tool is of low risk and without side effects, and where it forwards calls, so are
    /// theirs.
    pub fn only_reads(&self, call: &ToolCall, context: &CallContext) -> bool {
        only_reads(&self.snapshot_of(context), &self.policy, &call.name, &call.arguments, context)
    }

    /// Whether a call does no harm when it is made a second time: it only looks, or its tool declares itself idempotent, and
    /// where it forwards calls, so do theirs.
    pub fn may_repeat(&self, call: &ToolCall, context: &CallContext) -> bool {
        may_repeat(&self.snapshot_of(context), &self.policy, &call.name, &call.arguments, context)
    }

    /// The tools that the caller of this context may use.
    fn visible_tools(&self, context: &CallContext) -> Vec<Arc<Tool>> {
        let (snapshot, principal) = (self.snapshot_of(context), context.principal());
        let entries = snapshot.iter().map(|entry| &entry.tool);
        entries.filter(|tool| self.policy.is_visible(tool, principal)).cloned().collect()
    }

    /// The tools that a name means to that caller.
    fn find_tools(&self, name: &str, context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let (snapshot, principal) = (self.snapshot_of(context), context.principal());
        // A former name means the tool that a call by it would run.
        let ToolCall { name, .. } = self.current(ToolCall::new(name, JsonObject::new()));
        let found = snapshot.find(&name, |entry| self.policy.is_visible(&entry.tool, principal));
        let overloads = found.map_err(|error| ToolError::from(&error))?;
        Ok(overloads.iter().map(|entry| Arc::clone(&entry.tool)).collect())
    }

    /// Returns the tools of the session that a call belongs to.
    fn snapshot_of(&self, context: &CallContext) -> Arc<Snapshot> {
        self.registry.snapshot_of(&context.session)
    }

    /// Returns the call that a call by a former name means, or the call itself. What a session adds takes no former names.
    fn current(&self, call: ToolCall) -> ToolCall {
        match self.renamed.and_then(|renamed| renamed(&call)) {
            Some(renamed) if self.registry.snapshot().find(&call.name, |_| true).is_err() => renamed,
            _ => call,
        }
    }

    /// This executor, as whatever calls tools sees it. It does not keep the executor alive.
    pub fn entrance(self: &Arc<Self>) -> Arc<dyn ToolCaller> {
        Arc::new(Entrance { executor: Arc::downgrade(self), lineage: Lineage::default() })
    }

    /// Shapes a result for a model, such as one that a program got whole; see [`Results::shape`].
    pub fn shape(&self, result: ToolResult, tool: Option<&Arc<Tool>>, context: &CallContext) -> ToolResult {
        self.results.shape(result, tool, context)
    }

    /// Keeps the results of a session in this folder too; see [`Results::keep_in`].
    pub fn keep_results_in(&self, session: &str, folder: &Path) -> io::Result<()> {
        self.results.keep_in(session, folder)
    }

    /// Forgets what was approved and kept for a session that nobody goes on with, and ends what engines have running for it.
    pub async fn end_session(&self, session: &str) {
        self.approvals.forget(session);
        self.results.forget(session);
        self.registry.end_session(session);
        let engines: Vec<_> =
            self.engines.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        futures::future::join_all(engines.iter().map(|engine| engine.end_session(session))).await;
    }

    /// Closes all engines, side by side.
    pub async fn close(&self) {
        let engines = std::mem::take(&mut *self.engines.write().unwrap_or_else(PoisonError::into_inner));
        futures::future::join_all(engines.values().map(|engine| engine.close())).await;
    }

    async fn call_below(
        self: &Arc<Self>,
        call: ToolCall,
        context: &CallContext,
        above: &Lineage,
    ) -> ToolResult {
        let mut on_its_way = [self.begin(call, context)];
        self.ask(&mut on_its_way, context).await;
        let [call] = on_its_way;
        self.finish(call, context, above).await
    }

    async fn call_all_below(
        self: &Arc<Self>,
        calls: Vec<ToolCall>,
        context: &CallContext,
        above: &Lineage,
    ) -> Vec<ToolResult> {
        let mut on_their_way: Vec<_> = calls.into_iter().map(|call| self.begin(call, context)).collect();
        self.ask(&mut on_their_way, context).await;
        let running = on_their_way.into_iter().map(|call| self.finish(call, context, above));
        futures::future::join_all(running).await
    }

    fn begin(&self, call: ToolCall, context: &CallContext) -> OnItsWay {
        let started = Instant::now();
        let mut pending = self.audit.begin(&call, context);
        let snapshot = self.snapshot_of(context);
        let ToolCall { name, arguments, call_id } = self.current(call);
        let mut judged = judge(&snapshot, &self.policy, &name, arguments, call_id.clone(), context);
        if let Err(error) = self.audit.check() {
            judged.state = State::Failed(error);
        }
        match &judged.state {
            State::Ready(call) => pending.judged(call, call.decision(), judged.repairs.len()),
            State::Ask(asking) => pending.judged(asking.call(), asking.decision(), judged.repairs.len()),
            State::Failed(_) | State::Taken => {
                if let Some(entry) = &judged.entry {
                    pending.found(entry, snapshot.generation());
                }
                if let Some((entry, decision)) = &judged.denied {
                    pending.found(entry, snapshot.generation());
                    pending.decided(decision);
                }
            }
        }
        OnItsWay { name, call_id, started, judged, pending }
    }

    /// Returns why records of calls are missing, if some could not be written.
    pub fn audit_problem(&self) -> Option<String> {
        self.audit.problem()
    }

    /// Runs the checks of one's own and those of engines, then asks about what needs an answer.
    async fn ask(&self, calls: &mut [OnItsWay], context: &CallContext) {
        self.check(calls.iter_mut().map(|call| &mut call.judged), context).await;
        self.check_engines(calls.iter_mut().map(|call| &mut call.judged), context).await;
        if calls.iter().all(|call| !matches!(call.judged.state, State::Ask(_))) {
            return;
        }
        for call in calls.iter_mut().filter(|call| matches!(call.judged.state, State::Ask(_))) {
            call.pending.asking();
        }
        let asking = Asking {
            approver: self.approver.as_ref(),
            approvals: &self.approvals,
            policy: &self.policy,
            patience: self.approval_wait,
        };
        asking.ask(calls.iter_mut().map(|call| &mut call.judged), context).await;
        // What a person wrote is known to the checks no more than to the policy.
        let edited = calls.iter_mut().map(|call| &mut call.judged).filter(|judged| judged.is_edited());
        self.check(edited, context).await;
        for call in calls {
            call.pending.answered();
            // Answers take time, in which a refresh may have put another tool in its place.
            if let (State::Ready(_), Some(entry)) = (&call.judged.state, &call.judged.entry)
                && !self.is_current(entry, context)
            {
                let message =
                    format!("`{}` is not as it was when this call was made", entry.tool.name.shown());
                let error = ToolError::new(ErrorKind::ToolChanged, message);
                call.judged.state = State::Failed(error.with_hint("look the tool up again"));
            }
        }
    }

    /// Returns the engine of the source of a call: one of the app, or one that the session of the call has added.
    fn engine(&self, call: &Call, context: &CallContext) -> Option<Arc<dyn ToolEngine>> {
        let engines = self.engines.read().unwrap_or_else(PoisonError::into_inner);
        let of_app = engines.get(&*call.source).cloned();
        of_app.or_else(|| self.registry.session_engine(&context.session, &call.source))
    }

    async fn finish(self: &Arc<Self>, call: OnItsWay, context: &CallContext, above: &Lineage) -> ToolResult {
        let OnItsWay { name, call_id, started, judged, mut pending } = call;
        let Judged { entry, repairs, state, .. } = judged;
        let reported = || entry.as_ref().map_or_else(|| name.clone(), |entry| entry.tool.name.to_string());
        let outcome = match state {
            State::Ready(authorized) => {
                let span = pending.span().clone();
                match pending.running(&authorized) {
                    Ok(()) => self.invoke(&authorized, context, above, &pending).instrument(span).await,
                    Err(error) => Err(error),
                }
            }
            State::Failed(error) => Err(error),
            // Every question is answered or given up before.
            State::Ask(_) | State::Taken => Err(fault("the approval", &name)),
        };
        let mut result = outcome.unwrap_or_else(|error| ToolResult::failed(None, reported(), error));
        result.call_id = call_id;
        if !repairs.is_empty() {
            // A call inside of this one may have been repaired too.
            let all = result.metadata.entry("repairs").or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(all) = all {
                all.extend(repairs.iter().filter_map(|repair| serde_json::to_value(repair).ok()));
            }
        }
        let tool = entry.as_ref().map(|entry| &entry.tool);
        let mut result = self.results.shape(result, tool, context);
        result.metadata.insert("ms".into(), milliseconds(started.elapsed()).into());
        pending.finish(&result);
        result
    }

    async fn invoke(
        self: &Arc<Self>,
        call: &Authorized<Call>,
        context: &CallContext,
        above: &Lineage,
        pending: &Pending,
    ) -> Result<ToolResult, ToolError> {
        let Some(engine) = self.engine(call, context) else {
            return Err(explain::no_engine(call));
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
        let attempt = |lineage| {
            let mut inner = context.clone();
            inner.deadline = deadline;
            inner.phase = context.phase.child();
            // A call that only forwards another has not started before that one has.
            if Forwards::of(&call.tool).is_none() {
                inner.phase.start();
            }
            inner.depth += 1;
            inner.trace = pending.trace();
            inner.caller = Some(Arc::new(Entrance { executor: Arc::downgrade(self), lineage }));
            let heartbeat = own.filter(|_| engine.reports_progress()).map(|patience| {
                let latest = started + MAX_DEADLINE;
                let latest = outer.map_or(latest, |outer| outer.min(latest));
                self.heartbeat(&mut inner, patience, latest)
            });
            access.scope(invoke::invoke(engine.as_ref(), call, inner, heartbeat, started))
        };
        let mut result = self.flow.run(call, context, above, deadline, engine.is_in_process(), attempt).await;
        if !self.hooks.is_empty() {
            result = hooks::after(&self.hooks, call, result, context).await;
        }
        // A forwarded call has said already which rule let it through.
        result.metadata.entry("rule").or_insert_with(|| call.decision().rule.to_string().into());
        result.metadata.entry("generation").or_insert_with(|| call.generation.into());
        if call.consent() == Consent::Edited {
            // The caller knows only what it asked for.
            result.metadata.insert("edited_arguments".into(), call.arguments.clone().into());
        }
        Ok(result)
    }

    /// Puts itself between the engine and whoever listens to the progress of the call.
    fn heartbeat(&self, context: &mut CallContext, patience: Duration, latest: Instant) -> Arc<Heartbeat> {
        // An attempt that follows another one has what the call has left.
        let first = context.deadline.unwrap_or(latest);
        let redactor = self.results.secrets().redactor();
        let heartbeat = Arc::new(Heartbeat::new(
            first,
            patience,
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

/// A call between the entrance and its result.
struct OnItsWay {
    /// As it was called.
    name: String,
    call_id: Option<String>,
    started: Instant,
    judged: Judged,
    pending: Pending,
}

/// The entrance, as a tool sees it that an executor runs.
struct Entrance {
    executor: Weak<Executor>,
    /// What the calls above hold.
    lineage: Lineage,
}

#[async_trait]
impl ToolCaller for Entrance {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        match self.executor.upgrade() {
            Some(executor) => executor.call_below(call, context, &self.lineage).await,
            None => closed(call),
        }
    }

    async fn call_all(&self, calls: Vec<ToolCall>, context: &CallContext) -> Vec<ToolResult> {
        match self.executor.upgrade() {
            Some(executor) => executor.call_all_below(calls, context, &self.lineage).await,
            None => calls.into_iter().map(closed).collect(),
        }
    }

    fn visible_tools(&self, context: &CallContext) -> Vec<Arc<Tool>> {
        self.executor.upgrade().map(|executor| executor.visible_tools(context)).unwrap_or_default()
    }

    fn find_tools(&self, name: &str, context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        self.executor.upgrade().ok_or_else(shutting_down)?.find_tools(name, context)
    }

    fn check_call(&self, call: &ToolCall, context: &CallContext) -> Result<(), ToolError> {
        self.executor.upgrade().ok_or_else(shutting_down)?.check_call(call, context)
    }

    fn admit(&self, context: &CallContext) -> Result<(), ToolError> {
        self.executor.upgrade().ok_or_else(shutting_down)?.admit(context)
    }

    fn only_reads(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.executor.upgrade().is_some_and(|executor| executor.only_reads(call, context))
    }

    fn may_repeat(&self, call: &ToolCall, context: &CallContext) -> bool {
        self.executor.upgrade().is_some_and(|executor| executor.may_repeat(call, context))
    }

    fn keep(&self, tool: &str, result: String, context: &CallContext) -> Option<String> {
        self.executor.upgrade()?.results.keep(tool, result, context)
    }

    fn media(&self, handle: &str, context: &CallContext) -> Option<Media> {
        self.executor.upgrade()?.results.media(handle, context)
    }
}

fn closed(call: ToolCall) -> ToolResult {
    ToolResult::failed(call.call_id, call.name, shutting_down())
}

fn shutting_down() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "the runtime is shutting down")
}
