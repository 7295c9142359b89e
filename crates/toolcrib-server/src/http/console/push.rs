//! Subscriptions of browsers to push messages.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use http::{Request, StatusCode};
use toolcrib_tasks::channels::PushSubscription;

use super::super::browser::{PageRejection, guarded};
use super::{foreign_form, not_answering};
use crate::approval::SubscribeError;
use crate::console::{MAX_FORM_BYTES, PUSH_FORM, Viewer, WORKER};
use crate::http::reply;
use crate::http::state::HttpState;

/// Serves the script that shows push messages while no page is open.
pub(in crate::http) async fn worker(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    state.console_request(&request, address)?;
    Ok(guarded(StatusCode::OK, "text/javascript; charset=utf-8", Body::from(WORKER)))
}

/// Returns the key with which the browser of a viewer who answers subscribes.
pub(in crate::http) async fn push_key(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let viewer = console_request.viewer(request.headers()).await;
    let Some(approver) = viewer.as_ref().and_then(Viewer::approver) else { return Err(not_answering()) };
    let pending = &console_request.console.pending;
    if !pending.has_push(approver) {
        return Ok(reply::plain(StatusCode::NOT_FOUND, &SubscribeError::NoChannel.to_string()));
    }
    Ok(match pending.push_key().await {
        // Browsers accept the key alone, without a line break.
        Ok(key) => guarded(StatusCode::OK, "text/plain; charset=utf-8", Body::from(key)),
        Err(error) => reply::plain(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    })
}

/// Subscribes the browser of a viewer who answers.
pub(in crate::http) async fn subscribe(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let viewer = console_request.viewer(request.headers()).await;
    let Some(approver) = viewer.as_ref().and_then(Viewer::approver) else { return Err(not_answering()) };
    let fields = console_request.form(request, MAX_FORM_BYTES).await?;
    if !console_request.is_sealed(PUSH_FORM, &fields).await {
        return Err(foreign_form().into());
    }
    let field = |name| fields.get(name).unwrap_or_default();
    let subscription = match PushSubscription::new(field("endpoint"), field("p256dh"), field("auth")) {
        Ok(subscription) => subscription,
        Err(error) => return Ok(reply::plain(StatusCode::BAD_REQUEST, &error.to_string())),
    };
    Ok(match console_request.console.pending.subscribe(approver, subscription).await {
        Ok(()) => {
            reply::plain(StatusCode::OK, "This browser gets push messages about calls that wait for you.")
        }
        Err(error) => {
            let status = match &error {
                SubscribeError::NoChannel => StatusCode::NOT_FOUND,
                SubscribeError::Refused(_) => StatusCode::BAD_REQUEST,
                SubscribeError::Full => StatusCode::TOO_MANY_REQUESTS,
                SubscribeError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            reply::plain(status, &error.to_string())
        }
    })
}
