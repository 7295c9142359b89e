//! Access rules of modules: hosts, paths, programs.

mod host;
mod path;
mod program;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::Tool;

use crate::present_value::present;
use crate::{PolicyError, SettingLocation};

use host::HostRule;
use path::CompiledPathRule;
use program::ProgramRule;

pub use path::{Mode, PathRule};

/// The most entries of one part of `access`.
const MAX_ACCESS_ENTRIES: usize = 1024;

/// Rules for the resources that modules may access. An absent section limits nothing; an empty section allows nothing.
///
/// ```yaml
/// access:
///   # A host with any port, all hosts below a domain at one port, an address. `*` is every host.
///   network: [api.example.com, "*.example.org:443", "[::1]:8080"]
///   # A file, or a folder with all that is below it; or a glob, whose `*` stays within a folder and whose `**` does
///   # not. Relative paths are those of the workspace. `write` includes reading; `read` is the default.
///   filesystem: [{path: data, mode: read}, {path: "out/*.csv", mode: write}]
///   # Programs by their name, as found on `PATH`, or by their full path. `*` is every program.
///   system: [git, /usr/bin/python3]
/// ```
///
/// The rules cover the actions of this process: files that modules open, servers that they call by HTTP, programs that they
/// start. They do not cover the actions of a started program or a called server. A tool declares such rules under `access`
/// of its metadata, and they narrow its own calls further.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AccessRules {
    /// Hosts that may be connected to.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<String>>,
    /// Files and folders that may be read or written.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Vec<PathRule>>,
    /// Programs that may be started.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub system: Option<Vec<String>>,
}

impl AccessRules {
    /// Returns the ports of the hosts: all that a sandbox can enforce of them. Returns `None` if a host may be reached at
    /// any port.
    pub fn ports(&self) -> Option<Vec<u16>> {
        self.network.as_ref()?.iter().map(|host| host::port(host)).collect()
    }

    /// Returns the files and folders of a mode that a sandbox can enforce: of a glob, the folder before its first special
    /// character. Returns `None` if all files may be used.
    pub fn folders(&self, mode: Mode) -> Option<Vec<&str>> {
        let rules = self.filesystem.as_ref()?.iter().filter(|rule| rule.mode == mode);
        Some(rules.map(PathRule::folder).collect())
    }
}

/// [`AccessRules`], ready to be asked. Several sets together let through what each of them does.
#[derive(Clone, Debug, Default)]
pub struct Access {
    layers: Vec<Arc<Layer>>,
}

#[derive(Debug)]
struct Layer {
    /// The rules as they were written, for the sandboxes of programs.
    rules: AccessRules,
    network: Option<Vec<HostRule>>,
    filesystem: Option<Vec<CompiledPathRule>>,
    system: Option<Vec<ProgramRule>>,
}

impl Access {
    /// Returns unlimited access.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Compiles rules.
    pub fn new(rules: &AccessRules) -> Result<Self, PolicyError> {
        Self::at(&SettingLocation::default(), rules)
    }

    /// Compiles rules that stand in a larger file. Errors name their location there.
    pub fn at(place: &SettingLocation, rules: &AccessRules) -> Result<Self, PolicyError> {
        let layer = Layer {
            rules: rules.clone(),
            network: compiled(&place.key("network"), rules.network.as_deref(), |place, entry| {
                HostRule::parse(entry).map_err(|problem| wrong(place, entry, problem))
            })?,
            filesystem: compiled(&place.key("filesystem"), rules.filesystem.as_deref(), |place, entry| {
                CompiledPathRule::new(&place.key("path"), entry)
            })?,
            system: compiled(&place.key("system"), rules.system.as_deref(), |place, entry| {
                ProgramRule::parse(entry).map_err(|problem| wrong(place, entry, problem))
            })?,
        };
        Ok(Self { layers: vec![Arc::new(layer)] })
    }

    /// Compiles `access` of a tool's metadata. Without rules, access is unlimited.
    pub fn of_tool(tool: &Tool) -> Result<Self, PolicyError> {
        let Some(declared) = tool.access() else { return Ok(Self::unlimited()) };
        let place = SettingLocation::default().key("metadata").key("access");
        match AccessRules::deserialize(declared) {
            Ok(rules) => Self::at(&place, &rules),
            Err(source) => Err(PolicyError::Form { place, source }),
        }
    }

    /// Returns the rules that all apply, for the sandbox of a program.
    pub fn rules(&self) -> impl Iterator<Item = &AccessRules> {
        self.layers.iter().map(|layer| &layer.rules)
    }

    /// Returns true if there are no rules.
    pub fn is_unlimited(&self) -> bool {
        self.layers.is_empty()
    }

    /// Returns the access that both allow.
    pub fn and(mut self, other: &Self) -> Self {
        self.layers.extend(other.layers.iter().cloned());
        self
    }

    /// Returns true if a connection to a port of a host, a name or an address, is allowed.
    pub fn allows_host(&self, host: &str, port: u16) -> bool {
        self.all(|layer| {
            layer.network.as_ref().is_none_or(|rules| {
                host::normalised(host).is_some_and(|host| rules.iter().any(|rule| rule.allows(&host, port)))
            })
        })
    }

    /// Returns [`allows_host`](Self::allows_host) as the guard of an HTTP client.
    pub fn host_guard(&self) -> impl Fn(&str, u16) -> bool + Send + Sync + use<> {
        let access = self.clone();
        move |host, port| access.allows_host(host, port)
    }

    /// Returns true if a file may be read or written. Paths are compared as written: the file layer resolves symlinks before.
    pub fn allows_path(&self, path: &str, mode: Mode) -> bool {
        self.allows_any(&[path], mode)
    }

    /// The same for a path relative to the workspace, which rules may also name by its full path.
    pub fn allows_path_below(&self, workspace: &str, relative: &str, mode: Mode) -> bool {
        self.allows_any(&[relative, &format!("{workspace}/{relative}")], mode)
    }

    fn allows_any(&self, spellings: &[&str], mode: Mode) -> bool {
        self.all(|layer| {
            layer.filesystem.as_ref().is_none_or(|rules| {
                let mut paths = spellings.iter().filter_map(|path| path::normalised(path));
                paths.any(|path| rules.iter().any(|rule| rule.allows(&path, mode)))
            })
        })
    }

    /// Returns true if a program may be started by this name.
    pub fn allows_program(&self, program: &str) -> bool {
        self.all(|layer| {
            layer.system.as_ref().is_none_or(|rules| rules.iter().any(|rule| rule.allows(program)))
        })
    }

    /// Returns [`allows_program`](Self::allows_program) as the guard of a command.
    pub fn program_guard(&self) -> impl Fn(&str) -> bool + Send + Sync + use<> {
        let access = self.clone();
        move |program| access.allows_program(program)
    }

    fn all(&self, allows: impl Fn(&Layer) -> bool) -> bool {
        self.layers.iter().all(|layer| allows(layer))
    }
}

fn compiled<E, C>(
    place: &SettingLocation,
    entries: Option<&[E]>,
    compile: impl Fn(&SettingLocation, &E) -> Result<C, PolicyError>,
) -> Result<Option<Vec<C>>, PolicyError> {
    let Some(entries) = entries else { return Ok(None) };
    if entries.len() > MAX_ACCESS_ENTRIES {
        let (what, count, limit) = ("entries", entries.len(), MAX_ACCESS_ENTRIES);
        return Err(PolicyError::TooMany { place: place.clone(), what, count, limit });
    }
    let compiled = entries.iter().enumerate().map(|(at, entry)| compile(&place.at(at), entry));
    compiled.collect::<Result<Vec<C>, _>>().map(Some)
}

fn wrong(place: &SettingLocation, entry: &str, problem: &'static str) -> PolicyError {
    PolicyError::Access { place: place.clone(), entry: entry.to_owned(), problem }
}
