//! The listener for operators.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};
use toolcrib_app::App;
use toolcrib_model::UserAnswer;
use toolcrib_policy::OPERATOR;

use super::json_lines::{JsonLines, send};
use super::limits::MAX_OPERATORS;
use super::peer_credentials::ProcessIdentity;
use super::question::{QuestionReply, WaitingQuestion};
use super::socket_directory::SocketDirectory;
use super::wire::{
    CallDecision, MAX_ANSWER_BYTES, OperatorMessage, ProcessInfo, ServerMessage, VERSION, WaitingCall,
};
use crate::Error;
use crate::approval::{AnswerOutcome, OperatorAnswer, OperatorPresence, PendingApprovals, check_answer};

/// The time in which an operator has to send the first line.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);

/// The pause before accepting again after an operator could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listener for operators, which stops when this is dropped.
pub struct OperatorListener {
    socket: PathBuf,
    serving: JoinHandle<()>,
}

/// The state that all operators share.
struct OperatorState {
    host: ProcessInfo,
    own: ProcessIdentity,
    pending: PendingApprovals,
}

impl OperatorListener {
    /// Listens for operators who answer the pending calls of an app. If `has_client` is true, the parent of this
    /// process is its client, and programs that the client has started are refused. Must be called within a tokio
    /// runtime.
    pub async fn open(app: &App, pending: &PendingApprovals, has_client: bool) -> Result<Self, Error> {
        let directory = SocketDirectory::of(app.file.name.as_ref())?;
        let failed = |source| directory.failed(source);
        let own = ProcessIdentity::new(has_client).map_err(failed)?;
        let (listener, id) = directory.listen().await.map_err(failed)?;
        let host = ProcessInfo { version: VERSION, app: app.id().to_owned(), process: std::process::id() };
        let state = Arc::new(OperatorState { host, own, pending: pending.clone() });
        let serving = tokio::spawn(accept(listener, state));
        Ok(Self { socket: directory.socket(&id), serving })
    }
}

impl Drop for OperatorListener {
    fn drop(&mut self) {
        self.serving.abort();
        // A program that looks for the socket finds that nothing listens.
        let _ = std::fs::remove_file(&self.socket);
    }
}

async fn accept(listener: UnixListener, state: Arc<OperatorState>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (state, is_full) = (Arc::clone(&state), connections.len() >= MAX_OPERATORS);
                    if is_full {
                        refuse_at_once(&stream);
                    } else {
                        connections.spawn(async move {
                            if let Err(error) = state.receive(stream).await {
                                tracing::debug!(%error, "the connection of an operator failed");
                            }
                        });
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "an operator could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Refuses an operator beyond the maximum without waiting for it.
fn refuse_at_once(stream: &UnixStream) {
    let why = format!("{MAX_OPERATORS} operators are connected already");
    if let Ok(mut line) = serde_json::to_vec(&ServerMessage::Refused { why }) {
        line.push(b'\n');
        // The buffer of a new socket has space for a line.
        let _ = stream.try_write(&line);
    }
}

/// The connection of an operator.
struct OperatorConnection {
    lines: JsonLines<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    /// The ids of the questions that were sent to the operator and have not been settled.
    known: BTreeSet<u64>,
    /// The ids of those that were sent without their arguments.
    unseen: BTreeSet<u64>,
}

impl OperatorState {
    async fn receive(&self, stream: UnixStream) -> io::Result<()> {
        let refusal = self.own.refusal(&stream);
        let (reader, writer) = stream.into_split();
        let lines = JsonLines::new(reader, MAX_ANSWER_BYTES);
        let mut connection =
            OperatorConnection { lines, writer, known: BTreeSet::new(), unseen: BTreeSet::new() };
        if let Some(why) = refusal {
            return connection.refuse(why).await;
        }
        connection.tell(&ServerMessage::Hello(self.host.clone())).await?;
        let hello = tokio::time::timeout(HELLO_PATIENCE, connection.message()).await?;
        let attends = match hello {
            Ok(Some(OperatorMessage::Hello { version: VERSION, attends })) => attends,
            Ok(Some(OperatorMessage::Hello { version, .. })) => {
                let why = format!(
                    "this server speaks version {VERSION} and the operator version {version}; use one `toolcrib` for both"
                );
                return connection.refuse(&why).await;
            }
            Ok(Some(_)) => return connection.refuse("expected `hello` as the first line").await,
            Ok(None) => return Ok(()),
            Err(error) => return connection.refuse(&error.to_string()).await,
        };
        let attached = attends.then(|| self.pending.attach());
        self.attend(connection, attached).await
    }

    /// Sends the waiting questions and accepts answers until the operator disconnects.
    async fn attend(
        &self,
        mut connection: OperatorConnection,
        _attached: Option<OperatorPresence>,
    ) -> io::Result<()> {
        let mut changes = self.pending.changes();
        let mut is_first = true;
        // While an operator is present, the questions of other processes are read again and again.
        self.pending.refresh().await;
        loop {
            changes.borrow_and_update();
            self.send_updates(&mut connection).await?;
            if std::mem::take(&mut is_first) {
                connection.tell(&ServerMessage::All).await?;
            }
            let message = tokio::select! {
                // The sender lives as long as this value.
                _ = changes.changed() => continue,
                message = connection.message() => message,
            };
            match message {
                Ok(Some(OperatorMessage::Answer { id, say })) => {
                    let settled = self.settle(&mut connection, id, say).await;
                    connection.known.remove(&id);
                    connection.tell(&settled).await?;
                }
                Ok(Some(OperatorMessage::Reply { id, reply })) => {
                    let settled = self.settle_question(&mut connection, id, Some(reply.into())).await;
                    connection.tell(&settled).await?;
                }
                Ok(Some(OperatorMessage::Hello { .. })) => {
                    return connection.refuse("found a second `hello`").await;
                }
                Ok(None) => return Ok(()),
                Err(error) => return connection.refuse(&error.to_string()).await,
            }
        }
    }

    async fn send_updates(&self, connection: &mut OperatorConnection) -> io::Result<()> {
        let (calls, questions) = (self.pending.calls(), self.pending.questions_to_user());
        let waits = |id: u64| calls.get(id).is_some() || questions.get(id).is_some();
        let gone: Vec<u64> = connection.known.iter().copied().filter(|id| !waits(*id)).collect();
        for id in gone {
            connection.known.remove(&id);
            connection.unseen.remove(&id);
            connection.tell(&ServerMessage::Gone { id }).await?;
        }
        for pending in calls.new_to(&connection.known) {
            let call = WaitingCall { waiting_seconds: pending.waiting.as_secs(), ..pending.question };
            // The operator cannot answer it, or has.
            if call.requirement.refusal(OPERATOR, &call.approved_by).is_some() {
                continue;
            }
            let call = Box::new(call);
            connection.known.insert(call.id);
            if call.arguments.is_none() {
                connection.unseen.insert(call.id);
            }
            connection.tell(&ServerMessage::Waiting { call }).await?;
        }
        for pending in questions.new_to(&connection.known) {
            let question = WaitingQuestion::new(pending.id, &pending.question, pending.waiting);
            let question = Box::new(question);
            connection.known.insert(question.id);
            if question.form.is_none() {
                connection.unseen.insert(question.id);
            }
            connection.tell(&ServerMessage::Question { question }).await?;
        }
        Ok(())
    }

    /// Accepts an answer to a call that was sent to this operator.
    async fn settle(&self, connection: &mut OperatorConnection, id: u64, say: CallDecision) -> ServerMessage {
        let refused = |why: &str| ServerMessage::Settled { id, taken: false, why: Some(why.to_owned()) };
        if self.pending.questions_to_user().get(id).is_some() {
            let answer = match say {
                CallDecision::Once => Some(QuestionReply::default().into()),
                CallDecision::Deny(feedback) => {
                    let OperatorAnswer::Deny(feedback) = OperatorAnswer::deny(&feedback) else {
                        return refused("invalid answer");
                    };
                    Some(UserAnswer::Denied(feedback))
                }
                CallDecision::Tool => None,
            };
            return self.settle_question(connection, id, answer).await;
        }
        let said = match say {
            CallDecision::Once => OperatorAnswer::Once,
            CallDecision::Tool => OperatorAnswer::Tool,
            CallDecision::Deny(feedback) => OperatorAnswer::deny(&feedback),
        };
        if !connection.known.contains(&id) {
            return refused("that call no longer waits for an answer");
        }
        if connection.unseen.contains(&id) && !matches!(said, OperatorAnswer::Deny(_)) {
            return refused("its arguments are too long to be shown whole, so it can only be denied here");
        }
        match self.pending.answer(id, said).await {
            Ok(AnswerOutcome::Accepted) => ServerMessage::Settled { id, taken: true, why: None },
            Ok(AnswerOutcome::Recorded) => {
                let why = "recorded; another person has to approve the call too".to_owned();
                ServerMessage::Settled { id, taken: true, why: Some(why) }
            }
            Ok(AnswerOutcome::TooLate) => refused("that call no longer waits for an answer"),
            Ok(AnswerOutcome::Refused(refusal)) => refused(refusal.as_str()),
            Err(error) => refused(&error.to_string()),
        }
    }

    /// Accepts an answer to a question that was sent to this operator. The question stays open if the answer does not
    /// fit.
    async fn settle_question(
        &self,
        connection: &mut OperatorConnection,
        id: u64,
        answer: Option<UserAnswer>,
    ) -> ServerMessage {
        let refused = |why: &str| ServerMessage::Settled { id, taken: false, why: Some(why.to_owned()) };
        let questions = self.pending.questions_to_user();
        let Some(question) = questions.get(id).filter(|_| connection.known.contains(&id)) else {
            return refused("too late: the question was answered elsewhere, or its asker no longer waits");
        };
        let Some(answer) = answer else {
            return refused("a question cannot be allowed for a session; answer it once");
        };
        if connection.unseen.contains(&id) && !matches!(answer, UserAnswer::Denied(_)) {
            return refused("it is too long to be shown whole, so it can only be declined here");
        }
        if let Err(problem) = check_answer(&question, &answer) {
            return refused(&problem);
        }
        connection.known.remove(&id);
        match questions.answer(id, answer).await {
            Ok(AnswerOutcome::Accepted) => ServerMessage::Settled { id, taken: true, why: None },
            Ok(_) => refused("too late: the question was answered elsewhere, or its asker no longer waits"),
            Err(error) => refused(&error.to_string()),
        }
    }
}

impl OperatorConnection {
    async fn tell(&mut self, told: &impl Serialize) -> io::Result<()> {
        send(&mut self.writer, told).await
    }

    /// Sends a refusal and closes the connection.
    async fn refuse(mut self, why: &str) -> io::Result<()> {
        self.tell(&ServerMessage::Refused { why: why.to_owned() }).await
    }

    /// Receives the next message of the operator, or `None` at the end of the stream. A message that cannot be parsed
    /// is an error, after which nothing can be read.
    async fn message(&mut self) -> io::Result<Option<OperatorMessage>> {
        let Some(line) = self.lines.next().await? else { return Ok(None) };
        let message = serde_json::from_slice(&line).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("invalid message of an operator: {error}"))
        })?;
        Ok(Some(message))
    }
}
