//! Tools in another document, such as an app file.

use async_trait::async_trait;
use toolcrib_document::Document;
use toolcrib_port::{LoadOutcome, ToolLoader};

use crate::file_loader::collect;

/// A loader for tools in another document, in any of the shapes of a tool file.
#[derive(Clone, Debug)]
pub struct InlineLoader {
    source: String,
    loaded: LoadOutcome,
    warnings: Vec<String>,
}

impl InlineLoader {
    /// Creates a loader for the value at a JSON pointer. Problems are reported with their position in `file`. The
    /// namespace applies to tools that do not name one.
    ///
    /// ```
    /// use toolcrib_document::{Format, Limits, parse};
    /// use toolcrib_loader_file::InlineLoader;
    /// use toolcrib_port::ToolLoader;
    ///
    /// let document = parse(b"tools: [{name: ask}]", Format::Yaml, &Limits::default())?;
    /// let loader = InlineLoader::new(&document, "/tools", "desk", "app.yaml");
    /// assert_eq!(loader.source(), "inline desk");
    /// # Ok::<(), toolcrib_document::Error>(())
    /// ```
    pub fn new(document: &Document, pointer: &str, namespace: &str, file: &str) -> Self {
        let source = format!("inline {namespace}");
        let value = document.value.pointer(pointer).cloned().unwrap_or_default();
        let (loaded, warnings) = collect(value, document, pointer, Some(namespace), &source, file);
        Self { source, loaded, warnings }
    }
}

#[async_trait]
impl ToolLoader for InlineLoader {
    fn source(&self) -> &str {
        &self.source
    }

    async fn load(&self) -> LoadOutcome {
        self.loaded.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
