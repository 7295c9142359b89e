//! The sandbox of programs, narrowed by the `access` that a tool declares.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize as _;
use toolcrib_io::process::Sandbox;
use toolcrib_model::{ErrorKind, Tool, ToolError};
use toolcrib_policy::access::{AccessRules, Mode, PathRule};

use crate::module_settings::absolute;

/// The characters of a glob.
const GLOB: [char; 4] = ['*', '?', '[', '{'];

/// The restrictions of the programs of a source.
#[derive(Clone, Debug)]
pub struct ProgramSandbox {
    sandbox: Arc<Sandbox>,
    workspace: PathBuf,
}

impl ProgramSandbox {
    /// Creates the restrictions. Relative paths of `access` are those of the workspace.
    pub fn new(sandbox: Sandbox, workspace: impl AsRef<Path>) -> Self {
        Self { sandbox: Arc::new(sandbox), workspace: absolute(workspace.as_ref()) }
    }

    /// Returns the restrictions of a process that serves all tools.
    pub(crate) fn shared(&self) -> Arc<Sandbox> {
        Arc::clone(&self.sandbox)
    }

    /// Returns the restrictions of a call: those of the source, narrowed by the `access` of its tool.
    pub(crate) fn of_call(sandbox: Option<&Self>, tool: &Tool) -> Result<Option<Arc<Sandbox>>, ToolError> {
        let Some(own) = sandbox else { return Ok(None) };
        let Some(declared) = tool.access() else { return Ok(Some(own.shared())) };
        let rules = AccessRules::deserialize(declared).map_err(|error| {
            ToolError::new(ErrorKind::Denied, format!("its `access` cannot be read: {error}"))
        })?;
        Ok(Some(Arc::new(own.narrowed(&rules))))
    }

    fn narrowed(&self, rules: &AccessRules) -> Sandbox {
        let mut sandbox = Sandbox::clone(&self.sandbox);
        match rules.network.as_deref() {
            None => {}
            Some([]) => sandbox = sandbox.without_network(),
            Some(hosts) => {
                if let Some(ports) = hosts.iter().map(|host| port(host)).collect::<Option<Vec<_>>>() {
                    sandbox = sandbox.with_ports(&ports);
                }
            }
        }
        if let Some(paths) = &rules.filesystem {
            let existing = |rule: &PathRule| self.workspace.join(folder_of(&rule.path)).canonicalize().ok();
            let of_mode = |mode| -> Vec<PathBuf> {
                paths.iter().filter(|rule| rule.mode == mode).filter_map(existing).collect()
            };
            sandbox = sandbox.with_files(&of_mode(Mode::Read), &of_mode(Mode::Write));
        }
        sandbox
    }

    /// Returns a warning about restrictions of a tool that are not enforced for its program.
    pub(crate) fn warning(sandbox: Option<&Self>, tool: &Tool) -> Option<String> {
        if sandbox.is_none() {
            return unenforced(
                tool,
                "its program is not sandboxed, and reaches what its user may reach; set `sandbox`",
            );
        }
        let rules = AccessRules::deserialize(tool.access()?).ok()?;
        let has_hosts = rules.network.is_some_and(|hosts| hosts.iter().any(|host| !host.starts_with('*')));
        let globs = rules.filesystem.into_iter().flatten().filter(|rule| rule.path.contains(GLOB));
        let globs: Vec<String> = globs.map(|rule| format!("`{}`", rule.path)).collect();
        let mut problems = Vec::new();
        if has_hosts {
            problems.push("the hosts of `access.network` are not enforced, only their ports".to_owned());
        }
        if !globs.is_empty() {
            problems.push(format!(
                "of {} in `access.filesystem`, only the folder before the first glob is enforced",
                globs.join(", ")
            ));
        }
        (!problems.is_empty()).then(|| format!("`{}`: {}", tool.name.dotted(), problems.join("; ")))
    }

    /// Returns the same warning for a worker, whose process serves all tools.
    pub(crate) fn warning_for_worker(sandbox: Option<&Self>, tool: &Tool) -> Option<String> {
        match sandbox {
            Some(_) => unenforced(tool, "one sandbox holds for all tools of its worker"),
            None => Self::warning(None, tool),
        }
    }
}

/// Returns a warning about the declared restrictions of a tool that nothing enforces.
fn unenforced(tool: &Tool, reason: &str) -> Option<String> {
    let declared = tool.access()?.as_object()?;
    let keys = ["network", "filesystem"].into_iter().filter(|key| declared.contains_key(*key));
    let keys: Vec<_> = keys.map(|key| format!("`access.{key}`")).collect();
    (!keys.is_empty())
        .then(|| format!("{} of `{}` is not enforced: {reason}", keys.join(" and "), tool.name.dotted()))
}

/// Returns the port of a host rule, as `443` of `*.example.com:443`.
fn port(host: &str) -> Option<u16> {
    // The colons of an address without a port are not followed by a port.
    let (before, port) = host.rsplit_once(':')?;
    if before.contains(':') && !before.ends_with(']') { None } else { port.parse().ok() }
}

/// Returns the path, or the folder before the first glob in it.
fn folder_of(path: &str) -> &str {
    match path.find(GLOB) {
        None => path,
        Some(at) => path
            .get(..at)
            .and_then(|before| before.rfind('/').map(|end| before.get(..=end)))
            .flatten()
            .unwrap_or("."),
    }
}
