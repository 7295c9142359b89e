//! The page that an authorization server sends a user's browser back to after a login by a link.
//!
//! The answer belongs to the login whose `state` it has. Its user is named before it is taken, and the person in front of
//! the browser has to agree: a user who has sent the link to another person would otherwise get that person's login.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use http::{Request, StatusCode};
use toolcrib_app::oauth::client::{LoginLinks, LoginOwner, Redirect};

use super::admission::LOGIN_PATH;
use super::browser::{AdmittedRequest, PageRejection, html};
use super::reply;
use super::state::HttpState;
use crate::console::{Fields, login_answered, login_question};

/// The largest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Shows whose login the answer is. An error of the authorization server needs no agreement.
pub(super) async fn ask(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    // It comes from the page of the authorization server.
    let admitted = state.admit_from_anywhere(&request, address)?;
    let query = request.uri().query().unwrap_or_default();
    let (answer, owner) = admitted.login_of(&Fields::read(query))?;
    if answer.code.is_none() {
        return admitted.complete_login(answer);
    }
    Ok(html(StatusCode::OK, login_question(&owner.namespace, &owner.user, LOGIN_PATH, query)))
}

/// Takes the answer of a login, after the person in front of the browser has agreed.
pub(super) async fn agree(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let admitted = state.admit(&request, address)?;
    let fields = admitted.form(request, MAX_ANSWER_BYTES).await?;
    let (answer, _) = admitted.login_of(&fields)?;
    admitted.complete_login(answer)
}

impl AdmittedRequest<'_> {
    fn login_links(&self) -> &LoginLinks {
        &self.lease.runtime.app().extensions.login_links
    }

    /// Returns the answer with these parameters, and the owner of the login that waits for it.
    fn login_of(&self, parameters: &Fields) -> Result<(Redirect, LoginOwner), PageRejection> {
        let answer = Redirect::from_parameters(|name| parameters.get(name).map(str::to_owned));
        let owner = answer.state.as_deref().and_then(|state| self.login_links().owner(state));
        Ok((answer, owner.ok_or_else(unknown)?))
    }

    fn complete_login(&self, answer: Redirect) -> Result<Response, PageRejection> {
        let has_code = answer.code.is_some();
        let owner = self.login_links().complete(answer).ok_or_else(unknown)?;
        Ok(html(StatusCode::OK, login_answered(&owner.namespace, has_code)))
    }
}

/// Returns the response to an answer without a login.
fn unknown() -> Response {
    let text = "no login waits for this answer; call the tool again for another link";
    reply::last(StatusCode::NOT_FOUND, text)
}
