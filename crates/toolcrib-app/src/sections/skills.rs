//! `skills`: workflows that agents load, and the programs that come with them.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error as DocumentError;
use toolcrib_loader_file::exec::MANIFEST;
use toolcrib_tasks::Skills;
use toolcrib_tasks::skills::SkillFolder;

use crate::AppFile;
use crate::file::variables;
use crate::sections::agents::AgentConfig;
use crate::sections::values::unknown;

/// The folder that is looked into where the app file names none.
const DEFAULT_FOLDER: &str = "skills";

/// The most folders with skills.
const MAX_FOLDERS: usize = 16;

/// `skills`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SkillsSection {
    /// The folders with skills, relative to the app file. By default `skills`, if it exists.
    pub folders: Option<Vec<String>>,
}

/// Reads the skills of an app. What is wrong with the section is said by [`check`].
pub(crate) fn read(section: &SkillsSection, file: &AppFile) -> Skills {
    let named = section.folders.as_deref();
    let default = [DEFAULT_FOLDER.to_owned()];
    let folders = match named {
        Some(folders) => folders,
        // An app that is not in a file has no folder.
        None if file.is_on_disk && file.path(DEFAULT_FOLDER).is_dir() => &default,
        None => &[],
    };
    let workspace = file.workspace().ok().and_then(|workspace| std::path::absolute(workspace).ok());
    let folders: Vec<SkillFolder> = folders
        .iter()
        .take(MAX_FOLDERS)
        .filter_map(|folder| {
            let path = file.path(&variables::expanded(file, folder, "/skills/folders", true).ok()?);
            let shown = shown(&path, workspace.as_deref()).unwrap_or_else(|| folder.clone());
            Some(SkillFolder { path, shown })
        })
        .collect();
    Skills::read(&folders)
}

/// Returns the folders that skills are looked for in, also those that are not there yet.
pub(crate) fn folders(section: &SkillsSection, file: &AppFile) -> Vec<PathBuf> {
    let Some(named) = section.folders.as_deref() else {
        return file.is_on_disk.then(|| file.path(DEFAULT_FOLDER)).into_iter().collect();
    };
    let folder = |folder: &String| variables::expanded(file, folder, "/skills/folders", true).ok();
    named.iter().take(MAX_FOLDERS).filter_map(folder).map(|folder| file.path(&folder)).collect()
}

/// Returns the path of a folder relative to the workspace.
fn shown(path: &Path, workspace: Option<&Path>) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    Some(path.strip_prefix(workspace?).ok()?.display().to_string())
}

/// Checks the section, and the skills of agents.
pub(crate) fn check(
    section: &SkillsSection,
    (skills, agents): (&Skills, &[AgentConfig]),
    file: &AppFile,
    errors: &mut Vec<DocumentError>,
) {
    let folders = section.folders.iter().flatten();
    for (position, folder) in folders.enumerate() {
        let place = format!("/skills/folders/{position}");
        let wrong = |message: String| file.error_at(&place, message);
        match variables::expanded(file, folder, &place, true) {
            Err(error) => errors.push(error),
            Ok(_) if position >= MAX_FOLDERS => {
                errors.push(wrong(format!("there are more than {MAX_FOLDERS} folders with skills")));
            }
            Ok(path) if !file.path(&path).is_dir() => errors.push(wrong(format!("`{path}` is no folder"))),
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

/// Returns warnings about entries of the folders that are not skills.
pub(crate) fn warnings(skills: &Skills) -> impl Iterator<Item = String> {
    skills.rejected().iter().map(|rejected| format!("{} is no skill: {}", rejected.path, rejected.reason))
}

/// Returns the namespaces of programs that come with skills.
pub(crate) fn namespaces(skills: &Skills) -> impl Iterator<Item = &str> {
    skills.iter().filter(|skill| skill.holds(MANIFEST)).map(|skill| skill.name.as_str())
}
