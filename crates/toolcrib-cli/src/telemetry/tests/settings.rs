//! The flag, and the variables of the specification.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::telemetry::Settings;

type Variables<'a> = &'a [(&'a str, &'a str)];

fn read(flag: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
    let variables: BTreeMap<_, _> = variables.iter().copied().collect();
    Settings::read(flag, |name| variables.get(name).map(|value| (*value).to_owned()))
}

#[test]
fn the_flag_comes_before_the_variables_and_traces_before_all_signals() {
    let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://common:1/base/");
    let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:2/as/it/is");
    let off = ("OTEL_SDK_DISABLED", "TRUE");
    let none = ("OTEL_TRACES_EXPORTER", "none");
    let table: [(Option<&str>, Variables<'_>, Option<&str>); 11] = [
        (None, &[], None),
        (None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")], None),
        (None, &[common], Some("http://common:1/base/v1/traces")),
        (None, &[common, traces], Some("http://traces:2/as/it/is")),
        (None, &[common, off], None),
        (None, &[common, none], None),
        (Some(""), &[], Some("http://localhost:4318/v1/traces")),
        (Some(""), &[common, off], Some("http://common:1/base/v1/traces")),
        (Some("http://flag:3"), &[common, traces], Some("http://flag:3/v1/traces")),
        (Some("http://flag:3/v1/traces"), &[], Some("http://flag:3/v1/traces")),
        (Some("https://flag"), &[], Some("https://flag/v1/traces")),
    ];
    for (flag, variables, expected) in table {
        let settings = read(flag, variables).unwrap();
        let endpoint = settings.map(|settings| settings.endpoint.to_string());
        assert_eq!(endpoint.as_deref(), expected, "{flag:?} {variables:?}");
    }
}

#[test]
fn what_is_wrong_is_said_without_the_value() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c");
    let table: [(Option<&str>, Variables<'_>, &str); 4] = [
        (Some("app.yaml"), &[], "`--otlp` is not the address"),
        (
            None,
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "s3cret:4317")],
            "OTEL_EXPORTER_OTLP_ENDPOINT is not the address",
        ),
        (None, &[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "http/json"),
        (
            None,
            &[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,b c=s3cret")],
            "OTEL_EXPORTER_OTLP_HEADERS: entry 2",
        ),
    ];
    for (flag, variables, expected) in table {
        let message = read(flag, variables).unwrap_err();
        assert!(message.contains(expected) && !message.contains("s3cret"), "{message}");
    }
}

#[test]
fn headers_resource_and_timeout_are_read_as_the_specification_has_them() {
    let settings = read(
        Some(""),
        &[
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=common"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", " x-key = a%20b%2Cc ,x-other=1"),
            ("OTEL_SERVICE_NAME", "desk"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=r%C3%A9d%, broken"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ],
    );
    let settings = settings.unwrap().unwrap();
    assert_eq!(settings.headers["x-key"], "a b,c");
    assert!(settings.headers["x-key"].is_sensitive());
    assert_eq!(settings.headers["x-other"], "1");
    assert_eq!(settings.timeout, Duration::from_millis(2500));
    let resource: BTreeMap<_, _> = settings.resource.into_iter().collect();
    assert_eq!((resource["service.name"].as_str(), resource["team"].as_str()), ("desk", "réd%"));
}
