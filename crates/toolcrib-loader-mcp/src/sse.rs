//! Servers behind a URL, over the HTTP with server-sent events of revision 2024-11-05: messages come on one stream, and
//! are posted to an address that the stream names first.

use futures::StreamExt as _;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::StreamableHttpClient;
use rmcp::transport::{DynamicTransportError, Transport};
use tokio::sync::mpsc;
use tokio::time::timeout_at;
use tokio_util::task::AbortOnDropHandle;
use toolcrib_io::http::{HttpClient, Request};
use toolcrib_io::process::MAX_LINE_BYTES;
use toolcrib_model::ErrorKind;
use url::Url;

use crate::Authorization;
use crate::auth::AuthorizedClient;
use crate::error::{Error, chain};
use crate::handshake::{Opening, Unopened, shake_hands};
use crate::http::{Place, never_connected};
use crate::message::Pending;
use crate::session::{Fault, Session};
use crate::text::{MAX_ERROR_CHARS, clean};

/// The most messages that wait for their reader. Then the stream waits, and with it the server.
const MAX_WAITING: usize = 64;

/// The most events that may come before the one that names the address.
const MAX_EVENTS_BEFORE_ADDRESS: usize = 16;

/// What went wrong with a message.
#[derive(Debug, thiserror::Error)]
enum SseError {
    /// It did not arrive, or no answer came.
    #[error("{0}")]
    Post(#[source] toolcrib_io::Error),
    /// It was turned away.
    #[error("HTTP {}", status.as_u16())]
    Status {
        /// What the server answered with.
        status: StatusCode,
    },
    /// There is no token to send with it.
    #[error(transparent)]
    Authorization(#[from] Error),
    /// It cannot be written.
    #[error("the message cannot be written as JSON: {0}")]
    Json(serde_json::Error),
}

/// One stream, and where to post.
struct SseTransport {
    client: HttpClient,
    address: Url,
    headers: HeaderMap,
    incoming: mpsc::Receiver<String>,
    pending: Pending,
    authorization: Option<Authorization>,
    _reader: AbortOnDropHandle<()>,
}

impl SseTransport {
    /// Opens the stream and waits for the address. The error says what came instead.
    async fn open(place: Place) -> Result<Self, String> {
        let Place { client, url, headers, authorization } = place;
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
        // The headers of the source go there.
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
            pending: Pending::default(),
            authorization,
            _reader: AbortOnDropHandle::new(reader),
        })
    }
}

/// Opens a session over the stream.
pub(crate) async fn open(place: Place, opening: Opening) -> Result<Session, Unopened> {
    let target = opening.target.clone();
    let stream = timeout_at(opening.deadline, SseTransport::open(place)).await;
    let transport = stream.unwrap_or_else(|_| Err("its event stream does not begin".into()));
    let transport = transport.map_err(|reason| Error::Handshake {
        target: target.clone(),
        reason,
        said: String::new(),
    })?;
    let classify = move |error: &DynamicTransportError| classify(error, &target);
    shake_hands(opening, transport, None, Box::new(classify)).await
}

/// What a failed POST means: whether the server can have acted on it.
fn classify(error: &DynamicTransportError, target: &str) -> Fault {
    match error.error.downcast_ref::<SseError>() {
        Some(SseError::Status { status: StatusCode::NOT_FOUND | StatusCode::GONE }) => {
            Fault::SessionExpired("the server has forgotten the session".into())
        }
        Some(SseError::Status { status }) if status.is_client_error() || status.as_u16() == 503 => {
            let kind = if status.as_u16() == 429 { ErrorKind::Overloaded } else { ErrorKind::Unavailable };
            Fault::TurnedAway { kind, reason: format!("HTTP {}", status.as_u16()) }
        }
        Some(SseError::Authorization(error)) => Fault::NoServer(error.clone()),
        Some(SseError::Json(error)) => Fault::NotSent(error.to_string()),
        _ if never_connected(error.error.as_ref()) => Fault::NotSent(chain(error.error.as_ref())),
        // The address may carry a key in its query.
        _ => Fault::Lost { how: format!("({target}) broke off"), said: String::new() },
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
