//! The tasks of all sessions.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use toolcrib_io::process::Command;
use toolcrib_model::random::{hex, random_bytes};
use toolcrib_model::{ErrorKind, ToolError};

use super::task::BackgroundTask;

/// The maximum number of running tasks, of all sessions together.
pub(crate) const MAX_ALL_TASKS: usize = 64;

/// The maximum number of ended tasks of a session that are remembered. Beyond it, the oldest one is dropped.
pub(crate) const MAX_ENDED_TASKS: usize = 16;

/// The number of random bytes in the id of a task, so that other sessions cannot guess it.
const ID_BYTES: usize = 12;

/// The maximum length of an id that an error repeats, in characters.
const MAX_NAMED_CHARS: usize = 40;

/// The tasks of all sessions. Dropping it ends all of them.
pub(in crate::shell) struct TaskRegistry {
    all: Mutex<BTreeMap<String, Arc<BackgroundTask>>>,
    per_session: usize,
    limit: Duration,
}

impl TaskRegistry {
    pub(in crate::shell) fn new(per_session: NonZeroU32, limit: NonZeroU32) -> Self {
        Self {
            all: Mutex::default(),
            per_session: usize::try_from(per_session.get()).unwrap_or(usize::MAX),
            limit: Duration::from_secs(limit.get().into()),
        }
    }

    /// Starts a task of a session, and returns its id.
    pub(in crate::shell) fn begin(
        &self,
        session: &Arc<str>,
        command: Command,
        stdin: Option<Bytes>,
        wanted: Option<NonZeroU32>,
    ) -> Result<String, ToolError> {
        let id = new_id()?;
        let mut all = self.all.lock();
        let running = all.values().filter(|task| task.is_running());
        let (own, others): (Vec<_>, Vec<_>) = running.partition(|task| task.session() == &**session);
        if own.len() >= self.per_session || own.len() + others.len() >= MAX_ALL_TASKS {
            let whose = if own.len() >= self.per_session { "this session" } else { "all sessions together" };
            let count = if own.len() >= self.per_session { self.per_session } else { MAX_ALL_TASKS };
            let message = format!("{count} tasks of {whose} run already, and no more may");
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("wait for one by `shell.task_status`, or end one by `shell.task_stop`"));
        }
        forget_oldest(&mut all, session);
        let wanted = wanted.map(|wanted| Duration::from_secs(wanted.get().into()));
        let limit = wanted.map_or(self.limit, |wanted| wanted.min(self.limit));
        let task = BackgroundTask::start(id.clone(), Arc::clone(session), command, stdin, limit);
        all.insert(id.clone(), Arc::new(task));
        Ok(id)
    }

    /// Returns the task with this id, if it belongs to the session. The error does not reveal the tasks of other
    /// sessions.
    pub(in crate::shell) fn find(&self, id: &str, session: &str) -> Result<Arc<BackgroundTask>, ToolError> {
        let found = self.all.lock().get(id).filter(|task| task.session() == session).cloned();
        found.ok_or_else(|| {
            let id: String = id.chars().take(MAX_NAMED_CHARS).collect();
            ToolError::new(ErrorKind::NotFound, format!("there is no task `{id}`"))
                .with_hint("`shell.task_list` lists the tasks that there are")
        })
    }

    /// Returns the tasks of a session, the latest last.
    pub(in crate::shell) fn of_session(&self, session: &str) -> Vec<Arc<BackgroundTask>> {
        let mut tasks: Vec<_> =
            self.all.lock().values().filter(|task| task.session() == session).cloned().collect();
        tasks.sort_by_key(|task| task.began());
        tasks
    }

    /// Ends the tasks of a session, and removes them. All of their processes have ended when this returns.
    pub(in crate::shell) async fn end_session(&self, session: &str) {
        let ended = {
            let mut all = self.all.lock();
            let (ended, kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
                std::mem::take(&mut *all).into_iter().partition(|(_, task)| task.session() == session);
            *all = kept;
            ended
        };
        end(ended.into_values()).await;
    }

    /// Ends all tasks, and removes them.
    pub(in crate::shell) async fn close(&self) {
        let all = std::mem::take(&mut *self.all.lock());
        end(all.into_values()).await;
    }
}

/// Ends tasks, concurrently.
async fn end(tasks: impl Iterator<Item = Arc<BackgroundTask>>) {
    let tasks: Vec<_> = tasks.collect();
    for task in &tasks {
        task.stop();
    }
    for task in &tasks {
        task.ended().await;
    }
}

/// Removes the oldest ended task of a session, if there are too many.
fn forget_oldest(all: &mut BTreeMap<String, Arc<BackgroundTask>>, session: &str) {
    let ended = all.values().filter(|task| task.session() == session && !task.is_running());
    let mut ended: Vec<_> = ended.map(|task| (task.began(), task.id().to_owned())).collect();
    ended.sort();
    for (_, id) in ended.iter().take((ended.len() + 1).saturating_sub(MAX_ENDED_TASKS)) {
        all.remove(id);
    }
}

fn new_id() -> Result<String, ToolError> {
    let bytes = random_bytes::<ID_BYTES>().map_err(|error| {
        ToolError::new(ErrorKind::Internal, format!("the system gives no random numbers: {error}"))
    })?;
    Ok(format!("task-{}", hex(&bytes)))
}
