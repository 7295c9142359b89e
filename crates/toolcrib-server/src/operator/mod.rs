//! The answers of operators in another terminal: `toolcrib approve`.
//!
//! Each process that serves an app has a socket in a folder of the app that only its user may enter. Operators connect
//! to it, see the waiting calls, and answer them. It is off unless the app sets `serve.approve: true`, since the
//! operating system does not keep other programs of the same user from it. Programs that can be told from an operator
//! are refused, see `peer_credentials`.
//!
//! Both sides send one JSON object per line. The first line contains the version. The length of lines, the number of
//! operators and the time for each step are limited.

#[cfg(unix)]
mod client;
#[cfg(unix)]
mod json_lines;
#[cfg(unix)]
mod listener;
#[cfg(unix)]
mod peer_credentials;
#[cfg(unix)]
mod socket_directory;

#[cfg(not(unix))]
mod unsupported;

mod limits;
mod question;
mod wire;

#[cfg(unix)]
pub use client::{AnswerSender, OperatorClient, ServerMessages, serving};
#[cfg(unix)]
pub use listener::OperatorListener;

#[cfg(not(unix))]
pub use unsupported::{
    UnsupportedClient as OperatorClient, UnsupportedListener as OperatorListener,
    UnsupportedMessages as ServerMessages, UnsupportedSender as AnswerSender, serving,
};

pub use limits::{MAX_SHOWN_ARGUMENT_BYTES, MAX_SHOWN_QUESTION_BYTES};
pub use question::{QuestionReply, WaitingField, WaitingForm, WaitingKind, WaitingQuestion};
pub use wire::{CallDecision, ProcessInfo, ServerMessage, WaitingCall};
