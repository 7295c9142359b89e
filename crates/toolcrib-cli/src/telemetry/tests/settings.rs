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
        let endpoint = settings.map(|settings| settings.traces.endpoint.to_string());
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
    assert_eq!(settings.traces.headers["x-key"], "a b,c");
    assert!(settings.traces.headers["x-key"].is_sensitive());
    assert_eq!(settings.traces.headers["x-other"], "1");
    assert_eq!(settings.traces.timeout, Duration::from_millis(2500));
    let resource: BTreeMap<_, _> = settings.resource.into_iter().collect();
    assert_eq!((resource["service.name"].as_str(), resource["team"].as_str()), ("desk", "réd%"));
}

#[test]
fn audit_records_are_sent_only_where_a_variable_says_so_and_without_the_headers_of_traces() {
    let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://common:1/base");
    let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:2/as/it/is");
    let logs = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://logs:3/as/it/is");
    let otlp = ("OTEL_LOGS_EXPORTER", "otlp");
    let table: [(Variables<'_>, Option<&str>); 5] = [
        (&[common], None),
        (&[common, ("OTEL_LOGS_EXPORTER", "none")], None),
        (&[common, otlp], Some("http://common:1/base/v1/logs")),
        (&[common, logs], Some("http://logs:3/as/it/is")),
        (&[traces, otlp, logs], Some("http://logs:3/as/it/is")),
    ];
    for (variables, expected) in table {
        let logs = read(None, variables).unwrap().unwrap().logs.map(|logs| logs.endpoint.to_string());
        assert_eq!(logs.as_deref(), expected, "{variables:?}");
    }
    assert!(read(None, &[traces, otlp]).unwrap_err().contains("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"));
    let key = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "api-key=secret");
    let settings = read(None, &[common, otlp, key]).unwrap().unwrap();
    assert_eq!((settings.traces.headers.len(), settings.logs.unwrap().headers.len()), (1, 0));
}
