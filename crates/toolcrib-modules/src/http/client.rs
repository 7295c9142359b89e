//! The clients that send requests, and the redirects that they follow.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use toolcrib_io::Error as IoError;
use toolcrib_io::http::{HttpClient, HttpPolicy, Incoming, Request, header_text, parse_origin};
use toolcrib_model::ToolError;
use toolcrib_policy::Access;
use toolcrib_sdk::CallContext;
use url::{Origin, Url};

use super::errors::{invalid, request_error};
use super::final_response::FinalResponse;
use super::{HttpConfig, ID, headers};
use crate::Error;

/// The maximum number of redirects that a safe request follows. Others follow none.
pub const MAX_REDIRECTS: usize = 5;

/// The maximum length of a URL in a call, in bytes.
pub const MAX_URL_BYTES: usize = 8 * 1024;

/// The note about a redirect beyond [`MAX_REDIRECTS`].
const TOO_MANY_REDIRECTS: &str = "the server redirects more than 5 times";

/// The HTTP clients, and the headers that they add.
pub(super) struct Clients {
    general: HttpClient,
    /// The client for the private origins that the operator allows.
    private: HttpClient,
    private_origins: Vec<Origin>,
    defaults: Vec<(Origin, HeaderMap)>,
    timeout: Duration,
}

/// A request that a call describes.
pub(super) struct RequestSpec {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

/// The state of a request that follows redirects.
struct RedirectState {
    url: Url,
    /// True once the request was redirected to another origin. From then on it carries no headers that identify the
    /// caller, at any origin.
    is_cross_origin: bool,
    hops: usize,
}

impl Clients {
    pub(super) fn new(config: &HttpConfig, access: &Access) -> Result<Self, Error> {
        let timeout = Duration::from_secs(config.timeout_seconds.get().into());
        let max_response_bytes = usize::try_from(config.max_body_bytes.get()).unwrap_or(usize::MAX);
        let policy = HttpPolicy { timeout, max_response_bytes, ..HttpPolicy::default() };
        let client = |allow_private| match HttpClient::new(HttpPolicy { allow_private, ..policy }) {
            Ok(client) => Ok(client.with_guard(access.host_guard())),
            Err(error) => Err(Error::Config { module: ID, message: error.to_string() }),
        };
        let private_origins = config.private_origins.iter().map(|written| origin("private_origins", written));
        let defaults = config
            .headers
            .iter()
            .map(|(written, headers)| Ok((origin("headers", written)?, default_headers(written, headers)?)));
        Ok(Self {
            general: client(false)?,
            private: client(true)?,
            private_origins: private_origins.collect::<Result<_, Error>>()?,
            defaults: defaults.collect::<Result<_, Error>>()?,
            timeout,
        })
    }

    /// Sends a request, follows its redirects, and reads the response.
    pub(super) async fn send(
        &self,
        context: &CallContext,
        spec: RequestSpec,
    ) -> Result<FinalResponse, ToolError> {
        let method = spec.method.clone();
        let url = format!("{}{}", spec.url.origin().ascii_serialization(), spec.url.path());
        let sending = async {
            let mut state = RedirectState::new(&spec);
            loop {
                let (client, request) = self.next(context, &spec, &state);
                let response = client.send(request).await?;
                match state.follow(&spec.method, response.status.as_u16(), &response.headers) {
                    RedirectDecision::Follow => {}
                    RedirectDecision::Stop(redirect_refusal) => {
                        let was_redirected = state.hops > 0;
                        return Ok(FinalResponse {
                            response,
                            url: state.url,
                            was_redirected,
                            redirect_refusal,
                        });
                    }
                }
            }
        };
        let timeout = self.timeout;
        match tokio::time::timeout(timeout, sending).await {
            Ok(sent) => sent,
            Err(_) => Err(IoError::RequestTimedOut { url, timeout }),
        }
        .map_err(|error| request_error(&method, &error))
    }

    /// Sends a request and follows its redirects, without reading the body.
    pub(super) async fn open(
        &self,
        context: &CallContext,
        spec: &RequestSpec,
    ) -> Result<(Incoming, Url), ToolError> {
        let mut state = RedirectState::new(spec);
        loop {
            let (client, request) = self.next(context, spec, &state);
            let incoming = client.open(request).await.map_err(|error| request_error(&spec.method, &error))?;
            match state.follow(&spec.method, incoming.status.as_u16(), &incoming.headers) {
                RedirectDecision::Follow => {}
                RedirectDecision::Stop(_) => return Ok((incoming, state.url)),
            }
        }
    }

    /// Returns the next request of a chain of redirects, and the client that sends it under the limits of the call.
    fn next(
        &self,
        context: &CallContext,
        spec: &RequestSpec,
        state: &RedirectState,
    ) -> (HttpClient, Request) {
        let origin = state.url.origin();
        let mut headers =
            if state.is_cross_origin { headers::portable(&spec.headers) } else { spec.headers.clone() };
        if !state.is_cross_origin {
            let defaults = self.defaults.iter().filter(|(own, _)| *own == origin);
            for (name, value) in defaults.flat_map(|(_, headers)| headers) {
                headers.insert(name.clone(), value.clone());
            }
        }
        let is_private = !state.is_cross_origin && self.private_origins.contains(&origin);
        let client = if is_private { &self.private } else { &self.general };
        let mut request = Request::new(spec.method.clone(), state.url.clone()).with_headers(headers);
        request.body.clone_from(&spec.body);
        (client.clone().with_guard(context.access.host_guard()), request)
    }
}

/// The decision about a response.
enum RedirectDecision {
    Follow,
    /// Returns the response, with the reason if it is a redirect.
    Stop(Option<String>),
}

impl RedirectState {
    fn new(spec: &RequestSpec) -> Self {
        Self { url: spec.url.clone(), is_cross_origin: false, hops: 0 }
    }

    /// Follows the redirect of a response, if it is one and may be followed.
    fn follow(&mut self, method: &Method, status: u16, headers: &HeaderMap) -> RedirectDecision {
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return RedirectDecision::Stop(None);
        }
        let stop = |reason: &str| RedirectDecision::Stop(Some(reason.to_owned()));
        let location = header_text(headers, LOCATION).filter(|location| location.len() <= MAX_URL_BYTES);
        let Some(mut to) = location.and_then(|location| self.url.join(location).ok()) else {
            return stop("the redirect does not say where to");
        };
        if !method.is_safe() {
            return stop(
                "a request that changes something follows no redirect; if it is meant, call its target",
            );
        }
        if self.hops == MAX_REDIRECTS {
            return stop(TOO_MANY_REDIRECTS);
        }
        if !matches!((self.url.scheme(), to.scheme()), ("http", "http" | "https") | ("https", "https")) {
            return stop(
                "redirects from https to anything else are not followed; if it is meant, call its target",
            );
        }
        // The client would turn these into an `Authorization` header.
        if to.set_username("").and_then(|()| to.set_password(None)).is_err() {
            return stop("the redirect has no host");
        }
        self.is_cross_origin |= to.origin() != self.url.origin();
        self.hops += 1;
        self.url = to;
        RedirectDecision::Follow
    }
}

/// Parses the URL of a call.
pub(super) fn url(written: &str) -> Result<Url, ToolError> {
    if written.len() > MAX_URL_BYTES {
        let message = format!("`url` has {} bytes, at most {MAX_URL_BYTES} are sent", written.len());
        return Err(invalid(message).with_hint("send what is long in a body"));
    }
    let url = Url::parse(written).map_err(|error| {
        invalid(format!("`url` is not a URL: {error}"))
            .with_hint("write it as `https://host/path`, with its scheme")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("`url` begins with `{}:`, and only http and https are requested", url.scheme());
        return Err(invalid(message).with_hint("`filesystem.read` reads files of the workspace"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let hint = "the operator sets credentials for an origin under `headers`";
        let message = "`url` has a user or a password in it, which are not sent";
        return Err(invalid(message).with_hint(hint).with_setting("headers"));
    }
    Ok(url)
}

/// Parses an origin in the configuration.
fn origin(key: &str, written: &str) -> Result<Origin, Error> {
    parse_origin(key, written).map_err(|message| Error::Config { module: ID, message })
}

fn default_headers(
    origin: &str,
    written: &BTreeMap<String, toolcrib_model::Secret>,
) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = HeaderValue::from_str(value.expose()).ok();
        let (Some(parsed), Some(mut value)) = (parsed, value) else {
            let message = format!(
                "the header `{name}` of `{origin}` cannot be sent; a name is of letters, digits and `-`, and a value is one \
                 line of plain text"
            );
            return Err(Error::Config { module: ID, message });
        };
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}
