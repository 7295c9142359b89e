//! Where there are no Unix domain sockets.

use std::convert::Infallible;
use std::path::Path;

use toolcrib_runtime::App;

use super::wire::{Host, Say, Told};
use crate::{Error, PendingApprovals};

/// Where operators come in; there is none here.
pub struct OperatorDoor(Infallible);

impl OperatorDoor {
    /// Fails.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn open(_app: &App, _pending: &PendingApprovals, _has_client: bool) -> Result<Self, Error> {
        Err(Error::NoSockets)
    }
}

/// Fails.
pub fn serving(_app: &Path) -> Result<Vec<String>, Error> {
    Err(Error::NoSockets)
}

/// A process that serves an app; there is none here.
pub struct Visit {
    /// Who serves.
    pub host: Host,
    /// What it tells.
    pub news: News,
    /// How it is answered.
    pub answers: Answers,
}

/// What a server tells.
pub struct News(Infallible);

/// How a server is answered.
pub struct Answers(Infallible);

impl Visit {
    /// Fails.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn to(_app: &Path, _id: &str, _attends: bool) -> Result<Option<Self>, Error> {
        Err(Error::NoSockets)
    }
}

impl News {
    /// What is told next.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn next(&mut self) -> Result<Option<Told>, Error> {
        match self.0 {}
    }
}

impl Answers {
    /// Says yes to a question.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn reply(&mut self, _id: u64, _reply: super::Reply) -> Result<(), Error> {
        match self.0 {}
    }

    /// Answers a call by its number.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn answer(&mut self, _id: u64, _say: Say) -> Result<(), Error> {
        match self.0 {}
    }
}
