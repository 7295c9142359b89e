//! The destinations and the resource of spans and logs: the flag, and the variables of the specification of OpenTelemetry.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use url::Url;

/// The default endpoint of a collector.
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";

/// The path of traces below the endpoint of a collector.
const TRACES_PATH: &str = "/v1/traces";

/// The variable with the endpoint of logs.
const LOGS_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT";

/// The default timeout of a request; the maximum is [`MAX_TIMEOUT`].
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest that a request may take.
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// The most headers and the most attributes of the resource.
const MAX_PAIRS: usize = 64;

/// The path of logs below it.
const LOGS_PATH: &str = "/v1/logs";

/// The settings of the export.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(super) traces: Destination,
    /// The destination of audit records, if they are sent too.
    pub(super) logs: Option<Destination>,
    /// The attributes of this process.
    pub(super) resource: Vec<(String, String)>,
}

/// The destination of a signal.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub(super) endpoint: Url,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
}

impl Settings {
    /// Spans are sent when the flag or a variable says so; `None` otherwise. `flag` is the value of `--otlp`, empty
    /// when it has none. What is wrong is said, with the name of the variable and not its value, which may hold a key.
    pub(crate) fn read(
        flag: Option<&str>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let variable = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let of_signal = |signal: &str, name: &str| {
            let own = format!("OTEL_EXPORTER_OTLP_{signal}_{name}");
            let common = format!("OTEL_EXPORTER_OTLP_{name}");
            variable(&own)
                .map(|value| (own, value))
                .or_else(|| variable(&common).map(|value| (common, value)))
        };
        let of_traces = |name: &str| of_signal("TRACES", name);
        let is_set_to = |name: &str, word: &str| {
            variable(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
        };
        let flag = flag.map(str::trim);
        if flag.is_none()
            && (is_set_to("OTEL_SDK_DISABLED", "true") || is_set_to("OTEL_TRACES_EXPORTER", "none"))
        {
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
        let destination = |signal: &str, endpoint: Url| {
            let headers = of_signal(signal, "HEADERS")
                .map_or(Ok(HeaderMap::new()), |(name, text)| headers(&name, &text))?;
            let timeout = of_signal(signal, "TIMEOUT").and_then(|(_, text)| text.trim().parse().ok());
            let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
            let timeout = timeout.clamp(Duration::from_millis(1), MAX_TIMEOUT);
            Ok::<_, String>(Destination { endpoint, headers, timeout })
        };
        let logs = match variable(LOGS_ENDPOINT) {
            Some(url) => Some(address(LOGS_ENDPOINT, &url)?),
            // By default none, since not every collector of spans takes logs.
            None if is_set_to("OTEL_LOGS_EXPORTER", "otlp") => Some(beside(&endpoint)?),
            None => None,
        };
        let logs = logs.map(|endpoint| destination("LOGS", endpoint)).transpose()?;
        let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let resource = resource(variable("OTEL_SERVICE_NAME"), &attributes);
        Ok(Some(Self { traces: destination("TRACES", endpoint)?, logs, resource }))
    }
}

/// Returns the address for logs of the collector with this address for traces.
fn beside(traces: &Url) -> Result<Url, String> {
    let Some(path) = traces.path().strip_suffix(TRACES_PATH) else {
        return Err(format!("the address of the traces does not tell that of the logs; set {LOGS_ENDPOINT}"));
    };
    let mut logs = traces.clone();
    logs.set_path(&format!("{path}{LOGS_PATH}"));
    Ok(logs)
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
