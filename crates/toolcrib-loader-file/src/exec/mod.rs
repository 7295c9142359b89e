//! Programs with a manifest as a module, so that one needs no Rust to write it.

mod engine;
mod manifest;
mod output;

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use async_trait::async_trait;
use toolcrib_document::{Error, Format, Limits, parse};
use toolcrib_io::files::read_bounded;
use toolcrib_model::Secret;
use toolcrib_policy::Access;
use toolcrib_port::{LoadOutcome, RejectKind, ToolLoader};

use crate::loader::unreadable;
use manifest::{Manifest, Program};

pub use manifest::{MAX_EXEC_TOOLS, MAX_MANIFEST_BYTES};
pub use output::{MAX_ERROR_LINES, MAX_PROGRESS_LINES};

/// The name of the file in the folder of a module that says what its tools are.
pub const MANIFEST: &str = "toolcrib.yaml";

/// A folder of programs that are tools, as its manifest says: `toolcrib.yaml`, with the `name` of the module, what it is
/// for (`description`), variables for all its programs (`env`), and its `tools`. Of each tool stand there:
///
/// - `name` and `description`, by which models find it, and `argv`, the words that start it. A first word with a `/` is
///   a path in the folder, any other a program of the system. The other words may have places for arguments, as those of
///   a [`CommandSettings`](crate::CommandSettings), for programs that do not read JSON;
/// - `parameters` and `output_parameters`, the JSON Schemas of its arguments and of its result;
/// - `title`, `aliases`, `tags`, `examples`, `risk`, `side_effects`, `confirmation_required`, `user_selectable`,
///   `idempotent`, `cacheable` and `access`, as for any tool;
/// - `timeout`, in seconds, and `env`, variables for this program beside those for all.
///
/// For each call its program is started in the folder. What it is to know, and what it is to do:
///
/// - The arguments, which fit `parameters`, come on standard input as one JSON object.
/// - What the runtime knows of the call comes in variables, never among the arguments: [`CONTEXT_VARIABLES`]. Beside them
///   there are those that [every child inherits](toolcrib_io::process::INHERITED_ENVIRONMENT), those of the manifest, and
///   over them those of [`with_env`](Self::with_env), which is the place for keys.
/// - It prints one JSON value, which is the result; nothing printed is `null`. A failure that was to be expected is
///   `{"status": "error", "error": "not_found"}`, which is an error of the call: `message` and `hint` beside it, and what
///   else is there, are told with it.
/// - Each line on standard error tells those who wait how far it is, and goes to the log.
/// - Any other end than success is an error of the call, with the last [`MAX_ERROR_LINES`] lines of standard error.
///
/// A program ends when its call does, and so does whatever it has started.
#[derive(Clone, Debug)]
pub struct ExecModule {
    folder: PathBuf,
    source: String,
    namespace: Option<String>,
    /// What the manifest called itself when it was first read.
    first_name: Arc<OnceLock<String>>,
    workspace: Option<PathBuf>,
    env: BTreeMap<String, Secret>,
    access: Access,
    /// What it was when it was last loaded; clones share it.
    current: Arc<RwLock<Current>>,
}

#[derive(Debug, Default)]
struct Current {
    /// By the bare name of the tool.
    programs: BTreeMap<String, Arc<Program>>,
    description: Option<String>,
}

/// The variables that say what a call is part of. The last is that of W3C trace contexts, and where something is not known
/// its variable is not set.
pub const CONTEXT_VARIABLES: [&str; 11] = [
    "TOOLCRIB_TOOL",
    "TOOLCRIB_WORKSPACE",
    "TOOLCRIB_SESSION",
    "TOOLCRIB_CONVERSATION",
    "TOOLCRIB_USER",
    "TOOLCRIB_MESSAGE",
    "TOOLCRIB_THREAD",
    "TOOLCRIB_SCOPE",
    "TOOLCRIB_AGENT",
    "TOOLCRIB_RUN_KEY",
    "TRACEPARENT",
];

impl ExecModule {
    /// The module in this folder. Nothing is read yet.
    pub fn new(folder: impl AsRef<Path>) -> Self {
        let folder = absolute(folder.as_ref());
        Self {
            source: format!("exec {}", folder.display()),
            folder,
            namespace: None,
            first_name: Arc::default(),
            workspace: None,
            env: BTreeMap::new(),
            access: Access::unlimited(),
            current: Arc::default(),
        }
    }

    /// Sets the namespace of the tools; otherwise it is the `name` of the manifest.
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        self.source = format!("exec {namespace}");
        self.namespace = Some(namespace);
        self
    }

    /// Sets the directory that the programs are told to work in, `TOOLCRIB_WORKSPACE`.
    pub fn with_workspace(mut self, workspace: impl AsRef<Path>) -> Self {
        self.workspace = Some(absolute(workspace.as_ref()));
        self
    }

    /// Sets variables of all programs, which the manifest need not know and cannot change.
    pub fn with_env(mut self, env: BTreeMap<String, Secret>) -> Self {
        self.env = env;
        self
    }

    /// Sets which programs may be started.
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// The file that says what its tools are.
    pub fn manifest(&self) -> PathBuf {
        self.folder.join(MANIFEST)
    }

    /// The manifest as it is now.
    fn read(&self) -> Result<Manifest, (RejectKind, String)> {
        let path = self.manifest();
        let bytes = read_bounded(&path, MAX_MANIFEST_BYTES)
            .map_err(|error| (unreadable(&error), error.to_string()))?;
        let wrong = |kind, error: Error| (kind, error.at(path.display()));
        let document = parse(&bytes, Format::Yaml, &Limits::default()).map_err(|error| {
            let kind = if error.is_limit() { RejectKind::TooLarge } else { RejectKind::Syntax };
            wrong(kind, error)
        })?;
        let named = self.namespace.as_deref();
        let file = path.display().to_string();
        Manifest::read(&document, named, &self.source, &file, &self.folder, &self.access)
            .map_err(|error| wrong(RejectKind::InvalidTool, error))
    }
}

/// The path from the root on: programs start in another folder than ours.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[async_trait]
impl ToolLoader for ExecModule {
    fn source(&self) -> &str {
        &self.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        self.namespace.as_deref().or_else(|| self.first_name.get().map(String::as_str))
    }

    async fn load(&self) -> LoadOutcome {
        let module = self.clone();
        let read = tokio::task::spawn_blocking(move || module.read()).await;
        let manifest = match read {
            Ok(Ok(manifest)) => manifest,
            Ok(Err((kind, reason))) => return LoadOutcome::failed(&self.source, kind, reason),
            Err(error) => {
                let reason = format!("reading broke off: {error}");
                return LoadOutcome::failed(&self.source, RejectKind::Unreadable, reason);
            }
        };
        // It stays what it was first: a namespace is granted to a source once.
        let first = self.first_name.get_or_init(|| manifest.namespace.clone());
        if *first != manifest.namespace {
            let reason = format!(
                "{}: the module was called `{first}` when it was first read, and is called `{}` now; start again to have \
                 it so",
                self.manifest().display(),
                manifest.namespace
            );
            return LoadOutcome::failed(&self.source, RejectKind::InvalidTool, reason);
        }
        *self.current.write().unwrap_or_else(PoisonError::into_inner) =
            Current { programs: manifest.programs, description: manifest.description };
        manifest.loaded
    }

    fn instructions(&self) -> Option<String> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).description.clone()
    }
}
