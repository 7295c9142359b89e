//! `execution`: background calls, watchers, schedules, and scripts.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error;
use toolcrib_io::files::state_folder;
use toolcrib_tasks::schedule::SCHEDULER;
use toolcrib_tasks::scripts::ScriptCallers;
use toolcrib_tasks::{ActionSupport, StoreLocation, TaskSettings, TaskStore};

use crate::sections::runtime::ScriptMode;
use crate::sections::scripts::ScriptSection;
use crate::state_name::state_name;
use crate::{App, AppConfig, AppFile};

/// `execution`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ExecutionSection {
    /// True if agents can create watchers.
    pub watchers: bool,
    /// True if agents can create schedules.
    pub scheduler: bool,
    /// The seconds after which a call of an agent continues in the background. By default never.
    pub background_after: Option<NonZeroU32>,
    /// True if several processes run this app on the same file. Those of a URL always share it.
    pub shared: bool,
    /// The limits of scripts.
    pub scripts: ScriptSection,
}

/// Checks the section beyond its types.
pub(crate) fn check(section: &ExecutionSection, has_module: bool, file: &AppFile, errors: &mut Vec<Error>) {
    if section.scheduler && has_module {
        let message =
            "the module `scheduler` and `execution.scheduler` are the same tools; name one of the two";
        errors.push(file.error_at("/modules/scheduler", message));
    }
    section.scripts.check(file, errors);
}

/// Returns the kinds of actions that an app supports.
pub(crate) fn means(config: &AppConfig) -> ActionSupport {
    ActionSupport { agents: !config.agents.is_empty(), channels: !config.tools.channels.is_empty() }
}

impl App {
    /// Returns the settings of the tasks of this app.
    pub fn task_settings(&self, mode: TaskStore) -> Result<TaskSettings, crate::Error> {
        let section = &self.config.execution;
        let location = match mode {
            TaskStore::Process => None,
            _ => self.store_location()?,
        };
        let mut settings = TaskSettings::default();
        (settings.mode, settings.location, settings.is_shared) = (mode, location, section.shared);
        settings.watchers = section.watchers;
        settings.schedules = section.scheduler || self.config.modules.contains_key(SCHEDULER);
        settings.background_after =
            section.background_after.map(|seconds| Duration::from_secs(seconds.get().into()));
        settings.scripts = section.scripts.settings(ScriptCallers {
            agents: self.config.runtime.scripts != ScriptMode::Off,
            clients: self.config.serve.scripts != ScriptMode::Off,
        });
        settings.means = means(&self.config);
        Ok(settings)
    }

    /// Returns the store that `TOOLCRIB_STORE` or the app names, or a default file in the folder for program state; `None` if there is no such
    /// folder, or the app is not in a file.
    pub fn store_location(&self) -> Result<Option<StoreLocation>, crate::Error> {
        if let Some(named) = &self.resolved.task_store {
            return named.clone().map(Some).map_err(|error| self.file.wrong(error));
        }
        let folder = if self.file.is_on_disk() { state_folder("tasks") } else { None };
        let file = |folder: PathBuf| folder.join(format!("{}.db", state_name(Path::new(&self.file.name))));
        Ok(folder.map(|folder| StoreLocation::File(file(folder))))
    }
}
