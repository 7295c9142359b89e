//! Descriptions of servers, as `server.json` has them.
//!
//! The format is that of the MCP registry, schema 2025-12-11. Keys that are not used here are ignored.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A server.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ServerJson {
    /// The name in reverse DNS notation, such as `io.github.example/notes`.
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) version: String,
    #[serde(default)]
    pub(super) packages: Vec<Package>,
    #[serde(default)]
    pub(super) remotes: Vec<TransportSpec>,
    pub(super) repository: Option<Repository>,
}

/// The repository of the source code.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Repository {
    #[serde(default)]
    pub(super) url: String,
}

/// A package that contains a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of the format")]
pub(super) struct Package {
    pub(super) registry_type: String,
    pub(super) registry_base_url: Option<String>,
    pub(super) identifier: String,
    pub(super) version: Option<String>,
    #[serde(rename = "fileSha256")]
    pub(super) file_sha256: Option<String>,
    pub(super) runtime_hint: Option<String>,
    pub(super) transport: TransportSpec,
    #[serde(default)]
    pub(super) runtime_arguments: Vec<Argument>,
    #[serde(default)]
    pub(super) package_arguments: Vec<Argument>,
    #[serde(default)]
    pub(super) environment_variables: Vec<NamedInput>,
}

/// The transport of a server.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct TransportSpec {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: Vec<NamedInput>,
    #[serde(default)]
    pub(super) variables: BTreeMap<String, InputSpec>,
}

/// A value of the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputSpec {
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) is_required: bool,
    #[serde(default)]
    pub(super) is_secret: bool,
    /// A value that users do not change, with the names of variables in braces.
    pub(super) value: Option<String>,
    pub(super) default: Option<String>,
    #[serde(default)]
    pub(super) choices: Vec<String>,
    #[serde(default)]
    pub(super) variables: BTreeMap<String, Self>,
}

/// A header or an environment variable.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct NamedInput {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) input: InputSpec,
}

/// An argument of a command line.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Argument {
    /// A word.
    Positional {
        #[serde(rename = "valueHint")]
        hint: Option<String>,
        #[serde(flatten)]
        input: InputSpec,
    },
    /// A flag, with its value if it has one.
    Named {
        name: String,
        #[serde(flatten)]
        input: InputSpec,
    },
}

impl ServerJson {
    /// Returns the part of the name behind the owner.
    pub(super) fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}
