//! The destination and the resource of spans: the flag, and the variables of the specification of OpenTelemetry.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use url::Url;

/// The default endpoint of a collector.
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";

/// The path of traces below the endpoint of a collector.
const TRACES_PATH: &str = "/v1/traces";

/// The default timeout of a request; the maximum is [`MAX_TIMEOUT`].
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest that a request may take.
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// The most headers and the most attributes of the resource.
const MAX_PAIRS: usize = 64;

/// The settings of the export of spans.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(super) endpoint: Url,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
    /// The attributes of this process.
    pub(super) resource: Vec<(String, String)>,
}

impl Settings {
    /// Spans are sent when the flag or a variable says so; `None` otherwise. `flag` is the value of `--otlp`, empty
    /// when it has none. What is wrong is said, with the name of the variable and not its value, which may hold a key.
    pub(crate) fn read(
        flag: Option<&str>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let variable = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let of_traces = |name: &str| {
            let own = format!("OTEL_EXPORTER_OTLP_TRACES_{name}");
            let common = format!("OTEL_EXPORTER_OTLP_{name}");
            variable(&own)
                .map(|value| (own, value))
                .or_else(|| variable(&common).map(|value| (common, value)))
        };
        let is_off = |name: &str, word: &str| {
            variable(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
        };
        let flag = flag.map(str::trim);
        if flag.is_none() && (is_off("OTEL_SDK_DISABLED", "true") || is_off("OTEL_TRACES_EXPORTER", "none")) {
            return Ok(None);
        }
        let endpoint = match (flag, of_traces("ENDPOINT")) {
            (Some(url), _) if !url.is_empty() => base("`--otlp`", url)?,
            (_, Some((name, url))) if name.contains("TRACES") => address(&name, &url)?,
            (_, Some((name, url))) => base(&name, &url)?,
            (Some(_), None) => base("`--otlp`", DEFAULT_ENDPOINT)?,
            (None, None) => return Ok(None),
        };
        if let Some((name, protocol)) = of_traces("PROTOCOL")
            && !protocol.trim().starts_with("http/")
        {
            return Err(format!(
                "{name} is not spoken here; set it to http/json, and the endpoint to that of OTLP over HTTP, which is \
                 usually port 4318"
            ));
        }
        let headers =
            of_traces("HEADERS").map_or(Ok(HeaderMap::new()), |(name, text)| headers(&name, &text))?;
        let timeout = of_traces("TIMEOUT").and_then(|(_, text)| text.trim().parse().ok());
        let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        let timeout = timeout.clamp(Duration::from_millis(1), MAX_TIMEOUT);
        let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let resource = resource(variable("OTEL_SERVICE_NAME"), &attributes);
        Ok(Some(Self { endpoint, headers, timeout, resource }))
    }
}

/// Returns the address for traces of a collector.
fn base(what: &str, url: &str) -> Result<Url, String> {
    let mut url = address(what, url)?;
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with(TRACES_PATH) {
        url.set_path(&format!("{path}{TRACES_PATH}"));
    }
    Ok(url)
}

fn address(what: &str, url: &str) -> Result<Url, String> {
    let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| format!("{what} is not the address of a collector; write it as {DEFAULT_ENDPOINT}"))
}

fn headers(name: &str, text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (position, (key, value)) in pairs(text).enumerate() {
        let header = HeaderName::try_from(key.as_str()).ok().zip(HeaderValue::try_from(value.as_str()).ok());
        let Some((key, mut value)) = header else {
            return Err(format!("{name}: entry {} is no header; write it as `name=value`", position + 1));
        };
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

fn resource(name: Option<String>, attributes: &str) -> Vec<(String, String)> {
    let own = [
        ("service.name", "toolcrib"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("telemetry.sdk.name", "toolcrib"),
        ("telemetry.sdk.language", "rust"),
        ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
    ];
    let mut resource: Vec<(String, String)> =
        own.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    for (key, value) in pairs(attributes).chain(name.map(|name| ("service.name".to_owned(), name))) {
        match resource.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => resource.push((key, value)),
        }
    }
    resource
}

/// Parses `key=value,key=value` with percent-encoded values. Invalid pairs are left out.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let decoded = |value: &str| percent_decode_str(value).decode_utf8_lossy().into_owned();
    pairs.map(move |(key, value)| (key.trim().to_owned(), decoded(value.trim()))).take(MAX_PAIRS)
}
