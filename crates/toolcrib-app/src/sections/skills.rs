//! `skills`: workflows that agents load, and the programs that come with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error as DocumentError;
use toolcrib_loader_file::{ExecModule, MANIFEST};
use toolcrib_policy::{Access, Principal};
use toolcrib_registry::{Entry, Snapshot};
use toolcrib_sdk::FunctionTool;
use toolcrib_tasks::{Skill, SkillFolder, Skills, USE_SKILL};

use crate::config::validation::unknown;
use crate::services::{AppServices, is_own};
use crate::sources::Source;
use crate::{App, AppConfig, config::variables};

/// The folder that is looked into where the app file names none.
const DEFAULT_FOLDER: &str = "skills";

/// The most folders with skills.
const MAX_FOLDERS: usize = 16;

/// The number of triggers of a skill in a prompt.
const MAX_TOLD_TRIGGERS: usize = 5;

/// `skills`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SkillsSection {
    /// The folders with skills, relative to the app file. By default `skills`, if it exists.
    pub folders: Option<Vec<String>>,
}

/// Reads the skills of an app. What is wrong with the section is said by [`check`].
pub(crate) fn read(app: &App) -> Skills {
    let named = app.config.skills.folders.as_deref();
    let default = [DEFAULT_FOLDER.to_owned()];
    let folders = match named {
        Some(folders) => folders,
        // An app that is not in a file has no folder.
        None if app.is_in_file() && app.path(DEFAULT_FOLDER).is_dir() => &default,
        None => &[],
    };
    let workspace = app.workspace().ok().and_then(|workspace| std::path::absolute(workspace).ok());
    let folders: Vec<SkillFolder> = folders
        .iter()
        .take(MAX_FOLDERS)
        .filter_map(|folder| {
            let path = app.path(&variables::expanded(app, folder, "/skills/folders", true).ok()?);
            let shown = shown(&path, workspace.as_deref()).unwrap_or_else(|| folder.clone());
            Some(SkillFolder { path, shown })
        })
        .collect();
    Skills::read(&folders)
}

/// Returns the folders that skills are looked for in, also those that are not there yet.
pub(crate) fn folders(app: &App) -> Vec<PathBuf> {
    let Some(named) = app.config.skills.folders.as_deref() else {
        return app.is_in_file().then(|| app.path(DEFAULT_FOLDER)).into_iter().collect();
    };
    let folder = |folder: &String| variables::expanded(app, folder, "/skills/folders", true).ok();
    named.iter().take(MAX_FOLDERS).filter_map(folder).map(|folder| app.path(&folder)).collect()
}

/// Returns the path of a folder relative to the workspace.
fn shown(path: &Path, workspace: Option<&Path>) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    Some(path.strip_prefix(workspace?).ok()?.display().to_string())
}

/// Checks the section, and the skills of agents.
pub(crate) fn check(app: &App, errors: &mut Vec<DocumentError>) {
    let folders = app.config.skills.folders.iter().flatten();
    for (position, folder) in folders.enumerate() {
        let place = format!("/skills/folders/{position}");
        let wrong = |message: String| app.document.error_at(&place, message);
        match variables::expanded(app, folder, &place, true) {
            Err(error) => errors.push(error),
            Ok(_) if position >= MAX_FOLDERS => {
                errors.push(wrong(format!("there are more than {MAX_FOLDERS} folders with skills")));
            }
            Ok(path) if !app.path(&path).is_dir() => errors.push(wrong(format!("`{path}` is no folder"))),
            Ok(_) => {}
        }
    }
    let known: Vec<&str> = app.skills.iter().map(|skill| skill.name.as_str()).collect();
    for (position, agent) in app.config.agents.iter().enumerate() {
        for (at, name) in agent.capabilities.iter().flatten().enumerate() {
            if app.skills.get(name).is_none() {
                let place = format!("/agents/{position}/capabilities/{at}");
                errors.push(app.document.error_at(&place, unknown("skill", name, &known)));
            }
        }
    }
}

/// Returns warnings about entries of the folders that are not skills.
pub(crate) fn warnings(app: &App) -> impl Iterator<Item = String> {
    app.skills.rejected().iter().map(|rejected| format!("{} is no skill: {}", rejected.path, rejected.reason))
}

/// Returns the tools that skills list and that are not there.
pub(crate) fn unused<'a>(app: &'a App, snapshot: &'a Snapshot) -> impl Iterator<Item = String> + 'a {
    app.skills.iter().flat_map(move |skill| {
        // A name in another program's spelling is not a tool of Toolcrib.
        let ours = skill.allowed_tools.iter().filter(|tool| tool.contains('.') && !tool.contains(['*', '(']));
        ours.filter(|tool| snapshot.find(tool, |_| true).is_err())
            .map(|tool| format!("the skill `{}` lists `{tool}`, an unknown tool", skill.name))
    })
}

/// Returns the programs that come with skills, each folder with a manifest under the name of its skill. They are tools
/// like any: what the gate does not let through, does not run.
pub(crate) fn sources(app: &App) -> Result<Vec<Source>, DocumentError> {
    let access = Access::of_app(app.config.tools.capabilities.access.as_ref())
        .map_err(|error| app.document.error_at(error.place().pointer(), error.to_string()))?;
    let workspace = app.workspace()?;
    let with_programs = app.skills.iter().filter(|skill| skill.holds(MANIFEST));
    Ok(with_programs
        .filter_map(|skill| {
            let module = ExecModule::new(skill.folder()?)
                .with_namespace(&skill.name)
                .with_workspace(&workspace)
                .with_access(access.clone());
            let module = Arc::new(module);
            Some(Source::new(module.clone()).local().with_engine(module))
        })
        .collect())
}

/// Returns the namespaces of programs that come with skills.
pub(crate) fn namespaces(app: &App) -> impl Iterator<Item = &str> {
    app.skills.iter().filter(|skill| skill.holds(MANIFEST)).map(|skill| skill.name.as_str())
}

/// Returns the tool that loads skills, where there are any.
pub(crate) fn tools(app: &App) -> Vec<FunctionTool> {
    if app.skills.is_empty() {
        return Vec::new();
    }
    let config = app.config.clone();
    app.skills.tools(move |context, skill| may_use(&config, context.principal(), skill))
}

/// Returns true if a caller may use a skill: an agent whose `capabilities` list skills may use only those, and only if
/// each agent on whose behalf it works may use them.
fn may_use(config: &AppConfig, principal: Principal<'_>, skill: &Skill) -> bool {
    let is_left = |id: &str| {
        let agent = config.agents.iter().find(|agent| agent.id == id);
        let left = agent.and_then(|agent| agent.capabilities.as_ref());
        left.is_none_or(|left| left.iter().any(|name| name.trim_start_matches('/') == skill.name))
    };
    let above = principal.on_behalf_of.iter().map(AsRef::as_ref);
    above.chain(principal.agent).all(is_left)
}

impl AppServices {
    /// Returns the skills that a caller may load, each with what it is good for.
    pub(crate) fn told_skills<'a>(
        &self,
        principal: Principal<'_>,
        visible: impl Iterator<Item = &'a Entry>,
    ) -> Vec<(String, String)> {
        let usable = self.usable_skills(principal, visible);
        usable.map(|skill| (format!("/{}", skill.name), about(skill))).collect()
    }

    /// Returns the same for a client of the server, which has no slash before the names.
    pub(crate) fn skills(&self, session: &str) -> Vec<(String, String)> {
        let principal = Principal::new(session);
        let (snapshot, policy) = (self.snapshot(), self.executor.policy());
        let visible = snapshot.iter().filter(|entry| policy.is_visible(&entry.tool, principal));
        let usable = self.usable_skills(principal, visible.map(AsRef::as_ref));
        usable.map(|skill| (skill.name.clone(), about(skill))).collect()
    }

    fn usable_skills<'a>(
        &self,
        principal: Principal<'_>,
        mut visible: impl Iterator<Item = &'a Entry>,
    ) -> impl Iterator<Item = &Skill> {
        let may_load = visible.any(|entry| is_own(&entry.tool, &[USE_SKILL]));
        self.app.skills.iter().filter(move |skill| may_load && may_use(&self.app.config, principal, skill))
    }
}

fn about(skill: &Skill) -> String {
    let triggers: Vec<&str> = skill.triggers.iter().take(MAX_TOLD_TRIGGERS).map(String::as_str).collect();
    if triggers.is_empty() {
        skill.description.clone()
    } else {
        format!("{} For: {}", skill.description, triggers.join(", "))
    }
}
