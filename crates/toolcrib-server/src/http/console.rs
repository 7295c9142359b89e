//! Authentication and forms of the console.
//!
//! Forms are accepted from the page itself only. The `Origin`, if there is one, must be this server, regardless of the
//! origins that `/mcp` permits. The form comes with a cookie that browsers do not send from other sites, and an answer
//! to a question carries the seal of that question.

mod events;
mod operator_calls;
mod push;

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use http::header::COOKIE;
use http::{HeaderMap, Request, StatusCode};
use toolcrib_app::override_failure;
use toolcrib_tasks::OverrideError;

use super::browser::{AdmittedRequest, PageRejection, guarded, html, see};
use super::reply;
use super::state::HttpState;
use crate::approval::{AnswerOutcome, OperatorAnswer};
use crate::console::{
    ConsoleState, ConsoleView, Fields, MAX_FORM_BYTES, MAX_REPLY_BYTES, OVERRIDE_FORM, PROFILE_FORM, Page,
    SCRIPT, STYLE, Viewer, answer_to, page, reply as reply_of, reply_to, sign_in,
};

pub(super) use events::events;
pub(super) use operator_calls::{call_tool, replay};
pub(super) use push::{push_key, subscribe, worker};

/// The value of the operator's cookie.
const OPERATOR: &str = "operator";

/// Serves the page to a viewer who may read it.
pub(super) async fn show(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let fields = Fields::read(request.uri().query().unwrap_or_default());
    if let Some(key) = fields.get("key") {
        return Ok(console_request.set_cookie(key).await);
    }
    let Some(viewer) = console_request.viewer(request.headers()).await else {
        return Ok(html(StatusCode::UNAUTHORIZED, sign_in(false)));
    };
    let Some(requested) = Page::at(request.uri().path()) else { return Err(no_page()) };
    let told = match fields.get("told") {
        Some("taken") => Some("The answer was accepted."),
        Some("profile") => Some("The profile was selected."),
        Some("override") => Some("The override was changed."),
        Some("recorded") => Some("Your approval was recorded. Another person has to approve the call too."),
        Some("refused") => Some("The answer does not count: another person has to answer."),
        Some("gone") => Some("That call no longer waits for an answer."),
        Some("late") => Some("Too late: the question was answered elsewhere, or its asker no longer waits."),
        _ => None,
    };
    if viewer.approver().is_some() {
        console_request.console.pending.saw_page();
        console_request.console.pending.refresh().await;
        console_request.console.prepare_seals().await;
    }
    let view = ConsoleView {
        runtime: &console_request.lease.runtime,
        console: console_request.console,
        viewer: &viewer,
        fields: &fields,
        told,
        dry_run: None,
    };
    Ok(html(StatusCode::OK, page(&view, requested).await))
}

/// Serves the style of the page.
pub(super) async fn style(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let admitted = state.admit(&request, address)?;
    if !admitted.has_links() && state.permitted_console(&admitted.rules).is_none() {
        return Err(no_page());
    }
    Ok(guarded(StatusCode::OK, "text/css; charset=utf-8", Body::from(STYLE)))
}

/// Serves the script of the console.
pub(super) async fn script(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    state.console_request(&request, address)?;
    Ok(guarded(StatusCode::OK, "text/javascript; charset=utf-8", Body::from(SCRIPT)))
}

/// Signs a viewer in with a key or a token.
pub(super) async fn submit_key(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let fields = console_request.form(request, MAX_FORM_BYTES).await?;
    Ok(console_request.set_cookie(fields.get("key").unwrap_or_default()).await)
}

/// Accepts the operator's answer to a call.
pub(super) async fn answer(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let viewer = console_request.viewer(request.headers()).await;
    let Some(approver) = viewer.as_ref().and_then(Viewer::approver) else { return Err(not_answering()) };
    let (place, fields) = console_request.sealed_form(request, MAX_FORM_BYTES, answer_to).await?;
    let said = match fields.get("say") {
        Some("once") => OperatorAnswer::Once,
        Some("tool") => OperatorAnswer::Tool,
        Some("deny") => OperatorAnswer::deny(fields.get("feedback").unwrap_or_default()),
        _ => return Ok(reply::plain(StatusCode::BAD_REQUEST, "expected `once`, `tool` or `deny`")),
    };
    let pending = &console_request.console.pending;
    pending.saw_page();
    // The page may be that of another process, and its question not known here yet.
    pending.refresh().await;
    let Some(question) = pending.calls().at(&place) else { return Ok(see("/?told=gone", None)) };
    Ok(match pending.answer_as(approver, question, said).await {
        Ok(AnswerOutcome::Accepted) => see("/?told=taken", None),
        Ok(AnswerOutcome::Recorded) => see("/?told=recorded", None),
        Ok(AnswerOutcome::TooLate) => see("/?told=gone", None),
        Ok(AnswerOutcome::Refused(_)) => see("/?told=refused", None),
        Err(error) => reply::plain(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    })
}

/// Accepts the operator's answer to a question of an agent or a server.
pub(super) async fn reply(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let console_request = console_request.of_operator(request.headers()).await?;
    let (place, fields) = console_request.sealed_form(request, MAX_REPLY_BYTES, reply_to).await?;
    console_request.console.pending.saw_page();
    console_request.console.pending.refresh().await;
    let questions = console_request.console.pending.questions_to_user();
    let found = questions.at(&place).and_then(|id| Some((id, questions.get(id)?)));
    let Some((id, question)) = found else { return Ok(see("/?told=late", None)) };
    let answer = match reply_of(&question, &fields) {
        Ok(answer) => answer,
        Err(problem) => {
            let text = format!("the answer was not accepted: {problem}; go back and change it");
            return Ok(reply::plain(StatusCode::BAD_REQUEST, &text));
        }
    };
    Ok(match questions.answer(id, answer).await {
        Ok(AnswerOutcome::Accepted) => see("/?told=taken", None),
        Ok(_) => see("/?told=late", None),
        Err(error) => reply::plain(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    })
}

/// Selects a profile for the operator.
pub(super) async fn select_profile(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let (console_request, fields) = state.operator_form(request, address, PROFILE_FORM).await?;
    let runtime = &console_request.lease.runtime;
    let profile = fields.get("profile").filter(|name| !name.is_empty());
    if profile.is_some_and(|name| !runtime.app().config.profiles.contains_key(name)) {
        return Ok(reply::plain(StatusCode::BAD_REQUEST, "there is no such profile; load the page again"));
    }
    Ok(match runtime.overrides().use_profile(profile).await {
        Ok(()) => see("/?told=profile", None),
        Err(error) => reply::plain(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    })
}

/// Changes the override of a tool, a namespace, or a source for the operator.
pub(super) async fn change_override(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let (console_request, fields) = state.operator_form(request, address, OVERRIDE_FORM).await?;
    let overrides = console_request.lease.runtime.overrides();
    let target = fields.get("target").unwrap_or_default().trim();
    let changed = match (fields.get("say"), target.parse()) {
        (Some("disable"), _) => overrides.disable(target).await.map(drop),
        (Some("enable"), _) => overrides.enable(target).await.map(drop),
        (Some("remove"), Ok(target)) => overrides.remove(&target).await,
        _ => {
            let text = "expected `enable`, `disable` or `remove` with a target; load the page again";
            return Ok(reply::plain(StatusCode::BAD_REQUEST, text));
        }
    };
    Ok(match changed {
        Ok(()) => see("/?told=override", None),
        Err(error @ OverrideError::Store(_)) => {
            reply::plain(StatusCode::SERVICE_UNAVAILABLE, &error.to_string())
        }
        Err(error) => reply::plain(StatusCode::BAD_REQUEST, &override_failure(&error)),
    })
}

/// Returns the response to an answer of a viewer who may not give one.
fn not_answering() -> PageRejection {
    let text = "only the operator answers; sign in with the key first";
    reply::last(StatusCode::FORBIDDEN, text).into()
}

/// Returns the response if there is no console.
fn no_page() -> PageRejection {
    let text = "there is no console here; set `serve.page: true`";
    reply::last(StatusCode::NOT_FOUND, text).into()
}

/// An admitted request to the page.
struct ConsoleRequest<'a> {
    console: &'a ConsoleState,
    admitted: AdmittedRequest<'a>,
}

impl<'a> Deref for ConsoleRequest<'a> {
    type Target = AdmittedRequest<'a>;

    fn deref(&self) -> &Self::Target {
        &self.admitted
    }
}

impl HttpState {
    /// Checks that a request may reach the console.
    fn console_request<B>(
        &self,
        request: &Request<B>,
        address: SocketAddr,
    ) -> Result<ConsoleRequest<'_>, PageRejection> {
        let admitted = self.admit(request, address)?;
        match self.permitted_console(&admitted.rules) {
            Some(console) => Ok(ConsoleRequest { console: &console.inner, admitted }),
            None => Err(no_page()),
        }
    }

    /// Reads a form of the console that the operator sends. It must carry the seal of this text.
    async fn operator_form(
        &self,
        request: Request<Body>,
        address: SocketAddr,
        sealed: &str,
    ) -> Result<(ConsoleRequest<'_>, Fields), PageRejection> {
        let console_request = self.console_request(&request, address)?;
        let console_request = console_request.of_operator(request.headers()).await?;
        let fields = console_request.form(request, MAX_FORM_BYTES).await?;
        if !console_request.is_sealed(sealed, &fields).await {
            return Err(foreign_form().into());
        }
        Ok((console_request, fields))
    }
}

impl ConsoleRequest<'_> {
    /// Checks that the operator sends the request.
    async fn of_operator(self, headers: &HeaderMap) -> Result<Self, PageRejection> {
        if self.viewer(headers).await == Some(Viewer::Operator) { Ok(self) } else { Err(not_answering()) }
    }

    /// Returns the name of the cookie.
    fn cookie(&self) -> String {
        self.console.cookie(self.state.address.port())
    }

    /// Returns the viewer, or `None` if a token is required and missing.
    async fn viewer(&self, headers: &HeaderMap) -> Option<Viewer> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let (name, auth) = (self.cookie(), &self.rules.auth);
        let mine = cookies.flat_map(|all| all.split(';')).filter_map(|one| one.trim().split_once('='));
        for value in mine.filter(|(other, _)| *other == name).map(|(_, value)| value) {
            let Some((who, seal)) = value.split_once('.') else { continue };
            if !self.console.is_sealed(&cookie_of(who), seal).await {
                continue;
            }
            if who == OPERATOR {
                return Some(Viewer::Operator);
            }
            if let Some(person) = who.strip_prefix("person-").and_then(|name| self.rules.people.named(name)) {
                return Some(Viewer::Person(person));
            }
            let name = who.strip_prefix("client-").unwrap_or_default();
            if let Some(client) = auth.named(name) {
                return Some(Viewer::Client(client));
            }
        }
        if auth.is_open() {
            return Some(Viewer::Anybody);
        }
        auth.of_header(headers).map(Viewer::Client)
    }

    /// Sets a cookie for the holder of a key or a token.
    async fn set_cookie(&self, key: &str) -> Response {
        let who = if self.console.is_operator(key).await {
            OPERATOR.to_owned()
        } else if let Some(person) = self.rules.people.of_key(key) {
            format!("person-{person}")
        } else if let Some(client) = self.rules.auth.of_token(key) {
            format!("client-{}", client.name)
        } else {
            return html(StatusCode::UNAUTHORIZED, sign_in(true));
        };
        self.console.prepare_seals().await;
        let seal = self.console.sealed(&cookie_of(&who));
        let cookie = format!("{}={who}.{seal}; Path=/; HttpOnly; SameSite=Strict", self.cookie());
        see("/", Some(&cookie))
    }

    /// Returns the name of the question that a form answers, and its fields. The form must carry the seal of that question.
    async fn sealed_form(
        &self,
        request: Request<Body>,
        max_bytes: usize,
        sealed: fn(&str) -> String,
    ) -> Result<(String, Fields), PageRejection> {
        let fields = self.form(request, max_bytes).await?;
        let place = fields.get("question").unwrap_or_default().to_owned();
        if !self.is_sealed(&sealed(&place), &fields).await {
            return Err(foreign_form().into());
        }
        Ok((place, fields))
    }
}

impl ConsoleRequest<'_> {
    /// Returns true if a form carries the seal of this text.
    async fn is_sealed(&self, text: &str, fields: &Fields) -> bool {
        self.console.is_sealed(text, fields.get("seal").unwrap_or_default()).await
    }
}

/// Returns the text that the seal of a cookie protects.
fn cookie_of(who: &str) -> String {
    format!("cookie/{who}")
}

/// Returns the refusal of a form without the seal of this page.
fn foreign_form() -> Response {
    reply::plain(StatusCode::FORBIDDEN, "this form is not from this page; load it again")
}
