//! Calls that continue with the answers of their client, in this process or in another one.

use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{ErrorData, InputRequiredResult, InputResponses};
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;
use toolcrib_model::ToolCall;
use toolcrib_port::CallContext;
use toolcrib_tasks::store::{Change, RecordKind, StoreError};

use crate::Error;
use crate::approval::{RequestKey, refused};
use crate::calls::execution::{
    CallOutcome, CallSetup, Caller, FinishedCall, RunningCall, WaitLimit, WaitOutcome,
};
use crate::calls::start_record::SharedToken;
use crate::calls::structured_output::StructuredContent;
use crate::calls::tasks::takes_tasks;
use crate::replica::Replica;
use crate::replica::keys::TokenError;
use crate::replica::mail::{Outcome, PendingOutcome, ReplicaMessage, Resume, new_id, sending};
use crate::server::Shared;

/// The interval at which a process checks that the one is alive that continues a call for it.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The number of checks in a row that do not find a process before it counts as ended. Its last message may be on its
/// way at the first.
const MISSED_LOOKS: usize = 2;

/// The time for which a process tries to send the outcome of a call while the store cannot be reached.
const SEND_TIME: Duration = Duration::from_mins(1);

/// The error for a token that was used.
const USED: &str = "it was used already, or the call was cancelled";

/// A call that its client resumes.
pub(crate) enum Resumed {
    /// The call has continued.
    Continued(CallOutcome),
    /// The process that held the call has ended.
    Lost {
        /// True if the call may have had an effect.
        has_begun: bool,
    },
}

impl Shared {
    /// Runs a call that only reads, or continues the one that its client resumes. Reading is repeated if the process has
    /// ended that did it.
    pub(crate) async fn read(
        &self,
        key: &RequestKey,
        (token, responses): (Option<&str>, Option<InputResponses>),
        (setup, call): (CallSetup, ToolCall),
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallOutcome, ErrorData> {
        // Answers to the questions of a call that was lost are not answers to those of another.
        let answers = match token {
            None => responses,
            Some(token) => match self.resume(key, token, responses, caller, context).await? {
                Resumed::Continued(outcome) => return Ok(outcome),
                Resumed::Lost { .. } => None,
            },
        };
        let setup = setup.with_answers(answers).with_replica(self.settings.replica.as_ref());
        self.advance(key, setup.run(call, WaitLimit::Unlimited), context).await
    }

    /// Continues a call that its client resumes with its answers.
    pub(crate) async fn resume(
        &self,
        key: &RequestKey,
        token: &str,
        responses: Option<InputResponses>,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<Resumed, ErrorData> {
        let responses = responses.unwrap_or_default();
        let Some(replica) = &self.settings.replica else {
            let running = self.suspended.resume(key, token)?;
            running.accept_answers(responses);
            return self.advance(key, running, context).await.map(Resumed::Continued);
        };
        let token: SharedToken = replica.open(&key.bytes, token).await.map_err(|error| match error {
            TokenError::Refused => refused("it does not belong to this call, or it has expired"),
            TokenError::Store(error) => unavailable(&error),
        })?;
        if token.process == replica.id() {
            take(replica, &token, None).await?;
            let (_, running) = self.suspended.take(token.call).ok_or_else(|| refused(USED))?;
            running.accept_answers(responses);
            return self.advance(key, running, context).await.map(Resumed::Continued);
        }
        let request = new_id().map_err(|error| unavailable(&error))?;
        if replica.is_alive(&token.process).await.map_err(|error| unavailable(&error))? {
            let (sender, request_id) = (replica.id().to_owned(), request.clone());
            let takes_tasks = takes_tasks(context);
            let resume = Resume { request: request_id, sender, call: token.call, responses, takes_tasks };
            let message = sending(&token.process, &ReplicaMessage::Resume(resume));
            let pending = replica.expect_outcome(&request, &token.process);
            take(replica, &token, Some(message.map_err(|error| unavailable(&error))?)).await?;
            if let Some(outcome) = wait(replica, pending, &token.process, &context.ct).await? {
                return finish(outcome, caller).await.map(Resumed::Continued);
            }
        } else {
            take(replica, &token, None).await?;
        }
        let is_first = replica.take(RecordKind::NotBegun, &token.not_begun()).await;
        Ok(Resumed::Lost { has_begun: !is_first.map_err(|error| unavailable(&error))? })
    }

    /// Continues a call until it has a result, or a question for which its client has to resume it.
    pub(crate) async fn advance(
        &self,
        key: &RequestKey,
        mut running: RunningCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallOutcome, ErrorData> {
        let token = context.meta.get_progress_token();
        running.report_to(token.map(|token| (context.peer.clone(), token)));
        self.advance_until(key, running, &context.ct).await
    }

    /// Continues a call until then, or until its client has left.
    async fn advance_until(
        &self,
        key: &RequestKey,
        mut running: RunningCall,
        gone: &CancellationToken,
    ) -> Result<CallOutcome, ErrorData> {
        let progress = running.progress();
        let _listed = self.list_call(progress.clone());
        let waited = tokio::select! {
            biased;
            waited = running.wait(gone) => waited,
            // A person could answer for long, so the call fails now. Its record stays, as that of any call which the end of
            // the process cuts short.
            () = self.interrupted(&progress.phase) => return Err(interrupted()),
        };
        match waited {
            WaitOutcome::Done(result) => {
                if let Some(record) = running.start_record() {
                    record.end().await;
                }
                Ok(CallOutcome::Done(Box::new(running.finish(*result))))
            }
            WaitOutcome::Asks(requests) => {
                let token = self.suspend(key, running).await?;
                Ok(CallOutcome::Asks(InputRequiredResult::new(Some(requests), Some(token))))
            }
        }
    }

    /// Stores a call and returns the token by which its client resumes it.
    async fn suspend(&self, key: &RequestKey, running: RunningCall) -> Result<String, ErrorData> {
        let Some((replica, start)) = self.settings.replica.as_ref().zip(running.start_record()) else {
            return self.suspended.suspend(key, running);
        };
        let token = start.suspend().await.map_err(|error| unavailable(&error))?;
        let sealed = replica.seal(&key.bytes, &token).await.map_err(|error| unavailable(&error))?;
        self.suspended.insert(start.number(), key, running);
        // The process that the client comes to next may have a message.
        replica.wake();
        Ok(sealed)
    }

    /// Continues a call for another process, which has its client, and sends the outcome there.
    pub(crate) async fn continue_for(&self, replica: &Replica, resume: Resume) {
        let Resume { request, sender, call, responses, takes_tasks } = resume;
        let gone = self.suspended.client_at(&request);
        let outcome = match self.suspended.take(call) {
            None => Err(refused(USED)),
            Some((key, running)) => {
                running.accept_answers(responses);
                self.advance_until(&key, running, &gone).await
            }
        };
        self.suspended.client_left(&request);
        let outcome = Box::new(match outcome {
            Err(error) => Outcome::Failed(error),
            Ok(CallOutcome::Asks(asks)) => Outcome::Asks(asks),
            Ok(CallOutcome::Done(ended)) => {
                let task = self.task_of(&ended, takes_tasks).await.map(Box::new);
                let structure = ended.structure.map(|structure| structure.take());
                let structure = structure.map(|structure| structure.map_err(str::to_owned));
                Outcome::Done { result: Box::new(ended.result), structure, task }
            }
        });
        let (message, begun) = (ReplicaMessage::Outcome { request, outcome }, Instant::now());
        while let Err(error) = replica.send(&sender, &message).await {
            if !matches!(error, Error::Store(StoreError::Unreachable { .. })) || begun.elapsed() > SEND_TIME {
                tracing::warn!(%error, "the outcome of a call cannot be sent to the process with its client");
                return;
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}

/// Takes the record of a suspended call, and sends a message about it in the same transaction.
async fn take(replica: &Replica, token: &SharedToken, message: Option<Change>) -> Result<(), ErrorData> {
    let mut changes = vec![Change::take(RecordKind::Suspended, token.suspension())];
    changes.extend(message);
    match replica.apply(changes).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(USED)),
        Err(error) => Err(unavailable(&error)),
    }
}

/// Waits for the outcome of a call that another process continues. Returns `None` if that process has ended.
async fn wait(
    replica: &Replica,
    mut pending: PendingOutcome<'_>,
    holder: &str,
    gone: &CancellationToken,
) -> Result<Option<Outcome>, ErrorData> {
    let mut missed = 0;
    while missed < MISSED_LOOKS {
        tokio::select! {
            biased;
            Ok(outcome) = &mut pending.receiver => return Ok(Some(outcome)),
            // The other process is told when `pending` is dropped.
            () = gone.cancelled() => return Err(ErrorData::internal_error("the client has left", None)),
            () = tokio::time::sleep(LOOK_INTERVAL) => {}
        }
        match replica.is_alive(holder).await {
            Ok(true) => missed = 0,
            Ok(false) => missed += 1,
            // What the other process has done is known when the store is back.
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Returns the outcome of a call for its caller, who has come to this process.
async fn finish(outcome: Outcome, caller: &Caller) -> Result<CallOutcome, ErrorData> {
    match outcome {
        Outcome::Failed(error) => Err(error),
        Outcome::Asks(asks) => Ok(CallOutcome::Asks(asks)),
        Outcome::Done { result, structure, task } => {
            let context: CallContext = caller.context();
            let structure = structure.map(StructuredContent::of);
            let (started, lease) = (Instant::now(), caller.lease.clone());
            lease.runtime.executor().load_media(&result, &context).await;
            let (result, elicitation) = (*result, None);
            let ended = FinishedCall { result, context, elicitation, started, structure, task, lease };
            Ok(CallOutcome::Done(Box::new(ended)))
        }
    }
}

/// Returns the error for a call that waits for a person while the server shuts down.
fn interrupted() -> ErrorData {
    let message =
        "the server is shutting down, and the call still waited for a person to answer: it was not approved";
    ErrorData::internal_error(message, None)
}

/// Returns the error for a request that needs the store while it cannot be used.
fn unavailable(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(format!("{error}; the call was not continued, and can be resumed later"), None)
}
