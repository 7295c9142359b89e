//! Tool calls: the engines, the tasks that a server makes of calls, and the conversion of results.

mod engine;
mod response;
pub(crate) mod result_conversion;
pub(crate) mod session_engines;
mod task;

pub use engine::McpEngine;
pub use session_engines::SessionEngines;
