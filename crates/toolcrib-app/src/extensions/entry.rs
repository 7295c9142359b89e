//! An entry of an app file, as the extension sees it that the entry names.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_agent::Brain;
use toolcrib_datagen::session::SessionStates;
use toolcrib_document::{Document, Error as DocumentError};
use toolcrib_io::files::ProtectedFiles;
use toolcrib_io::table::SharedGeneration;
use toolcrib_loader_mcp::entry::ServerEntry;
use toolcrib_loader_mcp::tools::TrustLock;
use toolcrib_loader_rest::entry::ApiEntry;
use toolcrib_model::Secret;
use toolcrib_modules::ModuleContext;
use toolcrib_modules::memory::Memory;
use toolcrib_oauth::client::{LoginLinks, TokenStore};
use toolcrib_policy::Access;
use toolcrib_registry::SessionTools;
use toolcrib_results::Secrets;
use toolcrib_sdk::{AppEntry, SecretSink, UserText};
use toolcrib_tasks::ActionSupport;
use url::Url;

use crate::file::expansion::secret_values;
use crate::file::user_template::UserTemplate;
use crate::sections::agents::BrainConfig;
use crate::sections::values::unknown;
use crate::{App, AppFile, nesting};

/// The parts of an app that its extensions share while it is built.
pub(crate) struct AppContext<'a> {
    pub(crate) app: &'a App,
    pub(crate) file: &'a AppFile,
    /// The access that `tools.capabilities.access` leaves.
    pub(crate) access: Result<Access, DocumentError>,
    /// The files that this app, those that call it and those that it calls are made of.
    pub(crate) protected: &'a ProtectedFiles,
    /// The store of the module `memory`.
    pub(crate) memory: &'a Memory,
    /// The kinds of actions that its tasks support.
    pub(crate) means: ActionSupport,
    /// The tools that single sessions add.
    pub(crate) session_tools: &'a SessionTools,
    /// The approved state of its servers, or why it cannot be read.
    pub(crate) pins: Result<Option<Arc<TrustLock>>, String>,
    pub(crate) startup_timeout: Duration,
    pub(crate) is_lazy: bool,
}

/// The entry of an app file that names an extension.
pub struct EntryContext<'a> {
    pub(crate) app: &'a AppContext<'a>,
    pub(crate) pointer: &'a str,
    pub(crate) settings: &'a Value,
    /// The `access` of the entry, if it has one.
    pub(crate) access: Option<&'a Access>,
}

impl EntryContext<'_> {
    /// Returns the secrets of the app, for a source that is given some while it runs.
    pub fn secrets(&self) -> &Secrets {
        &self.app.file.secrets
    }

    /// Returns the files that the app consists of, for a module that opens a separate
    /// [`Root`](toolcrib_io::files::Root).
    pub fn protected(&self) -> &ProtectedFiles {
        self.app.protected
    }

    /// Returns the store for tokens of upstream servers.
    pub(crate) fn token_store(&self) -> Result<TokenStore, String> {
        self.app.app.token_store()
    }

    /// Returns the logins of users by a link.
    pub(crate) fn login_links(&self) -> LoginLinks {
        self.app.app.extensions.login_links.clone()
    }

    /// Returns the states of the sessions of the app, which its simulated tools share.
    pub fn session_states(&self) -> &SessionStates {
        &self.app.app.session_states
    }

    /// Opens the model under the key `model`: that of an agent, by its name, or one with the settings of a `brain`.
    pub(crate) fn model(&self) -> Result<Brain, DocumentError> {
        let (app, file) = (self.app.app, self.app.file);
        let pointer = format!("{}/model", self.pointer);
        match file.document.value.pointer(&pointer) {
            Some(Value::String(name)) => {
                let agents = &app.config.agents;
                let Some(position) = agents.iter().position(|agent| agent.id == *name) else {
                    let ids: Vec<_> = agents.iter().map(|agent| agent.id.as_str()).collect();
                    return Err(file.error_at(&pointer, unknown("agent", name, &ids)));
                };
                let agent = agents.get(position).map(|agent| &agent.brain);
                let brain = agent.ok_or_else(|| file.error_at(&pointer, unknown("agent", name, &[])))?;
                app.plain_model(brain, &format!("/agents/{position}/brain"))
            }
            Some(settings @ Value::Object(_)) => {
                let brain: BrainConfig = file.document.deserialize_value(settings, &pointer)?;
                if let Some((key, message)) = brain.parameters().problem() {
                    return Err(file.error_at(&format!("{pointer}/{key}"), message));
                }
                app.plain_model(&brain, &pointer)
            }
            _ => Err(self.error("`model` is the name of an agent, or a mapping like its `brain`")),
        }
    }

    /// Returns the context of a built-in module.
    pub(crate) fn module_context(&self) -> Result<ModuleContext, String> {
        Ok(ModuleContext::new(self.workspace()?)
            .with_access(self.access()?)
            .with_memory(self.app.memory.clone())
            .with_protected(self.app.protected.clone()))
    }

    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        let file = self.app.file;
        let typed = file.document.deserialize_value(self.settings, self.pointer);
        typed.map_err(|error| file.readable(error, self.pointer))
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> DocumentError {
        self.app.file.readable(self.app.file.error_at(self.pointer, message), self.pointer)
    }
}

impl AppEntry for EntryContext<'_> {
    fn file(&self) -> &str {
        &self.app.file.name
    }

    fn document(&self) -> &Document {
        &self.app.file.document
    }

    fn pointer(&self) -> &str {
        self.pointer
    }

    fn folder(&self) -> &Path {
        &self.app.file.folder
    }

    fn path(&self, path: &str) -> PathBuf {
        self.app.file.path(path)
    }

    fn workspace(&self) -> Result<PathBuf, String> {
        self.app.file.workspace().map_err(|error| error.to_string())
    }

    fn access(&self) -> Result<Access, String> {
        let access = self.app.access.clone().map_err(|error| error.to_string())?;
        Ok(match self.access {
            Some(own) => access.and(own),
            None => access,
        })
    }

    fn may_start(&self, program: &str) -> Result<(), String> {
        if self.access()?.allows_program(program) {
            return Ok(());
        }
        Err(format!("`{program}` may not be started; add it to `tools.capabilities.access.system`"))
    }

    fn may_reach(&self, url: &str) -> Result<(), String> {
        let Ok(url) = Url::parse(url) else { return Ok(()) };
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Ok(()) };
        if self.access()?.allows_host(host, port) {
            return Ok(());
        }
        Err(format!("`{host}:{port}` may not be reached; add it to `tools.capabilities.access.network`"))
    }

    fn user_text(&self, place: &str, text: &str) -> Result<Arc<dyn UserText>, String> {
        let template = UserTemplate::parse(self.app.file, text, &format!("{}/{place}", self.pointer));
        Ok(Arc::new(template.map_err(|error| error.to_string())?))
    }

    fn secret_sink(&self, name: String, latest: usize) -> SecretSink {
        let secrets = self.app.file.secrets.clone();
        Arc::new(move |secret| _ = secrets.add_latest(name.as_str(), secret.clone(), latest))
    }

    /// A strict app asks all sources: one that cannot be loaded stops it.
    fn is_lazy(&self) -> bool {
        self.app.is_lazy
    }
}

impl ApiEntry for EntryContext<'_> {
    fn generation(&self, id: &str) -> Result<Option<Arc<SharedGeneration>>, String> {
        self.app.app.generation(id)
    }

    fn token_store(&self) -> Result<TokenStore, String> {
        EntryContext::token_store(self)
    }

    fn login_links(&self) -> LoginLinks {
        EntryContext::login_links(self)
    }
}

impl ServerEntry for EntryContext<'_> {
    fn startup_timeout(&self) -> Duration {
        self.app.startup_timeout
    }

    fn scope(&self) -> String {
        let folder = self.folder();
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).display().to_string()
    }

    fn serves_itself(&self, command: &[String], cwd: &Path) -> bool {
        self.app.file.is_on_disk && nesting::serves(command, cwd, Path::new(self.file()))
    }

    fn generation(&self, id: &str) -> Result<Option<Arc<SharedGeneration>>, String> {
        self.app.app.generation(id)
    }

    fn token_store(&self) -> Result<TokenStore, String> {
        EntryContext::token_store(self)
    }

    fn login_links(&self) -> LoginLinks {
        EntryContext::login_links(self)
    }

    fn trust_lock(&self) -> Result<Option<Arc<TrustLock>>, String> {
        self.app.pins.clone()
    }

    fn secrets_in(&self, keys: &[&str]) -> Vec<Secret> {
        let entry = self.document().value.pointer(self.pointer);
        let mut secrets = Vec::new();
        for key in keys {
            let texts = match entry.and_then(|entry| entry.get(key)) {
                Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
                Some(Value::String(text)) => vec![text.as_str()],
                _ => Vec::new(),
            };
            let pointer = format!("{}/{key}", self.pointer);
            secrets.extend(texts.into_iter().flat_map(|text| secret_values(self.app.file, text, &pointer)));
        }
        secrets
    }
}
