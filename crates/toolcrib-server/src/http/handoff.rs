//! The handoff of requests to the process that has their session or task.
//!
//! Clients before revision 2026-07-28 have sessions, whose streams and servers belong to one process, and later ones have
//! tasks, whose questions do. The id of a session or a task begins with that of its process. A process that receives a
//! request of another's passes it on with the credentials of its client, which the other checks. It also passes on a proof
//! that it is a process of the app, so that the request counts once for the rate limit.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};
use toolcrib_io::http::{HttpClient, HttpPolicy, Incoming, Request};
use toolcrib_model::random::hex;
use url::Url;

use super::reply;
use crate::Error;
use crate::replica::Replica;

/// The header with the proof that a process of the app sends the request.
const PROOF: HeaderName = HeaderName::from_static("toolcrib-handoff");

/// The purpose of the proof, for the key that the processes have in common.
const PURPOSE: &str = "handoff";

/// The time in which another process has to send the head of a response, and each part of its body. It is longer than any
/// call may take.
const PATIENCE: Duration = Duration::from_mins(11);

/// The headers of a connection, which are not those of the message (RFC 9110, section 7.6.1).
const OF_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    CONTENT_LENGTH,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The handoff between the processes that serve the app.
pub(super) struct Handoff {
    replica: Arc<Replica>,
    http: HttpClient,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    /// Another process, for a client.
    Process,
    /// A client with a wrong proof.
    Forger,
}

impl Handoff {
    pub(super) fn new(replica: &Arc<Replica>) -> Result<Self, Error> {
        // The operator configures the addresses, or they are those of the listeners.
        let policy = HttpPolicy { allow_private: true, timeout: PATIENCE, ..HttpPolicy::default() };
        Ok(Self { replica: Arc::clone(replica), http: HttpClient::new(policy)? })
    }

    /// Returns the id of a new session of this process.
    pub(super) fn session_id(&self, local: &str) -> String {
        format!("{}.{local}", self.replica.id())
    }

    /// Returns the process of a session, if that is another one.
    pub(super) fn elsewhere<'a>(&self, session: &'a str) -> Option<&'a str> {
        let (process, _) = session.split_once('.')?;
        let is_id =
            process.len() == self.replica.id().len() && process.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_id && process != self.replica.id()).then_some(process)
    }

    /// Returns the sender of a request of a session.
    pub(super) fn sender(&self, headers: &HeaderMap, session: &str) -> Sender {
        match headers.get(PROOF) {
            None => Sender::Client,
            Some(proof) if self.is_proof(proof, session) => Sender::Process,
            Some(_) => Sender::Forger,
        }
    }

    fn is_proof(&self, proof: &HeaderValue, session: &str) -> bool {
        // Of the digests, so the time of the comparison tells nothing about the proof.
        Sha256::digest(proof) == Sha256::digest(self.proof(session))
    }

    fn proof(&self, session: &str) -> String {
        hex(&self.replica.derive(PURPOSE, session))
    }

    /// Returns the URL of a process; `None` if it has ended or has none.
    pub(super) async fn url_of(&self, process: &str) -> Result<Option<Url>, Box<Response>> {
        self.replica.url_of(process).await.map_err(|error| {
            let text = format!("the process of this request cannot be looked up: {error}");
            Box::new(reply::unavailable(&text))
        })
    }

    /// Passes a request on to the process of its session or task.
    pub(super) async fn pass_on(&self, url: Url, session: &str, parts: Parts, body: Bytes) -> Response {
        match self.send(url, session, parts, body).await {
            Ok(response) => response,
            Err(error) => {
                tracing::warn!(%error, "a request cannot be handed over to its process");
                reply::unavailable("the process of this request does not answer")
            }
        }
    }

    async fn send(
        &self,
        url: Url,
        session: &str,
        parts: Parts,
        body: Bytes,
    ) -> Result<Response, toolcrib_io::Error> {
        let mut target = url;
        target.set_path(parts.uri.path());
        target.set_query(parts.uri.query());
        let mut headers = parts.headers;
        remove_connection_headers(&mut headers);
        if let Ok(proof) = HeaderValue::try_from(self.proof(session)) {
            headers.insert(PROOF, proof);
        }
        let request = Request::new(parts.method, target).with_headers(headers).with_body(body);
        let mut incoming = self.http.open(request).await?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = incoming.status;
        *response.headers_mut() = std::mem::take(&mut incoming.headers);
        remove_connection_headers(response.headers_mut());
        Ok(response.map(|_| Body::from_stream(stream::unfold(Some(incoming), next_part))))
    }
}

fn remove_connection_headers(headers: &mut HeaderMap) {
    for name in &OF_CONNECTION {
        headers.remove(name);
    }
}

/// Reads the next part of a body. After an error, the body has ended.
async fn next_part(
    incoming: Option<Incoming>,
) -> Option<(Result<Bytes, toolcrib_io::Error>, Option<Incoming>)> {
    let mut incoming = incoming?;
    match incoming.chunk().await {
        Ok(part) => part.map(|part| (Ok(part), Some(incoming))),
        Err(error) => Some((Err(error), None)),
    }
}
