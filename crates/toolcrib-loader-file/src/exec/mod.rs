//! Folders of programs with a manifest: modules that need no Rust.

mod engine;
mod manifest;
mod program_output;

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use parking_lot::RwLock;
use toolcrib_document::{Error, Format, Limits, parse};
use toolcrib_io::files::read_bounded;
use toolcrib_port::{LoadOutcome, RejectKind, ToolLoader};

use crate::ModuleSettings;
use crate::file_loader::unreadable;
use crate::module_settings::absolute;
use manifest::{Manifest, Program};

pub(crate) use manifest::MAX_EXEC_TOOLS;
pub use manifest::MAX_MANIFEST_BYTES;
pub use program_output::MAX_ERROR_LINES;

/// The file name of the manifest, which describes the tools of a folder.
pub const MANIFEST: &str = "toolcrib.yaml";

/// A folder of programs that are tools. Its manifest `toolcrib.yaml` has the `name` of the module, its purpose
/// (`description`), variables for all programs (`env`), and the `tools`. Each tool has:
///
/// - `name` and `description`, by which models find it, and `argv`, the command line. A first word with a `/` is a path
///   in the folder, any other a program of the system. The other words may contain placeholders for arguments, as in
///   [`CommandSettings`](crate::command::CommandSettings), for programs that do not read JSON;
/// - `parameters` and `output_parameters`, the JSON Schemas of its arguments and of its result;
/// - `title`, `aliases`, `tags`, `examples`, `risk`, `side_effects`, `confirmation_required`, `user_selectable`,
///   `idempotent`, `cacheable` and `access`, as for any tool;
/// - `timeout`, in seconds, and `env`, variables for this program in addition to those for all.
///
/// Each call starts its program in the folder. The contract of a program is:
///
/// - The arguments, which are valid by `parameters`, arrive on standard input as one JSON object.
/// - The context of the call is in variables, never among the arguments: [`CONTEXT_VARIABLES`]. The program also gets
///   the variables that [every child inherits](toolcrib_io::process::INHERITED_ENVIRONMENT), those of the manifest, and
///   with precedence over them those of [`ModuleSettings::env`], which is the place for keys.
/// - It prints one JSON value, which is the result; empty output is `null`. An expected failure is `{"status": "error",
///   "error": "not_found"}`, which becomes the error of the call, with `message`, `hint` and all other keys.
/// - Each line on standard error is reported as progress, and logged.
/// - An unsuccessful exit is an error of the call, with the last [`MAX_ERROR_LINES`] lines of standard error.
///
/// A program ends with its call, and so do the processes that it has started.
#[derive(Clone, Debug)]
pub struct ExecModule {
    folder: PathBuf,
    source: String,
    settings: ModuleSettings,
    /// The `name` of the manifest when it was first read.
    first_name: Arc<OnceLock<String>>,
    /// The programs and description as of the last load. Clones share them.
    current: Arc<RwLock<LoadedPrograms>>,
}

#[derive(Debug, Default)]
struct LoadedPrograms {
    /// The programs by bare tool name.
    programs: BTreeMap<String, Arc<Program>>,
    description: Option<String>,
}

/// The variables with the context of a call. The last one is that of W3C trace contexts. Variables without a value are
/// not set.
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
    /// Creates the module of this folder. Nothing is read yet.
    pub fn new(folder: impl AsRef<Path>, settings: ModuleSettings) -> Self {
        let folder = absolute(folder.as_ref());
        let source = match &settings.namespace {
            Some(namespace) => format!("exec {namespace}"),
            None => format!("exec {}", folder.display()),
        };
        Self { folder, source, settings, first_name: Arc::default(), current: Arc::default() }
    }

    /// Returns the path of the manifest.
    pub fn manifest(&self) -> PathBuf {
        self.folder.join(MANIFEST)
    }

    /// Reads the manifest.
    fn read(&self) -> Result<Manifest, (RejectKind, String)> {
        let path = self.manifest();
        let bytes = read_bounded(&path, MAX_MANIFEST_BYTES)
            .map_err(|error| (unreadable(&error), error.to_string()))?;
        let wrong = |kind, error: Error| (kind, error.at(path.display()));
        let document = parse(&bytes, Format::Yaml, &Limits::default()).map_err(|error| {
            let kind = if error.is_limit() { RejectKind::TooLarge } else { RejectKind::Syntax };
            wrong(kind, error)
        })?;
        let named = self.settings.namespace.as_deref();
        let file = path.display().to_string();
        Manifest::read(&document, named, &self.source, &file, &self.folder, &self.settings)
            .map_err(|error| wrong(RejectKind::InvalidTool, error))
    }
}

#[async_trait]
impl ToolLoader for ExecModule {
    fn source(&self) -> &str {
        &self.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        self.settings.namespace.as_deref().or_else(|| self.first_name.get().map(String::as_str))
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
        // The first name remains: a namespace is granted to a source once.
        let first = self.first_name.get_or_init(|| manifest.namespace.clone());
        if *first != manifest.namespace {
            let reason = format!(
                "{}: the module was called `{first}` when it was first read, and is called `{}` now; restart the app to \
                 apply that",
                self.manifest().display(),
                manifest.namespace
            );
            return LoadOutcome::failed(&self.source, RejectKind::InvalidTool, reason);
        }
        *self.current.write() =
            LoadedPrograms { programs: manifest.programs, description: manifest.description };
        manifest.loaded
    }

    fn instructions(&self) -> Option<String> {
        self.current.read().description.clone()
    }
}
