//! The setup of agents: their models, tools and context windows.

pub(crate) mod agent_setup;
pub(crate) mod context_windows;
pub(crate) mod factory;
pub(crate) mod injection;
pub(crate) mod models;
pub(crate) mod notifications;
pub(crate) mod prompter;
pub(crate) mod setup;
pub(crate) mod surface;
