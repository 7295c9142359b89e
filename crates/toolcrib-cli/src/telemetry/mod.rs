//! Spans and audit records, sent to a collector by OTLP.
//!
//! A [`SpanLayer`] notes the spans of Toolcrib while they are open, and puts them into a bounded queue when they close;
//! the [`exporter`] sends them on in batches, as JSON over HTTP. Calls never wait for it: what finds no room is counted
//! and dropped. An [`AuditLog`] does the same with audit records, if the operator asks for them as logs. At the end of the process what is left is sent, for [`FLUSH_TIMEOUT`] at most.
//!
//! `tracing-opentelemetry` 0.34 with `opentelemetry-otlp` 0.33 would take its place with nine more crates (`prost` among
//! them) of 68,000 lines. They do not limit the length of a text, which this module promises. Events, metrics, links and
//! sampling of our own are not done; a span whose remote parent is not sampled is not sent.

mod audit_log;
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
use toolcrib_exec::audit::AuditSink;
use tracing::Metadata;

use audit_log::{AuditEvent, AuditLog};
use counts::Counts;
use exporter::{Exporter, TelemetrySignal};
use layer::Closed;
pub(crate) use layer::{SpanLayer, traceparent};
use settings::Destination;
pub(crate) use settings::Settings;

/// The most spans that wait to be sent; as the specification has it for batches.
const MAX_QUEUED: usize = 2048;

/// The most audit records that wait to be sent. Each may be larger than a span.
const MAX_QUEUED_RECORDS: usize = 512;

/// The time that the process waits at its end for the last spans to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns true for spans of this program, which are sent, and not those of libraries.
pub(crate) fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with("toolcrib")
}

/// The spans and events that wait for their exporter to start.
pub(crate) struct Queue {
    settings: Settings,
    spans: (mpsc::Receiver<Closed>, Arc<Counts>),
    records: (mpsc::Receiver<AuditEvent>, Arc<Counts>),
    audit_log: Option<Arc<AuditLog>>,
}

/// The senders, for the duration of the process.
pub(crate) struct Telemetry(Vec<Sender>);

/// The sender of one signal.
struct Sender {
    endpoint: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
    counts: Arc<Counts>,
}

/// Returns the layer that notes spans, and the queue that it fills.
pub(crate) fn prepare(settings: Settings) -> (SpanLayer, Queue) {
    let (sender, spans) = mpsc::channel(MAX_QUEUED);
    let counts = Arc::new(Counts::of("spans"));
    let layer = SpanLayer::new(sender, Arc::clone(&counts));
    let (sender, records) = mpsc::channel(MAX_QUEUED_RECORDS);
    let records = (records, Arc::new(Counts::of("audit records")));
    let audit_log = settings.logs.is_some().then(|| Arc::new(AuditLog::new(sender, Arc::clone(&records.1))));
    (layer, Queue { settings, spans: (spans, counts), records, audit_log })
}

/// Returns the sink of audit records, if they are sent.
pub(crate) fn audit_log(queue: &Queue) -> Option<Arc<dyn AuditSink>> {
    queue.audit_log.clone().map(|log| log as _)
}

impl Queue {
    /// Starts to send, on the runtime that is running.
    pub(crate) fn start(self) -> Result<Telemetry, toolcrib_io::Error> {
        let Self { settings: Settings { traces, logs, resource }, spans, records, audit_log: _ } = self;
        let mut senders = vec![Sender::start(traces, resource.clone(), spans)?];
        if let Some(logs) = logs {
            senders.push(Sender::start(logs, resource, records)?);
        }
        Ok(Telemetry(senders))
    }
}

impl Telemetry {
    /// Sends what is left, and says what could not be sent.
    pub(crate) async fn finish(self) -> Option<String> {
        let finished = futures::future::join_all(self.0.into_iter().map(Sender::finish)).await;
        let unsent: Vec<String> = finished.into_iter().flatten().collect();
        (!unsent.is_empty()).then(|| unsent.join("; "))
    }
}

impl Sender {
    fn start<T: TelemetrySignal>(
        destination: Destination,
        resource: Vec<(String, String)>,
        (queue, counts): (mpsc::Receiver<T>, Arc<Counts>),
    ) -> Result<Self, toolcrib_io::Error> {
        let (stop, endpoint) = (CancellationToken::new(), destination.endpoint.to_string());
        let exporter = Exporter::new(destination, resource, queue, Arc::clone(&counts), stop.clone())?;
        Ok(Self { endpoint, stop, task: tokio::spawn(exporter.run()), counts })
    }

    async fn finish(mut self) -> Option<String> {
        self.stop.cancel();
        if tokio::time::timeout(FLUSH_TIMEOUT, &mut self.task).await.is_err() {
            self.task.abort();
            self.counts.gave_up(FLUSH_TIMEOUT);
        }
        let (unsent, why) = self.counts.unsent()?;
        let what = self.counts.what;
        let (what, were) = if unsent == 1 { (what.trim_end_matches('s'), "was") } else { (what, "were") };
        Some(format!("{unsent} {what} {were} not sent to {}: {why}", self.endpoint))
    }
}
