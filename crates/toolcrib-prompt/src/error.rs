//! Errors of planning.

use toolcrib_model::QualifiedName;

/// Errors of planning.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The share of the context window is out of range.
    #[error("`tool_budget` is {share}; write a share of the context window between 0 and 1, such as 0.2")]
    ToolBudget {
        /// The share that was given.
        share: f64,
    },
    /// The API of the model does not defer tools.
    #[error(
        "`tool_injection: native` needs a model that calls tools through an API that defers them; write `discovery`"
    )]
    NotDeferred,
    /// A tool to be offered is not in the table of wire names.
    #[error("`{name}` has no wire name; make the table of wire names from the same tools as the plan")]
    NoWireName {
        /// The tool.
        name: QualifiedName,
    },
}
