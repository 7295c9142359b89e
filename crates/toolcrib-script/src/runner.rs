//! Running a script: each call goes through the tool caller.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use serde_json::Value;
use tokio::time::Instant;
use toolcrib_model::text::truncate_bytes;
use toolcrib_model::{ErrorKind, Fingerprint, ToolCall, ToolError};
use toolcrib_port::{CallContext, ToolCaller};

use crate::ScriptError;
use crate::engine::{CONSOLE_FULL, CallReply, Pause, Script, ScriptCall, ScriptEngine, ScriptLimits};
use crate::log::{CallEntry, CallState, LoggedCall, RunningLog, ScriptJournal, ScriptLog};

/// A call of a script that was made in this run.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTrace {
    /// The sequence number of the call.
    pub id: u32,
    /// The name of the tool, as the script spells it.
    pub tool: String,
    /// The time from the start of the script to the start of the call.
    pub started: Duration,
    /// The duration of the call.
    pub took: Duration,
    /// The kind of its error, if it failed.
    pub error: Option<ErrorKind>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The script has ended with this result or error.
    Ended(Result<Value, ScriptError>),
    /// The script waits for the approval of these calls, and no person is available to give it.
    Paused(Vec<ScriptCall>),
}

/// The report of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptReport {
    /// The end of the run.
    pub outcome: Outcome,
    /// The lines that the script wrote to the console, from its beginning.
    pub console: String,
    /// The calls that were made in this run, in the order of their ends.
    pub calls: Vec<CallTrace>,
    /// The calls of the script, with those of earlier runs.
    pub log: ScriptLog,
    /// The number of calls that the script did not wait for, and that were not started.
    pub abandoned: usize,
}

impl ScriptReport {
    /// Returns the report of a script that failed before it ran.
    pub fn failed(error: ScriptError, log: ScriptLog) -> Self {
        let outcome = Outcome::Ended(Err(error));
        Self { outcome, console: String::new(), calls: Vec::new(), log, abandoned: 0 }
    }
}

/// The caller of a script.
#[derive(Clone)]
pub struct ScriptHost {
    /// The id of the script. The ids of its calls begin with it.
    pub id: Arc<str>,
    /// The caller through which all calls are made.
    pub caller: Arc<dyn ToolCaller>,
    /// The context of the calls.
    pub context: CallContext,
    /// The store of the log.
    pub journal: Arc<dyn ScriptJournal>,
}

/// A runner of scripts.
#[derive(Clone)]
pub struct ScriptRunner {
    engine: Arc<dyn ScriptEngine>,
    limits: ScriptLimits,
}

impl ScriptRunner {
    /// Creates a runner.
    pub fn new(engine: Arc<dyn ScriptEngine>, limits: ScriptLimits) -> Self {
        Self { engine, limits }
    }

    /// Returns the version of the engine.
    pub fn engine_version(&self) -> &str {
        self.engine.version()
    }

    /// Runs a script from its beginning, with an empty log, or resumes it with the log of an earlier run. Earlier calls
    /// that have ended are not made again. A call that had begun and may not be repeated fails with
    /// [`OutcomeUnknown`](ErrorKind::OutcomeUnknown). Dropping the future ends the script and cancels its calls.
    pub async fn run(&self, script: &Script, log: ScriptLog, host: &ScriptHost) -> ScriptReport {
        let mut run = Run::new(&self.limits, log, host);
        let outcome = match run.drive(self.engine.as_ref(), script).await {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Ended(Err(error)),
        };
        let abandoned = if matches!(outcome, Outcome::Ended(_)) { run.queue.len() } else { 0 };
        let log = run.log.with(std::mem::take);
        ScriptReport { outcome, console: run.console, calls: run.traces, log, abandoned }
    }
}

/// The end of a call.
enum CallEnd {
    Replied(CallReply, CallTrace),
    /// No person is available to approve the call.
    Unapproved(ScriptCall),
}

/// A run of a script.
struct Run<'a> {
    limits: &'a ScriptLimits,
    host: &'a ScriptHost,
    context: CallContext,
    log: Arc<RunningLog>,
    begun: Instant,
    /// The number of calls that the script has made in this run, also those answered from the log.
    made: usize,
    /// The calls that have not started.
    queue: VecDeque<ScriptCall>,
    /// The replies of the log that the script has not received.
    ready: VecDeque<CallReply>,
    running: FuturesUnordered<BoxFuture<'a, CallEnd>>,
    unapproved: Vec<ScriptCall>,
    console: String,
    traces: Vec<CallTrace>,
}

impl<'a> Run<'a> {
    fn new(limits: &'a ScriptLimits, log: ScriptLog, host: &'a ScriptHost) -> Self {
        let mut context = host.context.clone();
        context.script = Some(Arc::clone(&host.id));
        context.parallel = true;
        context.full_results = true;
        Self {
            limits,
            host,
            context,
            log: RunningLog::new(log, Arc::clone(&host.journal)),
            begun: Instant::now(),
            made: 0,
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            running: FuturesUnordered::new(),
            unapproved: Vec::new(),
            console: String::new(),
            traces: Vec::new(),
        }
    }

    async fn drive(&mut self, engine: &dyn ScriptEngine, script: &Script) -> Result<Outcome, ScriptError> {
        let (logged, deliveries) = self.log.with(|log| (log.calls.len(), log.deliveries.clone()));
        let (mut run, mut pause) = engine.start(script, self.limits).await?;
        self.accept(&mut pause, &deliveries)?;
        for id in &deliveries {
            let reply = self.log.reply(*id).filter(|_| (*id as usize) < self.made && pause.result.is_none());
            let Some(reply) = reply else {
                return Err(diverged(format!("call {id} of its log was not made again")));
            };
            pause = run.resume(&reply).await?;
            self.accept(&mut pause, &deliveries)?;
        }
        if self.made < logged {
            let made = self.made;
            return Err(diverged(format!("it made {made} calls, and its log has {logged}")));
        }
        loop {
            if let Some(result) = pause.result.take() {
                // A call that has begun is not cut off half-way because the script forgot to await it.
                while let Some(end) = self.running.next().await {
                    if let CallEnd::Replied(_, trace) = end {
                        self.traces.push(trace);
                    }
                }
                return Ok(Outcome::Ended(result));
            }
            self.start_calls();
            let reply = match self.next_reply().await {
                Some(reply) => reply,
                None if self.unapproved.is_empty() => return Err(ScriptError::Stalled),
                None => return self.pause().await,
            };
            self.log.with(|log| log.deliveries.push(reply.id));
            pause = run.resume(&reply).await?;
            self.accept(&mut pause, &[])?;
        }
    }

    /// Takes the calls and the console of a pause. The calls that an earlier run has made must be the same.
    fn accept(&mut self, pause: &mut Pause, deliveries: &[u32]) -> Result<(), ScriptError> {
        // A worker keeps to the limit itself, unless its script has taken it over.
        let most = self.limits.console_bytes.saturating_add(CONSOLE_FULL.len());
        self.console.push_str(truncate_bytes(&pause.console, most.saturating_sub(self.console.len())));
        for call in std::mem::take(&mut pause.calls) {
            let id = call.id;
            if id as usize != self.made || self.made >= self.limits.calls as usize {
                let problem = format!("it made call {id} after {} calls", self.made);
                return Err(ScriptError::Worker { problem });
            }
            self.made += 1;
            let logged = self.log.with(|log| log.calls.get(id as usize).cloned());
            match logged {
                None => {
                    let fingerprints = self.fingerprints(&call.tool);
                    let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
                    let logged = LoggedCall { tool, arguments, fingerprints, state: CallState::Pending };
                    self.log.with(|log| log.calls.push(logged));
                    self.queue.push_back(call);
                }
                Some(logged) if logged.tool != call.tool || logged.arguments != call.arguments => {
                    let problem =
                        format!("call {id} was one of `{}`, and is one of `{}`", logged.tool, call.tool);
                    return Err(diverged(problem));
                }
                Some(logged) => match logged.state {
                    CallState::Ended(outcome) if !deliveries.contains(&id) => {
                        self.ready.push_back(CallReply { id, outcome });
                    }
                    CallState::Ended(_) => {}
                    CallState::Begun if !self.may_repeat(&call) => {
                        let outcome = Err(outcome_unknown(&call.tool));
                        self.log.set_state(id, CallState::Ended(outcome.clone()));
                        self.ready.push_back(CallReply { id, outcome });
                    }
                    CallState::Pending | CallState::Begun => {
                        let error = (logged.fingerprints != self.fingerprints(&call.tool))
                            .then(|| changed(&call.tool));
                        match error {
                            Some(error) => {
                                self.log.set_state(id, CallState::Ended(Err(error.clone())));
                                self.ready.push_back(CallReply { id, outcome: Err(error) });
                            }
                            None => self.queue.push_back(call),
                        }
                    }
                },
            }
        }
        Ok(())
    }

    /// Starts calls up to the limit of concurrent calls.
    fn start_calls(&mut self) {
        while self.running.len() < self.limits.concurrent_calls.max(1)
            && let Some(call) = self.queue.pop_front()
        {
            let running = CallInProgress {
                log: Arc::clone(&self.log),
                caller: Arc::clone(&self.host.caller),
                context: self.context.clone(),
                call_id: format!("{}.{}", self.host.id, call.id),
                limits: self.limits,
                begun: self.begun,
            };
            self.running.push(Box::pin(running.run(call)));
        }
    }

    /// Waits for the next reply that the script has not received; `None` if no call is running.
    async fn next_reply(&mut self) -> Option<CallReply> {
        if let Some(reply) = self.ready.pop_front() {
            return Some(reply);
        }
        loop {
            match self.running.next().await? {
                CallEnd::Replied(reply, trace) => {
                    self.traces.push(trace);
                    return Some(reply);
                }
                CallEnd::Unapproved(call) => self.unapproved.push(call),
            }
            self.start_calls();
        }
    }

    /// Stores the log, so that the script can be resumed.
    async fn pause(&mut self) -> Result<Outcome, ScriptError> {
        match self.log.record().await {
            Ok(()) => Ok(Outcome::Paused(std::mem::take(&mut self.unapproved))),
            Err(error) => Err(ScriptError::NotStored { problem: error.message }),
        }
    }

    fn may_repeat(&self, call: &ScriptCall) -> bool {
        may_repeat(self.host.caller.as_ref(), call, &self.context)
    }

    /// Returns the fingerprints of the tools that a name means; none if the name is unknown.
    fn fingerprints(&self, name: &str) -> Vec<Fingerprint> {
        let tools = self.host.caller.catalogue().find_tools(name, &self.context).unwrap_or_default();
        tools.iter().map(|tool| tool.fingerprint()).collect()
    }
}

/// A call of a script that is being made.
struct CallInProgress<'a> {
    log: Arc<RunningLog>,
    caller: Arc<dyn ToolCaller>,
    context: CallContext,
    call_id: String,
    limits: &'a ScriptLimits,
    begun: Instant,
}

impl CallInProgress<'_> {
    async fn run(mut self, call: ScriptCall) -> CallEnd {
        let id = call.id;
        let may_repeat = may_repeat(self.caller.as_ref(), &call, &self.context);
        self.context.phase = self.context.phase.child();
        self.context.journal = Some(Arc::new(CallEntry { log: Arc::clone(&self.log), id, may_repeat }));
        let started = self.begun.elapsed();
        let outcome = if takes_call(&self.context) {
            let inner = ToolCall::new(&call.tool, call.arguments.clone()).with_call_id(self.call_id.clone());
            let result = self.caller.call(inner, &self.context).await;
            match result.error {
                Some(error) if error.kind == ErrorKind::ApprovalRequired && !self.log.has_begun(id) => {
                    return CallEnd::Unapproved(call);
                }
                Some(error) => Err(error),
                None => self.admit(&call.tool, result.result),
            }
        } else {
            Err(budget_exhausted())
        };
        let took = self.begun.elapsed().saturating_sub(started);
        let error = outcome.as_ref().err().map(|error| error.kind);
        self.log.set_state(id, CallState::Ended(outcome.clone()));
        // A person is not asked again about a call that was approved. After a failure the stored log says that the call has
        // begun, so that it is not repeated.
        let was_asked = self.context.phase.waited() > Duration::ZERO;
        if (was_asked || !may_repeat)
            && let Err(error) = self.log.record().await
        {
            tracing::warn!(%error, call = self.call_id, "the result of a script's call cannot be stored");
        }
        let trace = CallTrace { id, tool: call.tool, started, took, error };
        CallEnd::Replied(CallReply { id, outcome }, trace)
    }

    /// Refuses a result that is too large for a script.
    fn admit(&self, tool: &str, result: Value) -> Result<Value, ToolError> {
        let bytes = result.to_string().len();
        if bytes > self.limits.value_bytes {
            let limit = self.limits.value_bytes;
            let message = format!("the result of `{tool}` has {bytes} bytes; a script takes at most {limit}");
            return Err(too_large(message));
        }
        if !self.log.receive(bytes, self.limits.total_bytes) {
            let limit = self.limits.total_bytes;
            let message = format!("the results of the script's calls have more than {limit} bytes together");
            return Err(too_large(message));
        }
        Ok(result)
    }
}

/// Returns true if the call of a script may safely be repeated.
fn may_repeat(caller: &dyn ToolCaller, call: &ScriptCall, context: &CallContext) -> bool {
    let call = ToolCall::new(&call.tool, call.arguments.clone());
    caller.catalogue().may_repeat(&call, context)
}

/// Takes a call from the budget of the agent run that made the script, if there is one.
fn takes_call(context: &CallContext) -> bool {
    context.budget.as_ref().is_none_or(|budget| budget.take_call())
}

fn budget_exhausted() -> ToolError {
    let message = "the limit on the calls of this run is reached; the call was not made";
    ToolError::new(ErrorKind::LimitReached, message).with_hint("return what you have")
}

fn too_large(message: String) -> ToolError {
    let hint = "ask the tool for less, by its arguments for limits, pages or filters";
    ToolError::new(ErrorKind::LimitReached, message).with_hint(hint)
}

fn outcome_unknown(tool: &str) -> ToolError {
    let message = format!("the program ended while `{tool}` was running, so its effect is unknown");
    ToolError::new(ErrorKind::OutcomeUnknown, message)
        .with_hint("check if it took effect before you call it again")
}

fn changed(tool: &str) -> ToolError {
    let message = format!("`{tool}` has changed since the script called it");
    ToolError::new(ErrorKind::ToolChanged, message).with_hint("look the tool up again")
}

fn diverged(problem: String) -> ScriptError {
    ScriptError::Diverged { problem }
}
