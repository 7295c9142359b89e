//! The headers of an answer.

use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, HeaderName};
use toolcrib_model::JsonObject;

/// How many headers a result lists.
const MAX_LISTED: usize = 50;

/// How much of a header is told, in bytes.
const MAX_VALUE_BYTES: usize = 1000;

/// The longest wait that a server is believed to mean.
const MAX_WAIT: Duration = Duration::from_hours(24);

/// What says where a thing is, which version of it this is, how to go on, and how often one may ask.
const SELECTED: [&str; 13] = [
    "allow",
    "content-disposition",
    "content-language",
    "deprecation",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "sunset",
    "www-authenticate",
    "x-request-id",
    "x-total-count",
];

/// How the names begin of headers about limits.
const SELECTED_PREFIXES: [&str; 3] = ["ratelimit", "x-ratelimit-", "x-rate-limit-"];

/// The headers that go into the metadata of every result.
pub(super) fn selected(headers: &HeaderMap) -> JsonObject {
    listed(headers, |name| {
        SELECTED.contains(&name) || SELECTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

/// All headers, for a request that asks for nothing else. A cookie would be a credential.
pub(super) fn all(headers: &HeaderMap) -> JsonObject {
    listed(headers, |name| name != SET_COOKIE.as_str())
}

fn listed(headers: &HeaderMap, is_wanted: impl Fn(&str) -> bool) -> JsonObject {
    headers
        .iter()
        .filter(|(name, _)| is_wanted(name.as_str()))
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), shortened(value.to_str().ok()?).into())))
        .take(MAX_LISTED)
        .collect()
}

fn shortened(text: &str) -> &str {
    // The text of a header is ASCII.
    text.get(..MAX_VALUE_BYTES).unwrap_or(text)
}

/// How long the server wants us to wait: a number of seconds, or a date, by the clock of the server where it says it.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let wanted = text(headers, RETRY_AFTER)?.trim();
    if let Ok(seconds) = wanted.parse() {
        return Some(Duration::from_secs(seconds).min(MAX_WAIT));
    }
    let then = httpdate::parse_http_date(wanted).ok()?;
    let now = text(headers, DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    let wait = then.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or_default();
    Some(wait.min(MAX_WAIT))
}

pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
