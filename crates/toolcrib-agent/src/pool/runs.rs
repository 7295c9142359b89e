//! The agents that were started.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::{CallContext, CallPhase, PhaseTracker};

use super::arguments::RunStatus;
use crate::RunReport;

/// The number of agents of a session that run at the same time.
pub(crate) const MAX_RUNNING: usize = 8;

/// The number of runs of a session that are stored with their reports. Beyond it, the runs that ended first are dropped.
const MAX_RUNS: usize = 64;

/// The runs of all sessions.
#[derive(Default)]
pub(super) struct RunTable {
    sessions: Mutex<HashMap<Arc<str>, Session>>,
}

#[derive(Default)]
struct Session {
    /// The total number of runs, so that no id is used twice.
    started: u64,
    runs: Vec<Run>,
}

/// The run of a started agent, or its report.
#[derive(Clone)]
pub(super) struct Run {
    id: String,
    agent: String,
    /// The agent that started it. No other agent sees it.
    owner: Option<Arc<str>>,
    /// The stage of its calls.
    phase: PhaseTracker,
    cancel: CancellationToken,
    report: watch::Receiver<Option<Arc<Value>>>,
}

/// The sender of a run's report. A reporter that is dropped without a report, as by a panic, reports that.
pub(super) struct Reporter(watch::Sender<Option<Arc<Value>>>);

impl Reporter {
    pub(super) fn tell(&self, report: &RunReport) {
        let mut value = serde_json::to_value(report).unwrap_or_else(|error| lost(&error.to_string()));
        if let Some(report) = value.as_object_mut() {
            // What it called, and who answered, is of no use to its coordinator, and could be long.
            if let Some(calls) = report.get_mut("calls") {
                *calls = calls.as_array().map_or(0, Vec::len).into();
            }
            report.shift_remove("models");
            report.shift_remove("notices");
        }
        self.0.send_replace(Some(Arc::new(value)));
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.0.send_if_modified(|report| {
            let is_lost = report.is_none();
            if is_lost {
                *report = Some(Arc::new(lost(
                    "the agent stopped because of a fault; start it again, or do its task yourself",
                )));
            }
            is_lost
        });
    }
}

fn lost(error: &str) -> Value {
    json!({"outcome": "failed", "error": error, "text": "", "turns": 0, "calls": 0})
}

impl Run {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn status(&self) -> RunStatus {
        let report = self.report.borrow().clone();
        let status = match report.as_deref() {
            Some(report) => report.get("outcome").and_then(Value::as_str).unwrap_or("failed"),
            None if self.phase.phase() == CallPhase::WaitingForPerson => "waiting_for_approval",
            None => "running",
        };
        RunStatus {
            run: self.id.clone(),
            agent: self.agent.clone(),
            status: status.to_owned(),
            report: report.map(|report| {
                let mut report = Value::clone(&report);
                // The status has it already.
                if let Some(report) = report.as_object_mut() {
                    report.shift_remove("outcome");
                }
                report
            }),
        }
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Comes back when it is over.
    pub(super) async fn over(&self) {
        let mut report = self.report.clone();
        // The sender is gone only after it has told.
        let _ = report.wait_for(Option::is_some).await;
    }

    fn is_running(&self) -> bool {
        self.report.borrow().is_none()
    }

    fn is_of(&self, owner: Option<&str>) -> bool {
        self.owner.as_deref() == owner
    }
}

impl RunTable {
    /// Writes down a run that is about to begin.
    pub(super) fn begin(
        &self,
        context: &CallContext,
        agent: &str,
        phase: PhaseTracker,
        cancel: CancellationToken,
    ) -> Result<(Run, Reporter), ToolError> {
        let mut sessions = self.sessions.lock();
        let session = sessions.entry(Arc::clone(&context.session)).or_default();
        if session.runs.iter().filter(|run| run.is_running()).count() >= MAX_RUNNING {
            let message = format!("{MAX_RUNNING} agents are at work, and no more can be");
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("wait for one of them, or cancel one"));
        }
        while session.runs.len() >= MAX_RUNS
            && let Some(position) = session.runs.iter().position(|run| !run.is_running())
        {
            session.runs.remove(position);
        }
        session.started += 1;
        let (sender, report) = watch::channel(None);
        let id = format!("{agent}-{}", session.started);
        let run = Run { id, agent: agent.to_owned(), owner: context.agent.clone(), phase, cancel, report };
        session.runs.push(run.clone());
        Ok((run, Reporter(sender)))
    }

    /// Returns the runs with these ids that the caller started, or all of its runs if there are no ids.
    pub(super) fn find(&self, context: &CallContext, ids: &[String]) -> Result<Vec<Run>, ToolError> {
        let sessions = self.sessions.lock();
        let runs = sessions.get(&context.session).map_or(&[][..], |session| &session.runs);
        let own = || runs.iter().filter(|run| run.is_of(context.agent.as_deref()));
        if let Some(id) = ids.iter().find(|id| !own().any(|run| run.id == **id)) {
            let known: Vec<&str> = own().map(|run| run.id.as_str()).collect();
            let hint = match known.len() {
                0 => "no agent was started; one that worked when the program ended has to be started again"
                    .into(),
                _ => format!("the runs are {}", known.join(", ")),
            };
            return Err(
                ToolError::new(ErrorKind::NotFound, format!("there is no run `{id}`")).with_hint(hint)
            );
        }
        Ok(own().filter(|run| ids.is_empty() || ids.contains(&run.id)).cloned().collect())
    }

    /// Forgets a session, or all, and gives back its runs.
    pub(super) fn take(&self, session: Option<&str>) -> Vec<Run> {
        let mut sessions = self.sessions.lock();
        let taken: Vec<Session> = match session {
            Some(session) => sessions.remove(session).into_iter().collect(),
            None => sessions.drain().map(|(_, session)| session).collect(),
        };
        taken.into_iter().flat_map(|session| session.runs).collect()
    }
}
