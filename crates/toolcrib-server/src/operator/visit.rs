//! The operator's side of the connection.

use std::path::Path;
use std::time::Duration;

use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::lines::{Lines, send};
use super::place::{Place, own_user};
use super::wire::{Heard, Host, MAX_NEWS_BYTES, Say, Told, VERSION};
use super::{MAX_SERVING, Reply};
use crate::Error;

/// The time in which a server has to identify itself.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);

/// Returns the ids of the processes that may serve the app in this file. [`Visit::to`] reports those that have ended.
pub fn serving(app: &Path) -> Result<Vec<String>, Error> {
    let place = Place::of(app)?;
    let mut ids = place.ids().map_err(|error| place.failed(error))?;
    ids.truncate(MAX_SERVING);
    Ok(ids)
}

/// A connection to a process that serves an app, with this process as its operator.
pub struct Visit {
    /// The serving process.
    pub host: Host,
    /// The messages of the server.
    pub news: News,
    /// The sender of answers. The operator disconnects when this is dropped.
    pub answers: Answers,
}

/// The messages of a server.
pub struct News {
    lines: Lines<OwnedReadHalf>,
}

/// A sender of answers to a server.
pub struct Answers {
    writer: OwnedWriteHalf,
}

impl Visit {
    /// Connects to the process with this id. Returns `None` if it has ended. If `attends` is true, calls wait while the
    /// connection exists.
    pub async fn to(app: &Path, id: &str, attends: bool) -> Result<Option<Self>, Error> {
        let place = Place::of(app)?;
        let failed = |error| place.failed(error);
        let Some(stream) = place.connect(id).await.map_err(failed)? else { return Ok(None) };
        if stream.peer_cred().map_err(failed)?.uid() != own_user().map_err(failed)? {
            return Err(talk("it belongs to another user"));
        }
        let (reader, writer) = stream.into_split();
        let (mut news, mut answers) =
            (News { lines: Lines::new(reader, MAX_NEWS_BYTES) }, Answers { writer });
        let hello = Heard::Hello { version: VERSION, attends };
        // A server that refuses states the reason before it disconnects.
        let said = send(&mut answers.writer, &hello).await;
        match tokio::time::timeout(HELLO_PATIENCE, news.next()).await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(Some(Told::Refused { why }))) => Err(talk(why)),
            Ok(Ok(Some(Told::Hello(host)))) if host.version == VERSION => {
                said.map_err(talk)?;
                Ok(Some(Self { host, news, answers }))
            }
            Ok(Ok(Some(Told::Hello(host)))) => Err(talk(format!(
                "it speaks version {}, and this is version {VERSION}; use one `toolcrib` for both",
                host.version
            ))),
            Err(_) | Ok(Ok(Some(_))) => Err(talk("it did not identify itself")),
            Ok(Ok(None)) => Ok(None),
        }
    }
}

impl News {
    /// Returns the next message, or `None` when the server has disconnected.
    pub async fn next(&mut self) -> Result<Option<Told>, Error> {
        let Some(line) = self.lines.next().await.map_err(talk)? else { return Ok(None) };
        serde_json::from_slice(&line).map(Some).map_err(talk)
    }
}

impl Answers {
    /// Agrees to the question with this id, with the completed form. The outcome follows as a message.
    pub async fn reply(&mut self, id: u64, reply: Reply) -> Result<(), Error> {
        send(&mut self.writer, &Heard::Reply { id, reply }).await.map_err(talk)
    }

    /// Answers the call with this id, or agrees to or declines a question without a form. The outcome follows as a
    /// message.
    pub async fn answer(&mut self, id: u64, say: Say) -> Result<(), Error> {
        send(&mut self.writer, &Heard::Answer { id, say }).await.map_err(talk)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn talk(message: impl ToString) -> Error {
    Error::Operator { message: message.to_string() }
}
