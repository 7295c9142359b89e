//! The conversion of an engine's result to the result for its reader.

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;
use toolcrib_model::{ResultNote, Tool, ToolResult};
use toolcrib_port::CallContext;

use crate::Secrets;
use crate::error_limit::limit_error_size;
use crate::json_size::{cut_depth, json_size, object_size, value_count};
use crate::limits::{
    MAX_METADATA_BYTES, MAX_PARSED_BYTES, MAX_PARSED_VALUES, MAX_STORED_RESULT_BYTES, ResultLimits,
};
use crate::output_schema::OutputSchemas;
use crate::preview::summary::{ResultInfo, Summary};
use crate::preview::value_preview::preview;
use crate::read_result::format_json::readable;
use crate::store::binary_data::{self, BinaryData};
use crate::store::{Format, Owner, ResultStore, StoredResult};
use crate::tokens::TokenCounter;

/// The processing of results by an executor, and their storage.
#[derive(Default)]
pub struct Results {
    pub(crate) limits: ResultLimits,
    pub(crate) store: Arc<ResultStore>,
    pub(crate) counter: TokenCounter,
    secrets: Secrets,
    schemas: OutputSchemas,
}

impl Results {
    /// Creates the processing with these limits, without secrets.
    pub fn new(limits: ResultLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Sets the tokenizer of the model that reads results. By default four bytes count as a token.
    pub fn with_counter(mut self, counter: TokenCounter) -> Self {
        self.counter = counter;
        self
    }

    /// Shares the store of another executor, so that its handles can be read here too.
    pub fn with_store_of(mut self, other: &Self) -> Self {
        self.store = Arc::clone(&other.store);
        self
    }

    /// Redacts these secrets in all results, including those that are added to the collection later.
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Returns the secrets that are redacted in results.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Removes the results of a session, for example at its end.
    pub fn forget(&self, session: &str) {
        self.store.forget(session);
    }

    /// Removes the secrets from a result, and what nests too deeply; [`shape`](Self::shape) does it too. The metadata
    /// describes the changes.
    pub fn redact(&self, result: &mut ToolResult) {
        let redactor = self.secrets.redactor();
        cut(result);
        if let Some(error) = &mut result.error {
            redactor.redact_error(error);
        }
        redactor.redact_value(&mut result.result);
        redactor.redact_object(&mut result.metadata);
    }

    /// Prepares a result for its reader: limited in size, without secrets, without binary data. `tool` is the called
    /// tool, if it was found. Preparing a result twice changes nothing.
    ///
    /// The metadata describes the changes: `output_violations`, if the result violates the tool's output schema (it is
    /// returned nevertheless); `truncated_bytes`, the size of a result that became a preview, and its `handle`;
    /// `too_deep`, the number of values that were cut off.
    pub fn shape(
        &self,
        mut result: ToolResult,
        tool: Option<&Arc<Tool>>,
        context: &CallContext,
    ) -> ToolResult {
        let redactor = self.secrets.redactor();
        cut(&mut result);
        if let Some(error) = &mut result.error {
            redactor.redact_error(error);
            limit_error_size(error);
        } else if let Some(tool) = tool.filter(|_| result.projected().is_none()) {
            let violations = self.schemas.violations(tool, &result.result);
            if !violations.is_empty() {
                result.note(ResultNote::OutputViolations(violations));
            }
        }
        // The size of a text before it was truncated to what can be stored.
        let mut cut_from = None;
        if let Value::String(text) = &mut result.result {
            let bytes = text.len();
            cut_from = redactor.redact_within(text, MAX_STORED_RESULT_BYTES).then_some(bytes);
        } else {
            redactor.redact_value(&mut result.result);
        }
        redactor.redact_object(&mut result.metadata);
        if object_size(&result.metadata, MAX_METADATA_BYTES).is_none() {
            let metadata = preview(&Value::Object(std::mem::take(&mut result.metadata)), MAX_METADATA_BYTES);
            result.metadata = metadata.as_object().cloned().unwrap_or_default();
        }
        let owner = Owner::of(context);
        if !context.full_results {
            binary_data::extract(&mut result.result, &mut |part| {
                self.store_binary(part, &owner, &result.name)
            });
        }
        let tokens = self.limits.tokens_of(tool.map(Arc::as_ref), context.sharing);
        let fits = match &result.result {
            Value::String(text) if context.full_results => text.len() <= self.limits.full_bytes,
            value if context.full_results => json_size(value, self.limits.full_bytes).is_some(),
            Value::String(text) => self.counter.fits(text, tokens),
            value => {
                json_size(value, TokenCounter::most_bytes(tokens)).is_some()
                    && self.counter.fits(&value.to_string(), tokens)
            }
        };
        if fits && cut_from.is_none() { result } else { self.shorten(result, cut_from, tokens, owner) }
    }

    /// Stores a result and replaces it by its preview.
    fn shorten(
        &self,
        mut result: ToolResult,
        cut_from: Option<usize>,
        tokens: usize,
        owner: Owner,
    ) -> ToolResult {
        let tool = result.name.clone();
        let store = |text: String, format: Format, cut_from: Option<usize>| {
            self.store.insert(StoredResult::new(owner, tool, text, format, cut_from))
        };
        let summary = Summary::new(tokens, &self.counter);
        let value = std::mem::take(&mut result.result);
        // Many servers send JSON as a text.
        let (value, text, bytes) = match value {
            Value::String(text) if cut_from.is_some() => (None, text, cut_from.unwrap_or_default()),
            Value::String(text) => {
                let bytes = text.len();
                (parsed(&text), text, bytes)
            }
            value => {
                let (text, bytes) = written(&value, MAX_STORED_RESULT_BYTES);
                (Some(value), text, bytes)
            }
        };
        let handle = if let Some(value) = value {
            let (stored, handle) = if bytes > text.len() {
                store(text, Format::Text, Some(bytes))
            } else if bytes > MAX_PARSED_BYTES {
                store(text, Format::Json, None)
            } else {
                store(readable(&text, MAX_STORED_RESULT_BYTES).unwrap_or(text), Format::Json, None)
            };
            let about = ResultInfo { handle: handle.as_deref(), bytes, media: binary_data::media(&value) };
            result.result = summary.of_value(&value, &stored.text, about);
            handle
        } else {
            let (stored, handle) = store(text, Format::Text, cut_from);
            let about = ResultInfo { handle: handle.as_deref(), bytes, media: Vec::new() };
            result.result = summary.of_text(&stored.text, cut_from, &about).into();
            handle
        };
        if let Some(handle) = handle {
            result.note(ResultNote::Handle(handle));
        }
        result.with_note(ResultNote::TruncatedBytes(bytes))
    }

    /// Stores binary data and returns its handle.
    fn store_binary(&self, part: BinaryData, owner: &Owner, tool: &str) -> Option<String> {
        // A truncated image would be useless.
        if part.data.len() > MAX_STORED_RESULT_BYTES {
            return None;
        }
        let format = Format::Binary { media_type: part.media_type, bytes: part.bytes };
        let (owner, tool) = (owner.clone(), tool.to_owned());
        self.store.insert(StoredResult::new(owner, tool, part.data, format, None)).1
    }
}

/// Cuts what nests too deeply.
fn cut(result: &mut ToolResult) {
    let mut too_deep = cut_depth(&mut result.result);
    too_deep += result.metadata.values_mut().map(cut_depth).sum::<usize>();
    if too_deep > 0 {
        result.note(ResultNote::TooDeep(too_deep));
    }
}

/// Returns the value of a text that is a JSON list or object, if it is small enough to be parsed.
pub(crate) fn parsed(text: &str) -> Option<Value> {
    let is_some = text.trim_start().starts_with(['{', '[']);
    if !is_some || text.len() > MAX_PARSED_BYTES || value_count(text) > MAX_PARSED_VALUES {
        return None;
    }
    // This rejects most texts that only begin like JSON, without allocating.
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    serde_json::from_str(text).ok()
}

/// Returns a value as compact JSON up to a number of bytes, and its full size in bytes.
pub(crate) fn written(value: &Value, max_bytes: usize) -> (String, usize) {
    let mut writer = Writer { kept: Vec::new(), max_bytes, written: 0 };
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(&mut writer, value);
    let mut text = match String::from_utf8(writer.kept) {
        Ok(text) => text,
        // The last character may be incomplete.
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    text.shrink_to_fit();
    (text, writer.written)
}

struct Writer {
    kept: Vec<u8>,
    max_bytes: usize,
    written: usize,
}

impl std::io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = self.max_bytes.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.written += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
