//! The agents of a running app.

pub(crate) mod factory;
pub(crate) mod notifications;
pub(crate) mod prompter;
