//! Sources of tools that app files name.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use toolcrib_document::Document;
use toolcrib_model::Secret;
use toolcrib_policy::Access;
use toolcrib_port::{ToolEngine, ToolLoader};

use crate::UserText;

/// A loader with the engine that runs its tools; a tool file may have none.
#[derive(Clone)]
pub struct Source {
    /// The loader of the tools.
    pub loader: Arc<dyn ToolLoader>,
    /// The engine of the tools.
    pub engine: Option<Arc<dyn ToolEngine>>,
    /// True if loading it only reads files, without starting or contacting anything.
    pub is_local: bool,
    /// The files whose saving loads it again.
    pub watched: Vec<PathBuf>,
}

impl Source {
    /// Creates a source whose tools need an engine that its entry names.
    pub fn new(loader: Arc<dyn ToolLoader>) -> Self {
        Self { loader, engine: None, is_local: false, watched: Vec::new() }
    }

    /// Sets the engine; one that the entry names with `engine:` is taken instead.
    pub fn with_engine(mut self, engine: Arc<dyn ToolEngine>) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Says that loading it only reads files, so that `validate` does it too.
    pub fn local(mut self) -> Self {
        self.is_local = true;
        self
    }

    /// Sets the files whose saving loads it again.
    pub fn with_watched(mut self, watched: impl IntoIterator<Item = PathBuf>) -> Self {
        self.watched = watched.into_iter().collect();
        self
    }
}

/// A callback that receives secrets, for redaction.
pub type SecretSink = Arc<dyn Fn(&Secret) + Send + Sync>;

/// The entry of an app file that names a source, an engine or a module, and what its app lets it have.
pub trait AppEntry {
    /// Returns the name of the app file, for messages.
    fn file(&self) -> &str;

    /// Returns the app file as it was read.
    fn document(&self) -> &Document;

    /// Returns the JSON pointer of the entry.
    fn pointer(&self) -> &str;

    /// Returns the folder that the paths of the app file are relative to.
    fn folder(&self) -> &Path;

    /// Returns a path of the app file, relative to its folder.
    fn path(&self, path: &str) -> PathBuf;

    /// Returns the folder that the app's tools work in.
    fn workspace(&self) -> Result<PathBuf, String>;

    /// Returns the access of the tools of this entry, for engines to enforce.
    fn access(&self) -> Result<Access, String>;

    /// Returns an error if the access does not name a program.
    fn may_start(&self, program: &str) -> Result<(), String>;

    /// Returns an error if the access does not name the host of a URL. What is no URL is told of elsewhere.
    fn may_reach(&self, url: &str) -> Result<(), String>;

    /// Returns the text at this place below the entry, whose value depends on the user of a call.
    fn user_text(&self, place: &str, text: &str) -> Result<Arc<dyn UserText>, String>;

    /// Returns a sink of secrets that a server issues, of which the app masks the latest ones.
    fn secret_sink(&self, name: String, latest: usize) -> SecretSink;

    /// Returns whether a source may be told of from memory, without being asked.
    fn is_lazy(&self) -> bool;
}

/// A time that an app file sets: from 1 to [`MAX_SECONDS`](Self::MAX_SECONDS) seconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub struct Seconds(f64);

impl Seconds {
    /// The longest time that an app file can set.
    pub const MAX_SECONDS: f64 = 120.0;

    /// Returns the time.
    pub fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        if (1.0..=Self::MAX_SECONDS).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            Err(format!("a time has to be from 1 to {} seconds, not {seconds}", Self::MAX_SECONDS))
        }
    }
}
