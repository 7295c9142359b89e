//! Answering from another terminal: `toolcrib approve`.
//!
//! Each process that serves an app has a socket in a folder of the app, which only its user may enter. Operators come in there
//! for as long as they like, are shown the calls that wait, and answer them. It is off unless the app says `serve.approve:
//! true`, since a program that runs as the same user is not kept from this by the operating system. Those that can be told
//! from an operator are refused, see [`peer`].
//!
//! Both sides send JSON, one object on each line, the first of which says the version. What a line may hold, how many
//! operators come in and how long they may take is bounded.

#[cfg(unix)]
mod door;
#[cfg(unix)]
mod lines;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod visit;

#[cfg(not(unix))]
mod elsewhere;

mod question;
mod wire;

#[cfg(unix)]
pub use door::OperatorDoor;
#[cfg(unix)]
pub use visit::{Answers, News, Visit, serving};

#[cfg(not(unix))]
pub use elsewhere::{Answers, News, OperatorDoor, Visit, serving};

pub use question::{Reply, WaitingField, WaitingForm, WaitingKind, WaitingQuestion};
pub use wire::{Host, Say, Told, WaitingCall};

/// The most processes that serve one app, and are shown together.
pub const MAX_SERVING: usize = 64;

/// The most operators that one process lets in at once.
pub const MAX_OPERATORS: usize = 16;

/// The most bytes of the arguments of a call that are shown to an operator, as JSON. A call with more can only be denied there.
pub const MAX_SHOWN_ARGUMENT_BYTES: usize = 64 * 1024;

/// The most bytes of what a question wants to be filled in that are shown to an operator, as JSON. One with more can only be
/// answered with no there.
pub const MAX_SHOWN_QUESTION_BYTES: usize = 64 * 1024;
