//! The answers of `read_result`.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, ToolError};

use super::{grep, lines};
use crate::json_size::{json_size, value_count};
use crate::limits::{MAX_PARSED_BYTES, MAX_PARSED_VALUES, MAX_STORED_RESULT_BYTES};
use crate::read_result::ReadResult;
use crate::read_result::aggregates::{AggregateKind, Aggregates};
use crate::read_result::cancellable_search::CancelFlag;
use crate::read_result::format_json::readable;
use crate::read_result::jsonpath::{
    self, Filter, MAX_MATCHES, MAX_STEPS, MAX_WHOLE_TEXT_BYTES, Query, QueryLimit, SyntaxError,
};
use crate::read_result::pages::{Count, Pages};
use crate::read_result::rows::{Field, Order, check_fields, check_filter, longest_list};
use crate::read_result::table::Records;
use crate::store::binary_data;
use crate::store::{Format, StoredResult};
use crate::text::{counted, grouped, line_breaks, lines as line_count};
use crate::tokens::TokenCounter;

/// The tokens of a page that are reserved for the note at its end.
const MAX_NOTE_TOKENS: usize = 100;

/// The maximum number of fields of a row that can be requested.
const MAX_FIELDS: usize = 100;

/// One request to read a stored result.
pub(crate) struct ResultReader<'a> {
    pub(crate) stored: &'a StoredResult,
    pub(crate) request: &'a ReadResult,
    /// The maximum number of tokens of the answer.
    pub(crate) tokens: usize,
    pub(crate) counter: &'a TokenCounter,
    /// True if a program reads the answer.
    pub(crate) is_full: bool,
    pub(crate) cancel: &'a CancelFlag,
}

/// Text that is returned in pages.
struct PagedText<'a> {
    text: Cow<'a, str>,
    what: String,
    /// The number of its first line, if pages should state their lines.
    first_line: Option<usize>,
}

impl<'a> PagedText<'a> {
    fn new(text: impl Into<Cow<'a, str>>, what: String) -> Self {
        Self { text: text.into(), what, first_line: None }
    }
}

/// Returns an argument unless it is blank. Models fill in arguments that they do not need.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.trim().is_empty())
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}

impl ResultReader<'_> {
    /// Returns the answer to the request.
    pub(crate) fn answer(&self) -> Result<Value, ToolError> {
        if let Format::Binary { media_type, bytes } = &self.stored.format {
            return self.binary(media_type, *bytes);
        }
        let request = self.request;
        let asked =
            [&request.jq, &request.grep, &request.lines, &request.jsonpath].map(|text| given(text.as_ref()));
        match asked {
            [None, None, None, jsonpath] if self.asks_for_rows() => self.rows(jsonpath),
            [Some(_), None, None, None] if self.asks_for_rows() => Err(invalid(
                "`jq` cannot be combined with other arguments: write everything in the program, as `map(select(.stock < 2)) | length`",
            )),
            [Some(program), None, None, None] => self.jq(program),
            [None, Some(pattern), None, None] => self.grep(pattern),
            [None, None, Some(range), None] => self.lines(range),
            [None, None, None, Some(query)] => self.query(query),
            [None, None, None, None] => {
                let text = self.stored.text.as_str();
                let what = format!("all {}", counted(line_count(text), "line"));
                self.page(PagedText { first_line: Some(1), ..PagedText::new(text, what) })
            }
            _ => Err(invalid("only one of `jq`, `jsonpath`, `grep` and `lines` can be used at once")
                .with_hint("call it once for each, or use `grep` alone with `context` for the lines around")),
        }
    }

    fn asks_for_rows(&self) -> bool {
        let request = self.request;
        let texts = [
            &request.filter,
            &request.sort,
            &request.sum,
            &request.min,
            &request.max,
            &request.mean,
            &request.group_by,
        ];
        texts.into_iter().any(|text| given(text.as_ref()).is_some())
            || request.fields.as_ref().is_some_and(|fields| !fields.is_empty())
            || (given(request.grep.as_ref()).is_none() && (self.wants_count() || self.limit().is_some()))
    }

    fn wants_count(&self) -> bool {
        self.request.count == Some(true)
    }

    fn limit(&self) -> Option<usize> {
        self.request.limit.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0)
    }

    /// Returns the number of the page to answer with, which is the first for numbers below 1.
    fn page_number(&self) -> usize {
        self.request.page.map_or(1, |page| usize::try_from(page).unwrap_or(1).max(1))
    }

    /// Returns an image or a sound as content, and reads text that was sent as bytes.
    fn binary(&self, media_type: &str, bytes: usize) -> Result<Value, ToolError> {
        let stored = self.stored;
        if self.is_full {
            return Ok(json!({"mimeType": media_type, "bytes": bytes, "data": stored.text}));
        }
        if let Some(kind) = binary_data::kind_of_media(media_type) {
            let handle = self.request.handle.trim();
            return Ok(json!([{"type": kind, "mimeType": media_type, "bytes": bytes, "handle": handle}]));
        }
        let decoded = STANDARD.decode(&stored.text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = decoded.filter(|text| !text.contains('\0')) else {
            let message = format!("this is {media_type} of {}, which is not text", counted(bytes, "byte"));
            return Err(invalid(message).with_hint("a program can read it as the resource of this handle"));
        };
        let format = if crate::process::parsed(&text).is_some() { Format::Json } else { Format::Text };
        let text =
            StoredResult::new(stored.owner.clone(), stored.tool.clone(), text, format, stored.cut_from);
        ResultReader { stored: &text, ..*self }.answer()
    }

    fn lines(&self, range: &str) -> Result<Value, ToolError> {
        let found = lines::select(&self.stored.text, range)?;
        let [first, last, all] = [found.first, found.last, found.all].map(grouped);
        self.page(PagedText::new(found.text, format!("lines {first} to {last} of {all}")))
    }

    fn grep(&self, pattern: &str) -> Result<Value, ToolError> {
        let text = &self.stored.text;
        let context = self.request.context.unwrap_or_default().into();
        let found = grep::grep(text, &grep::pattern(pattern)?, context, self.limit(), self.cancel);
        if self.wants_count() {
            return Ok(json!({"count": found.count, "lines": line_count(text)}));
        }
        let mut what =
            format!("{} in {}", counted(found.count, "matching line"), counted(line_count(text), "line"));
        if found.listed < found.count {
            let _ = write!(what, ", of which the first {} are listed", grouped(found.listed));
        }
        self.page(PagedText::new(found.text, what))
    }

    /// Returns the stored result as a value: JSON, the records of a table, or the lines of a text.
    fn root(&self, with_lines: bool) -> Result<Value, ToolError> {
        let text = &self.stored.text;
        let instead = "use `grep`, `lines` or `page`";
        let too_large = || invalid("the result has too many values for that").with_hint(instead);
        if self.stored.format == Format::Json && value_count(text) > MAX_PARSED_VALUES {
            return Err(too_large());
        }
        let is_json = self.stored.format == Format::Json;
        if let Some(root) = is_json.then(|| serde_json::from_str(text).ok()).flatten() {
            return Ok(root);
        }
        let is_whole = self.stored.cut_from.is_none();
        if let Some(rows) = Records::of(text).filter(|_| is_whole).and_then(|records| records.read(text)) {
            return Ok(rows);
        }
        if !with_lines {
            let message = match self.stored.cut_from {
                Some(_) => "the result was too large to be kept whole, and is no longer valid JSON",
                None => "the result is text, not JSON",
            };
            return Err(invalid(message).with_hint(instead));
        }
        if text.len() > MAX_PARSED_BYTES || line_count(text) > MAX_PARSED_VALUES / 4 {
            return Err(too_large());
        }
        let row = |(at, line): (usize, &str)| json!({"line": at + 1, "text": line});
        Ok(text.lines().enumerate().map(row).collect::<Vec<_>>().into())
    }

    /// Answers a request for rows of a list.
    fn rows(&self, jsonpath: Option<&str>) -> Result<Value, ToolError> {
        let request = self.request;
        let root = self.root(true)?;
        let (of, all) = self.list(&root, jsonpath)?;
        let mut rows = all.clone();
        if let Some(condition) = given(request.filter.as_ref()) {
            let filter = Filter::parse(condition).map_err(|error| {
                malformed("where", "condition", condition, &error).with_hint(
                    "examples: stock < 2 && status == 'open', price >= 10 || !discount, name =~ '^A'",
                )
            })?;
            rows = filter.select(&all, &root, self.cancel).map_err(exceeded)?;
            if rows.is_empty() {
                check_filter(&filter, &all)?;
            }
        }
        let order = given(request.sort.as_ref()).map(Order::new);
        let asked = [
            (AggregateKind::Sum, given(request.sum.as_ref())),
            (AggregateKind::Min, given(request.min.as_ref())),
            (AggregateKind::Max, given(request.max.as_ref())),
            (AggregateKind::Mean, given(request.mean.as_ref())),
        ];
        let aggregates = Aggregates::new(asked, given(request.group_by.as_ref()), &all, self.cancel)?;
        let mut answer = matches(rows.len());
        if of != "$" {
            answer.insert("of".into(), of.into());
        }
        if given(request.group_by.as_ref()).is_some() {
            let mut groups = aggregates.groups(&rows, order.as_ref(), self.cancel)?;
            answer.insert("groups".into(), groups.len().into());
            groups.truncate(self.limit().unwrap_or(groups.len()));
            return self.found(&answer, &groups.iter().map(Cow::Borrowed).collect::<Vec<_>>());
        }
        if !aggregates.is_empty() || self.wants_count() {
            answer.extend(aggregates.of(&rows, self.cancel));
            return Ok(answer.into());
        }
        if let Some(order) = order {
            check_fields(order.fields(), &all, self.cancel)?;
            order.sort(&mut rows, self.cancel);
        }
        rows.truncate(self.limit().unwrap_or(rows.len()));
        let fields: Vec<Field> =
            request.fields.iter().flatten().flat_map(|field| field.split(',')).map(Field::new).collect();
        if fields.is_empty() {
            return self.found(&answer, &rows.into_iter().map(Cow::Borrowed).collect::<Vec<_>>());
        }
        if fields.len() > MAX_FIELDS {
            return Err(invalid(format!("`fields` has more than {MAX_FIELDS} fields")));
        }
        check_fields(&fields, &all, self.cancel)?;
        let project = |row: &Value| {
            let of = |field: &Field| {
                field.get(row, self.cancel).map(|value| (field.name().to_owned(), value.clone()))
            };
            Cow::Owned(Value::Object(fields.iter().filter_map(of).collect()))
        };
        self.found(&answer, &rows.into_iter().map(project).collect::<Vec<_>>())
    }

    /// Returns the path and the rows: the items of the list that a query finds, or of the longest list.
    fn list<'v>(
        &'v self,
        root: &'v Value,
        jsonpath: Option<&str>,
    ) -> Result<(String, Vec<&'v Value>), ToolError> {
        let Some(query) = jsonpath else {
            return Ok(match longest_list(root) {
                Some((path, items)) => (path, items.iter().collect()),
                None => ("$".to_owned(), vec![root]),
            });
        };
        let found = self.select(query, root)?;
        let rows = match found.as_slice() {
            [Value::Array(items)] => items.iter().collect(),
            _ => found,
        };
        Ok((query.to_owned(), rows))
    }

    fn select<'v>(&'v self, query: &str, root: &'v Value) -> Result<Vec<&'v Value>, ToolError> {
        let parsed = Query::parse(query).map_err(|error| {
            malformed("jsonpath", "JSONPath", query, &error).with_hint(
                "examples: $.items[0:10], $.items[*].name, $..id, $.items[?@.price < 10], $['a key']",
            )
        })?;
        let found: Vec<&'v Value> = parsed.select(root, self.cancel).map_err(exceeded)?;
        if found.is_empty()
            && let Some(reason) = jsonpath::explain(&parsed, root, self.cancel)
        {
            return Err(invalid(format!("`jsonpath` finds nothing: {reason}")));
        }
        Ok(found)
    }

    /// Answers with the values that a query finds.
    fn query(&self, query: &str) -> Result<Value, ToolError> {
        let root = self.root(false)?;
        let found = self.select(query, &root)?;
        self.found(&matches(found.len()), &found.into_iter().map(Cow::Borrowed).collect::<Vec<_>>())
    }

    /// Answers with the output of a jq program.
    fn jq(&self, program: &str) -> Result<Value, ToolError> {
        let found = crate::read_result::jq::run(program, self.root(true)?, self.cancel)?;
        self.found(&matches(found.len()), &found.into_iter().map(Cow::Owned).collect::<Vec<_>>())
    }

    /// Answers with values: with all of them if they fit, else with pages of text, one line per value.
    fn found(&self, answer: &JsonObject, found: &[Cow<'_, Value>]) -> Result<Value, ToolError> {
        let most = TokenCounter::most_bytes(self.tokens);
        let size = found.iter().try_fold(0_usize, |size, value| {
            let size = size + 1 + json_size(value, most)?;
            (size <= most).then_some(size)
        });
        if size.is_some() && self.page_number() == 1 {
            let mut whole = answer.clone();
            whole.insert("values".into(), found.iter().map(|value| value.as_ref().clone()).collect());
            let whole = Value::Object(whole);
            if self.counter.fits(&whole.to_string(), self.tokens) {
                return Ok(whole);
            }
        }
        let matches = answer.get("matches").and_then(Value::as_u64);
        let matches = matches.and_then(|count| usize::try_from(count).ok()).unwrap_or(found.len());
        let mut what = if matches == 1 { "1 match".into() } else { format!("{} matches", grouped(matches)) };
        if let Some(of) = answer.get("of").and_then(Value::as_str) {
            let _ = write!(what, " of {of}");
        }
        if found.len() != matches {
            let _ = write!(what, ", {} shown", grouped(found.len()));
        }
        let text = match found {
            // A single string is returned as it is.
            [only] if only.is_string() => only.as_str().unwrap_or_default().to_owned(),
            [only] => {
                let json = only.to_string();
                readable(&json, MAX_STORED_RESULT_BYTES).unwrap_or(json)
            }
            found => {
                what.push_str(", one a line");
                found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            }
        };
        self.page(PagedText::new(text, what))
    }

    /// Answers with one page of a text, with a note on its position and on the next page.
    fn page(&self, part: PagedText<'_>) -> Result<Value, ToolError> {
        let PagedText { text, what, first_line } = part;
        let page = self.page_number();
        let pages = Pages::new(&text, self.tokens.saturating_sub(MAX_NOTE_TOKENS), self.counter);
        let found = if first_line.is_some() {
            // Pages of the whole text are requested one after the other, so their positions are stored.
            let mut known = self.stored.pages.lock();
            if known.0 != self.tokens {
                *known = (self.tokens, Vec::new());
            }
            pages.get(page, &mut known.1, self.cancel)
        } else {
            pages.get(page, &mut Vec::new(), self.cancel)
        };
        let found = found.map_err(|count| {
            let are = if count == 1 { "is" } else { "are" };
            invalid(format!("there is no page {}: there {are} {}", grouped(page), counted(count, "page")))
        })?;
        let mut note = what;
        if found.count != Count::Exact(1) {
            let count = match found.count {
                Count::Exact(count) => grouped(count),
                Count::About(count) => format!("about {}", grouped(count)),
            };
            note = format!("page {page} of {count}, {note}");
            if let Some(first) = first_line {
                let first = first + line_breaks(text.get(..found.start).unwrap_or_default());
                let last = first + line_count(found.text).saturating_sub(1);
                let _ = write!(note, "; this page: lines {} to {}", grouped(first), grouped(last));
            }
            if found.has_next {
                let _ = write!(note, "; next_page={}", page + 1);
            }
        }
        if let Some(bytes) = self.stored.cut_from {
            let (stored, all) = (grouped(self.stored.text.len()), counted(bytes, "byte"));
            let _ = write!(note, "; only the first {stored} of {all} were kept");
        }
        let gap = if found.text.is_empty() || found.text.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{}{gap}[{note}]", found.text).into())
    }
}

/// Starts an answer with the number of matches.
fn matches(count: usize) -> JsonObject {
    JsonObject::from_iter([("matches".to_owned(), count.into())])
}

pub(crate) fn malformed(argument: &str, what: &str, text: &str, error: &SyntaxError) -> ToolError {
    let (before, after) = text.split_at(text.floor_char_boundary(error.at.min(text.len())));
    let shown =
        format!("{}→{}", crate::text::tail(before, 60), toolcrib_model::text::truncate_bytes(after, 60));
    invalid(format!("`{argument}` is not a valid {what}: {} at the arrow: {shown}", error.message))
}

pub(crate) fn exceeded(exceeded: QueryLimit) -> ToolError {
    let message = match exceeded {
        QueryLimit::Steps => format!("the query visits more than {} values", grouped(MAX_STEPS)),
        QueryLimit::Matches => format!("the query finds more than {} values", grouped(MAX_MATCHES)),
        QueryLimit::Text => format!(
            "`match` accepts texts of at most {}; use `search` for longer ones",
            counted(MAX_WHOLE_TEXT_BYTES, "byte")
        ),
    };
    ToolError::new(ErrorKind::LimitReached, message).with_hint("narrow it, as with a slice such as [0:100]")
}
