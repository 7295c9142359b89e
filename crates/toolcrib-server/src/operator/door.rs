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
use toolcrib_model::UserAnswer;
use toolcrib_runtime::App;

use super::MAX_OPERATORS;
use super::lines::{Lines, send};
use super::peer::Own;
use super::place::Place;
use super::wire::{Heard, Host, MAX_ANSWER_BYTES, Say, Told, VERSION, WaitingCall};
use super::{Reply, WaitingQuestion};
use crate::approval::{AnswerOutcome, OperatorAnswer, OperatorPresence, check_answer};
use crate::{Error, PendingApprovals};

/// The time in which an operator has to send the first line.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);

/// The pause before accepting again after an operator could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listener for operators, which stops when this is dropped.
pub struct OperatorDoor {
    socket: PathBuf,
    serving: JoinHandle<()>,
}

/// The state that all operators share.
struct Inside {
    host: Host,
    own: Own,
    pending: PendingApprovals,
}

impl OperatorDoor {
    /// Listens for operators who answer the pending calls of an app. If `has_client` is true, the parent of this
    /// process is its client, and programs that the client has started are refused. Must be called within a tokio
    /// runtime.
    pub async fn open(app: &App, pending: &PendingApprovals, has_client: bool) -> Result<Self, Error> {
        let place = Place::of(app.file.as_ref())?;
        let failed = |source| place.failed(source);
        let own = Own::new(has_client).map_err(failed)?;
        let (listener, id) = place.listen().await.map_err(failed)?;
        let host = Host { version: VERSION, app: app.id().to_owned(), process: std::process::id() };
        let inside = Arc::new(Inside { host, own, pending: pending.clone() });
        let serving = tokio::spawn(accept(listener, inside));
        Ok(Self { socket: place.socket(&id), serving })
    }
}

impl Drop for OperatorDoor {
    fn drop(&mut self) {
        self.serving.abort();
        // A program that looks for the socket finds that nothing listens.
        let _ = std::fs::remove_file(&self.socket);
    }
}

async fn accept(listener: UnixListener, inside: Arc<Inside>) {
    let mut visits = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (inside, is_full) = (Arc::clone(&inside), visits.len() >= MAX_OPERATORS);
                    if is_full {
                        refuse_at_once(&stream);
                    } else {
                        visits.spawn(async move {
                            if let Err(error) = inside.receive(stream).await {
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
            Some(_) = visits.join_next() => {}
        }
    }
}

/// Refuses an operator beyond the maximum without waiting for it.
fn refuse_at_once(stream: &UnixStream) {
    let why = format!("{MAX_OPERATORS} operators are connected already");
    if let Ok(mut line) = serde_json::to_vec(&Told::Refused { why }) {
        line.push(b'\n');
        // The buffer of a new socket has space for a line.
        let _ = stream.try_write(&line);
    }
}

/// The connection of an operator.
struct Visit {
    lines: Lines<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    /// The ids of the questions that were sent to the operator and have not been settled.
    known: BTreeSet<u64>,
    /// The ids of those that were sent without their arguments.
    unseen: BTreeSet<u64>,
}

impl Inside {
    async fn receive(&self, stream: UnixStream) -> io::Result<()> {
        let refusal = self.own.refusal(&stream);
        let (reader, writer) = stream.into_split();
        let lines = Lines::new(reader, MAX_ANSWER_BYTES);
        let mut visit = Visit { lines, writer, known: BTreeSet::new(), unseen: BTreeSet::new() };
        if let Some(why) = refusal {
            return visit.refuse(why).await;
        }
        visit.tell(&Told::Hello(self.host.clone())).await?;
        let hello = tokio::time::timeout(HELLO_PATIENCE, visit.heard()).await?;
        let attends = match hello {
            Ok(Some(Heard::Hello { version: VERSION, attends })) => attends,
            Ok(Some(Heard::Hello { version, .. })) => {
                let why = format!(
                    "this server speaks version {VERSION} and the operator version {version}; use one `toolcrib` for both"
                );
                return visit.refuse(&why).await;
            }
            Ok(Some(_)) => return visit.refuse("expected `hello` as the first line").await,
            Ok(None) => return Ok(()),
            Err(error) => return visit.refuse(&error.to_string()).await,
        };
        let attached = attends.then(|| self.pending.attach());
        self.attend(visit, attached).await
    }

    /// Sends the waiting questions and accepts answers until the operator disconnects.
    async fn attend(&self, mut visit: Visit, _attached: Option<OperatorPresence>) -> io::Result<()> {
        let mut changes = self.pending.changes();
        let mut is_first = true;
        loop {
            changes.borrow_and_update();
            self.tell_news(&mut visit).await?;
            if std::mem::take(&mut is_first) {
                visit.tell(&Told::All).await?;
            }
            let heard = tokio::select! {
                // The sender lives as long as this value.
                _ = changes.changed() => continue,
                heard = visit.heard() => heard,
            };
            match heard {
                Ok(Some(Heard::Answer { id, say })) => {
                    let settled = self.settle(&mut visit, id, say);
                    visit.known.remove(&id);
                    visit.tell(&settled).await?;
                }
                Ok(Some(Heard::Reply { id, reply })) => {
                    let settled = self.settle_question(&mut visit, id, Some(reply.into()));
                    visit.tell(&settled).await?;
                }
                Ok(Some(Heard::Hello { .. })) => return visit.refuse("found a second `hello`").await,
                Ok(None) => return Ok(()),
                Err(error) => return visit.refuse(&error.to_string()).await,
            }
        }
    }

    async fn tell_news(&self, visit: &mut Visit) -> io::Result<()> {
        let questions = self.pending.questions_to_user();
        let waits = |id: u64| self.pending.has(id) || questions.get(id).is_some();
        let gone: Vec<u64> = visit.known.iter().copied().filter(|id| !waits(*id)).collect();
        for id in gone {
            visit.known.remove(&id);
            visit.unseen.remove(&id);
            visit.tell(&Told::Gone { id }).await?;
        }
        for (question, since) in self.pending.new_to(&visit.known) {
            let call = Box::new(WaitingCall::new(&question, since));
            visit.known.insert(call.id);
            if call.arguments.is_none() {
                visit.unseen.insert(call.id);
            }
            visit.tell(&Told::Waiting { call }).await?;
        }
        for pending in questions.new_to(&visit.known) {
            let question = Box::new(WaitingQuestion::new(&pending));
            visit.known.insert(question.id);
            if question.form.is_none() {
                visit.unseen.insert(question.id);
            }
            visit.tell(&Told::Question { question }).await?;
        }
        Ok(())
    }

    /// Accepts an answer to a call that was sent to this operator.
    fn settle(&self, visit: &mut Visit, id: u64, say: Say) -> Told {
        let refused = |why: &str| Told::Settled { id, taken: false, why: Some(why.to_owned()) };
        if self.pending.questions_to_user().get(id).is_some() {
            let answer = match say {
                Say::Once => Some(Reply::default().into()),
                Say::Deny(feedback) => {
                    let OperatorAnswer::Deny(feedback) = OperatorAnswer::deny(&feedback) else {
                        return refused("invalid answer");
                    };
                    Some(UserAnswer::Denied(feedback))
                }
                Say::Tool => None,
            };
            return self.settle_question(visit, id, answer);
        }
        let said = match say {
            Say::Once => OperatorAnswer::Once,
            Say::Tool => OperatorAnswer::Tool,
            Say::Deny(feedback) => OperatorAnswer::deny(&feedback),
        };
        if !visit.known.contains(&id) {
            return refused("that call no longer waits for an answer");
        }
        if visit.unseen.contains(&id) && !matches!(said, OperatorAnswer::Deny(_)) {
            return refused("its arguments are too long to be shown whole, so it can only be denied here");
        }
        match self.pending.answer(id, said) {
            AnswerOutcome::Accepted => Told::Settled { id, taken: true, why: None },
            AnswerOutcome::TooLate => refused("that call no longer waits for an answer"),
        }
    }

    /// Accepts an answer to a question that was sent to this operator. The question stays open if the answer does not
    /// fit.
    fn settle_question(&self, visit: &mut Visit, id: u64, answer: Option<UserAnswer>) -> Told {
        let refused = |why: &str| Told::Settled { id, taken: false, why: Some(why.to_owned()) };
        let questions = self.pending.questions_to_user();
        let Some(question) = questions.get(id).filter(|_| visit.known.contains(&id)) else {
            return refused("too late: the question was answered elsewhere, or its asker no longer waits");
        };
        let Some(answer) = answer else {
            return refused("a question cannot be allowed for a session; answer it once");
        };
        if visit.unseen.contains(&id) && !matches!(answer, UserAnswer::Denied(_)) {
            return refused("it is too long to be shown whole, so it can only be declined here");
        }
        if let Err(problem) = check_answer(&question, &answer) {
            return refused(&problem);
        }
        visit.known.remove(&id);
        if questions.answer(id, answer) {
            return Told::Settled { id, taken: true, why: None };
        }
        refused("too late: the question was answered elsewhere, or its asker no longer waits")
    }
}

impl Visit {
    async fn tell(&mut self, told: &impl Serialize) -> io::Result<()> {
        send(&mut self.writer, told).await
    }

    /// Sends a refusal and closes the connection.
    async fn refuse(mut self, why: &str) -> io::Result<()> {
        self.tell(&Told::Refused { why: why.to_owned() }).await
    }

    /// Receives the next message of the operator, or `None` at the end of the stream. A message that cannot be parsed
    /// is an error, after which nothing can be read.
    async fn heard(&mut self) -> io::Result<Option<Heard>> {
        let Some(line) = self.lines.next().await? else { return Ok(None) };
        let heard = serde_json::from_slice(&line).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("invalid message of an operator: {error}"))
        })?;
        Ok(Some(heard))
    }
}
