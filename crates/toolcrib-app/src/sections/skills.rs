//! `skills`: workflows that agents load, and the programs that come with them.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error as DocumentError;
use toolcrib_io::process::SandboxSettings;
use toolcrib_loader_file::exec::MANIFEST;
use toolcrib_policy::Principal;
use toolcrib_registry::Snapshot;
use toolcrib_tasks::Skills;
use toolcrib_tasks::skills::{Skill, SkillFolder};

use crate::findings::Findings;
use crate::sections::agents::AgentConfig;
use crate::sections::values::unknown;
use crate::{AppConfig, AppFile};

/// The folder that is looked into where the app file names none.
const DEFAULT_FOLDER: &str = "skills";

/// The most folders with skills.
const MAX_FOLDERS: usize = 16;

/// `skills`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SkillsSection {
    /// The folders with skills, relative to the app file. By default `skills`, if it exists.
    pub folders: Option<Vec<String>>,
    /// The files and the network that the programs of skills can reach: a profile, or a mapping with one. Without it, they
    /// have the rights of their user.
    pub sandbox: Option<SandboxSettings>,
}

/// Reads and checks the skills of an app. Returns with them the folders that they are looked for in, also those that are
/// not there yet.
pub(crate) fn read(
    section: &SkillsSection,
    named: &[Result<String, DocumentError>],
    agents: &[AgentConfig],
    file: &AppFile,
    found: &mut Findings,
) -> (Skills, Vec<PathBuf>) {
    let workspace = file.workspace().ok().and_then(|workspace| std::path::absolute(workspace).ok());
    let folder = |path: PathBuf, written: &str| {
        let shown = shown(&path, workspace.as_deref()).unwrap_or_else(|| written.to_owned());
        SkillFolder { path, shown }
    };
    let folders: Vec<SkillFolder> = match &section.folders {
        Some(written) => {
            let named = named.iter().zip(written).take(MAX_FOLDERS);
            named
                .filter_map(|(path, written)| Some(folder(file.path(path.as_ref().ok()?), written)))
                .collect()
        }
        // An app that is not in a file has no folder.
        None => {
            file.is_on_disk.then(|| folder(file.path(DEFAULT_FOLDER), DEFAULT_FOLDER)).into_iter().collect()
        }
    };
    // The default folder need not be there.
    let is_read = section.folders.is_some() || folders.iter().any(|folder| folder.path.is_dir());
    let skills = Skills::read(if is_read { &folders } else { &[] });
    check(named, (&skills, agents), file, &mut found.errors);
    let rejected = skills.rejected().iter();
    found.warnings.extend(rejected.map(|entry| format!("{} is no skill: {}", entry.path, entry.reason)));
    (skills, folders.into_iter().map(|folder| folder.path).collect())
}

/// Returns the path of a folder relative to the workspace.
fn shown(path: &Path, workspace: Option<&Path>) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    Some(path.strip_prefix(workspace?).ok()?.display().to_string())
}

/// Checks the folders, and the skills of agents.
fn check(
    named: &[Result<String, DocumentError>],
    (skills, agents): (&Skills, &[AgentConfig]),
    file: &AppFile,
    errors: &mut Vec<DocumentError>,
) {
    for (position, folder) in named.iter().enumerate() {
        let place = format!("/skills/folders/{position}");
        let wrong = |message: String| file.error_at(&place, message);
        match folder {
            Err(error) => errors.push(error.clone()),
            Ok(_) if position >= MAX_FOLDERS => {
                errors.push(wrong(format!("there are more than {MAX_FOLDERS} folders with skills")));
            }
            Ok(path) if !file.path(path).is_dir() => errors.push(wrong(format!("`{path}` is no folder"))),
            Ok(_) => {}
        }
    }
    let known: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    for (position, agent) in agents.iter().enumerate() {
        for (at, name) in agent.capabilities.iter().flatten().enumerate() {
            if skills.get(name).is_none() {
                let place = format!("/agents/{position}/capabilities/{at}");
                errors.push(file.error_at(&place, unknown("skill", name, &known)));
            }
        }
    }
}

/// Returns the namespaces of programs that come with skills.
pub(crate) fn namespaces(skills: &Skills) -> impl Iterator<Item = &str> {
    skills.iter().filter(|skill| skill.holds(MANIFEST)).map(|skill| skill.name.as_str())
}

/// Returns warnings about the tools that skills list and that are not there.
pub(crate) fn unused<'a>(skills: &'a Skills, snapshot: &'a Snapshot) -> impl Iterator<Item = String> + 'a {
    skills.iter().flat_map(move |skill| {
        // A name in another program's spelling is not a tool of Toolcrib.
        let ours = skill.allowed_tools.iter().filter(|tool| tool.contains('.') && !tool.contains(['*', '(']));
        ours.filter(|tool| snapshot.find(tool, |_| true).is_err())
            .map(|tool| format!("the skill `{}` lists `{tool}`, an unknown tool", skill.name))
    })
}

/// Returns true if a caller may use a skill: an agent whose `capabilities` list skills may use only those, and only if
/// each agent on whose behalf it works may use them.
pub(crate) fn may_use(config: &AppConfig, principal: Principal<'_>, skill: &Skill) -> bool {
    let is_left = |id: &str| {
        let left = config.agent(Some(id)).and_then(|(_, agent)| agent.capabilities.as_ref());
        left.is_none_or(|left| left.iter().any(|name| name.trim_start_matches('/') == skill.name))
    };
    let above = principal.on_behalf_of.iter().map(AsRef::as_ref);
    above.chain(principal.agent).all(is_left)
}
