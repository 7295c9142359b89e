//! Coming in as an operator.

use std::path::Path;
use std::time::Duration;

use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::lines::{Lines, send};
use super::place::{Place, own_user};
use super::wire::{Heard, Host, MAX_NEWS_BYTES, Say, Told, VERSION};
use super::{MAX_SERVING, Reply};
use crate::Error;

/// How long a server may take to say who serves.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);

/// The ids of the processes that may serve the app in this file; of one that has died, [`Visit::to`] says so.
pub fn serving(app: &Path) -> Result<Vec<String>, Error> {
    let place = Place::of(app)?;
    let mut ids = place.ids().map_err(|error| place.failed(error))?;
    ids.truncate(MAX_SERVING);
    Ok(ids)
}

/// A process that serves an app, with this process as its operator.
pub struct Visit {
    /// Who serves.
    pub host: Host,
    /// What it tells.
    pub news: News,
    /// How it is answered. The operator leaves when this is dropped.
    pub answers: Answers,
}

/// What a server tells.
pub struct News {
    lines: Lines<OwnedReadHalf>,
}

/// How a server is answered.
pub struct Answers {
    writer: OwnedWriteHalf,
}

impl Visit {
    /// Comes to the process with this id; `None` where it has died. `attends` is whether calls wait as long as this is there.
    pub async fn to(app: &Path, id: &str, attends: bool) -> Result<Option<Self>, Error> {
        let place = Place::of(app)?;
        let failed = |error| place.failed(error);
        let Some(stream) = place.connect(id).await.map_err(failed)? else { return Ok(None) };
        if stream.peer_cred().map_err(failed)?.uid() != own_user().map_err(failed)? {
            return Err(talk("it is another user's"));
        }
        let (reader, writer) = stream.into_split();
        let (mut news, mut answers) =
            (News { lines: Lines::new(reader, MAX_NEWS_BYTES) }, Answers { writer });
        let hello = Heard::Hello { version: VERSION, attends };
        // One that refuses says why before it hangs up.
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
            Err(_) | Ok(Ok(Some(_))) => Err(talk("it does not say who it is")),
            Ok(Ok(None)) => Ok(None),
        }
    }
}

impl News {
    /// What is told next; `None` when the server is gone.
    pub async fn next(&mut self) -> Result<Option<Told>, Error> {
        let Some(line) = self.lines.next().await.map_err(talk)? else { return Ok(None) };
        serde_json::from_slice(&line).map(Some).map_err(talk)
    }
}

impl Answers {
    /// Says yes to a question by its number, with what was filled in. What becomes of it is told.
    pub async fn reply(&mut self, id: u64, reply: Reply) -> Result<(), Error> {
        send(&mut self.writer, &Heard::Reply { id, reply }).await.map_err(talk)
    }

    /// Answers a call by its number, or a question with a plain yes or no. What becomes of it is told.
    pub async fn answer(&mut self, id: u64, say: Say) -> Result<(), Error> {
        send(&mut self.writer, &Heard::Answer { id, say }).await.map_err(talk)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn talk(message: impl ToString) -> Error {
    Error::Operator { message: message.to_string() }
}
