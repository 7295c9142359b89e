//! Stubs for platforms without Unix domain sockets.

use std::convert::Infallible;
use std::path::Path;

use toolcrib_runtime::App;

use super::wire::{Host, Say, Told};
use crate::{Error, PendingApprovals};

/// A listener for operators. It does not exist on this platform.
pub struct OperatorDoor(Infallible);

impl OperatorDoor {
    /// Returns an error.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn open(_app: &App, _pending: &PendingApprovals, _has_client: bool) -> Result<Self, Error> {
        Err(Error::NoSockets)
    }
}

/// Returns an error.
pub fn serving(_app: &Path) -> Result<Vec<String>, Error> {
    Err(Error::NoSockets)
}

/// A connection to a process that serves an app. It does not exist on this platform.
pub struct Visit {
    /// The serving process.
    pub host: Host,
    /// The messages of the server.
    pub news: News,
    /// The sender of answers.
    pub answers: Answers,
}

/// The messages of a server.
pub struct News(Infallible);

/// A sender of answers to a server.
pub struct Answers(Infallible);

impl Visit {
    /// Returns an error.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn to(_app: &Path, _id: &str, _attends: bool) -> Result<Option<Self>, Error> {
        Err(Error::NoSockets)
    }
}

impl News {
    /// Returns the next message.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn next(&mut self) -> Result<Option<Told>, Error> {
        match self.0 {}
    }
}

impl Answers {
    /// Agrees to a question.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn reply(&mut self, _id: u64, _reply: super::Reply) -> Result<(), Error> {
        match self.0 {}
    }

    /// Answers a call by its id.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn answer(&mut self, _id: u64, _say: Say) -> Result<(), Error> {
        match self.0 {}
    }
}
