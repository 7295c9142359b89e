//! The sandbox of programs, narrowed by the `access` that a tool declares.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize as _;
use toolcrib_io::process::{Sandbox, SandboxAccess};
use toolcrib_model::{ErrorKind, Tool, ToolError};
use toolcrib_policy::access::{AccessRules, Mode, PathRule};

use crate::module_settings::absolute;

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
        let narrowed = Sandbox::clone(&own.sandbox).narrowed(&sandbox_access(&rules), &own.workspace);
        Ok(Some(Arc::new(narrowed)))
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
        let has_hosts =
            rules.network.as_ref().is_some_and(|hosts| hosts.iter().any(|host| !host.starts_with('*')));
        let ports = rules.ports();
        let globs = rules.filesystem.into_iter().flatten().filter(PathRule::is_glob);
        let globs: Vec<String> = globs.map(|rule| format!("`{}`", rule.path)).collect();
        let mut problems = Vec::new();
        if has_hosts {
            problems.push(match ports {
                Some(_) => "the hosts of `access.network` are not enforced, only their ports".to_owned(),
                None => "`access.network` is not enforced, since it names a host without a port".to_owned(),
            });
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

/// Returns the limits of access rules for a sandbox.
pub(crate) fn sandbox_access(rules: &AccessRules) -> SandboxAccess {
    SandboxAccess::new(rules.ports(), rules.folders(Mode::Read), rules.folders(Mode::Write))
}
