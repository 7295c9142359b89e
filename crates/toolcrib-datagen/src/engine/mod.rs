//! Engines whose results a model makes up, a log has, or a search finds, and the router between engines.

pub mod recorded;
pub mod routed;
pub mod search;
pub mod simulated;

/// The key of the metadata with the origin of a result that did not come from the real tool: `{"samples": 3, "model": "…"}`
/// or `{"cached": true, "model": "…"}` for one that a model made up, `{"recorded": true}` for one of a log,
/// `{"injected": "network_error"}` for an error that the settings ask for, `{"failed": "schema_violation"}` if there is no
/// result. That a simulation fails is no error of the tool.
pub const SIMULATION: &str = "simulation";

/// Returns the reason why the engine of a call has no result for it, such as `schema_violation`; `None` if the result is
/// what the tool returns, also if that is an error.
pub(crate) fn simulation_failure(result: &toolcrib_model::ToolResult) -> Option<&str> {
    result.metadata.get(SIMULATION)?.get("failed")?.as_str()
}

/// Returns the model that made up a result.
pub(crate) fn simulation_model(result: &toolcrib_model::ToolResult) -> Option<&str> {
    result.metadata.get(SIMULATION)?.get("model")?.as_str()
}
