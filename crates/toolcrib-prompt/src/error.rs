//! Why there is no plan.

use toolcrib_model::QualifiedName;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The share of the context window is not one.
    #[error("`tool_budget` is {share}; write a share of the context window between 0 and 1, such as 0.2")]
    ToolBudget {
        /// The share as it was given.
        share: f64,
    },
    /// A tool is to be offered that the table of wire names was not made for.
    #[error("`{name}` has no wire name; make the table of wire names from the same tools as the plan")]
    NoWireName {
        /// The tool.
        name: QualifiedName,
    },
}
