//! The HTTP transport with server-sent events of revision 2024-11-05. Messages arrive on one event stream, and are
//! posted to an endpoint that the stream announces first.

use futures::StreamExt as _;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::StreamableHttpClient;
use tokio::sync::mpsc;
use tokio::time::timeout_at;
use tokio_util::task::AbortOnDropHandle;
use toolcrib_io::http::{HttpClient, Request};
use toolcrib_io::process::MAX_LINE_BYTES;
use toolcrib_model::ErrorKind;
use url::Url;

use crate::auth::AuthorizedClient;
use crate::connection::handshake::{HandshakeError, HandshakeOptions, open_session};
use crate::connection::session::{RequestError, Session};
use crate::error::{Error, chain};
use crate::oauth::Authorization;
use crate::text::{MAX_ERROR_CHARS, clean};
use crate::transport::boxed::BoxedTransport;
use crate::transport::message_recovery::PendingRequests;
use crate::transport::streamable_http::{HttpEndpoint, never_connected};

/// The largest number of unread messages. At this number the stream is not read, which slows the server down.
const MAX_WAITING: usize = 64;

/// The largest number of events before the one that announces the endpoint.
const MAX_EVENTS_BEFORE_ADDRESS: usize = 16;

/// An error of sending a message.
#[derive(Debug, thiserror::Error)]
enum SseError {
    /// The message did not arrive, or no response came.
    #[error("{0}")]
    Post(#[source] toolcrib_io::Error),
    /// The server rejected the message.
    #[error("HTTP {}", status.as_u16())]
    Status {
        /// The status of the response.
        status: StatusCode,
    },
    /// There is no token to send with the message.
    #[error(transparent)]
    Authorization(#[from] toolcrib_oauth::Error),
    /// The message cannot be serialized.
    #[error("the message cannot be written as JSON: {0}")]
    Json(serde_json::Error),
}

/// A transport with one event stream, and the endpoint to post to.
struct SseTransport {
    client: HttpClient,
    address: Url,
    headers: HeaderMap,
    incoming: mpsc::Receiver<String>,
    pending: PendingRequests,
    authorization: Option<Authorization>,
    _reader: AbortOnDropHandle<()>,
}

impl SseTransport {
    /// Opens the stream and waits for the endpoint. The error describes what arrived instead.
    async fn open(endpoint: HttpEndpoint) -> Result<Self, String> {
        let HttpEndpoint { client, url, headers, authorization } = endpoint;
        let fixed: HeaderMap = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let opened = AuthorizedClient::new(client.reqwest_client().clone(), authorization.clone())
            .get_stream_with_max_sse_event_size(
                url.as_str().into(),
                None,
                None,
                None,
                headers,
                MAX_LINE_BYTES,
            )
            .await;
        let mut stream = opened.map_err(|error| chain(&error))?;
        let mut address = None;
        for _ in 0..MAX_EVENTS_BEFORE_ADDRESS {
            let Some(event) = stream.next().await else { break };
            let event = event.map_err(|error| chain(&error))?;
            if event.event.as_deref() == Some("endpoint") {
                address = event.data;
                break;
            }
        }
        let Some(address) = address else {
            return Err("its event stream does not begin with the address to post to".into());
        };
        let shown = || clean(&address, MAX_ERROR_CHARS);
        let address = url
            .join(address.trim())
            .map_err(|error| format!("the address to post to, `{}`, cannot be read: {error}", shown()))?;
        // The headers of the source are sent there.
        if address.origin() != url.origin() {
            return Err(format!("the address to post to, `{}`, is of another origin", shown()));
        }
        let (sender, incoming) = mpsc::channel(MAX_WAITING);
        let reader = tokio::spawn(async move {
            while let Some(Ok(event)) = stream.next().await {
                if event.event.as_deref().is_some_and(|name| name != "message") {
                    continue;
                }
                let Some(data) = event.data else { continue };
                if sender.send(data).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            client,
            address,
            headers: fixed,
            incoming,
            pending: PendingRequests::default(),
            authorization,
            _reader: AbortOnDropHandle::new(reader),
        })
    }
}

/// Opens a session over the event stream.
pub(crate) async fn open(
    endpoint: HttpEndpoint,
    options: HandshakeOptions,
) -> Result<Session, HandshakeError> {
    let target = options.target.clone();
    let stream = timeout_at(options.deadline, SseTransport::open(endpoint)).await;
    let transport = stream.unwrap_or_else(|_| Err("its event stream does not begin".into()));
    let transport = transport.map_err(|reason| Error::Handshake {
        target: target.clone(),
        reason,
        stderr: String::new(),
    })?;
    let classify = move |error: &(dyn std::error::Error + 'static)| classify(error, &target);
    open_session(options, BoxedTransport::new(transport), None, Box::new(classify)).await
}

/// Classifies the error of a failed POST by whether the server can have processed it.
fn classify(error: &(dyn std::error::Error + 'static), target: &str) -> RequestError {
    match error.downcast_ref::<SseError>() {
        Some(SseError::Status { status: StatusCode::NOT_FOUND | StatusCode::GONE }) => {
            RequestError::SessionExpired("the server has forgotten the session".into())
        }
        Some(SseError::Status { status }) if status.is_client_error() || status.as_u16() == 503 => {
            let kind = if status.as_u16() == 429 { ErrorKind::Overloaded } else { ErrorKind::Unavailable };
            RequestError::Rejected { kind, reason: format!("HTTP {}", status.as_u16()) }
        }
        Some(SseError::Authorization(error)) => RequestError::NoServer(error.clone().into()),
        Some(SseError::Json(error)) => RequestError::NotSent(error.to_string()),
        _ if never_connected(error) => RequestError::NotSent(chain(error)),
        // The query of the URL may contain a key.
        _ => RequestError::Lost { how: format!("({target}) broke off"), stderr: String::new() },
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (client, address, mut headers) =
            (self.client.clone(), self.address.clone(), self.headers.clone());
        let authorization = self.authorization.clone();
        self.pending.note_sent(&message);
        async move {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let body = serde_json::to_vec(&message).map_err(SseError::Json)?;
            let request = Request::new(Method::POST, address).with_headers(headers).with_body(body);
            let response = match &authorization {
                Some(authorization) => authorization.send(&client, request).await?.map_err(SseError::Post)?,
                None => client.send(request).await.map_err(SseError::Post)?,
            };
            if response.status.is_success() {
                Ok(())
            } else {
                Err(SseError::Status { status: response.status })
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let data = self.incoming.recv().await?;
            if let Some(message) = self.pending.read(data.as_bytes()) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.incoming.close();
        Ok(())
    }
}
