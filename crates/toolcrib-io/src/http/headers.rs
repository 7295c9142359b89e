//! Interpretation of the status and the headers of a response.

use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, HeaderName, StatusCode};

/// The maximum number of listed headers.
const MAX_LISTED: usize = 50;

/// The maximum length of a listed header, in bytes.
const MAX_LISTED_BYTES: usize = 1000;

/// The maximum wait that a server may ask for.
const MAX_WAIT: Duration = Duration::from_hours(24);

/// The headers about location, version, pagination and rate limits.
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

/// The prefixes of headers about rate limits.
const SELECTED_PREFIXES: [&str; 3] = ["ratelimit", "x-ratelimit-", "x-rate-limit-"];

/// Returns true if the same request may succeed later: the status says that it had no effect, or that the cause is temporary.
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

/// Returns the headers about the location and version of the content, pagination and rate limits: names and values, at most
/// 50 with at most 1000 bytes each. Values that are not text are left out.
pub fn selected_headers(headers: &HeaderMap) -> impl Iterator<Item = (String, String)> {
    listed(headers, |name| {
        SELECTED.contains(&name) || SELECTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

/// Returns all headers within the same bounds, for a request that asks only for headers. Cookies are credentials and are
/// left out.
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

/// Returns the first header of a name, if it is text.
pub fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Returns the wait that the server asks for: a number of seconds, or the time until a date, by the server's clock if the
/// response has a `Date`. At most a day.
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
