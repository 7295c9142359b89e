//! The tool that reads on in a result that was too large.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_document::nearest;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_port::CallContext;
use toolcrib_sdk::FunctionTool;

use super::Results;
use super::grep;
use super::jsonpath::{self, Exceeded, MAX_MATCHES, MAX_STEPS, MAX_WHOLE_TEXT_BYTES, Query};
use super::limits::MAX_PARSED_VALUES;
use super::lines;
use super::measure::json_size;
use super::pages::Pages;
use super::readable::readable;
use super::seek::Asker;
use super::shape::values;
use super::store::{Format, Kept, Owner};
use super::words::{counted, grouped, line_breaks, lines as line_count};

/// The bytes of a page that are left for the note at its end.
const MAX_NOTE_BYTES: usize = 360;

/// The most handles that an error lists.
const MAX_LISTED_HANDLES: usize = 5;

/// Larger texts are read on a thread where that holds nobody up. So is whatever is looked for by a pattern or a query,
/// which may take long in small ones too.
const MAX_INLINE_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(super) struct ReadResult {
    pub(super) handle: String,
    #[doc = "As `$.items[10:20].name` or `$.items[?@.price < 10]`."]
    #[serde(default)]
    pub(super) jsonpath: Option<String>,
    /// As `10-50`.
    #[serde(default)]
    pub(super) lines: Option<String>,
    /// A regular expression.
    #[serde(default)]
    pub(super) grep: Option<String>,
    /// Lines around each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    pub(super) context: Option<u8>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(super) page: Option<u32>,
}

/// The operational tools over these results: `read_result`.
pub fn tools(results: Arc<Results>) -> Vec<FunctionTool> {
    let read = move |request: ReadResult, context: CallContext| {
        let results = Arc::clone(&results);
        async move { results.read(request, &context).await }
    };
    let description = "Read more of a result that was cut, by its handle: a page (from 1) of it, or of what one of \
                       jsonpath, lines and grep finds";
    vec![
        FunctionTool::new("read_result", description, read)
            .with_risk(Risk::Low)
            .with_metadata("operational", true)
            .with_metadata("idempotent", true),
    ]
}

impl Results {
    pub(super) async fn read(&self, request: ReadResult, context: &CallContext) -> Result<Value, ToolError> {
        let kept = self.kept(&request.handle, context)?;
        let (page_bytes, is_full) = (self.limits.bytes(None), context.full_results);
        let asker = Asker::default();
        let is_short = kept.text.len() <= MAX_INLINE_BYTES;
        if is_short && request.grep.is_none() && request.jsonpath.is_none() {
            return read(&kept, &request, page_bytes, is_full, &asker);
        }
        // Dropped with this future, as when the deadline passes; the thread ends then too.
        let _waiting = asker.waiting();
        let reading = tokio::task::spawn_blocking(move || read(&kept, &request, page_bytes, is_full, &asker));
        let failed =
            |_| ToolError::new(ErrorKind::Internal, "reading the result failed; this is a fault of Toolcrib");
        reading.await.map_err(failed)?
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

/// Reads a part of what is kept.
fn read(
    kept: &Kept,
    request: &ReadResult,
    page_bytes: usize,
    is_full: bool,
    asker: &Asker,
) -> Result<Value, ToolError> {
    // Models fill in arguments that they do not need.
    let given =
        |text: &'_ Option<String>| text.as_deref().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let (jsonpath, lines, grep) = (given(&request.jsonpath), given(&request.lines), given(&request.grep));
    if let Format::Binary { media_type, bytes } = &kept.format {
        if is_full {
            return Ok(json!({"mimeType": media_type, "bytes": bytes, "data": kept.text}));
        }
        let message =
            format!("this is {media_type} of {}, which cannot be read as text", counted(*bytes, "byte"));
        return Err(ToolError::new(ErrorKind::InvalidArgs, message));
    }
    let page = usize::try_from(request.page.unwrap_or(1)).unwrap_or(usize::MAX);
    let mut part = match (&jsonpath, &lines, &grep) {
        (Some(query), None, None) => match queried(kept, query, page_bytes, page, asker)? {
            Answer::Whole(value) => return Ok(value),
            Answer::Part(part) => part,
        },
        (None, Some(range), None) => {
            let found = lines::select(&kept.text, range)?;
            let what = format!(
                "lines {} to {} of {}",
                grouped(found.first),
                grouped(found.last),
                grouped(found.all)
            );
            Part { text: Cow::Borrowed(found.text), what, first_line: None }
        }
        (None, None, Some(pattern)) => {
            let context = request.context.unwrap_or_default().into();
            let found = grep::grep(&kept.text, &grep::pattern(pattern)?, context, asker);
            let mut what = format!(
                "{} in {}",
                counted(found.count, "matching line"),
                counted(line_count(&kept.text), "line")
            );
            if found.listed < found.count {
                let _ = write!(what, ", of which the first {} are listed", grouped(found.listed));
            }
            Part { text: Cow::Owned(found.text), what, first_line: None }
        }
        (None, None, None) => {
            let what = format!("all {}", counted(line_count(&kept.text), "line"));
            Part { text: Cow::Borrowed(kept.text.as_str()), what, first_line: Some(1) }
        }
        _ => {
            let message = "only one of `jsonpath`, `lines` and `grep` can be used at once";
            return Err(ToolError::new(ErrorKind::InvalidArgs, message).with_hint(
                "call it once for each, or use `grep` alone with `context` for the lines around",
            ));
        }
    };
    if let Some(bytes) = kept.cut_from {
        let _ = write!(
            part.what,
            "; only the first {} of {} were kept",
            grouped(kept.text.len()),
            counted(bytes, "byte")
        );
    }
    part.page(page, page_bytes).map(Value::String)
}

/// What was asked for, and what it is.
struct Part<'a> {
    text: Cow<'a, str>,
    what: String,
    /// The number of its first line, when pages should say which lines they hold.
    first_line: Option<usize>,
}

impl Part<'_> {
    /// One page of it, with a note on where it stands and how to go on.
    fn page(&self, page: usize, bytes: usize) -> Result<String, ToolError> {
        let pages = Pages::new(&self.text, bytes.saturating_sub(MAX_NOTE_BYTES));
        let count = pages.count();
        let Some((start, text)) = pages.get(page) else {
            let message = format!("there is no page {}: there are {}", grouped(page), counted(count, "page"));
            return Err(ToolError::new(ErrorKind::InvalidArgs, message));
        };
        let mut note = self.what.clone();
        if count > 1 {
            note = format!("page {page} of {count}, {note}");
            if let Some(first) = self.first_line {
                let before = line_breaks(self.text.get(..start).unwrap_or_default());
                let first = first + before;
                let last = first + line_count(text).saturating_sub(1);
                let _ = write!(note, "; this page: lines {} to {}", grouped(first), grouped(last));
            }
            if page < count {
                let _ = write!(note, "; next_page={}", page + 1);
            }
        }
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{text}{gap}[{note}]"))
    }
}

enum Answer<'a> {
    /// All matches, as they are.
    Whole(Value),
    /// More than fits, as text.
    Part(Part<'a>),
}

/// The values that a query finds: themselves when they fit, else as text in pages.
fn queried<'a>(
    kept: &Kept,
    query: &str,
    bytes: usize,
    page: usize,
    asker: &Asker,
) -> Result<Answer<'a>, ToolError> {
    let invalid = |message: String| ToolError::new(ErrorKind::InvalidArgs, message);
    let instead = "use `grep`, `lines` or `page`";
    let root = match &kept.format {
        Format::Json if values(&kept.text) <= MAX_PARSED_VALUES => {
            serde_json::from_str::<Value>(&kept.text).ok()
        }
        Format::Json => {
            return Err(invalid("the result has too many values for `jsonpath`".into()).with_hint(instead));
        }
        _ => None,
    };
    let Some(root) = root else {
        let message = match kept.cut_from {
            Some(_) => "the result was too large to be kept whole, so that it is no JSON any more",
            None => "the result is text and no JSON",
        };
        return Err(invalid(message.into()).with_hint(instead));
    };
    let parsed = Query::parse(query).map_err(|error| {
        let (before, after) = query.split_at(query.floor_char_boundary(error.at.min(query.len())));
        let shown = format!("{}→{}", super::words::tail(before, 60), super::words::head(after, 60));
        invalid(format!("`jsonpath` is no JSONPath: {} at the arrow: {shown}", error.message))
            .with_hint("examples: $.items[0:10], $.items[*].name, $..id, $.items[?@.price < 10], $['a key']")
    })?;
    let found = parsed.select(&root, asker).map_err(|exceeded| {
        let message = match exceeded {
            Exceeded::Steps => format!("the query looks at more than {} values", grouped(MAX_STEPS)),
            Exceeded::Matches => format!("the query finds more than {} values", grouped(MAX_MATCHES)),
            Exceeded::Text => format!(
                "`match` was asked of a text of more than {}; `search` looks at longer ones",
                counted(MAX_WHOLE_TEXT_BYTES, "byte")
            ),
        };
        ToolError::new(ErrorKind::LimitReached, message)
            .with_hint("narrow it, as with a slice such as [0:100]")
    })?;
    if found.is_empty()
        && let Some(reason) = jsonpath::explain(&parsed, &root, asker)
    {
        return Err(invalid(format!("`jsonpath` finds nothing: {reason}")));
    }
    let answer = json!({"matches": found.len(), "values": []});
    let around = json_size(&answer, bytes).unwrap_or(bytes) + found.len();
    let size =
        found.iter().try_fold(around, |size, value| Some(size + json_size(value, bytes.checked_sub(size)?)?));
    if page == 1 && size.is_some_and(|size| size <= bytes) {
        return Ok(Answer::Whole(json!({"matches": found.len(), "values": found})));
    }
    let what = if found.len() == 1 { "1 match".into() } else { format!("{} matches", grouped(found.len())) };
    let text = match found.as_slice() {
        // A text by itself is read as it is.
        [Value::String(text)] => text.clone(),
        found => {
            let json = serde_json::to_string(found).unwrap_or_default();
            readable(&json, super::MAX_KEPT_RESULT_BYTES).unwrap_or(json)
        }
    };
    Ok(Answer::Part(Part { text: Cow::Owned(text), what, first_line: None }))
}
