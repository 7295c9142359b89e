//! Audit records, sent to a collector as logs.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolcrib_exec::audit::{AuditSink, Outcome, Record};

use super::counts::Counts;
use super::encode::{nanoseconds, resource_attributes, scope};
use super::exporter::TelemetrySignal;
use super::ids::SpanIdentity;

/// The name of the event of a record.
const EVENT: &str = "toolcrib.call";

/// The most bytes of a record that is sent. A larger one is sent without the arguments, the result, and the error.
const MAX_RECORD_BYTES: usize = 64 * 1024;

/// Severities of OpenTelemetry.
const INFO: (u8, &str) = (9, "INFO");
const ERROR: (u8, &str) = (17, "ERROR");

/// A sink that queues audit records for the collector.
pub(crate) struct AuditLog {
    queue: mpsc::Sender<AuditEvent>,
    counts: Arc<Counts>,
}

/// A record on its way.
pub(super) struct AuditEvent {
    at: SystemTime,
    /// The span of the call.
    place: Option<SpanIdentity>,
    is_error: bool,
    attributes: Vec<(&'static str, String)>,
    /// The record as JSON.
    body: String,
}

impl AuditLog {
    pub(super) fn new(queue: mpsc::Sender<AuditEvent>, counts: Arc<Counts>) -> Self {
        Self { queue, counts }
    }
}

impl AuditSink for AuditLog {
    fn record(&self, record: &Record) {
        if self.queue.try_send(AuditEvent::new(record)).is_err() {
            self.counts.no_room();
        }
    }
}

impl AuditEvent {
    fn new(record: &Record) -> Self {
        let mut body = json!(record).to_string();
        if body.len() > MAX_RECORD_BYTES {
            let mut small = record.clone();
            (small.arguments, small.original_arguments) = (None, None);
            (small.result, small.error) = (None, None);
            body = json!(small).to_string();
        }
        let mut attributes = vec![("session.id", record.session.clone())];
        attributes.extend(record.tool.clone().map(|tool| ("gen_ai.tool.name", tool)));
        attributes.push(("toolcrib.outcome", record.outcome.as_str().to_owned()));
        Self {
            at: SystemTime::now(),
            place: record.trace.as_deref().and_then(SpanIdentity::parse),
            is_error: matches!(record.outcome, Outcome::Failed(_) | Outcome::Dropped),
            attributes,
            body,
        }
    }

    fn encode(&self) -> Value {
        let (number, text) = if self.is_error { ERROR } else { INFO };
        let attributes: Vec<_> = self
            .attributes
            .iter()
            .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
            .collect();
        json!({
            "timeUnixNano": nanoseconds(self.at),
            "observedTimeUnixNano": nanoseconds(self.at),
            "severityNumber": number,
            "severityText": text,
            "eventName": EVENT,
            "body": {"stringValue": self.body},
            "attributes": attributes,
            "traceId": self.place.map(|place| place.trace.to_string()).unwrap_or_default(),
            "spanId": self.place.map(|place| place.span.to_string()).unwrap_or_default(),
        })
    }
}

impl TelemetrySignal for AuditEvent {
    fn request(resource: &[(String, String)], batch: &[Self]) -> Value {
        json!({"resourceLogs": [{
            "resource": {"attributes": resource_attributes(resource)},
            "scopeLogs": [{"scope": scope(), "logRecords": batch.iter().map(Self::encode).collect::<Vec<_>>()}],
        }]})
    }
}
