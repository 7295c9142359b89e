//! Elicitation: questions of a server to the user, asked through the approver.
//!
//! - An [`ElicitationBroker`] passes questions on: it knows the active calls, and asks the [`Approver`](toolcrib_port::Approver) in their contexts.
//! - A [`Question`] is a valid question: a [form](form) to fill in, or a [page](page) to open.
//!
//! A question arrives as a request of the server (revision 2025-11-25 and older), in place of a result (2026-07-28), or
//! with the state of a task. It is only asked during a call that it can belong to, a limited number of times, and names
//! the server that asks. The answer is validated before it is sent to the server.

mod broker;

mod field_schema;
mod form;
mod page;
mod secret_detection;
mod text_format;

mod question;
mod reply;

#[cfg(test)]
mod tests;

pub(crate) use broker::{CallElicitation, ElicitationBroker, MAX_QUESTIONS, invalid_question, no_user};
pub(crate) use question::Question;

/// The largest number of characters of a question's message.
const MAX_MESSAGE_CHARS: usize = 4_000;

/// The largest number of characters of a field name, of a label, or of a choice.
const MAX_LABEL_CHARS: usize = 200;
