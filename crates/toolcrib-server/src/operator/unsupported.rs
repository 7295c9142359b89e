//! Stubs for platforms without Unix domain sockets.

use std::convert::Infallible;
use std::path::Path;

use toolcrib_app::App;

use super::wire::{CallDecision, ProcessInfo, ServerMessage};
use crate::Error;
use crate::approval::PendingApprovals;

/// A listener for operators. It does not exist on this platform.
pub struct UnsupportedListener(Infallible);

impl UnsupportedListener {
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
pub struct UnsupportedClient {
    /// The serving process.
    pub host: ProcessInfo,
    /// The messages of the server.
    pub messages: UnsupportedMessages,
    /// The sender of answers.
    pub answers: UnsupportedSender,
}

/// The messages of a server.
pub struct UnsupportedMessages(Infallible);

/// A sender of answers to a server.
pub struct UnsupportedSender(Infallible);

impl UnsupportedClient {
    /// Returns an error.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn connect(_app: &Path, _id: &str, _attends: bool) -> Result<Option<Self>, Error> {
        Err(Error::NoSockets)
    }
}

impl UnsupportedMessages {
    /// Returns the next message.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn next(&mut self) -> Result<Option<ServerMessage>, Error> {
        match self.0 {}
    }
}

impl UnsupportedSender {
    /// Agrees to a question.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn reply(&mut self, _id: u64, _reply: super::question::QuestionReply) -> Result<(), Error> {
        match self.0 {}
    }

    /// Answers a call by its id.
    #[expect(clippy::unused_async, reason = "as on Unix")]
    pub async fn answer(&mut self, _id: u64, _say: CallDecision) -> Result<(), Error> {
        match self.0 {}
    }
}
