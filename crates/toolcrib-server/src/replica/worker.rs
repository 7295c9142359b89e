//! The worker of a process: it tells that the process is alive, receives messages, and shows the operator the questions
//! of the other processes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use toolcrib_io::table::Hints;
use toolcrib_tasks::store::RecordKind;

use super::Replica;
use super::mail::{POLL_INTERVAL, POLL_INTERVAL_WITH_HINTS, ReplicaMessage};
use crate::approval::PendingApprovals;
use crate::server::Shared;

/// The interval at which a process tells that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The interval at which the questions of other processes are read while an operator is present.
const QUESTION_INTERVAL: Duration = Duration::from_millis(500);

/// The interval at which records that have ended are removed.
const CLEANING_INTERVAL: Duration = Duration::from_mins(1);

/// The times at which the parts of the work are due.
struct Due {
    heartbeat: Instant,
    questions: Instant,
    cleaning: Instant,
    /// The presence of an operator, as the other processes know it.
    told_attended: bool,
}

/// Works until the server ends.
pub(crate) async fn work(replica: Arc<Replica>, pending: PendingApprovals, server: Weak<Shared>) {
    let Some(closing) = server.upgrade().map(|server| server.closing.clone()) else { return };
    let mut changes = pending.changes();
    let now = Instant::now();
    let mut due =
        Due { heartbeat: now, questions: now, cleaning: now + CLEANING_INTERVAL, told_attended: false };
    loop {
        // Without a server, no client waits for the outcome of a call.
        let Some(shared) = server.upgrade() else { return };
        let is_attended = pending.is_attended();
        let expects_mail = !replica.is_alone()
            && (replica.expects_outcome() || pending.has_shared() || shared.suspended.is_waiting());
        // Hints from here on are about messages that are not read below.
        let mut hints =
            if expects_mail { replica.store().hints(RecordKind::Message) } else { Hints::default() };
        due.work(&replica, &pending, &shared, (is_attended, expects_mail)).await;
        drop(shared);
        let mut next = due.heartbeat.min(due.cleaning);
        if is_attended {
            next = next.min(due.questions);
        }
        if expects_mail {
            let interval = if hints.are_expected() { POLL_INTERVAL_WITH_HINTS } else { POLL_INTERVAL };
            next = next.min(Instant::now() + interval);
        }
        tokio::select! {
            () = closing.cancelled() => return,
            () = replica.woken.notified() => {}
            () = hints.next() => {}
            // The sender lives as long as `pending`.
            _ = changes.changed() => {}
            () = sleep_until(next) => {}
        }
    }
}

impl Due {
    async fn work(
        &mut self,
        replica: &Arc<Replica>,
        pending: &PendingApprovals,
        shared: &Arc<Shared>,
        (is_attended, expects_mail): (bool, bool),
    ) {
        let now = Instant::now();
        if self.heartbeat <= now || self.told_attended != is_attended {
            let was_away = replica.problem().is_some();
            match replica.tell_alive(is_attended).await {
                Ok(()) if was_away => tracing::info!("the store is back"),
                Ok(()) => {}
                Err(error) => {
                    tracing::warn!(%error, "the other processes cannot be told that this one is alive");
                }
            }
            // While the store is away, the shares stay as they are.
            if let Ok(processes) = replica.count_processes().await {
                shared.runtime().executor().processes().set(processes);
            }
            self.told_attended = is_attended;
            self.heartbeat = Instant::now() + HEARTBEAT;
        }
        if expects_mail {
            match replica.receive().await {
                Ok(messages) => {
                    for message in messages {
                        handle(message, replica, pending, shared);
                    }
                }
                // The heartbeat says so where people look.
                Err(error) => tracing::debug!(%error, "the messages of other processes cannot be read"),
            }
        }
        if is_attended && self.questions <= now {
            pending.refresh().await;
            self.questions = Instant::now() + QUESTION_INTERVAL;
        }
        if self.cleaning <= now {
            if let Err(error) = replica.store().remove_ended().await {
                tracing::debug!(%error, "records that have ended cannot be removed");
            }
            self.cleaning = Instant::now() + CLEANING_INTERVAL;
        }
    }
}

fn handle(message: ReplicaMessage, replica: &Arc<Replica>, pending: &PendingApprovals, shared: &Arc<Shared>) {
    match message {
        ReplicaMessage::Answer { queue, question, answer } => pending.deliver(&queue, question, answer),
        ReplicaMessage::Outcome { request, outcome } => replica.deliver(&request, *outcome),
        ReplicaMessage::Gone { request } => shared.suspended.client_left(&request),
        ReplicaMessage::Resume(resume) => {
            let (replica, shared) = (Arc::clone(replica), Arc::clone(shared));
            tokio::spawn(async move { shared.continue_for(&replica, resume).await });
        }
    }
}
