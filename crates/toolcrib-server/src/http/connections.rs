//! Connections, with limits of their number and of the size and duration of request heads.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{HeaderName, HeaderValue, Request, StatusCode, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_app::sections::serve::ServeLimits;
use tower_service::Service as _;

use super::body;
use super::memory_budget::AnswerBudget;
use super::reply;
use super::write_timeout::WriteTimeout;
use crate::metrics::{logged, milliseconds};
use crate::server::Shared;

/// The maximum size of the head of a request, in bytes.
pub(crate) const MAX_HEAD_BYTES: usize = 32 * 1024;

/// The maximum number of headers of a request.
const MAX_HEADERS: usize = 100;

/// The time in which a rejected client has to read the response.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of rejections that are sent at once. Further connections are closed without a response.
const MAX_REJECTIONS: usize = 64;

/// The pause before accepting again after the operating system has run out of resources.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Serves a listener until the server closes and all connections have ended.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: &ServeLimits, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(limits.connections.get().min(Semaphore::MAX_PERMITS)));
    let rejections = Arc::new(Semaphore::new(MAX_REJECTIONS));
    let head_patience = Duration::from_secs(limits.head_seconds.get().into());
    let (open, answers) = (TaskTracker::new(), Arc::new(AnswerBudget::default()));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.closing.cancelled() => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if let Ok(permit) = Arc::clone(&room).try_acquire_owned() {
            let (router, shared, answers) = (router.clone(), Arc::clone(&shared), Arc::clone(&answers));
            open.spawn(async move {
                shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
                answer(stream, address, router, head_patience, &shared, &answers).await;
                shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                drop(permit);
            });
        } else {
            shared.metrics.turned_away.fetch_add(1, Ordering::Relaxed);
            if let Ok(permit) = Arc::clone(&rejections).try_acquire_owned() {
                open.spawn(async move {
                    tell(stream, FULL).await;
                    drop(permit);
                });
            }
        }
    }
    open.close();
    open.wait().await;
}

/// Answers the requests of one connection.
async fn answer(
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    head_patience: Duration,
    shared: &Arc<Shared>,
    answers: &Arc<AnswerBudget>,
) {
    // Answers are small and must not wait for further data.
    let _ = stream.set_nodelay(true);
    let given_up = CancellationToken::new();
    let (counting, answers, connection) = (Arc::clone(shared), Arc::clone(answers), given_up.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(address));
        let (mut router, counting) = (router.clone(), Arc::clone(&counting));
        let (answers, connection) = (Arc::clone(&answers), connection.clone());
        Box::pin(async move {
            let (method, uri) = (request.method().clone(), request.uri().clone());
            let begun = Instant::now();
            let response = if head_bytes(&request) > MAX_HEAD_BYTES {
                let text = format!("the head of a request has at most {MAX_HEAD_BYTES} bytes");
                reply::last(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &text)
            } else {
                router.call(request.map(Body::new)).await?
            };
            let status = response.status().as_u16();
            counting.metrics.request(status);
            let ms = milliseconds(begun.elapsed());
            let (method, path) = (method.as_str(), uri.path());
            tracing::info!(method = logged(method), path = logged(path), status, ms, "answered a request");
            Ok::<_, Infallible>(response.map(|body| body::counted(body, &answers, &connection)))
        })
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_patience)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
    let mut is_leaving = false;
    let ended = loop {
        tokio::select! {
            ended = std::future::poll_fn(|context| connection.poll_without_shutdown(context)) => break ended,
            () = shared.closing.cancelled(), if !is_leaving => {
                is_leaving = true;
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
            // Data that its client has not read by now is lost.
            () = given_up.cancelled() => return,
        }
    };
    let mut stream = connection.into_parts().io.into_inner().into_inner();
    match ended {
        Err(error) if error.is_timeout() => tell(stream, LATE).await,
        _ => drop(timeout(REJECTION_TIMEOUT, stream.shutdown()).await),
    }
}

/// Returns the size of a head in HTTP/1.1. Data that arrives together with its end is read before its size is known.
fn head_bytes<B>(request: &Request<B>) -> usize {
    let line = request.method().as_str().len() + uri_bytes(request.uri()) + " HTTP/1.1\r\n".len() + 1;
    let header =
        |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + ": \r\n".len();
    line + request.headers().iter().map(header).sum::<usize>() + "\r\n".len()
}

fn uri_bytes(uri: &Uri) -> usize {
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    authority + uri.path_and_query().map_or(0, |path| path.as_str().len())
}

/// Sends a response and closes the connection.
async fn tell(mut stream: TcpStream, what: &[u8]) {
    let telling = async {
        stream.write_all(what).await?;
        stream.shutdown().await
    };
    let _ = timeout(REJECTION_TIMEOUT, telling).await;
}
