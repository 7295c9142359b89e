//! The modules, loaders and engines that Toolcrib comes with.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toolcrib_agent::Brain;
use toolcrib_datagen::engine::recorded::{RecordedEngine, RecordedSettings};
use toolcrib_datagen::engine::search::{DocumentSearchEngine, DocumentSearchSettings};
use toolcrib_datagen::engine::simulated::{CacheSetting, SimulatedEngine, SimulatedSettings};
use toolcrib_document::Error as DocumentError;
use toolcrib_loader_file::entry as file;
use toolcrib_loader_file::{MockEngine, MockSettings};
use toolcrib_loader_mcp::entry as mcp;
use toolcrib_loader_mcp::module::McpModuleConfig;
use toolcrib_loader_rest::entry as rest;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use toolcrib_module_database as database;
use toolcrib_modules::{Error, ModuleContext, ModuleTable, NoConfig};
use toolcrib_sdk::{AppEntry as _, Module};
use toolcrib_tasks::Scheduler;
use toolcrib_tasks::schedule::SCHEDULER;

use crate::extensions::entry::EntryContext;
use crate::extensions::{Extensions, NamedEngine};

/// The built-in extensions, registered like those of other crates.
impl Default for Extensions {
    fn default() -> Self {
        let mut extensions = Self::empty()
            .with_loader("exec", |settings, entry| file::exec(settings, entry))
            .with_loader("file", |settings, entry| Ok(file::file(settings, entry)))
            .with_loader("inline", |settings, entry| Ok(file::inline(&settings, entry)))
            .with_loader("mcp", |settings, entry| mcp::open(settings, entry))
            .with_loader("rest", |settings, entry| rest::open(settings, entry))
            .with_engine("command", |settings, entry| file::command(settings, entry))
            .with_located_engine("lm", simulated)
            .with_located_engine("multi", |settings, _| Ok(NamedEngine::Routed(settings)))
            .with_located_engine("simulated", simulated)
            .with_engine("mock", |settings: MockSettings, _| Ok(Arc::new(MockEngine::new(settings))))
            .with_engine("recorded", |mut settings: RecordedSettings, entry| {
                settings.path = entry.path(&settings.path.to_string_lossy());
                RecordedEngine::open(&settings, entry.session_states().clone())
                    .map(|engine| Arc::new(engine) as _)
            })
            .with_engine("search/file", |mut settings: DocumentSearchSettings, entry| {
                settings.path = settings.path.map(|path| entry.path(&path.to_string_lossy()));
                DocumentSearchEngine::of_file(settings).map(|engine| Arc::new(engine) as _)
            })
            .with_engine("search/in_memory", |settings: DocumentSearchSettings, _| {
                DocumentSearchEngine::of_memory(settings).map(|engine| Arc::new(engine) as _)
            })
            .with_module(toolcrib_loader_mcp::MODULE_ID, |config: McpModuleConfig, entry| {
                let session_tools = entry.app.session_tools.clone();
                let sandbox = mcp::sandbox(config.sandbox.clone(), toolcrib_loader_mcp::MODULE_ID, entry)?;
                toolcrib_loader_mcp::module::module(
                    &config,
                    entry.access()?,
                    entry.workspace()?,
                    sandbox,
                    session_tools,
                )
                .map(|module| module.refusing_setup(MCP_SETUP_REFUSAL))
            })
            // It gets its schedules when the app starts.
            .with_module(SCHEDULER, |NoConfig {}, entry| Ok(Scheduler::new(entry.app.means).module()));
        toolcrib_modules::built_in(&mut extensions);
        #[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
        let extensions = extensions.with_module(database::ID, |config, entry| {
            let context = entry.module_context()?;
            let root = context.root(database::ID).map_err(|error| explain(&error))?;
            database::module(config, root, context.access, context.protected)
                .map_err(|error| error.to_string())
        });
        extensions
    }
}

/// Makes an engine of simulated tools.
fn simulated(
    mut settings: SimulatedSettings,
    entry: &EntryContext<'_>,
) -> Result<NamedEngine, DocumentError> {
    settings.check().map_err(|message| entry.error(message))?;
    if let CacheSetting::File(path) = &mut settings.cache {
        *path = entry.path(&path.to_string_lossy());
    }
    let Brain { name, model } = entry.model()?;
    let engine = SimulatedEngine::new(model, name, settings, entry.session_states().clone());
    Ok(NamedEngine::Engine(Arc::new(engine)))
}

/// The error of `setup` of the module `mcp`.
const MCP_SETUP_REFUSAL: &str = "a server that an action connects to belongs to one session, and no session of an agent would have \
                             it; name the server under `tools.registry`, as `{type: mcp, name: NAME, url: URL}`, for all of them";

impl ModuleTable for Extensions {
    fn add<C>(&mut self, id: &'static str, make: fn(C, &ModuleContext) -> Result<Module, Error>)
    where
        C: DeserializeOwned + JsonSchema + 'static,
    {
        self.add_module(id.to_owned(), move |config: C, entry: &EntryContext<'_>| {
            make(config, &entry.module_context()?).map_err(|error| explain(&error))
        });
    }
}

/// Returns the text of an error, with the setting to change.
fn explain(error: &Error) -> String {
    match error {
        Error::WorkspaceMissing { .. } => format!("{error}, or set `app.workspace` to a directory that does"),
        Error::WorkspaceUnusable { .. } => {
            format!("{error}; set `app.workspace` to a directory that can be read")
        }
        error => error.to_string(),
    }
}
