//! From the queue to the collector.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request};

use super::counts::Counts;
use super::settings::Destination;
use crate::secrets::secrets;

/// The most spans or records of a request.
const MAX_BATCH: usize = 512;

/// The time that one waits to be sent in a batch.
const BATCH_DELAY: Duration = Duration::from_secs(1);

/// The delays before a batch is sent again that the collector could not accept; one for each retry.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// The most bytes of a collector's answer that are read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// A signal that is sent in batches.
pub(super) trait TelemetrySignal: Send + Sync + Sized + 'static {
    /// Returns the body of a request with a batch.
    fn request(resource: &[(String, String)], batch: &[Self]) -> Value;
}

/// Sends a signal.
pub(super) struct Exporter<T> {
    destination: Destination,
    /// The attributes of this process.
    resource: Vec<(String, String)>,
    client: HttpClient,
    queue: mpsc::Receiver<T>,
    counts: Arc<Counts>,
    stop: CancellationToken,
}

/// The reason why a batch was refused.
struct Refused {
    why: String,
    may_retry: bool,
}

impl<T: TelemetrySignal> Exporter<T> {
    pub(super) fn new(
        destination: Destination,
        resource: Vec<(String, String)>,
        queue: mpsc::Receiver<T>,
        counts: Arc<Counts>,
        stop: CancellationToken,
    ) -> Result<Self, toolcrib_io::Error> {
        let client = HttpClient::new(HttpPolicy {
            // The operator wrote the address down.
            allow_private: true,
            timeout: destination.timeout,
            max_response_bytes: MAX_ANSWER_BYTES,
            ..HttpPolicy::default()
        })?;
        Ok(Self { destination, resource, client, queue, counts, stop })
    }

    /// Sends until it is told to stop, and then what is left.
    pub(super) async fn run(mut self) {
        while !self.stop.is_cancelled() {
            let batch = self.batch().await;
            self.send(batch).await;
        }
        loop {
            let mut batch = Vec::new();
            while batch.len() < MAX_BATCH
                && let Ok(next) = self.queue.try_recv()
            {
                batch.push(next);
            }
            if batch.is_empty() {
                return;
            }
            self.send(batch).await;
        }
    }

    /// Returns the next batch: as many as come within a while of the first.
    async fn batch(&mut self) -> Vec<T> {
        let mut batch = Vec::new();
        tokio::select! {
            biased;
            () = self.stop.cancelled() => return batch,
            _ = self.queue.recv_many(&mut batch, MAX_BATCH) => {}
        }
        let delay = tokio::time::sleep(BATCH_DELAY);
        tokio::pin!(delay);
        while batch.len() < MAX_BATCH {
            let room = MAX_BATCH - batch.len();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                () = &mut delay => break,
                received = self.queue.recv_many(&mut batch, room) => if received == 0 { break },
            }
        }
        batch
    }

    async fn send(&self, batch: Vec<T>) {
        if batch.is_empty() {
            return;
        }
        let count = batch.len() as u64;
        self.counts.set_pending(count + self.queue.len() as u64);
        let body = T::request(&self.resource, &batch).to_string();
        let body = secrets().redactor().redact(&body).into_owned();
        drop(batch);
        let mut delays = RETRY_DELAYS.into_iter();
        loop {
            let Err(refused) = self.post(&body).await else { break };
            let delay = delays.next().filter(|_| refused.may_retry && !self.stop.is_cancelled());
            let Some(delay) = delay else {
                self.counts.failed(count, &refused.why);
                break;
            };
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = tokio::time::sleep(delay) => {}
            }
        }
        self.counts.set_pending(self.queue.len() as u64);
    }

    async fn post(&self, body: &str) -> Result<(), Refused> {
        let mut headers = self.destination.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = Request::new(Method::POST, self.destination.endpoint.clone());
        let answer = self.client.send(request.with_headers(headers).with_body(body.to_owned())).await;
        match answer {
            Ok(answer) if answer.status.is_success() => Ok(()),
            // As the protocol lists them.
            Ok(answer) => Err(Refused {
                why: format!("the collector answered {}", answer.status),
                may_retry: matches!(answer.status.as_u16(), 429 | 502 | 503 | 504),
            }),
            Err(error) => Err(Refused { why: error.to_string(), may_retry: true }),
        }
    }
}
