//! What an app file may say, and what models read of it.

use toolcrib_model::ToolError;

use super::super::circuit_breaker::CircuitOpen;
use super::super::refusal::{LimitedSubject, Refusal};
use super::*;

#[test]
fn what_is_said_nearest_holds() {
    let settings: FlowSettings = serde_json::from_value(json!({
        "source": {"max_concurrency": 20, "rate": {"calls": 100}},
        "sources": {"far": {"max_concurrency_per_tool": 3, "queue": 7}, "here": {"queue": 9}},
        "tools": {"t::set": {"max_concurrency": 50, "rate": {"calls": 5, "per_seconds": 1, "burst": 1}}},
    }))
    .unwrap();
    let permits = |source: &str, tool: &Tool| {
        settings.tool_limit(source, tool, source == "here" || source == "near").permits
    };
    let declared = |count: Value| tool("plain").with_metadata("max_concurrency", count);

    let (far, other) = (settings.source_limit("far", false), settings.source_limit("other", false));
    assert_eq!((far.permits, far.queue, other.permits, other.queue), (Some(20), 7, Some(20), 10_000));
    assert_eq!(far.rate, other.rate);
    assert_eq!(far.rate.unwrap().per, Duration::from_mins(1));
    assert_eq!(permits("far", &tool("plain")), Some(3));
    assert_eq!(permits("other", &tool("plain")), Some(8));
    assert_eq!(permits("other", &tool("set")), Some(50));
    // What a tool says of itself makes less of what it is given, and never more.
    assert_eq!(permits("other", &declared(json!(2))), Some(2));
    assert_eq!(permits("other", &declared(json!(100))), Some(8));
    assert_eq!(permits("other", &declared(json!(0))), Some(8));
    assert_eq!(permits("other", &declared(json!("2"))), Some(8));
    // Nothing is bounded in this process, unless something is said.
    assert!(settings.source_limit("near", true).is_unlimited() && settings.breaker("near", true).is_none());
    assert!(settings.is_unbounded("near", &tool("plain")));
    assert!(!settings.is_unbounded("near", &tool("set")));
    assert!(!settings.is_unbounded("near", &declared(json!(2))));
    assert!(!settings.is_unbounded("here", &tool("plain")));
    assert_eq!(permits("near", &declared(json!(2))), Some(2));
    assert_eq!(permits("near", &tool("plain")), None);
}

#[test]
fn settings_come_back_as_they_were_written() {
    let written = json!({
        "source": {
            "timeout_seconds": 30.0,
            "max_concurrency": 4,
            "max_concurrency_per_tool": 2,
            "queue": 10,
            "rate": {"calls": 5, "per_seconds": 1.5, "burst": null, "exact": false},
            "breaker": {"failures": 3, "open_seconds": 1.0, "max_open_seconds": 30.0},
            "retries": 1
        },
        "sources": {},
        "tools": {},
        "cache": {"max_entries": 1, "max_bytes": 2, "max_entry_bytes": 3, "ttl_seconds": 4.0}
    });
    let settings: FlowSettings = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&settings).unwrap(), written);
    let defaults = serde_json::to_value(FlowSettings::default()).unwrap();
    assert_eq!(serde_json::from_value::<FlowSettings>(defaults).unwrap(), FlowSettings::default());
}

#[test]
fn a_timeout_is_what_the_operator_says_of_the_tool_then_what_the_tool_says_then_what_its_source_has() {
    let settings = json!({
        "source": {"timeout_seconds": 5},
        "sources": {"far": {"timeout_seconds": 7}},
        "tools": {"t::set": {"timeout_seconds": 9}, "t::long": {"timeout_seconds": 6000}},
    });
    let settings: FlowSettings = serde_json::from_value(settings).unwrap();
    let declared = |name| tool(name).with_metadata("timeout_seconds", 8);
    let seconds = |source, tool: &Tool| settings.timeout(source, tool).as_secs();
    assert_eq!(seconds("other", &tool("plain")), 5);
    assert_eq!(seconds("near", &tool("plain")), 5);
    assert_eq!(seconds("far", &tool("plain")), 7);
    assert_eq!(seconds("far", &declared("plain")), 8);
    assert_eq!(seconds("far", &declared("set")), 9);
    assert_eq!(seconds("far", &tool("long")), 600);
    assert_eq!(FlowSettings::default().timeout("far", &tool("plain")).as_secs(), 60);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (wrong, said) in [
        (json!({"source": {"max_concurency": 1}}), "max_concurency"),
        (json!({"source": {"max_concurrency": 0}}), "nonzero"),
        (json!({"source": {"max_concurrency": -1}}), "-1"),
        (json!({"source": {"rate": {"calls": 0}}}), "nonzero"),
        (json!({"source": {"rate": {"calls": 1, "per_seconds": -1}}}), "-1 is not a number of seconds"),
        (json!({"source": {"breaker": {"open_seconds": 1e9}}}), "between 0 and 86400"),
        (json!({"tools": {"no_namespace": {}}}), "namespace::name"),
    ] {
        let error = serde_json::from_value::<FlowSettings>(wrong).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_refusal_says_what_to_do_next() {
    let call = plain("mcp weather");
    let texts = [
        Refusal::Cancelled,
        Refusal::Overdue,
        Refusal::Full { subject: LimitedSubject::Tool, queue: 1_000 },
        Refusal::Full { subject: LimitedSubject::Source, queue: 1_000 },
        Refusal::Full { subject: LimitedSubject::SameCall, queue: 1_000 },
        Refusal::TooOften { subject: LimitedSubject::Tool, retry_after: millis(1_200) },
        Refusal::TooOften { subject: LimitedSubject::Source, retry_after: seconds(90) },
        Refusal::CircuitOpen(CircuitOpen { failures: 5, retry_after: millis(4_999) }),
    ]
    .map(|refusal| error_of(refusal.of(&call)))
    .map(|error: ToolError| format!("{error} retryable: {}", error.retryable));
    insta::assert_snapshot!(texts.join("\n"));
}
