//! One transaction, which runs on a separate task.
//!
//! If the call is cancelled or dropped, the task remains to cancel the statement at the server. Rows that no call has
//! requested yet stay in the server.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::CallContext;

use super::backend::{ConnectionPool, DatabaseSession, Event, Mode, RowSender, Statement, StatementError};

/// The number of rows that are buffered ahead of the requested ones.
pub(crate) const ROWS_AHEAD: usize = 16;

/// The time that a cancelled statement has to end. Then its connection is closed.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(4);

/// The time before the deadline of a call at which its statement is cancelled, so that the call can still report the
/// outcome.
pub(crate) const ANSWER_MARGIN: Duration = Duration::from_millis(250);

/// The maximum lifetime of an open result, however often it is read from. The server itself ends it then.
pub(crate) const MAX_RESULT_LIFETIME: Duration = Duration::from_mins(15);

/// The statements of a transaction, and the bounds of its rows.
#[derive(Clone, Debug)]
pub(super) struct TransactionRequest {
    pub(super) mode: Mode,
    pub(super) statements: Vec<Statement>,
    pub(super) max_cell_bytes: usize,
    pub(super) max_row_bytes: usize,
}

/// A handle of a running transaction. Dropping it cancels the transaction.
pub(super) struct TransactionHandle {
    events: mpsc::Receiver<Event>,
    mode: Mode,
    stop: CancellationToken,
    _guard: DropGuard,
    cancelled_with: Option<(ToolError, Instant)>,
}

/// The deadline and the cancellation of a call.
#[derive(Clone)]
pub(super) struct Deadline {
    at: Instant,
    seconds: u64,
    cancel: CancellationToken,
}

impl Deadline {
    /// Returns the deadline of the call, or this timeout if it ends sooner.
    pub(super) fn new(context: &CallContext, limit: Duration) -> Self {
        let now = Instant::now();
        let timeout_deadline = now + limit;
        let call_deadline = context.deadline.map(|at| at.checked_sub(ANSWER_MARGIN).unwrap_or(at));
        let at = call_deadline.map_or(timeout_deadline, |call_deadline| timeout_deadline.min(call_deadline));
        let seconds = at.saturating_duration_since(now).as_secs_f64().round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number of seconds"
        )]
        let seconds = seconds as u64;
        Self { at, seconds, cancel: context.cancel.clone() }
    }

    fn too_late(&self) -> ToolError {
        let message = format!("it took longer than {} s and was ended at the database", self.seconds);
        ToolError::new(ErrorKind::Timeout, message)
            .with_retryable(false)
            .with_hint("let it do less: add a condition or a limit, and look at it with `database.explain`")
    }
}

pub(super) fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "the call was given up, and its statement ended at the database")
}

impl TransactionHandle {
    /// Starts the transaction.
    pub(super) fn start(pool: Arc<dyn ConnectionPool>, job: TransactionRequest) -> Self {
        let (sender, events) = mpsc::channel(ROWS_AHEAD);
        let (stop, mode) = (CancellationToken::new(), job.mode);
        tokio::spawn(run_transaction(pool, job, sender, stop.clone()));
        Self { events, mode, _guard: stop.clone().drop_guard(), stop, cancelled_with: None }
    }

    /// Returns the next event. At the deadline, the statement is cancelled, and the event is the outcome of that.
    pub(super) async fn next(&mut self, deadline: &Deadline) -> Result<Event, StatementError> {
        loop {
            if let Some((error, last)) = &self.cancelled_with {
                let event = tokio::select! {
                    biased;
                    event = self.events.recv() => event,
                    () = sleep_until(*last) => None,
                };
                return match event {
                    Some(Event::Done(Err(_))) => Err(error.clone().into()),
                    Some(event) => Ok(event),
                    None if self.mode == Mode::Write => Err(unknown_outcome().into()),
                    None => Err(error.clone().into()),
                };
            }
            let error = tokio::select! {
                biased;
                event = self.events.recv() => {
                    return match event {
                        Some(Event::Done(Err(failure))) => Err(failure),
                        Some(event) => Ok(event),
                        None => Err(ToolError::new(ErrorKind::Internal, "a transaction ended without an outcome").into()),
                    };
                }
                () = deadline.cancel.cancelled() => cancelled(),
                () = sleep_until(deadline.at) => deadline.too_late(),
            };
            self.stop.cancel();
            self.cancelled_with = Some((error, Instant::now() + STOP_GRACE * 2));
        }
    }
}

fn unknown_outcome() -> ToolError {
    ToolError::new(ErrorKind::OutcomeUnknown, "the database did not say whether the change was made")
        .with_hint("read the rows in question before you change them again")
}

async fn run_transaction(
    pool: Arc<dyn ConnectionPool>,
    job: TransactionRequest,
    events: mpsc::Sender<Event>,
    stop: CancellationToken,
) {
    let session = tokio::select! {
        biased;
        () = stop.cancelled() => Err(cancelled().into()),
        session = pool.session() => session,
    };
    let outcome = match session {
        Ok(session) => run(session, &job, &events, &stop).await,
        Err(failure) => Err(failure),
    };
    // The receiver may have been dropped.
    let _sent = events.send(Event::Done(outcome)).await;
}

async fn run(
    mut session: Box<dyn DatabaseSession>,
    job: &TransactionRequest,
    events: &mpsc::Sender<Event>,
    stop: &CancellationToken,
) -> Result<(), StatementError> {
    let interrupt = session.interrupt();
    let mut rows = RowSender::new(events.clone(), job.max_cell_bytes, job.max_row_bytes);
    let (outcome, interrupt) = {
        let mut running = pin!(perform(&mut *session, job, &mut rows, stop));
        tokio::select! {
            outcome = &mut running => (outcome, Some(interrupt)),
            () = stop.cancelled() => {
                let (_cancelled, outcome) = join(interrupt(), timeout(STOP_GRACE, &mut running)).await;
                let stuck = |_| Err(StatementError { error: cancelled(), is_broken: true, missing_table: None });
                (outcome.unwrap_or_else(stuck), None)
            }
        }
    };
    // Otherwise the server would send all unread rows before the connection is free.
    if let Some(interrupt) = interrupt.filter(|_| outcome.is_err() && events.is_closed()) {
        interrupt().await;
    }
    let is_broken = outcome.as_ref().is_err_and(|failure| failure.is_broken);
    session.release(is_broken).await;
    outcome
}

async fn perform(
    session: &mut dyn DatabaseSession,
    job: &TransactionRequest,
    rows: &mut RowSender,
    stop: &CancellationToken,
) -> Result<(), StatementError> {
    session.begin(job.mode, MAX_RESULT_LIFETIME).await?;
    for (at, statement) in job.statements.iter().enumerate() {
        let outcome = session.run(statement, rows).await;
        outcome.map_err(|failure| if job.statements.len() > 1 { in_batch(failure, at) } else { failure })?;
    }
    if job.mode == Mode::Write {
        if stop.is_cancelled() {
            return Err(cancelled().into());
        }
        session.commit().await.map_err(|failure| {
            if failure.is_broken { StatementError { error: unknown_outcome(), ..failure } } else { failure }
        })?;
    }
    Ok(())
}

fn in_batch(mut failure: StatementError, at: usize) -> StatementError {
    let message = &failure.error.message;
    failure.error.message = format!("statement {}: {message}; nothing was changed", at + 1);
    failure
}
