//! Requests of browsers to the pages of this server: admission, forms, and responses.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue, Request, StatusCode};

use super::admission::AdmissionRules;
use super::allowed_hosts::AllowedHosts;
use super::body::{self, BodyError};
use super::rate_limit::{ClientKey, RequestPermit};
use super::reply;
use super::state::HttpState;
use crate::app_version::Lease;
use crate::console::Fields;

/// The content security policy of the pages: browsers may show them, load their style and script from this server, and
/// send their requests and forms to it.
const POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The response to a request that a page rejects.
pub(super) struct PageRejection(Box<Response>);

impl From<Response> for PageRejection {
    fn from(response: Response) -> Self {
        Self(Box::new(response))
    }
}

impl IntoResponse for PageRejection {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// An admitted request of a browser.
pub(super) struct AdmittedRequest<'a> {
    pub(super) state: &'a HttpState,
    pub(super) rules: Arc<AdmissionRules>,
    pub(super) lease: Lease,
    _permit: RequestPermit,
}

impl HttpState {
    /// Checks that a request may reach a page of this server, and that no other page sends it.
    pub(super) fn admit<B>(
        &self,
        request: &Request<B>,
        address: SocketAddr,
    ) -> Result<AdmittedRequest<'_>, PageRejection> {
        if AllowedHosts::is_foreign(request.headers()) {
            let text = "this page accepts nothing from other pages";
            return Err(reply::last(StatusCode::FORBIDDEN, text).into());
        }
        self.admit_from_anywhere(request, address)
    }

    /// Checks that a request may reach a page of this server, also if another page links to it.
    pub(super) fn admit_from_anywhere<B>(
        &self,
        request: &Request<B>,
        address: SocketAddr,
    ) -> Result<AdmittedRequest<'_>, PageRejection> {
        let (rules, lease) = self.current();
        if let Some(why) = rules.allowed_hosts.refusal(request.uri(), request.headers()) {
            return Err(reply::last(StatusCode::FORBIDDEN, why).into());
        }
        let permit = rules.rate_limiter.acquire(ClientKey::Address(address.ip())).map_err(reply::too_many)?;
        Ok(AdmittedRequest { state: self, rules, lease, _permit: permit })
    }
}

impl AdmittedRequest<'_> {
    /// Returns true if the app sends people links.
    pub(super) fn has_links(&self) -> bool {
        !self.lease.runtime.app().config.approvals.channels.is_empty()
    }

    /// Reads the fields of a form.
    pub(super) async fn form(
        &self,
        request: Request<Body>,
        max_bytes: usize,
    ) -> Result<Fields, PageRejection> {
        let refused = |status, text: &str| PageRejection::from(reply::last(status, text));
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if kind.and_then(|kind| kind.split(';').next()) != Some("application/x-www-form-urlencoded") {
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected a form"));
        }
        let (patience, budget) = (self.rules.body_patience, &self.state.bodies);
        match body::read(request.into_body(), max_bytes, patience, budget).await {
            Ok((bytes, _share)) => Ok(Fields::read(&String::from_utf8_lossy(&bytes))),
            Err(BodyError::TooLarge) => Err(refused(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large")),
            Err(BodyError::TooSlow) => Err(refused(StatusCode::REQUEST_TIMEOUT, "the form came too slowly")),
            Err(BodyError::Broken) => Err(refused(StatusCode::BAD_REQUEST, "the form broke off")),
            Err(BodyError::NoRoom) => Err(reply::no_room().into()),
        }
    }
}

/// Returns a page for a browser.
pub(super) fn html(status: StatusCode, text: String) -> Response {
    guarded(status, "text/html; charset=utf-8", Body::from(text))
}

/// Redirects the browser to a path of this server.
pub(super) fn see(path: &str, cookie: Option<&str>) -> Response {
    let mut response = guarded(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Body::empty());
    if let Ok(location) = HeaderValue::try_from(path) {
        response.headers_mut().insert(LOCATION, location);
    }
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::try_from(cookie).ok()) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Returns a response with headers that restrict the browser to the necessary minimum.
pub(super) fn guarded(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    guard(response)
}

/// Adds headers that restrict the browser to the necessary minimum.
pub(super) fn guard(mut response: Response) -> Response {
    let headers: [(HeaderName, &'static str); 6] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
        // Without any referrer, browsers send a form with the origin `null`.
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
