//! Spans, sent to a collector by OTLP.
//!
//! A [`SpanLayer`] notes the spans of Toolcrib while they are open, and puts them into a bounded queue when they close;
//! the [`exporter`] sends them on in batches, as JSON over HTTP. Calls never wait for it: what finds no room is counted
//! and dropped. At the end of the process what is left is sent, for [`FLUSH_TIMEOUT`] at most.
//!
//! `tracing-opentelemetry` 0.34 with `opentelemetry-otlp` 0.33 would take its place with nine more crates (`prost` among
//! them) of 68,000 lines. They do not limit the length of a text, which this module promises. Events, metrics, links and
//! sampling of our own are not done; a span whose remote parent is not sampled is not sent.

mod counts;
mod encode;
mod exporter;
mod ids;
mod layer;
mod settings;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Metadata;

use counts::Counts;
use exporter::Exporter;
use layer::Closed;
pub(crate) use layer::{SpanLayer, traceparent};
pub(crate) use settings::Settings;

/// The most spans that wait to be sent; as the specification has it for batches.
const MAX_QUEUED: usize = 2048;

/// The time that the process waits at its end for the last spans to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns true for spans of this program, which are sent, and not those of libraries.
pub(crate) fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with("toolcrib")
}

/// Spans on their way, before there is anything that sends them.
pub(crate) struct Queue {
    settings: Settings,
    spans: mpsc::Receiver<Closed>,
    counts: Arc<Counts>,
}

/// The sender of spans, for the duration of the process.
pub(crate) struct Telemetry {
    endpoint: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
    counts: Arc<Counts>,
}

/// Returns the layer that notes spans, and the queue that it fills.
pub(crate) fn prepare(settings: Settings) -> (SpanLayer, Queue) {
    let (sender, spans) = mpsc::channel(MAX_QUEUED);
    let counts = Arc::new(Counts::default());
    (SpanLayer::new(sender, Arc::clone(&counts)), Queue { settings, spans, counts })
}

impl Queue {
    /// Starts to send, on the runtime that is running.
    pub(crate) fn start(self) -> Result<Telemetry, toolcrib_io::Error> {
        let Self { settings, spans, counts } = self;
        let (stop, endpoint) = (CancellationToken::new(), settings.endpoint.to_string());
        let exporter = Exporter::new(settings, spans, Arc::clone(&counts), stop.clone())?;
        Ok(Telemetry { endpoint, stop, task: tokio::spawn(exporter.run()), counts })
    }
}

impl Telemetry {
    /// Sends what is left, and says what could not be sent.
    pub(crate) async fn finish(mut self) -> Option<String> {
        self.stop.cancel();
        if tokio::time::timeout(FLUSH_TIMEOUT, &mut self.task).await.is_err() {
            self.task.abort();
            self.counts.gave_up(FLUSH_TIMEOUT);
        }
        let (unsent, why) = self.counts.unsent()?;
        let spans = if unsent == 1 { "span was" } else { "spans were" };
        Some(format!("{unsent} {spans} not sent to {}: {why}", self.endpoint))
    }
}
