//! An app file that has been read: its typed settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use toolcrib_agent::chat::OutputSchema;
use toolcrib_datagen::session::SessionStates;
use toolcrib_document::{Document, Error as DocumentError, Format, Limits, parse};
use toolcrib_io::files::{ProtectedFiles, make_private, read_bounded, state_folder};
use toolcrib_io::table::SharedGeneration;
use toolcrib_loader_mcp::tools::{TrustLock, TrustLockError};
use toolcrib_model::random::{hex, random_bytes};
use toolcrib_modules::memory::Memory;
use toolcrib_oauth::client::TokenStore;
use toolcrib_results::Secrets;
use toolcrib_tasks::store::{LazyStore, RecordKind, RecordTable};

use crate::file::{empty_sections, expansion, foreign_keys, former_names};
use crate::resolved::ResolvedSettings;
use crate::secrets::SecretProviders;
use crate::state_name::state_name;
use crate::{AppConfig, AppFile, Error, Extensions};

/// The most bytes of an app file.
const MAX_APP_BYTES: u64 = 1024 * 1024;

/// An app file that has been read. Its types are checked, and nothing of it is built yet: that is a
/// [`Blueprint`](crate::Blueprint).
#[derive(Clone, Debug)]
pub struct App {
    /// The settings of the file.
    pub config: Arc<AppConfig>,
    /// The text of the file, and where it stands.
    pub file: AppFile,
    /// The store of the module `memory`.
    pub memory: Memory,
    /// The states of the sessions that its simulated tools see.
    pub session_states: SessionStates,
    /// The extensions that it may name.
    pub extensions: Arc<Extensions>,
    /// The approved state of its MCP servers, or why it cannot be read.
    pins: Result<Option<Arc<TrustLock>>, Arc<TrustLockError>>,
    /// The profile that limits all clients of the server, if the app is served with one.
    pub(crate) served_profile: Option<String>,
    /// The settings with their variables filled in.
    pub(crate) resolved: Arc<ResolvedSettings>,
    /// The files of the apps that call this one, the outermost first.
    pub(crate) above: Arc<[PathBuf]>,
    /// The files that this app, those that call it and those that it calls are made of.
    pub(crate) protected: ProtectedFiles,
    /// The store that processes on several machines share, if the app names one.
    pub(crate) shared_store: Option<Arc<LazyStore>>,
    /// Notes on keys that were read under a former name.
    pub(crate) notes: Vec<String>,
}

impl App {
    /// Reads an app file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, Extensions::default())
    }

    /// Reads an app file that may name what other crates bring.
    pub fn open_with(path: impl AsRef<Path>, extensions: Extensions) -> Result<Self, Error> {
        let shared = (Arc::new(extensions), Arc::default(), ProtectedFiles::default());
        Self::open_below(path.as_ref(), shared)
    }

    /// Reads an app file as if it had this text.
    pub fn open_with_text(path: impl AsRef<Path>, text: &str, extensions: Extensions) -> Result<Self, Error> {
        let shared = (Arc::new(extensions), Arc::default(), ProtectedFiles::default());
        Self::read_file(path.as_ref(), text.as_bytes(), shared)
    }

    /// Reads an app that others call, the outermost first, which share what is protected.
    pub(crate) fn open_below(
        path: &Path,
        shared: (Arc<Extensions>, Arc<[PathBuf]>, ProtectedFiles),
    ) -> Result<Self, Error> {
        let bytes = read_bounded(path, MAX_APP_BYTES).map_err(|source| Error::Unreadable { source })?;
        Self::read_file(path, &bytes, shared)
    }

    fn read_file(
        path: &Path,
        bytes: &[u8],
        shared: (Arc<Extensions>, Arc<[PathBuf]>, ProtectedFiles),
    ) -> Result<Self, Error> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let text = (Format::detect(path, bytes), bytes);
        Self::read(path.display().to_string(), folder.to_owned(), Some(path), text, shared)
    }

    /// Reads an app given as YAML text. The name stands in errors; paths are relative to the current folder.
    pub fn from_text(file: impl Into<String>, text: &str) -> Result<Self, Error> {
        Self::from_text_with(file, text, Extensions::default())
    }

    /// Returns the same with what other crates bring.
    pub fn from_text_with(
        file: impl Into<String>,
        text: &str,
        extensions: Extensions,
    ) -> Result<Self, Error> {
        let shared = (Arc::new(extensions), Arc::default(), ProtectedFiles::default());
        Self::read(file.into(), PathBuf::from("."), None, (Format::Yaml, text.as_bytes()), shared)
    }

    fn read(
        name: String,
        folder: PathBuf,
        path: Option<&Path>,
        (format, bytes): (Format, &[u8]),
        (extensions, above, protected): (Arc<Extensions>, Arc<[PathBuf]>, ProtectedFiles),
    ) -> Result<Self, Error> {
        let wrong = |error| Error::App { file: name.clone(), errors: vec![error] };
        let mut document = parse(bytes, format, &Limits::default()).map_err(wrong)?;
        let mut notes = foreign_keys::adopt(&mut document);
        notes.extend(former_names::rename(&mut document));
        empty_sections::fill(&mut document.value);
        let config: Arc<AppConfig> = typed(&document, path.is_some()).map_err(wrong)?.into();
        let mut file = AppFile::new(name, folder, document, path.is_some(), extensions.secrets.clone());
        let reads_dotenv = path.is_some() && extensions.reads_dotenv;
        SecretProviders::open(config.secrets.as_deref(), &mut file, reads_dotenv);
        if let Some(workspace) = &config.app.workspace {
            let workspace = expansion::expanded(&file, workspace, "/app/workspace", true);
            file.workspace = workspace.map(|workspace| file.path(&workspace));
        }
        let resolved = Arc::new(ResolvedSettings::new(&config, &file));
        let shared_store = resolved.task_store.as_ref().and_then(|store| store.as_ref().ok());
        let shared_store = shared_store.and_then(LazyStore::of_server).map(Arc::new);
        let (memory, pins) = (memory(path), pins(path, shared_store.as_ref()));
        let session_states = SessionStates::default();
        let served_profile = None;
        Ok(Self {
            config,
            file,
            memory,
            session_states,
            extensions,
            pins,
            served_profile,
            resolved,
            above,
            protected,
            shared_store,
            notes,
        })
    }

    /// Limits all clients of the server to a profile. One that does not exist is an error of the
    /// [`Blueprint`](crate::Blueprint).
    pub fn with_served_profile(mut self, profile: Option<String>) -> Self {
        self.served_profile = profile;
        self
    }

    /// Returns the values of the file's variables that are secrets. They are taken out of results; a logger should take
    /// them out of what it writes.
    pub fn secrets(&self) -> &Secrets {
        &self.file.secrets
    }

    /// Returns the store that processes on several machines share, if the app has one.
    pub fn shared_store(&self) -> Option<&Arc<LazyStore>> {
        self.shared_store.as_ref()
    }

    /// Returns the store for tokens of upstream servers: that of the app if it is in PostgreSQL, else that of the user.
    pub(crate) fn token_store(&self) -> Result<TokenStore, String> {
        match &self.shared_store {
            Some(store) => {
                TokenStore::shared(Arc::new(RecordTable::new(Arc::clone(store), RecordKind::Token)))
            }
            None => TokenStore::of_user(),
        }
    }

    /// Returns the contents of a source that processes on several machines share, if the store is in PostgreSQL.
    pub(crate) fn generation(&self, id: &str) -> Result<Option<Arc<SharedGeneration>>, String> {
        let Some(store) = &self.shared_store else { return Ok(None) };
        let owner = hex(&random_bytes::<16>().map_err(|error| error.to_string())?);
        let table = Arc::new(RecordTable::new(Arc::clone(store), RecordKind::Generation));
        Ok(Some(Arc::new(SharedGeneration::new(table, id, owner))))
    }

    /// Returns the approved state of the app's MCP servers, and the changes since: the lock file next to the app file,
    /// as `app.yaml.lock`, or the store if it is in PostgreSQL. `None` for an app that was not read from a file.
    pub fn pins(&self) -> Result<Option<Arc<TrustLock>>, Arc<TrustLockError>> {
        self.pins.clone()
    }

    /// Returns the name of the app.
    pub fn id(&self) -> &str {
        self.config.app.id.as_deref().unwrap_or(&self.file.name)
    }

    /// Returns the schema of the answers of its agents. One that cannot be used is an error of the
    /// [`Blueprint`](crate::Blueprint).
    pub fn output_schema(&self) -> Option<Arc<OutputSchema>> {
        self.resolved.output_schema.as_ref()?.schema.as_ref().ok().cloned()
    }

    /// Returns true if another reading of the file has the same values; comments are ignored.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.file.document.value == other.file.document.value
    }

    /// Returns true if the app runs with all of its tools or not at all.
    pub(crate) fn is_strict(&self) -> bool {
        self.config.tools.strict || self.extensions.is_strict
    }
}

fn typed(document: &Document, is_on_disk: bool) -> Result<Box<AppConfig>, DocumentError> {
    let message = match &document.value {
        Value::Object(_) => return document.deserialize(),
        // An empty text is an app without anything.
        Value::Null if !is_on_disk => return Ok(Box::default()),
        Value::Null => "the file is empty; `toolcrib init` writes a starter app",
        _ => "an app file is a mapping, with keys such as `agents` and `tools`",
    };
    Err(document.error_at("", message))
}

/// Reads the lock file next to the app file.
fn pins(
    path: Option<&Path>,
    shared_store: Option<&Arc<LazyStore>>,
) -> Result<Option<Arc<TrustLock>>, Arc<TrustLockError>> {
    let Some(path) = path else { return Ok(None) };
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let mut lock = TrustLock::open(lock).map_err(Arc::new)?;
    if let Some(store) = shared_store {
        lock = lock.with_table(Arc::new(RecordTable::new(Arc::clone(store), RecordKind::Pin)));
    }
    Ok(Some(Arc::new(lock)))
}

/// Returns the store of the module `memory` for an app: a separate file in the folder for program state, or in this
/// process if there is no such folder or the app is not in a file.
fn memory(path: Option<&Path>) -> Memory {
    let in_folder = path.and_then(|path| Some((path, state_folder("memory")?)));
    in_folder.map_or_else(Memory::in_process, |(path, folder)| {
        // Versions before this one let others read it. Where that cannot be changed, its files are private all the same.
        let _ = make_private(&folder);
        Memory::in_file(folder.join(format!("{}.json", state_name(path))))
    })
}
