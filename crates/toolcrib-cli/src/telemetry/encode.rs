//! Spans as OTLP/JSON: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::exporter::TelemetrySignal;
use super::layer::{Attribute, Closed, Kind};

impl TelemetrySignal for Closed {
    fn request(resource: &[(String, String)], spans: &[Self]) -> Value {
        json!({"resourceSpans": [{
            "resource": {"attributes": resource_attributes(resource)},
            "scopeSpans": [{"scope": scope(), "spans": spans.iter().map(span).collect::<Vec<_>>()}],
        }]})
    }
}

pub(super) fn resource_attributes(resource: &[(String, String)]) -> Vec<Value> {
    resource.iter().map(|(key, value)| json!({"key": key, "value": {"stringValue": value}})).collect()
}

pub(super) fn scope() -> Value {
    json!({"name": "toolcrib", "version": env!("CARGO_PKG_VERSION")})
}

fn span(span: &Closed) -> Value {
    let attributes: Vec<_> =
        span.attributes.iter().map(|(key, value)| json!({"key": key, "value": attribute(value)})).collect();
    json!({
        "traceId": span.place.trace.to_string(),
        "spanId": span.place.span.to_string(),
        // Empty for the first of a trace.
        "parentSpanId": span.parent.map(|parent| parent.to_string()).unwrap_or_default(),
        "name": span.name,
        "kind": kind(span.kind),
        "startTimeUnixNano": nanoseconds(span.started),
        "endTimeUnixNano": nanoseconds(span.started + span.took),
        "attributes": attributes,
        // Unset, or an error.
        "status": {"code": if span.is_error { 2 } else { 0 }},
    })
}

fn attribute(attribute: &Attribute) -> Value {
    match attribute {
        Attribute::Text(text) => json!({"stringValue": text}),
        Attribute::List(text) => json!({"arrayValue": {"values": [{"stringValue": text}]}}),
        // Integers of 64 bits are texts in the JSON of protocol buffers.
        Attribute::Integer(number) => json!({"intValue": number.to_string()}),
        Attribute::Number(number) => json!({"doubleValue": number}),
        Attribute::Flag(flag) => json!({"boolValue": flag}),
    }
}

fn kind(kind: Kind) -> u8 {
    match kind {
        Kind::Internal => 1,
        Kind::Server => 2,
        Kind::Client => 3,
    }
}

pub(super) fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
