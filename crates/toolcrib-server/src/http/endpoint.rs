//! The handlers of the HTTP paths.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use rmcp::model::ErrorData;
use serde_json::Value;
use toolcrib_oauth::metadata::PROTECTED_RESOURCE;

use super::admission::AdmissionRules;
use super::body::{self, BodyError};
use super::event_stream::AnsweredStream;
use super::handoff::Sender;
use super::memory_budget::{BodyBudget, BodyShare};
use super::rate_limit::{ClientKey, RequestPermit};
use super::reply;
use super::sessions::{RequestStatus, RunningRequest, SessionReservation, UnansweredRequest};
use super::state::HttpState;
use crate::app_version::Lease;
use crate::client::Client;
use crate::protocol::strict_json;

/// The header with the session id.
const SESSION: &str = "mcp-session-id";

/// The headers with the method and with the name of what it is about, such as the id of a task.
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// The beginning of the methods of tasks.
const TASKS: &str = "tasks/";

/// Handles requests of the MCP protocol.
pub(super) async fn mcp(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Response {
    answer(&state, address, None, request).await
}

/// Handles requests of the MCP protocol at the endpoint of a profile.
pub(super) async fn mcp_of_profile(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    Path(profile): Path<String>,
    request: Request<Body>,
) -> Response {
    answer(&state, address, Some(&profile), request).await
}

/// A request that has passed the checks before its body.
struct McpRequest {
    rules: Arc<AdmissionRules>,
    lease: Lease,
    client: Arc<Client>,
    permit: Option<RequestPermit>,
    /// The session that the request names.
    session: Option<String>,
}

async fn answer(
    state: &Arc<HttpState>,
    address: SocketAddr,
    profile: Option<&str>,
    request: Request<Body>,
) -> Response {
    let (rules, lease) = state.current();
    let session = text_of(request.headers(), SESSION);
    // A task belongs to a process, as a session does.
    let is_of_task = text_of(request.headers(), METHOD).is_some_and(|method| method.starts_with(TASKS));
    let task = if is_of_task { text_of(request.headers(), NAME) } else { None };
    let handoff = state.handoff.as_ref().zip(session.as_deref().or(task.as_deref()));
    let sender = handoff.map(|(handoff, name)| handoff.sender(request.headers(), name));
    let client = match rules.client(request.uri(), request.headers(), sender).await {
        Ok(client) => client,
        Err(response) => return *response,
    };
    let key = if rules.auth.is_open() {
        ClientKey::Address(address.ip())
    } else {
        ClientKey::Client(Arc::clone(&client.owner))
    };
    let permit = match sender {
        // The other process has counted it.
        Some(Sender::Process) => None,
        _ => match rules.rate_limiter.acquire(key) {
            Ok(permit) => Some(permit),
            Err(wait) => return reply::too_many(wait),
        },
    };
    if state.shared.draining.is_cancelled() {
        return reply::last(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
    }
    let client = match profile {
        None => client,
        Some(profile) => match client_of_profile(&client, profile, &lease) {
            Some(client) => Arc::new(client),
            None => return reply::last(StatusCode::NOT_FOUND, "there is no such profile"),
        },
    };
    if sender == Some(Sender::Client)
        && let Some((handoff, name)) = handoff
        && let Some(process) = handoff.elsewhere(name)
    {
        match handoff.url_of(process).await {
            Ok(Some(url)) => {
                let (parts, body) = request.into_parts();
                let (bytes, share) = match rules.read_body(body, &state.bodies).await {
                    Ok(read) => read,
                    Err(response) => return *response,
                };
                let response = handoff.pass_on(url, name, parts, bytes).await;
                drop(share);
                return response.map(|body| body::holding(body, permit));
            }
            // Clients begin another session then. What is left of a task is in the store.
            Ok(None) if session.is_some() => {
                return reply::plain(StatusCode::NOT_FOUND, "there is no such session any more");
            }
            Ok(None) => {}
            Err(response) => return *response,
        }
    }
    respond(state, McpRequest { rules, lease, client, permit, session }, request).await
}

/// Responds to a request that belongs to this process.
async fn respond(state: &HttpState, admitted: McpRequest, mut request: Request<Body>) -> Response {
    let McpRequest { rules, lease, client, permit, session } = admitted;
    // The token is for this server alone. Other code has it only to exchange it for a token of another server.
    request.headers_mut().remove(AUTHORIZATION);
    request.extensions_mut().insert(Arc::clone(&client));
    let is_unknown = |session: &str| !state.sessions.has(&client.owner, session);
    if request.method() == Method::DELETE && session.as_deref().is_some_and(is_unknown) {
        return reply::last(StatusCode::NOT_FOUND, "there is no such session");
    }
    let (mut parts, body) = request.into_parts();
    let (bytes, body_share) = match rules.read_body(body, &state.bodies).await {
        Ok(read) => read,
        Err(response) => return *response,
    };
    let (mut running, mut unsent, mut id) = ((None, None), None, None);
    if parts.method == Method::POST && has_type(&parts.headers, "application/json") {
        let message = match strict_json::read(&bytes, rules.max_body_bytes) {
            Ok(message) => message,
            Err(error) => return reply::unreadable(None, &error),
        };
        match state.note(&rules, &client, &message, session.as_deref()) {
            Ok(noted) => running = noted,
            Err(response) => return *response,
        }
        // A request that only listens ends with the server, which does not wait for it.
        let listens = message.get("method").and_then(Value::as_str) == Some("subscriptions/listen");
        if strict_json::request_id(&message).is_some() && !listens {
            unsent = Some(state.shared.track_answer());
            id = message.get("id").cloned();
            parts.extensions.insert(lease);
        }
    }
    let is_delete = parts.method == Method::DELETE;
    let request = Request::from_parts(parts, Full::<Bytes>::new(bytes));
    let sessions = state.sessions.of(&client.owner);
    let unanswered = UnansweredRequest::new(Arc::clone(&sessions));
    let mut response = state.mcp(sessions).handle(request).await;
    unanswered.answered();
    drop(body_share);
    // The session has ended when the response is sent, and clients take 202 for a failure.
    if is_delete && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let Some(id) = id else {
        return response.map(|body| body::holding(Body::new(body), (permit, running, unsent)));
    };
    let closing = &state.shared.closing;
    if response.status() == StatusCode::INTERNAL_SERVER_ERROR && closing.is_cancelled() {
        return reply::interrupted(&id);
    }
    let is_stream = has_type(response.headers(), "text/event-stream");
    response.map(|body| {
        let body = Body::new(body);
        let body = if is_stream { AnsweredStream::body(body, id, closing.clone()) } else { body };
        body::holding(body, (permit, running, unsent))
    })
}

/// Returns the client at the endpoint of a profile. Returns `None` if the profile does not exist, or if the client or the
/// whole server is limited to another one.
fn client_of_profile(client: &Client, profile: &str, lease: &Lease) -> Option<Client> {
    let policy = lease.runtime.executor().policy();
    lease.runtime.app().config.profiles.get(profile)?;
    let client = client.at_profile(profile);
    (policy.profile_of(&client.session) == Some(profile)).then_some(client)
}

impl AdmissionRules {
    /// Reads the body of a request, with its share of the memory for bodies.
    async fn read_body(&self, body: Body, bodies: &BodyBudget) -> Result<(Bytes, BodyShare), Box<Response>> {
        let refused = |error| match error {
            BodyError::TooLarge => {
                let text = format!("a message has at most {} bytes", self.max_body_bytes);
                reply::last(StatusCode::PAYLOAD_TOO_LARGE, &text)
            }
            BodyError::TooSlow => reply::last(StatusCode::REQUEST_TIMEOUT, "the message came too slowly"),
            BodyError::Broken => reply::last(StatusCode::BAD_REQUEST, "the message broke off"),
            BodyError::NoRoom => reply::no_room(),
        };
        let read = body::read(body, self.max_body_bytes, self.body_patience, bodies).await;
        read.map_err(|error| Box::new(refused(error)))
    }

    /// Returns the client of a request if the request is admitted.
    async fn client(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        sender: Option<Sender>,
    ) -> Result<Arc<Client>, Box<Response>> {
        if sender == Some(Sender::Forger) {
            return Err(Box::new(reply::last(StatusCode::FORBIDDEN, "no process of the app sent this")));
        }
        // Another process has checked the host, which may be its own.
        if sender != Some(Sender::Process)
            && let Some(why) = self.allowed_hosts.refusal(uri, headers)
        {
            return Err(Box::new(reply::last(StatusCode::FORBIDDEN, why)));
        }
        let refused = |refusal| Box::new(reply::refused(&refusal, &self.auth.challenge(&refusal)));
        self.auth.client(headers).await.map_err(refused)
    }
}

impl HttpState {
    /// Records a request as running in its session. Reserves a session for a request that starts one.
    fn note(
        &self,
        rules: &AdmissionRules,
        client: &Client,
        message: &Value,
        session: Option<&str>,
    ) -> Result<(Option<RunningRequest>, Option<SessionReservation>), Box<Response>> {
        let method = message.get("method").and_then(Value::as_str);
        if method == Some("initialize") && session.is_none() {
            let opening = self.sessions.open(&client.owner, rules.max_sessions);
            return opening.map(|opening| (None, Some(opening))).map_err(|limit| Box::new(limit.response()));
        }
        let (Some(session), Some(id)) = (session, strict_json::request_id(message)) else {
            return Ok((None, None));
        };
        match self.sessions.run(session, &id) {
            RequestStatus::Runs(running) => Ok((Some(running), None)),
            RequestStatus::NoSession => Ok((None, None)),
            RequestStatus::Duplicate => {
                let error = ErrorData::invalid_request("a request with this id still runs", None);
                Err(Box::new(reply::unreadable(message.get("id"), &error)))
            }
        }
    }
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn has_type(headers: &HeaderMap, expected: &str) -> bool {
    let found = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    found.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected)
}

/// Reports that the process is alive.
pub(super) async fn healthz() -> Response {
    reply::plain(StatusCode::OK, "ok")
}

/// Reports if the server accepts calls.
pub(super) async fn readyz(State(state): State<Arc<HttpState>>) -> Response {
    if state.shared.draining.is_cancelled() {
        return reply::plain(StatusCode::SERVICE_UNAVAILABLE, "shutting down");
    }
    // Calls that need nothing shared go on, so that the process stays in service.
    match state.shared.settings.replica.as_ref().and_then(|replica| replica.problem()) {
        Some(problem) => reply::plain(StatusCode::OK, &format!("ready without its store: {problem}")),
        None => reply::plain(StatusCode::OK, "ready"),
    }
}

/// Returns the metrics.
pub(super) async fn metrics(State(state): State<Arc<HttpState>>, request: Request<Body>) -> Response {
    let (rules, lease) = state.current();
    if let Err(response) = rules.client(request.uri(), request.headers(), None).await {
        return *response;
    }
    let (snapshot, health) = (lease.runtime.snapshot(), lease.runtime.health());
    let rejected = snapshot.rejected().iter().filter(|reject| reject.name.is_none());
    let failing = health.iter().filter(|(_, outcome)| outcome.is_err());
    let down: BTreeSet<&str> =
        rejected.map(|reject| reject.source.as_str()).chain(failing.map(|(name, _)| name.as_str())).collect();
    let text = state.shared.metrics.text(snapshot.iter().count(), down.len(), state.sessions.count());
    let mut response = Response::new(Body::from(text));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    response
}

/// Returns the metadata of the authorization server whose tokens are accepted, without authentication (RFC 9728). It is
/// served under the path of the resource, under that of `/mcp`, and without a path.
pub(super) async fn resource(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Response {
    let rules = state.rules();
    if let Some(why) = rules.allowed_hosts.refusal(request.uri(), request.headers()) {
        return reply::last(StatusCode::FORBIDDEN, why);
    }
    let _permit = match rules.rate_limiter.acquire(ClientKey::Address(address.ip())) {
        Ok(permit) => permit,
        Err(wait) => return reply::too_many(wait),
    };
    let path = request.uri().path();
    let below = path.strip_prefix(PROTECTED_RESOURCE).unwrap_or(path).trim_end_matches('/');
    let found = rules.auth.metadata();
    let found = found.filter(|(url, _)| matches!(below, "" | "/mcp") || url.path() == path);
    let Some((_, metadata)) = found else {
        return reply::last(StatusCode::NOT_FOUND, "there is no such protected resource here");
    };
    let mut response = Response::new(Body::from(metadata.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
