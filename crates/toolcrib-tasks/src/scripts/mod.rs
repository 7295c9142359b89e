//! Scripts: programs of models that call tools.
//!
//! [`Scripts`] runs a script for its caller. A script that makes a call which a person has to approve, while none is
//! available, pauses: its worker ends, and its log is stored. It is resumed when someone can answer, when its owner
//! asks for it, and after a restart. Earlier calls are then answered from the log. A script that makes only calls which
//! may be repeated, and never pauses, is not stored.

mod record;
mod run;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;
use toolcrib_script::{Script, ScriptEngine, ScriptLimits, ScriptRunner};

use self::record::ScriptTask;
use self::run::{LiveScript, LocalScript};
use crate::Services;
use crate::ledger::{Bound, Counted, Ledger, Live, Scope};
use crate::owner::WithOwner;
use crate::store::StoreError;

pub use record::{ScriptState, ScriptStatus, WaitingCall};
pub use run::ScriptOutcome;
pub use tool::RUN_SCRIPT;

/// The callers that may run scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptCallers {
    /// True for agents of the app.
    pub agents: bool,
    /// True for clients of the server, and for people at the command line.
    pub clients: bool,
}

/// The callers and limits of scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptSettings {
    /// The callers that may run scripts.
    pub callers: ScriptCallers,
    /// The limits of each script.
    pub limits: ScriptLimits,
    /// The maximum number of scripts that run at once; 16. Further ones wait.
    pub max_running: usize,
    /// The maximum number of stored scripts of a session; 20.
    pub max_stored: usize,
    /// The time that a script may be paused, and that the result of a resumed one is retained; 24 hours.
    pub retention: Duration,
    /// The maximum duration of a resumed script, without the time that it waits for a person; one hour.
    pub max_duration: Duration,
    /// The time after which a person who has not answered is asked again; 30 s.
    pub ask_interval: Duration,
}

impl Default for ScriptSettings {
    /// Returns the settings of an app without scripts.
    fn default() -> Self {
        Self::new(ScriptCallers::default())
    }
}

impl ScriptSettings {
    /// Returns the settings with the default limits for these callers.
    pub fn new(callers: ScriptCallers) -> Self {
        Self {
            callers,
            limits: ScriptLimits::default(),
            max_running: 16,
            max_stored: 20,
            retention: Duration::from_hours(24),
            max_duration: Duration::from_hours(1),
            ask_interval: Duration::from_secs(30),
        }
    }

    fn bounds(&self) -> [Bound; 2] {
        [
            Bound::new(Scope::Session, Counted::Both, self.max_stored).evicting(),
            Bound::new(Scope::Session, Counted::Active, self.max_stored).refusing(|stored, _| {
                let message =
                    format!("{stored} scripts of this session are running or paused, which is the limit");
                ToolError::new(ErrorKind::LimitReached, message).with_hint("wait for one of them to end")
            }),
        ]
    }
}

/// The scripts of all sessions. Clones share them.
#[derive(Clone)]
pub struct Scripts {
    inner: Arc<ScriptsInner>,
}

struct ScriptsInner {
    ledger: Ledger<ScriptTask, LocalScript>,
    runner: ScriptRunner,
    settings: ScriptSettings,
    /// The permits of running scripts.
    permits: Arc<Semaphore>,
}

impl Scripts {
    /// Loads the stored scripts. They wait for [`resume_all`](Self::resume_all).
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    pub async fn open(
        services: Arc<Services>,
        engine: Arc<dyn ScriptEngine>,
        settings: ScriptSettings,
    ) -> Result<Self, StoreError> {
        let read = |body: &Value| match ScriptTask::deserialize(body) {
            Ok(task) => Ok((task, LocalScript::default())),
            Err(error) => Err(error.to_string()),
        };
        let (ledger, _) = Ledger::open(services, read).await?;
        let runner = ScriptRunner::new(engine, settings.limits);
        let permits = Arc::new(Semaphore::new(settings.max_running));
        Ok(Self { inner: Arc::new(ScriptsInner { ledger, runner, settings, permits }) })
    }

    /// Resumes the scripts that the end of a program has interrupted, and those that wait for an approval once a person
    /// is available.
    pub fn resume_all(&self) {
        for live in self.inner.ledger.matching(|task| task.ended.is_none()) {
            match live.task().state {
                ScriptState::Paused => self.inner.resume_when_available(&live, Duration::ZERO),
                _ => self.inner.spawn(&live),
            }
        }
    }

    /// Runs a script for its caller, until it has ended or is paused. Dropping the future ends the script.
    ///
    /// # Errors
    ///
    /// Returns an error if the script is not started. The error of a script is in its outcome.
    pub async fn run(&self, source: &str, context: &CallContext) -> Result<ScriptOutcome, ToolError> {
        let inner = &self.inner;
        let script =
            Script::new(source).map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let now = inner.ledger.services.clock.now();
        let task = ScriptTask::new(script, inner.runner.engine_version(), context, now);
        let live = Live::create(task, LocalScript::default())?;
        let _running = live.local.begin();
        inner.run_for_caller(&live, context).await
    }

    /// Resumes a paused script of the caller, or waits for one that runs. Returns the outcome of a script that has ended.
    /// Once returned, the outcome is forgotten.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller has no such script, or it is not started.
    pub async fn resume(&self, id: &str, context: &CallContext) -> Result<ScriptOutcome, ToolError> {
        let inner = &self.inner;
        inner.ledger.remove_expired(inner.settings.retention).await;
        let live = inner.ledger.find_shared(id, context).await?;
        if live.task().ended.is_none() {
            match live.local.begin() {
                // It is paused, or was interrupted by the end of a program.
                Some(_running) if inner.acquire(&live).await => {
                    return inner.run_for_caller(&live, context).await;
                }
                Some(_running) => {}
                None => live.wait_until(|task| task.state != ScriptState::Running).await,
            }
        }
        let outcome = ScriptOutcome::stored(&live);
        if live.task().ended.is_some() {
            // A failure was logged. The script expires later.
            let _ = inner.ledger.remove(&live).await;
        }
        Ok(outcome)
    }

    /// Returns the stored scripts of all owners, in the order in which they were started. For operators.
    pub async fn all(&self) -> Vec<WithOwner<ScriptStatus>> {
        self.inner.ledger.remove_expired(self.inner.settings.retention).await;
        self.inner.ledger.all().iter().map(status).collect()
    }

    /// Returns the status of a script of any owner. For operators.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such script.
    pub fn status_of_any(&self, id: &str) -> Result<WithOwner<ScriptStatus>, ToolError> {
        Ok(status(&self.inner.ledger.get(id)?))
    }

    /// Ends and removes a script of any owner. For operators.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such script.
    pub async fn cancel_any(&self, id: &str) -> Result<WithOwner<ScriptStatus>, ToolError> {
        let live = self.inner.ledger.get(id)?;
        self.inner.cancel(std::slice::from_ref(&live)).await;
        Ok(status(&live))
    }

    /// Ends and removes the scripts of a session that has ended.
    pub async fn end_session(&self, session: &str) {
        self.inner.cancel(&self.inner.ledger.of_session(session)).await;
    }

    /// Returns the names of those that run and do not wait for a person.
    pub(crate) fn in_progress(&self) -> Vec<String> {
        self.inner.ledger.in_progress()
    }

    /// Waits for the resumed scripts to end, and interrupts them after the given time. They continue after the next
    /// start.
    pub async fn close(&self, time: Duration) {
        self.inner.ledger.close(time).await;
    }
}

impl ScriptsInner {
    /// Ends and removes scripts.
    async fn cancel(&self, scripts: &[Arc<LiveScript>]) {
        for live in scripts {
            live.local.cancel.cancel();
            live.cancel_runs();
        }
        self.ledger.remove_all(scripts).await;
    }

    /// Waits for a permit to run a script.
    async fn permit(
        &self,
        cancel: &CancellationToken,
    ) -> Result<tokio::sync::OwnedSemaphorePermit, ToolError> {
        let permit = cancel.run_until_cancelled(Arc::clone(&self.permits).acquire_owned()).await;
        permit
            .and_then(Result::ok)
            .ok_or_else(|| ToolError::new(ErrorKind::Cancelled, "the script was cancelled before it started"))
    }
}

fn status(live: &Arc<LiveScript>) -> WithOwner<ScriptStatus> {
    live.owner.attach_to(ScriptStatus::new(&live.id, &live.task()))
}
