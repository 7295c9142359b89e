//! What the status and the headers of an answer say.

use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, HeaderName, StatusCode};

/// How many headers are listed.
const MAX_LISTED: usize = 50;

/// How much of a header is listed, in bytes.
const MAX_LISTED_BYTES: usize = 1000;

/// The longest wait that a server is believed to mean.
const MAX_WAIT: Duration = Duration::from_hours(24);

/// What says where a thing is, which version of it this is, how to go on, and how often one may ask.
const SELECTED: [&str; 15] = [
    "allow",
    "content-disposition",
    "content-language",
    "content-range",
    "deprecation",
    "etag",
    "last-modified",
    "link",
    "location",
    "preference-applied",
    "retry-after",
    "sunset",
    "www-authenticate",
    "x-request-id",
    "x-total-count",
];

/// How the names begin of headers about limits.
const SELECTED_PREFIXES: [&str; 3] = ["ratelimit", "x-ratelimit-", "x-rate-limit-"];

/// Whether the same request may succeed later: with this status it had no effect, or the server says that it passes.
pub fn may_pass(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_EARLY
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// The headers of an answer that say something of its content: where it is, which version it is, how to go on, and how
/// often one may ask. Names and values, at most 50 with at most 1000 bytes each, without those that are no text.
pub fn selected_headers(headers: &HeaderMap) -> impl Iterator<Item = (String, String)> {
    listed(headers, |name| {
        SELECTED.contains(&name) || SELECTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

/// All headers within the same bounds, for a request that asks for nothing else. A cookie would be a credential, and is
/// not among them.
pub fn all_headers(headers: &HeaderMap) -> impl Iterator<Item = (String, String)> {
    listed(headers, |name| name != SET_COOKIE.as_str())
}

fn listed(headers: &HeaderMap, is_wanted: fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    headers
        .iter()
        .filter(move |(name, _)| is_wanted(name.as_str()))
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?)))
        // The text of a header is ASCII here, so that it can be cut anywhere.
        .map(|(name, value)| (name, value.get(..MAX_LISTED_BYTES).unwrap_or(value).to_owned()))
        .take(MAX_LISTED)
}

/// One header as a text: the first of that name, if it is one.
pub fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// How long the server wants us to wait: a number of seconds, or a date, by the clock of the server where it says it. At
/// most a day.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let wanted = header_text(headers, RETRY_AFTER)?.trim();
    if let Ok(seconds) = wanted.parse() {
        return Some(Duration::from_secs(seconds).min(MAX_WAIT));
    }
    let then = httpdate::parse_http_date(wanted).ok()?;
    let now = header_text(headers, DATE).and_then(|date| httpdate::parse_http_date(date).ok());
    let wait = then.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or_default();
    Some(wait.min(MAX_WAIT))
}
