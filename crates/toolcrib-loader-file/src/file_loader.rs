//! A tool file as a source of tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_document::{Document, Error, Format, Limits, MAX_BYTES, parse};
use toolcrib_io::files::read_bounded;
use toolcrib_port::{LoadOutcome, Reject, RejectKind, ToolLoader};

use crate::tool_file::{self, ToolProblem};

/// A loader for the tools of one YAML or JSON file.
#[derive(Clone, Debug)]
pub struct FileLoader {
    path: PathBuf,
    namespace: Option<String>,
    source: String,
    /// The warnings of the last load. Clones share them.
    warnings: Arc<Mutex<Vec<String>>>,
}

impl FileLoader {
    /// Creates a loader for this file. The format follows from the file extension, or else from the first character.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { source: format!("file {}", path.display()), path, namespace: None, warnings: Arc::default() }
    }

    /// Sets the namespace of all tools that do not name one.
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the name of the source, for a file that is loaded twice.
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    fn read(&self) -> LoadOutcome {
        let mut document = match self.document() {
            Ok(document) => document,
            Err((kind, reason)) => return LoadOutcome::failed(&self.source, kind, reason),
        };
        // Moved, not cloned: a file of thousands of tools would occupy twice the memory.
        let value = std::mem::take(&mut document.value);
        let file = self.path.display().to_string();
        let (loaded, warnings) =
            collect(value, &document, "", self.namespace.as_deref(), &self.source, &file);
        *self.warnings.lock() = warnings;
        loaded
    }

    fn document(&self) -> Result<Document, (RejectKind, String)> {
        let bytes = read_bounded(&self.path, MAX_BYTES as u64)
            .map_err(|error| (unreadable(&error), error.to_string()))?;
        parse(&bytes, Format::detect(Path::new(&self.path), &bytes), &Limits::default()).map_err(|error| {
            let kind = if error.is_limit() { RejectKind::TooLarge } else { RejectKind::Syntax };
            (kind, error.at(self.path.display()))
        })
    }
}

/// Returns the tools of a value at a pointer of a document, and the warnings about them. Messages name the document
/// `file`.
pub(crate) fn collect(
    value: Value,
    document: &Document,
    pointer: &str,
    namespace: Option<&str>,
    source: &str,
    file: &str,
) -> (LoadOutcome, Vec<String>) {
    let parsed = match tool_file::tools(value, document, pointer, namespace) {
        Ok(parsed) => parsed,
        Err(error) => {
            return (LoadOutcome::failed(source, RejectKind::InvalidTool, error.at(file)), Vec::new());
        }
    };
    let warnings = parsed.unknown.warnings(file);
    let rejected = rejects(document, parsed.broken, parsed.beyond, source, file);
    (LoadOutcome { tools: parsed.tools, rejected }, warnings)
}

/// Returns the rejects with their positions. Beyond a limit, broken tools are only counted.
fn rejects(
    document: &Document,
    broken: Vec<(ToolProblem, String)>,
    beyond: Option<(usize, String)>,
    source: &str,
    file: &str,
) -> Vec<Reject> {
    let pointers: Vec<&str> = broken.iter().map(|(_, pointer)| pointer.as_str()).collect();
    let positions = document.positions_of(&pointers);
    let reject = |name, reason| Reject::tool(source, name, RejectKind::InvalidTool, reason);
    let mut rejects: Vec<Reject> = broken
        .into_iter()
        .zip(positions)
        .map(|((problem, pointer), position)| {
            // A reject without a name would concern the whole source.
            let name = problem.name.unwrap_or_else(|| pointer.clone());
            let error = Error::Shape { position, path: pointer, message: problem.message };
            reject(name, error.at(file))
        })
        .collect();
    if let Some((count, pointer)) = beyond {
        rejects.push(reject(pointer, format!("{file}: and {count} more tools are broken")));
    }
    rejects
}

pub(crate) fn unreadable(error: &toolcrib_io::Error) -> RejectKind {
    match error {
        toolcrib_io::Error::TooLarge { .. } => RejectKind::TooLarge,
        _ => RejectKind::Unreadable,
    }
}

#[async_trait]
impl ToolLoader for FileLoader {
    fn source(&self) -> &str {
        &self.source
    }

    async fn load(&self) -> LoadOutcome {
        let loader = self.clone();
        match tokio::task::spawn_blocking(move || loader.read()).await {
            Ok(loaded) => loaded,
            Err(error) => LoadOutcome::failed(
                &self.source,
                RejectKind::Unreadable,
                format!("reading broke off: {error}"),
            ),
        }
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.lock().clone()
    }
}
