//! One file as a source of tools.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use toolcrib_document::{Document, Format, Limits, MAX_BYTES, parse};
use toolcrib_io::files::read_bounded;
use toolcrib_port::{Loaded, Reject, RejectKind, ToolLoader};

use crate::shape;

/// The namespace of a tool that nobody gives one.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Loads the tools of one YAML or JSON file.
#[derive(Clone, Debug)]
pub struct FileLoader {
    path: PathBuf,
    namespace: Option<String>,
    source: String,
}

impl FileLoader {
    /// A loader of this file. The format is told by the ending of its name, else by its first character.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { source: format!("file {}", path.display()), path, namespace: None }
    }

    /// Sets the namespace of all tools that do not name one themselves.
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the name of the source, where one file is loaded twice.
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    fn read(&self) -> Loaded {
        let document = match self.document() {
            Ok(document) => document,
            Err((kind, reason)) => return Loaded::failed(&self.source, kind, reason),
        };
        let mut loaded = Loaded::default();
        let found = match shape::tools(&document, self.namespace.as_deref()) {
            Ok(found) => found,
            Err(error) => {
                return Loaded::failed(&self.source, RejectKind::InvalidTool, error.at(self.path.display()));
            }
        };
        for (tool, pointer) in found {
            match tool {
                Ok(tool) => loaded.tools.push(tool),
                Err(problem) => loaded.rejected.push(Reject {
                    source: self.source.clone(),
                    // A reject without a name would be one of the whole file.
                    name: Some(problem.name.unwrap_or_else(|| pointer.clone())),
                    kind: RejectKind::InvalidTool,
                    reason: document.error_at(&pointer, problem.message).at(self.path.display()),
                }),
            }
        }
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

fn unreadable(error: &toolcrib_io::Error) -> RejectKind {
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

    async fn load(&self) -> Loaded {
        let loader = self.clone();
        match tokio::task::spawn_blocking(move || loader.read()).await {
            Ok(loaded) => loaded,
            Err(error) => {
                Loaded::failed(&self.source, RejectKind::Unreadable, format!("reading broke off: {error}"))
            }
        }
    }
}
