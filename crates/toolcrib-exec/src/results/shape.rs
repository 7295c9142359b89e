//! From what an engine returned to what its reader gets.

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;
use toolcrib_model::{Tool, ToolResult};
use toolcrib_port::CallContext;

use super::Secrets;
use super::binary::{self, Part};
use super::bound::bound_error;
use super::limits::{
    MAX_KEPT_RESULT_BYTES, MAX_METADATA_BYTES, MAX_PARSED_BYTES, MAX_PARSED_VALUES, ResultLimits,
};
use super::measure::{cut_depth, json_size, object_size};
use super::output::OutputSchemas;
use super::preview::preview;
use super::readable::readable;
use super::store::{Format, Kept, Owner, Store};
use super::summary::{About, Summary};
use super::tokens::TokenCounter;

/// What an executor does with results, and what it keeps of them.
#[derive(Default)]
pub struct Results {
    pub(super) limits: ResultLimits,
    pub(super) store: Arc<Store>,
    pub(super) counter: TokenCounter,
    secrets: Secrets,
    schemas: OutputSchemas,
}

impl Results {
    /// Within these limits, and without secrets.
    pub fn new(limits: ResultLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Counts tokens as the model that reads results does. Otherwise a token counts four bytes.
    pub fn with_counter(mut self, counter: TokenCounter) -> Self {
        self.counter = counter;
        self
    }

    /// Keeps results where those of another executor are, so that their handles can be read here too.
    pub fn beside(mut self, other: &Self) -> Self {
        self.store = Arc::clone(&other.store);
        self
    }

    /// Takes these secrets out of all results, those included that are added to the collection later.
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// The secrets that are taken out of results.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Drops what is kept for a session, as when it ends.
    pub fn forget(&self, session: &str) {
        self.store.forget(session);
    }

    /// Makes a result fit for its reader: bounded, without secrets, without binary data. `tool` is the one that was called,
    /// when there was one. A result that went through this already stays as it is.
    ///
    /// The metadata say what was done: `output_violations`, where the result does not fit the schema that its tool declares
    /// (it is handed on all the same); `truncated_bytes`, the size of what became a preview, and its `handle`;
    /// `too_deep`, the number of parts that were cut off.
    pub fn shape(
        &self,
        mut result: ToolResult,
        tool: Option<&Arc<Tool>>,
        context: &CallContext,
    ) -> ToolResult {
        let redactor = self.secrets.redactor();
        let mut too_deep = cut_depth(&mut result.result);
        too_deep += result.metadata.values_mut().map(cut_depth).sum::<usize>();
        if too_deep > 0 {
            result.metadata.insert("too_deep".into(), too_deep.into());
        }
        if let Some(error) = &mut result.error {
            redactor.redact_error(error);
            bound_error(error);
        } else if let Some(tool) = tool {
            let violations = self.schemas.violations(tool, &result.result);
            if !violations.is_empty() {
                result.metadata.insert("output_violations".into(), violations.into());
            }
        }
        // How many bytes a text had before it was cut to what can be kept.
        let mut cut_from = None;
        if let Value::String(text) = &mut result.result {
            let bytes = text.len();
            cut_from = redactor.redact_within(text, MAX_KEPT_RESULT_BYTES).then_some(bytes);
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
            binary::take_out(&mut result.result, &mut |part| self.keep_part(part, &owner, &result.name));
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

    /// Replaces a result by its preview, and keeps it.
    fn shorten(
        &self,
        mut result: ToolResult,
        cut_from: Option<usize>,
        tokens: usize,
        owner: Owner,
    ) -> ToolResult {
        let tool = result.name.clone();
        let keep = |text: String, format: Format, cut_from: Option<usize>| {
            self.store.insert(Kept::new(owner, tool, text, format, cut_from))
        };
        let summary = Summary::new(tokens, &self.counter);
        let value = std::mem::take(&mut result.result);
        // Many servers send their JSON as a text.
        let (value, text, bytes) = match value {
            Value::String(text) if cut_from.is_some() => (None, text, cut_from.unwrap_or_default()),
            Value::String(text) => {
                let bytes = text.len();
                (parsed(&text), text, bytes)
            }
            value => {
                let (text, bytes) = written(&value, MAX_KEPT_RESULT_BYTES);
                (Some(value), text, bytes)
            }
        };
        let handle = if let Some(value) = value {
            let (kept, handle) = if bytes > text.len() {
                keep(text, Format::Text, Some(bytes))
            } else if bytes > MAX_PARSED_BYTES {
                keep(text, Format::Json, None)
            } else {
                keep(readable(&text, MAX_KEPT_RESULT_BYTES).unwrap_or(text), Format::Json, None)
            };
            let about = About { handle: handle.as_deref(), bytes, media: binary::media(&value) };
            result.result = summary.of_value(&value, &kept.text, about);
            handle
        } else {
            let (kept, handle) = keep(text, Format::Text, cut_from);
            let about = About { handle: handle.as_deref(), bytes, media: Vec::new() };
            result.result = summary.of_text(&kept.text, cut_from, &about).into();
            handle
        };
        if let Some(handle) = handle {
            result.metadata.insert("handle".into(), handle.into());
        }
        result.with_metadata("truncated_bytes", bytes)
    }

    /// Keeps binary data under a handle.
    fn keep_part(&self, part: Part, owner: &Owner, tool: &str) -> Option<String> {
        // Of a picture that is cut nothing can be seen.
        if part.data.len() > MAX_KEPT_RESULT_BYTES {
            return None;
        }
        let format = Format::Binary { media_type: part.media_type, bytes: part.bytes };
        let (owner, tool) = (owner.clone(), tool.to_owned());
        self.store.insert(Kept::new(owner, tool, part.data, format, None)).1
    }
}

/// The value of a text that is a JSON list or object, when it is no larger than what is parsed.
pub(super) fn parsed(text: &str) -> Option<Value> {
    let is_some = text.trim_start().starts_with(['{', '[']);
    if !is_some || text.len() > MAX_PARSED_BYTES || values(text) > MAX_PARSED_VALUES {
        return None;
    }
    // Most texts that begin so and are no JSON are refused here, without memory.
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    serde_json::from_str(text).ok()
}

/// No fewer than the values that a JSON text has.
pub(super) fn values(json: &str) -> usize {
    1 + json.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count()
}

/// A value as compact JSON up to a number of bytes, and how many bytes there are.
fn written(value: &Value, max_bytes: usize) -> (String, usize) {
    let mut writer = Writer { kept: Vec::new(), max_bytes, written: 0 };
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(&mut writer, value);
    let mut text = match String::from_utf8(writer.kept) {
        Ok(text) => text,
        // A character was cut in two at the end.
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
