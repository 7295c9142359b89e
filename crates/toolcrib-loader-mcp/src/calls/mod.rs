//! Tool calls: the engines, the tasks that a server makes of calls, and the conversion of results.

mod engine;
pub(crate) mod result_conversion;
mod session_engines;
mod task;

pub use engine::McpEngine;
pub use session_engines::{DEFAULT_SESSION_SERVERS, SESSION_IDLE_TIME, SessionEngines};
