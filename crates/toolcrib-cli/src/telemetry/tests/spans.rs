//! What becomes of spans.

use serde_json::json;
use tracing::subscriber::with_default;
use tracing::{info_span, trace_span};

use super::noting;
use crate::telemetry::exporter::TelemetrySignal as _;
use crate::telemetry::ids::SpanIdentity;
use crate::telemetry::layer::{Closed, Kind, traceparent};

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn a_span_is_noted_with_its_name_kind_status_parent_and_attributes() {
    let (subscriber, mut spans, _) = noting(8);
    with_default(subscriber, || {
        let outer = info_span!("outer", "toolcrib.parent" = CALLER, number = 7, flag = true, share = 0.5);
        let _entered = outer.enter();
        let inner = info_span!(
            "inner",
            "otel.name" = "tools/call x",
            "otel.kind" = "client",
            later = tracing::field::Empty,
            "otel.status_code" = tracing::field::Empty
        );
        inner.record("later", "first");
        inner.record("later", "last");
        inner.record("otel.status_code", "ERROR");
    });
    let (inner, outer) = (spans.try_recv().unwrap(), spans.try_recv().unwrap());
    assert_eq!(
        (outer.kind, inner.kind, outer.is_error, inner.is_error),
        (Kind::Internal, Kind::Client, false, true)
    );
    assert_eq!(inner.parent, Some(outer.place.span));
    assert_eq!(outer.parent, Some(SpanIdentity::parse(CALLER).unwrap().span));
    assert_eq!(inner.place.trace, SpanIdentity::parse(CALLER).unwrap().trace);
    let body = Closed::request(&[("service.name".into(), "t".into())], &[inner, outer]).to_string();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r#""(start|end)TimeUnixNano": "\d{19}""#, r#""${1}TimeUnixNano": "[time]""#);
    settings.add_filter(r#""spanId": "[0-9a-f]{16}""#, r#""spanId": "[id]""#);
    settings.add_filter(
        r#""parentSpanId": "(?P<_>[0-9a-e][0-9a-f]{15}|f[0-9a-f]{15})""#,
        r#""parentSpanId": "[id]""#,
    );
    settings.add_filter(r#""version": "[^"]*""#, r#""version": "[version]""#);
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    settings.bind(|| insta::assert_snapshot!(serde_json::to_string_pretty(&body).unwrap()));
}

#[test]
fn spans_of_libraries_and_events_are_not_noted_and_their_children_keep_their_parents() {
    let (subscriber, mut spans, _) = noting(8);
    with_default(subscriber, || {
        let outer = info_span!("outer");
        let _outer = outer.enter();
        let library = info_span!(target: "rmcp::service", "library");
        let _library = library.enter();
        tracing::info!("an event");
        let _inner = trace_span!("inner").entered();
    });
    let (inner, outer) = (spans.try_recv().unwrap(), spans.try_recv().unwrap());
    assert_eq!((&*inner.name, &*outer.name), ("inner", "outer"));
    assert_eq!(inner.parent, Some(outer.place.span));
    assert!(spans.try_recv().is_err());
}

#[test]
fn a_caller_that_does_not_sample_is_followed_and_one_that_makes_no_sense_is_not() {
    let table = [
        (CALLER, 1, true),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", 0, true),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", 1, false),
        ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", 1, false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", 1, false),
        ("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", 1, true),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 1, false),
        ("", 1, false),
        ("é", 1, false),
    ];
    for (caller, sent, is_followed) in table {
        let (subscriber, mut spans, _) = noting(8);
        let own =
            with_default(subscriber, || traceparent(&info_span!("x", "toolcrib.parent" = caller)).unwrap());
        assert_eq!(own.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"), is_followed, "{caller}");
        assert_eq!(own.len(), 55);
        let mut closed = 0;
        while spans.try_recv().is_ok() {
            closed += 1;
        }
        assert_eq!(closed, sent, "{caller}");
    }
}

#[test]
fn a_full_queue_drops_spans_and_counts_them() {
    let (subscriber, mut spans, counts) = noting(2);
    with_default(subscriber, || (0..5).for_each(|_| drop(info_span!("x"))));
    assert_eq!(counts.unsent().unwrap().0, 3);
    assert!(spans.try_recv().is_ok() && spans.try_recv().is_ok() && spans.try_recv().is_err());
}

#[test]
fn long_texts_are_cut() {
    let (subscriber, mut spans, _) = noting(1);
    with_default(subscriber, || drop(info_span!("x", text = "é".repeat(5000))));
    let body = Closed::request(&[], &[spans.try_recv().unwrap()]);
    let text =
        &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"][0]["value"]["stringValue"];
    assert_eq!(*text, json!("é".repeat(512)));
}
