//! `serve.surface`.

use schemars::JsonSchema;
use serde::Deserialize;

/// `serve.surface`: the tools that clients see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SurfaceMode {
    /// All tools if they fit a fifth of a usual context window, otherwise `mixed` if tools are pinned, otherwise
    /// `discovery`.
    #[default]
    Auto,
    /// All tools.
    Direct,
    /// The tools that find and run others.
    Discovery,
    /// These, and the pinned tools.
    Mixed,
}
