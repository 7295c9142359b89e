//! What a server wants to know from the user, asked through whoever asks the user for agents.
//!
//! - A [`Desk`] is where questions are put: it knows the [`Approver`](toolcrib_port::Approver), and the calls that run.
//! - A [`Question`] is one that can be put: a [form](form) to fill in, or a [page](page) to open.
//!
//! A question comes as a request of the server (revision 2025-11-25 and older), in the place of a result (2026-07-28), or
//! with the state of a task. It is put only while a call runs that it can be for, a bounded number of times, and says which
//! server asks. What comes back is checked before the server gets it.

mod desk;

mod check;
mod entry;
mod form;
mod page;
mod secrecy;

mod question;

#[cfg(test)]
mod tests;

pub use desk::{ANSWER_PATIENCE, MAX_QUESTIONS};
pub(crate) use desk::{Desk, OnCall, nobody, unfit};
pub use form::MAX_FORM_LINES;
pub(crate) use question::Question;

/// The most characters of what a server says to a question.
const MAX_MESSAGE_CHARS: usize = 4_000;

/// The most characters of the name of a field, of what is shown for it, or of a choice.
const MAX_LABEL_CHARS: usize = 200;
