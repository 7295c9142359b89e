//! Runs of scripts: for a caller that waits, and without one after a pause or a restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_model::text::ellipsize_chars;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_script::{CallTrace, Outcome, ScriptError, ScriptHost, ScriptJournal, ScriptLog, ScriptReport};

use super::ScriptsInner;
use super::record::{ScriptState, ScriptTask, WaitingCall};
use crate::ledger::Live;
use crate::services::LEASE_TIME;

/// The maximum length of a result in a notification, in characters.
const MAX_NOTIFIED_CHARS: usize = 600;

/// The minimum time between two resumptions of a script, for approvers that are available and do not answer.
const MIN_RESUME_DELAY: Duration = Duration::from_secs(1);

pub(super) type LiveScript = Live<ScriptTask, LocalScript>;

/// The state of a script that is not stored.
#[derive(Default)]
pub(super) struct LocalScript {
    /// Cancelled when the script was removed.
    pub(super) cancel: CancellationToken,
    is_running: Arc<AtomicBool>,
    /// True while a task waits for a person to be available.
    is_awaiting_person: AtomicBool,
}

/// A guard of the only run of a script.
pub(super) struct RunGuard(Arc<AtomicBool>);

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl LocalScript {
    /// Begins a run, unless one is in progress.
    pub(super) fn begin(&self) -> Option<RunGuard> {
        let was_running = self.is_running.swap(true, Ordering::AcqRel);
        (!was_running).then(|| RunGuard(Arc::clone(&self.is_running)))
    }
}

/// The end or pause of a script.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScriptOutcome {
    /// The id of the script.
    pub id: String,
    /// The state of the script.
    pub state: ScriptState,
    /// The result of a completed script.
    pub result: Value,
    /// The error of a failed script.
    pub error: Option<ToolError>,
    /// The lines that the script wrote to the console.
    pub console: String,
    /// The number of calls that the script has made.
    pub calls: usize,
    /// The number of these calls that failed.
    pub failed_calls: usize,
    /// The calls that were made since the script was started or resumed, in the order of their ends.
    pub traces: Vec<CallTrace>,
    /// The calls that a paused script waits for.
    pub waiting_for: Vec<WaitingCall>,
    /// The number of calls that the script did not wait for, and that were not started.
    pub abandoned: usize,
}

impl ScriptOutcome {
    /// Returns the stored outcome of a script.
    pub(super) fn stored(live: &LiveScript) -> Self {
        let task = live.task();
        Self {
            id: live.id.as_ref().to_owned(),
            state: task.state,
            result: task.result.clone(),
            error: task.error.clone(),
            console: task.console.clone(),
            calls: task.log.calls.len(),
            failed_calls: failed_calls(&task.log),
            traces: Vec::new(),
            waiting_for: task.waiting_for.clone(),
            abandoned: 0,
        }
    }
}

/// The journal of a script, which is its task in the ledger.
struct TaskJournal {
    scripts: Arc<ScriptsInner>,
    live: Arc<LiveScript>,
}

#[async_trait]
impl ScriptJournal for TaskJournal {
    async fn record(&self, log: &ScriptLog) -> Result<(), ToolError> {
        let Self { scripts, live } = self;
        let unavailable =
            |error: crate::store::StoreError| ToolError::new(ErrorKind::Unavailable, error.to_string());
        if live.local.cancel.is_cancelled() || live.is_removed() {
            return Err(ToolError::new(ErrorKind::Cancelled, "the script was cancelled"));
        }
        if scripts.ledger.get(&live.id).is_err() {
            live.update(|task| task.log.clone_from(log));
            return match scripts.ledger.insert(live, &scripts.settings.bounds()).await? {
                Ok(()) => {
                    scripts.ledger.renew_lease(live).await;
                    Ok(())
                }
                // A script that the store does not contain is not resumed, so none of its calls is repeated.
                Err(error) => {
                    tracing::warn!(%error, id = %live.id, "a script is lost if the program ends");
                    Ok(())
                }
            };
        }
        let _change_lock = live.change_lock.lock().await;
        let task = ScriptTask { log: log.clone(), ..ScriptTask::clone(&live.task()) };
        let saved = scripts.ledger.commit(live, task, Vec::new()).await;
        saved.or_else(|error| if live.is_stored() { Err(unavailable(error)) } else { Ok(()) })
    }
}

/// Removes a script whose caller has gone away, or pauses it again.
struct Unfinished {
    scripts: Arc<ScriptsInner>,
    live: Arc<LiveScript>,
    is_resumed: bool,
    is_finished: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Self { scripts, live, is_resumed, is_finished } = self;
        // What the end of the program interrupts is resumed after the next start.
        if *is_finished
            || scripts.ledger.get(&live.id).is_err()
            || scripts.ledger.services.closing().is_cancelled()
        {
            return;
        }
        if *is_resumed {
            live.update(|task| task.state = ScriptState::Paused);
            return scripts.resume_when_available(live, scripts.settings.ask_interval);
        }
        live.local.cancel.cancel();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (scripts, live) = (Arc::clone(scripts), Arc::clone(live));
            runtime.spawn(async move { scripts.ledger.remove(&live).await });
        }
    }
}

impl ScriptsInner {
    /// Runs a script for a caller that waits for it.
    pub(super) async fn run_for_caller(
        self: &Arc<Self>,
        live: &Arc<LiveScript>,
        context: &CallContext,
    ) -> Result<ScriptOutcome, ToolError> {
        let caller = match &context.caller {
            Some(caller) => Arc::clone(caller),
            None => Arc::clone(self.ledger.services.tool_caller()?),
        };
        let _permit = self.permit(&context.cancel).await?;
        let (scripts, script) = (Arc::clone(self), Arc::clone(live));
        let is_resumed = self.ledger.get(&live.id).is_ok();
        let mut unfinished = Unfinished { scripts, live: script, is_resumed, is_finished: false };
        live.update(|task| task.state = ScriptState::Running);
        let report = self.run(live, caller, context.clone()).await;
        unfinished.is_finished = true;
        let outcome = self.record(live, report, Duration::ZERO).await;
        if outcome.state != ScriptState::Paused && self.ledger.get(&live.id).is_ok() {
            // A failure was logged. The script expires later.
            let _ = self.ledger.remove(live).await;
        }
        Ok(outcome)
    }

    /// Runs a script without a caller, and notifies its owner of the end.
    pub(super) fn spawn(self: &Arc<Self>, live: &Arc<LiveScript>) {
        let (scripts, live) = (Arc::clone(self), Arc::clone(live));
        tokio::spawn(async move {
            let Some(running) = live.local.begin() else { return };
            let stop = scripts.ledger.run_token();
            let run = scripts.ledger.begin_run(&live, live.created, stop.clone());
            let work = async {
                if !scripts.acquire(&live).await {
                    return;
                }
                let Ok(_permit) = scripts.permit(&stop).await else { return };
                let Ok(caller) = scripts.ledger.services.tool_caller() else { return };
                live.update(|task| task.state = ScriptState::Running);
                let mut context = live.owner.action_context().with_cancel(live.local.cancel.clone());
                context.deadline = Instant::now().checked_add(scripts.settings.max_duration);
                let phase = context.phase.clone();
                let report = tokio::select! {
                    biased;
                    report = scripts.run(&live, Arc::clone(caller), context) => report,
                    () = scripts.ledger.lease_lost(&live) => return,
                    () = scripts.ledger.services.interrupted(&phase) => return,
                };
                drop(running);
                // A person who was asked and has not answered is asked again later.
                let was_asked = phase.waited() > MIN_RESUME_DELAY;
                let delay = if was_asked { scripts.settings.ask_interval } else { MIN_RESUME_DELAY };
                let outcome = scripts.record(&live, report, delay).await;
                if outcome.state != ScriptState::Paused && !live.is_removed() {
                    scripts.ledger.services.tell(&live.owner, &notification_text(&outcome)).await;
                }
            };
            // Calls that the end of the program cuts short are looked after by the next start.
            stop.run_until_cancelled(work).await;
            drop(run);
            scripts.ledger.release_if_idle(&live).await;
        });
    }

    /// Waits until this process may run a stored script. Returns false if the script was removed or has ended.
    pub(super) async fn acquire(&self, live: &Arc<LiveScript>) -> bool {
        loop {
            let acquired = {
                let _change_lock = live.change_lock.lock().await;
                self.ledger.acquire_for_run(live).await
            };
            match acquired {
                _ if live.is_removed() || live.task().ended.is_some() => return false,
                Ok(true) => return true,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, id = %live.id, "a script cannot be resumed yet"),
            }
            tokio::time::sleep(LEASE_TIME).await;
        }
    }

    async fn run(
        self: &Arc<Self>,
        live: &Arc<LiveScript>,
        caller: Arc<dyn ToolCaller>,
        context: CallContext,
    ) -> ScriptReport {
        let task = live.task();
        let engine = self.runner.engine_version();
        if task.engine != engine {
            let (begun_by, engine) = (task.engine.clone(), engine.to_owned());
            return ScriptReport::failed(ScriptError::EngineChanged { begun_by, engine }, task.log.clone());
        }
        let journal = Arc::new(TaskJournal { scripts: Arc::clone(self), live: Arc::clone(live) });
        let host = ScriptHost { id: Arc::clone(&live.id), caller, context, journal };
        self.runner.run(&task.script, task.log.clone(), &host).await
    }

    /// Records the end or pause of a run. A paused script is resumed `delay` from now at the earliest.
    async fn record(
        self: &Arc<Self>,
        live: &Arc<LiveScript>,
        report: ScriptReport,
        delay: Duration,
    ) -> ScriptOutcome {
        let ScriptReport { outcome, console, calls: traces, log, abandoned } = report;
        let change_lock = live.change_lock.lock().await;
        let mut task = ScriptTask { log, console, ..ScriptTask::clone(&live.task()) };
        task.waiting_for.clear();
        match outcome {
            Outcome::Paused(waiting) => {
                task.state = ScriptState::Paused;
                let waiting = waiting.into_iter();
                task.waiting_for = waiting
                    .map(|call| WaitingCall { tool: call.tool, arguments: json!(call.arguments) })
                    .collect();
            }
            Outcome::Ended(Ok(result)) => (task.state, task.result) = (ScriptState::Completed, result),
            Outcome::Ended(Err(error)) => {
                (task.state, task.error) = (ScriptState::Failed, Some(error.to_tool_error()));
            }
        }
        task.ended = (task.state != ScriptState::Paused).then(|| self.ledger.services.clock.now());
        if self.ledger.get(&live.id).is_ok() {
            // A failure was logged, and the change is visible in this process.
            let _ = self.ledger.commit(live, task, Vec::new()).await;
        } else {
            live.set(task);
        }
        drop(change_lock);
        if live.task().state == ScriptState::Paused {
            self.resume_when_available(live, delay);
        }
        ScriptOutcome { traces, abandoned, ..ScriptOutcome::stored(live) }
    }

    /// Resumes a paused script once a person is available, `delay` from now at the earliest. Removes it after its
    /// retention time.
    pub(super) fn resume_when_available(self: &Arc<Self>, live: &Arc<LiveScript>, delay: Duration) {
        if live.local.is_awaiting_person.swap(true, Ordering::AcqRel) {
            return;
        }
        let (scripts, live) = (Arc::clone(self), Arc::clone(live));
        tokio::spawn(async move {
            let services = Arc::clone(&scripts.ledger.services);
            let now = services.clock.now();
            let age = Duration::try_from(now.duration_since(live.created)).unwrap_or_default();
            let left = scripts.settings.retention.saturating_sub(age);
            let available = async {
                tokio::time::sleep(delay).await;
                services.person_available().await;
            };
            let is_available = tokio::select! {
                biased;
                () = services.closing().cancelled() => None,
                () = live.local.cancel.cancelled() => None,
                () = available => Some(true),
                () = tokio::time::sleep(left) => Some(false),
            };
            live.local.is_awaiting_person.store(false, Ordering::Release);
            match is_available {
                Some(true) if live.task().state == ScriptState::Paused => scripts.spawn(&live),
                Some(false) => scripts.expire(&live).await,
                _ => {}
            }
        });
    }

    /// Ends a script that was paused for too long, and notifies its owner.
    async fn expire(&self, live: &Arc<LiveScript>) {
        let Some(_running) = live.local.begin() else { return };
        let hours = self.settings.retention.as_secs() / 3_600;
        let text = format!("The script {} was not approved within {hours} hours, and has ended", live.id);
        // A failure was logged.
        let _ = self.ledger.remove(live).await;
        self.ledger.services.tell(&live.owner, &text).await;
    }
}

fn failed_calls(log: &ScriptLog) -> usize {
    let failed =
        |call: &&toolcrib_script::LoggedCall| matches!(call.state, toolcrib_script::CallState::Ended(Err(_)));
    log.calls.iter().filter(failed).count()
}

/// Returns the notification about a script that has ended.
fn notification_text(outcome: &ScriptOutcome) -> String {
    let (how, value) = match &outcome.error {
        None => ("has ended", outcome.result.to_string()),
        Some(error) => ("has failed", error.to_string()),
    };
    let value = ellipsize_chars(&value, MAX_NOTIFIED_CHARS);
    format!(
        "The script {} {how}: {value}. `run_script` with `resume: \"{}\"` gives all of it",
        outcome.id, outcome.id
    )
}
