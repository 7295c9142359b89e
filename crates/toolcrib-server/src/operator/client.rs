//! The operator's side of the connection.

use std::path::Path;
use std::time::Duration;

use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::json_lines::{JsonLines, send};
use super::limits::MAX_SERVING;
use super::question::QuestionReply;
use super::socket_directory::{SocketDirectory, own_user};
use super::wire::{CallDecision, MAX_MESSAGE_BYTES, OperatorMessage, ProcessInfo, ServerMessage, VERSION};
use crate::Error;

/// The time in which a server has to identify itself.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);

/// Returns the ids of the processes that may serve the app in this file. [`OperatorClient::connect`]
/// reports those that have ended.
pub fn serving(app: &Path) -> Result<Vec<String>, Error> {
    let directory = SocketDirectory::of(app)?;
    let mut ids = directory.ids().map_err(|error| directory.failed(error))?;
    ids.truncate(MAX_SERVING);
    Ok(ids)
}

/// A connection to a process that serves an app, with this process as its operator.
pub struct OperatorClient {
    /// The serving process.
    pub host: ProcessInfo,
    /// The messages of the server.
    pub messages: ServerMessages,
    /// The sender of answers. The operator disconnects when this is dropped.
    pub answers: AnswerSender,
}

/// The messages of a server.
pub struct ServerMessages {
    lines: JsonLines<OwnedReadHalf>,
}

/// A sender of answers to a server.
pub struct AnswerSender {
    writer: OwnedWriteHalf,
}

impl OperatorClient {
    /// Connects to the process with this id. Returns `None` if it has ended. If `attends` is true, calls wait while the
    /// connection exists.
    pub async fn connect(app: &Path, id: &str, attends: bool) -> Result<Option<Self>, Error> {
        let directory = SocketDirectory::of(app)?;
        let failed = |error| directory.failed(error);
        let Some(stream) = directory.connect(id).await.map_err(failed)? else { return Ok(None) };
        if stream.peer_cred().map_err(failed)?.uid() != own_user().map_err(failed)? {
            return Err(talk("it belongs to another user"));
        }
        let (reader, writer) = stream.into_split();
        let (mut messages, mut answers) =
            (ServerMessages { lines: JsonLines::new(reader, MAX_MESSAGE_BYTES) }, AnswerSender { writer });
        let hello = OperatorMessage::Hello { version: VERSION, attends };
        // A server that refuses states the reason before it disconnects.
        let said = send(&mut answers.writer, &hello).await;
        match tokio::time::timeout(HELLO_PATIENCE, messages.next()).await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(Some(ServerMessage::Refused { why }))) => Err(talk(why)),
            Ok(Ok(Some(ServerMessage::Hello(host)))) if host.version == VERSION => {
                said.map_err(talk)?;
                Ok(Some(Self { host, messages, answers }))
            }
            Ok(Ok(Some(ServerMessage::Hello(host)))) => Err(talk(format!(
                "it speaks version {}, and this is version {VERSION}; use one `toolcrib` for both",
                host.version
            ))),
            Err(_) | Ok(Ok(Some(_))) => Err(talk("it did not identify itself")),
            Ok(Ok(None)) => Ok(None),
        }
    }
}

impl ServerMessages {
    /// Returns the next message, or `None` when the server has disconnected.
    pub async fn next(&mut self) -> Result<Option<ServerMessage>, Error> {
        let Some(line) = self.lines.next().await.map_err(talk)? else { return Ok(None) };
        serde_json::from_slice(&line).map(Some).map_err(talk)
    }
}

impl AnswerSender {
    /// Agrees to the question with this id, with the completed form. The outcome follows as a message.
    pub async fn reply(&mut self, id: u64, reply: QuestionReply) -> Result<(), Error> {
        send(&mut self.writer, &OperatorMessage::Reply { id, reply }).await.map_err(talk)
    }

    /// Answers the call with this id, or agrees to or declines a question without a form. The outcome follows as a
    /// message.
    pub async fn answer(&mut self, id: u64, say: CallDecision) -> Result<(), Error> {
        send(&mut self.writer, &OperatorMessage::Answer { id, say }).await.map_err(talk)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn talk(message: impl ToString) -> Error {
    Error::Operator { message: message.to_string() }
}
