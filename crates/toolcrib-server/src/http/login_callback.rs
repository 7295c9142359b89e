//! The page that an authorization server sends a user's browser back to after a login by a link.
//!
//! The answer belongs to the login whose `state` it has. Its user is named before it is taken, and the person in front of
//! the browser has to agree: a user who has sent the link to another person would otherwise get that person's login.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use toolcrib_app::{LoginOwner, Redirect};
use url::Url;

use super::allowed_hosts::AllowedHosts;
use super::body;
use super::console::html;
use super::rate_limit::{ClientKey, RequestPermit};
use super::reply;
use super::state::HttpState;
use crate::console::{login_answered, login_question};

/// The path of the page.
pub(super) const PATH: &str = "/oauth/callback";

/// The largest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The text for an answer without a login.
const UNKNOWN: &str = "no login waits for this answer; call the tool again for another link";

/// Shows whose login the answer is. An error of the authorization server needs no agreement.
pub(super) async fn ask(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Response {
    let _permit = match state.admit_browser(&request, address) {
        Ok(permit) => permit,
        Err(response) => return *response,
    };
    let query = request.uri().query().unwrap_or_default();
    let Some((answer, owner)) = state.login_of(query) else {
        return reply::last(StatusCode::NOT_FOUND, UNKNOWN);
    };
    if answer.code.is_none() {
        return state.complete_login(answer);
    }
    html(StatusCode::OK, login_question(&owner.namespace, &owner.user, PATH, query))
}

/// Takes the answer of a login, after the person in front of the browser has agreed.
pub(super) async fn agree(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Response {
    let _permit = match state.admit_browser(&request, address) {
        Ok(permit) => permit,
        Err(response) => return *response,
    };
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if AllowedHosts::is_foreign(request.headers()) || kind != Some("application/x-www-form-urlencoded") {
        return reply::last(StatusCode::FORBIDDEN, "this form is not from this page; follow the link again");
    }
    let patience = state.rules().body_patience;
    let Ok((bytes, _share)) =
        body::read(request.into_body(), MAX_ANSWER_BYTES, patience, &state.bodies).await
    else {
        return reply::last(StatusCode::BAD_REQUEST, "the form cannot be read");
    };
    match state.login_of(&String::from_utf8_lossy(&bytes)) {
        Some((answer, _)) => state.complete_login(answer),
        None => reply::last(StatusCode::NOT_FOUND, UNKNOWN),
    }
}

impl HttpState {
    /// Checks that a browser may reach the page.
    fn admit_browser(
        &self,
        request: &Request<Body>,
        address: SocketAddr,
    ) -> Result<RequestPermit, Box<Response>> {
        let rules = self.rules();
        if let Some(why) = rules.allowed_hosts.refusal(request.uri(), request.headers()) {
            return Err(Box::new(reply::last(StatusCode::FORBIDDEN, why)));
        }
        rules
            .rate_limiter
            .acquire(ClientKey::Address(address.ip()))
            .map_err(|wait| Box::new(reply::too_many(wait)))
    }

    /// Returns the answer with these parameters, and the owner of the login that waits for it.
    fn login_of(&self, parameters: &str) -> Option<(Redirect, LoginOwner)> {
        let mut url = Url::parse("http://localhost").ok()?;
        url.set_query(Some(parameters));
        let answer = Redirect::from_url(&url);
        let owner = self.shared.runtime().app().extensions.login_links.owner(answer.state.as_deref()?)?;
        Some((answer, owner))
    }

    fn complete_login(&self, answer: Redirect) -> Response {
        let has_code = answer.code.is_some();
        match self.shared.runtime().app().extensions.login_links.complete(answer) {
            Some(owner) => html(StatusCode::OK, login_answered(&owner.namespace, has_code)),
            None => reply::last(StatusCode::NOT_FOUND, UNKNOWN),
        }
    }
}
