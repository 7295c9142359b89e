//! The MCP protocol: the request handler, the lists and instructions for clients, and the checks of messages.

pub(crate) mod completions;
pub(crate) mod handler;
pub(crate) mod instructions;
pub(crate) mod invalid_requests;
pub(crate) mod list_changes;
pub(crate) mod session;
pub(crate) mod strict_json;
