//! The tool `read_result`, which reads stored results.

pub(super) mod aggregates;
pub(super) mod answer;
pub(super) mod cancellable_search;
pub(super) mod format_json;
pub(super) mod grep;
pub(super) mod jq;
pub(super) mod jsonpath;
mod lines;
pub(super) mod name;
mod pages;
pub(super) mod rows;
pub(super) mod table;

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_port::CallContext;
use toolcrib_sdk::FunctionTool;

use crate::Results;
use crate::read_result::answer::ResultReader;
use crate::read_result::cancellable_search::CancelFlag;
use crate::read_result::name::READ_RESULT;
use crate::store::{Owner, StoredResult};

/// The maximum number of handles in an error.
const MAX_LISTED_HANDLES: usize = 5;

/// The maximum size of texts that are read on the current thread; larger ones are read on a thread for blocking work.
/// So are searches by pattern or query, which may be slow in small texts too.
const MAX_INLINE_BYTES: usize = 64 * 1024;

// The description of the tool explains the arguments: it costs fewer tokens than a description for each of them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ReadResult {
    pub(crate) handle: String,
    #[serde(default, rename = "where")]
    pub(crate) filter: Option<String>,
    #[serde(default)]
    pub(crate) fields: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) sort: Option<String>,
    #[serde(default)]
    pub(crate) limit: Option<i64>,
    #[serde(default)]
    pub(crate) count: Option<bool>,
    #[serde(default)]
    pub(crate) sum: Option<String>,
    #[serde(default)]
    pub(crate) min: Option<String>,
    #[serde(default)]
    pub(crate) max: Option<String>,
    #[serde(default)]
    pub(crate) mean: Option<String>,
    #[serde(default)]
    pub(crate) group_by: Option<String>,
    #[serde(default)]
    pub(crate) jq: Option<String>,
    #[serde(default)]
    pub(crate) jsonpath: Option<String>,
    #[serde(default)]
    pub(crate) grep: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "context_schema")]
    pub(crate) context: Option<u8>,
    #[serde(default)]
    pub(crate) lines: Option<String>,
    #[serde(default)]
    pub(crate) page: Option<i64>,
}

/// Returns the schema of the number of context lines. A minimum of 0 would only cost tokens.
fn context_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "maximum": grep::MAX_CONTEXT})
}

impl ReadResult {
    /// Returns true if the request may be slow.
    fn is_search(&self) -> bool {
        let Self { handle: _, filter, fields, sort, limit, count, .. } = self;
        let texts = [filter, sort, &self.sum, &self.min, &self.max, &self.mean, &self.group_by];
        let searches = [&self.jq, &self.jsonpath, &self.grep];
        texts.into_iter().chain(searches).any(Option::is_some)
            || fields.is_some()
            || limit.is_some()
            || count.is_some()
    }
}

/// Returns the operational tools for these results: `read_result`.
pub fn tools(results: Arc<Results>) -> Vec<FunctionTool> {
    let read = move |request: ReadResult, context: CallContext| {
        let results = Arc::clone(&results);
        async move { results.read(request, &context).await }
    };
    let description = "Read a large result by its handle: rows (where `stock < 2 && name == 'a'`, sort `-price`), figures (sum \
                       `qty * price`); lines `10-50`";
    vec![
        FunctionTool::new(READ_RESULT, description, read)
            .with_risk(Risk::Low)
            .with_metadata("operational", true)
            .with_metadata("presence", "essential")
            .with_metadata("idempotent", true),
    ]
}

impl Results {
    pub(crate) async fn read(&self, request: ReadResult, context: &CallContext) -> Result<Value, ToolError> {
        let stored = self.stored(&request.handle, context).await?;
        let tokens = self.limits.tokens_of(None, context.sharing);
        let (is_full, counter) = (context.full_results, self.counter.clone());
        let cancel = CancelFlag::default();
        let is_search = request.is_search();
        let is_short = stored.text.len() <= MAX_INLINE_BYTES;
        // The guard is dropped with this future, as when the deadline passes; the thread ends then too.
        let _waiting = cancel.cancel_on_drop();
        let read = move || {
            ResultReader {
                stored: &stored,
                request: &request,
                tokens,
                counter: &counter,
                is_full,
                cancel: &cancel,
            }
            .answer()
        };
        if is_short && !is_search {
            return read();
        }
        let failed =
            |_| ToolError::new(ErrorKind::Internal, "reading the result failed; this is a bug in Toolcrib");
        tokio::task::spawn_blocking(read).await.map_err(failed)?
    }

    /// Returns the result of a handle, if it belongs to the caller.
    async fn stored(&self, handle: &str, context: &CallContext) -> Result<Arc<StoredResult>, ToolError> {
        let owner = Owner::of(context);
        let handle = handle.trim();
        if let Some(stored) = self.store.find(handle, &owner).await? {
            return Ok(stored);
        }
        let own = self.store.handles(&owner);
        let minutes = self.store.bounds.time.as_secs() / 60;
        let shown = toolcrib_model::text::truncate_bytes(handle, 80);
        let message = format!(
            "there is no result {shown:?}: results are kept for {minutes} minutes, or with the session where that is \
             kept, and the oldest go first when there are many"
        );
        // Only a short text can be a misspelt handle, and the cost of comparing is the product of both lengths.
        let known = own.iter().map(|(handle, _)| handle.as_str()).filter(|_| handle.len() <= 80);
        let hint = match nearest(handle, known) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None if own.is_empty() => "call the tool again, unless it changes something".to_owned(),
            None => {
                let listed = own.iter().take(MAX_LISTED_HANDLES);
                let listed: Vec<_> = listed
                    .map(|(handle, tool)| format!("{handle:?} of {}", tool.replacen("::", ".", 1)))
                    .collect();
                format!(
                    "call the tool again, unless it changes something, or read one of: {}",
                    listed.join(", ")
                )
            }
        };
        Err(ToolError::new(ErrorKind::NotFound, message).with_hint(hint))
    }
}
