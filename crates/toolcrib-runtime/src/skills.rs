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

use crate::check::unknown;
use crate::sources::Source;
use crate::wiring::{Wiring, is_own};
use crate::{App, AppConfig, variables};

/// The folder that is looked into where the app file names none.
const DEFAULT_FOLDER: &str = "skills";

/// The most folders with skills.
const MAX_FOLDERS: usize = 16;

/// How many triggers of a skill a prompt tells.
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
        // A text in no file has no folder of its own.
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

/// Where a folder is, as tools that work in the workspace name it.
fn shown(path: &Path, workspace: Option<&Path>) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    Some(path.strip_prefix(workspace?).ok()?.display().to_string())
}

/// What is wrong with the section, and with the skills that agents are left.
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

/// What is no skill, though it stands among them.
pub(crate) fn warnings(app: &App) -> impl Iterator<Item = String> {
    app.skills.rejected().iter().map(|rejected| format!("{} is no skill: {}", rejected.path, rejected.reason))
}

/// The tools that skills list and that are not there.
pub(crate) fn unused<'a>(app: &'a App, snapshot: &'a Snapshot) -> impl Iterator<Item = String> + 'a {
    app.skills.iter().flat_map(move |skill| {
        // One in another program's spelling is none of ours.
        let ours = skill.allowed_tools.iter().filter(|tool| tool.contains('.') && !tool.contains(['*', '(']));
        ours.filter(|tool| snapshot.find(tool, |_| true).is_err())
            .map(|tool| format!("the skill `{}` lists `{tool}`, which is no tool that is there", skill.name))
    })
}

/// The programs that come with skills, each folder with a manifest under the name of its skill. They are tools like any: what
/// the gate does not let through, does not run.
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

/// The namespaces of programs that come with skills.
pub(crate) fn namespaces(app: &App) -> impl Iterator<Item = &str> {
    app.skills.iter().filter(|skill| skill.holds(MANIFEST)).map(|skill| skill.name.as_str())
}

/// The tool that loads skills, where there are any.
pub(crate) fn tools(app: &App) -> Vec<FunctionTool> {
    if app.skills.is_empty() {
        return Vec::new();
    }
    let config = app.config.clone();
    app.skills.tools(move |context, skill| may_use(&config, context.principal(), skill))
}

/// Whether a caller may use a skill: an agent that is left some by its `capabilities` may use those alone, and no more than
/// each of those on whose behalf it works.
fn may_use(config: &AppConfig, principal: Principal<'_>, skill: &Skill) -> bool {
    let is_left = |id: &str| {
        let agent = config.agents.iter().find(|agent| agent.id == id);
        let left = agent.and_then(|agent| agent.capabilities.as_ref());
        left.is_none_or(|left| left.iter().any(|name| name.trim_start_matches('/') == skill.name))
    };
    let above = principal.on_behalf_of.iter().map(AsRef::as_ref);
    above.chain(principal.agent).all(is_left)
}

impl Wiring {
    /// The skills that a caller may load, each with what it is good for.
    pub(crate) fn told_skills<'a>(
        &self,
        principal: Principal<'_>,
        visible: impl Iterator<Item = &'a Entry>,
    ) -> Vec<(String, String)> {
        let usable = self.usable_skills(principal, visible);
        usable.map(|skill| (format!("/{}", skill.name), about(skill))).collect()
    }

    /// The same for a client of the server, which has no slash before the names.
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
