//! The engine whose tools search documents.

mod index;
mod settings;
#[cfg(feature = "tantivy")]
mod tantivy;

#[cfg(test)]
mod tests;

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_io::files::read_bounded;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};
use toolcrib_search::MAX_TOOLS;

use self::index::Index;

#[cfg(test)]
use self::settings::MAX_SIZE;
pub use settings::{DocumentIndexKind, DocumentSearchSettings};

/// The maximum number of documents of one engine.
const MAX_DOCUMENTS: usize = MAX_TOOLS;

/// The maximum number of bytes of a file of documents.
pub const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// The decimal places of the relevance in results: more of them are noise to a model.
const RELEVANCE_DIGITS: f64 = 1_000.0;

/// The engine of `type: search/file` and `type: search/in_memory`: a call returns the documents that match its words,
/// best first, as `{"results": [{"relevance", "document"}]}`.
#[derive(Debug)]
pub struct DocumentSearchEngine {
    settings: DocumentSearchSettings,
    documents: Vec<Value>,
    index: Index,
}

impl DocumentSearchEngine {
    /// Creates the engine of `search/file`, and reads its file.
    ///
    /// # Errors
    ///
    /// The message names the setting, or the line of the file that cannot be read.
    pub fn of_file(settings: DocumentSearchSettings) -> Result<Self, String> {
        let Some(path) = settings.path.as_ref().filter(|_| settings.documents.is_none()) else {
            return Err("`search/file` has a `path`, and no `documents`".to_owned());
        };
        let documents = read(path)?;
        Self::new(settings, documents)
    }

    /// Creates the engine of `search/in_memory`.
    ///
    /// # Errors
    ///
    /// The message names the setting.
    pub fn of_memory(mut settings: DocumentSearchSettings) -> Result<Self, String> {
        match settings.documents.take() {
            Some(documents) if settings.path.is_none() => Self::new(settings, documents),
            _ => Err("`search/in_memory` has `documents`, and no `path`".to_owned()),
        }
    }

    fn new(settings: DocumentSearchSettings, documents: Vec<Value>) -> Result<Self, String> {
        settings.check()?;
        if documents.len() > MAX_DOCUMENTS {
            return Err(format!("expected at most {MAX_DOCUMENTS} documents, found {}", documents.len()));
        }
        let texts: Vec<String> = documents.iter().map(|document| text(document, &settings.fields)).collect();
        let index = Index::build(settings.index, texts.iter().map(String::as_str))?;
        Ok(Self { settings, documents, index })
    }

    fn search(&self, words: &str) -> Result<Vec<Value>, String> {
        let matches = self.index.search(words, self.settings.size.get())?.into_iter();
        let relevant = matches.filter(|(_, relevance)| *relevance >= self.settings.relevance_threshold);
        let results = relevant.filter_map(|(number, relevance)| {
            let relevance = (relevance * RELEVANCE_DIGITS).round() / RELEVANCE_DIGITS;
            Some(json!({"relevance": relevance, "document": self.documents.get(number)?}))
        });
        Ok(results.collect())
    }
}

#[async_trait]
impl ToolEngine for DocumentSearchEngine {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        let name = &self.settings.query;
        let Some(words) = call.arguments.get(name).and_then(Value::as_str) else {
            let message = format!("the call has no text `{name}` to search for");
            let hint = "the setting `query` of the engine names the argument with the words";
            return call.failed(ToolError::new(ErrorKind::ToolFailed, message).with_hint(hint));
        };
        let results = match self.search(words) {
            Ok(results) => results,
            Err(error) => return call.failed(ToolError::new(ErrorKind::Internal, error)),
        };
        match &self.settings.empty_result {
            Some(message) if results.is_empty() => {
                call.failed(ToolError::new(ErrorKind::ToolFailed, message.clone()))
            }
            _ => call.ok(json!({"results": results})),
        }
    }
}

/// Reads documents: a JSON list, or one JSON value for each line.
fn read(path: &Path) -> Result<Vec<Value>, String> {
    let bytes = read_bounded(path, MAX_FILE_BYTES).map_err(|error| error.to_string())?;
    // Editors on Windows begin UTF-8 with a byte order mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    if let Ok(documents) = serde_json::from_slice::<Vec<Value>>(bytes) {
        return Ok(documents);
    }
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let document = |(number, line): (usize, &[u8])| {
        serde_json::from_slice(line).map_err(|error| {
            let problem = error.to_string().replace(" at line 1 column ", " at column ");
            format!("{}: line {}: {problem}", path.display(), number + 1)
        })
    };
    lines.map(document).collect()
}

/// Returns the texts of a document: those of some members, or all.
fn text(document: &Value, fields: &[String]) -> String {
    let mut text = String::new();
    if fields.is_empty() {
        collect(document, &mut text);
    } else {
        fields.iter().filter_map(|field| document.get(field)).for_each(|value| collect(value, &mut text));
    }
    text
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(part) => {
            text.push_str(part);
            text.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, text)),
        Value::Object(members) => members.values().for_each(|member| collect(member, text)),
        _ => {}
    }
}
