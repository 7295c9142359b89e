//! The configuration of the module.

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_io::process::SandboxSettings;

/// The configuration of the module `mcp`: `modules.mcp.config`.
///
/// ```yaml
/// modules:
///   mcp:
///     config:
///       # Servers at private addresses that agents may connect to.
///       private_origins: ["http://localhost:8931"]
///       # The restrictions of servers that are started by a command.
///       sandbox: workspace
/// ```
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct McpModuleConfig {
    /// Origins of MCP servers whose addresses need not be public: loopback, private networks and the like. None by default.
    pub private_origins: Vec<String>,
    /// The files and the network that servers started by a command can reach: a profile, or a mapping with one. Without
    /// it, they have the rights of their user.
    pub sandbox: Option<SandboxSettings>,
}
