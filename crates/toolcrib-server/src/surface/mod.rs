//! The tools that a client sees, as MCP tools.

mod cost;
mod effect_split;
mod output;
mod visible_tools;

use std::collections::BTreeMap;

use toolcrib_model::Tool;

pub use cost::{ListCost, ListedCost};
pub(crate) use effect_split::{Intent, annotate_intents, refused};
pub(crate) use visible_tools::{Audience, VisibleTools};

/// Returns the tools that represent a method of the protocol, by namespace. The MCP loader creates them.
pub(crate) fn standing_for<'a>(
    method: &str,
    tools: impl Iterator<Item = &'a Tool>,
) -> BTreeMap<&'a str, &'a Tool> {
    tools
        .filter(|tool| tool.protocol_method() == Some(method))
        .map(|tool| (tool.name.namespace(), tool))
        .collect()
}
