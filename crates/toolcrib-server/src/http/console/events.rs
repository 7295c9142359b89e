//! The event stream that tells a page of the console when to load itself again.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use http::{Request, StatusCode};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

use super::super::browser::{PageRejection, guard};
use crate::app_version::AppVersion;
use crate::approval::OperatorPresence;
use crate::console::{Console, Viewer};
use crate::http::reply;
use crate::http::state::HttpState;

/// The minimum time between two events of a stream.
const MIN_INTERVAL: Duration = Duration::from_millis(250);

/// The interval of comments that show a client that the stream is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Streams an event for each change of what the viewer may see.
pub(in crate::http) async fn events(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let Some(viewer) = console_request.viewer(request.headers()).await else {
        return Err(reply::last(StatusCode::UNAUTHORIZED, "sign in first").into());
    };
    let Ok(permit) = Arc::clone(&console_request.console.streams).try_acquire_owned() else {
        return Err(reply::unavailable("too many pages are open; this one is not kept current").into());
    };
    let Some(console) = state.console.clone() else { return Err(super::no_page()) };
    // A stream keeps neither the app from being replaced nor a request from being admitted.
    drop(console_request);
    let watched = ConsoleChanges::new(&state, console, viewer, permit);
    let events = stream::unfold(watched, |mut watched| async move {
        let event = watched.next().await?;
        Some((Ok::<_, Infallible>(event), watched))
    });
    let response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    Ok(guard(response))
}

/// The changes of what a viewer may see.
struct ConsoleChanges {
    console: Console,
    viewer: Viewer,
    calls: watch::Receiver<u64>,
    pending: watch::Receiver<()>,
    versions: watch::Receiver<Arc<AppVersion>>,
    draining: CancellationToken,
    /// The last state that was sent.
    sent: Option<VisibleState>,
    /// While an approver looks at a page, calls wait.
    _presence: Option<OperatorPresence>,
    _permit: OwnedSemaphorePermit,
}

/// A summary of what a viewer may see. Another one is a change.
#[derive(Clone, Copy, PartialEq, Eq)]
struct VisibleState {
    /// The number of the last call.
    call: u64,
    waiting: usize,
    /// The sum of the ids of what waits, which differs if one takes the place of another.
    waiting_ids: u64,
}

impl ConsoleChanges {
    fn new(state: &HttpState, console: Console, viewer: Viewer, permit: OwnedSemaphorePermit) -> Self {
        Self {
            calls: console.inner.history.changes(),
            pending: console.inner.pending.changes(),
            versions: state.shared.versions(),
            draining: state.shared.draining.clone(),
            sent: None,
            _presence: viewer.approver().map(|_| console.inner.pending.attach()),
            console,
            viewer,
            _permit: permit,
        }
    }

    /// Returns the next event. The stream ends if another version of the app is served, which may know other viewers, and
    /// when the server shuts down.
    async fn next(&mut self) -> Option<Event> {
        loop {
            self.calls.mark_unchanged();
            self.pending.mark_unchanged();
            let state = self.state();
            if self.sent != Some(state) {
                let is_first = self.sent.replace(state).is_none();
                if !is_first {
                    tokio::time::sleep(MIN_INTERVAL).await;
                }
                return Some(
                    Event::default().event("change").data(json!({"waiting": state.waiting}).to_string()),
                );
            }
            tokio::select! {
                changed = self.calls.changed() => changed.ok()?,
                changed = self.pending.changed() => changed.ok()?,
                _ = self.versions.changed() => return None,
                () = self.draining.cancelled() => return None,
            }
        }
    }

    fn state(&self) -> VisibleState {
        let console = &self.console.inner;
        let waiting: Vec<u64> = console.waiting_ids(&self.viewer);
        VisibleState {
            call: console.history.last_visible(&self.viewer),
            waiting: waiting.len(),
            waiting_ids: waiting.iter().fold(0, |sum, id| sum.wrapping_add(*id)),
        }
    }
}
