//! The tool that reads on in a result that was too large.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::nearest;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_port::CallContext;
use toolcrib_sdk::FunctionTool;

use super::Results;
use super::answer::Reading;
use super::grep;
use super::seek::Asker;
use super::store::{Kept, Owner};

/// The most handles that an error lists.
const MAX_LISTED_HANDLES: usize = 5;

/// Larger texts are read on a thread where that holds nobody up. So is whatever is looked for by a pattern or a query,
/// which may take long in small ones too.
const MAX_INLINE_BYTES: usize = 64 * 1024;

// The description of the tool explains the arguments: it costs fewer tokens than a description for each of them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(super) struct ReadResult {
    pub(super) handle: String,
    #[serde(default, rename = "where")]
    pub(super) filter: Option<String>,
    #[serde(default)]
    pub(super) fields: Option<Vec<String>>,
    #[serde(default)]
    pub(super) sort: Option<String>,
    #[serde(default)]
    pub(super) limit: Option<i64>,
    #[serde(default)]
    pub(super) count: Option<bool>,
    #[serde(default)]
    pub(super) sum: Option<String>,
    #[serde(default)]
    pub(super) min: Option<String>,
    #[serde(default)]
    pub(super) max: Option<String>,
    #[serde(default)]
    pub(super) mean: Option<String>,
    #[serde(default)]
    pub(super) group_by: Option<String>,
    #[serde(default)]
    pub(super) jq: Option<String>,
    #[serde(default)]
    pub(super) jsonpath: Option<String>,
    #[serde(default)]
    pub(super) grep: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "context_schema")]
    pub(super) context: Option<u8>,
    #[serde(default)]
    pub(super) lines: Option<String>,
    #[serde(default)]
    pub(super) page: Option<i64>,
}

/// Returns the schema of the number of lines around a match. That it is not negative needs no words.
fn context_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "maximum": grep::MAX_CONTEXT})
}

impl ReadResult {
    /// Whether it may take longer than a look.
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

/// The operational tools over these results: `read_result`.
pub fn tools(results: Arc<Results>) -> Vec<FunctionTool> {
    let read = move |request: ReadResult, context: CallContext| {
        let results = Arc::clone(&results);
        async move { results.read(request, &context).await }
    };
    let description = "Read a large result by its handle: rows (where `stock < 2 && name == 'a'`, sort `-price`), figures (sum \
                       `qty * price`), or jq, jsonpath, grep, lines (`10-50`), page";
    vec![
        FunctionTool::new("read_result", description, read)
            .with_risk(Risk::Low)
            .with_metadata("operational", true)
            .with_metadata("presence", "essential")
            .with_metadata("idempotent", true),
    ]
}

impl Results {
    pub(super) async fn read(&self, request: ReadResult, context: &CallContext) -> Result<Value, ToolError> {
        let kept = self.kept(&request.handle, context)?;
        let tokens = self.limits.tokens_of(None, context.sharing);
        let (is_full, counter) = (context.full_results, self.counter.clone());
        let asker = Asker::default();
        let is_search = request.is_search();
        let is_short = kept.text.len() <= MAX_INLINE_BYTES;
        // Dropped with this future, as when the deadline passes; the thread ends then too.
        let _waiting = asker.waiting();
        let read = move || {
            Reading { kept: &kept, request: &request, tokens, counter: &counter, is_full, asker: &asker }
                .answer()
        };
        if is_short && !is_search {
            return read();
        }
        let failed =
            |_| ToolError::new(ErrorKind::Internal, "reading the result failed; this is a fault of Toolcrib");
        tokio::task::spawn_blocking(read).await.map_err(failed)?
    }

    /// The result of a handle. Somebody else's is as if it never was.
    fn kept(&self, handle: &str, context: &CallContext) -> Result<Arc<Kept>, ToolError> {
        let owner = Owner::of(context);
        let handle = handle.trim();
        if let Some(kept) = self.store.get(handle, &owner) {
            return Ok(kept);
        }
        let own = self.store.handles(&owner);
        let minutes = self.store.bounds.time.as_secs() / 60;
        let shown = super::words::head(handle, 80);
        let message = format!(
            "there is no result {shown:?}: results are kept for {minutes} minutes, or with the session where that is \
             kept, and the oldest go first when there are many"
        );
        // Only a handle can be misspelt, and comparing takes the product of both lengths.
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
