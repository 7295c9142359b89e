//! Spans and records of the real binary.

use std::fmt::Write as _;
use std::net::TcpListener;

use serde_json::{Value, json};
use toolcrib_testkit::{Collector, ModelServer, Turn};

use crate::support::{AgentApp, TestDir, binary};

/// What no span and no record may hold.
const CANARY: &str = "kingfisher";

fn named<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("no span `{name}`: {spans:#?}"))
}

/// The spans as a tree, without what differs from run to run.
fn tree(spans: &[Value], parent: &str, level: usize, out: &mut String) {
    let mut below: Vec<_> = spans.iter().filter(|span| span["parentSpanId"] == parent).collect();
    below.sort_by_key(|span| span["startTimeUnixNano"].as_str().map(str::to_owned));
    for span in below {
        let indent = "  ".repeat(level);
        writeln!(
            out,
            "{indent}{} kind={} status={}",
            span["name"].as_str().unwrap(),
            span["kind"],
            span["status"]["code"]
        )
        .unwrap();
        for (key, value) in span["attributes"].as_object().unwrap() {
            writeln!(out, "{indent}  - {key}: {value}").unwrap();
        }
        tree(spans, span["spanId"].as_str().unwrap(), level + 1, out);
    }
}

#[tokio::test]
async fn a_run_is_one_trace_of_agent_model_and_tools() {
    let collector = Collector::start().await.unwrap();
    let turns = [
        Turn::call("shop__price", &json!({"item": CANARY})),
        Turn::call("shop__price", &json!({"item": 1})),
        Turn::text(CANARY),
    ];
    let server = ModelServer::start(turns).await.unwrap();
    let dir =
        AgentApp::default().dir(&server).with_variable("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint());
    let output = dir.run(["run", "app.yaml", "Answer the note.", "--json"]).await.expect(0);
    assert_eq!(output.stderr, "");
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span["traceId"] == spans[0]["traceId"]));
    assert!(!json!(spans).to_string().contains(CANARY));
    let mut text = String::new();
    tree(&spans, "", 0, &mut text);
    snapshot!(dir, text);
}

#[tokio::test]
async fn a_call_passes_its_trace_on_to_an_mcp_server() {
    let collector = Collector::start().await.unwrap();
    let app = format!(
        "
tools:
  registry:
    - type: mcp
      namespace: remote
      command: ['{}', serve, served.yaml, --stdio]
      env: {{OTEL_EXPORTER_OTLP_ENDPOINT: '{}', OTEL_SERVICE_NAME: served}}
  capabilities: {{default_policy: grant}}
",
        binary().display(),
        collector.endpoint()
    );
    let served = "modules: {hello: {}}\ntools: {capabilities: {default_policy: grant}}\n";
    let dir = TestDir::with_app(&app).with_file("served.yaml", served);
    let arguments = r#"{"name": "Ada"}"#;
    let flag = collector.endpoint();
    dir.run(["call", "app.yaml", "remote.hello__say_hello", arguments, "--otlp", &flag]).await.expect(0);
    let spans = collector.spans();
    let (client, server) = (
        named(&spans, "execute_tool remote.hello__say_hello"),
        named(&spans, "execute_tool hello.say_hello"),
    );
    let request = named(&spans, "tools/call");
    assert_eq!((&request["traceId"], &request["parentSpanId"]), (&client["traceId"], &client["spanId"]));
    assert_eq!((&server["traceId"], &server["parentSpanId"]), (&client["traceId"], &request["spanId"]));
    let attributes = &client["attributes"];
    assert_eq!((&client["kind"], &attributes["mcp.method.name"]), (&json!(3), &json!("tools/call")));
    assert_eq!(attributes["network.transport"], "pipe");
    assert_eq!(attributes["mcp.protocol.version"], "2026-07-28");
    assert_eq!(named(&spans, "initialize")["kind"], 3);
    assert_eq!(named(&spans, "tools/list")["attributes"]["mcp.method.name"], "tools/list");
}

const HELLO: &str = "modules: {hello: {}}\ntools: {capabilities: {default_policy: grant}}\n";

#[tokio::test]
async fn a_collector_that_is_not_there_changes_no_result() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let dir = TestDir::with_app(HELLO);
    let endpoint = format!("http://127.0.0.1:{port}");
    let greeted = ["call", "app.yaml", "hello.say_hello", r#"{"name": "Ada"}"#, "--otlp", &endpoint];
    let greeted = dir.run(greeted).await.expect(0);
    assert_eq!(greeted.stdout, "Hello, Ada!\n");
    assert!(greeted.stderr.contains("\nwarning: 1 span was not sent to http://127.0.0.1:"), "{greeted:#?}");
    // Nobody listens by default either, and a word that is no address is not taken for one.
    let mistaken = dir.run(["call", "--otlp", "app.yaml", "hello.status", "--json"]).await.expect(2);
    assert!(mistaken.stderr.contains("--otlp"), "{mistaken:#?}");
}

#[tokio::test]
async fn a_collector_that_never_answers_holds_a_call_up_no_longer_than_its_end() {
    let collector = Collector::silent().await.unwrap();
    let dir = TestDir::with_app(HELLO).with_variable("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint());
    let greeted = dir.run(["call", "app.yaml", "hello.say_hello", r#"{"name": "Ada"}"#]).await.expect(0);
    assert!(greeted.stderr.ends_with("the collector did not answer within 5 s\n"), "{greeted:#?}");
    // What runs no tools has nothing to send.
    dir.run(["tools", "app.yaml"]).await.expect(0);
    assert_eq!(collector.exports().len(), 1);
}

#[tokio::test]
async fn audit_records_are_logs_beside_the_spans_if_the_operator_asks_for_them() {
    let collector = Collector::start().await.unwrap();
    let dir = TestDir::with_app(HELLO).with_variable("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint());
    let arguments = format!(r#"{{"name": "{CANARY}"}}"#);
    dir.run(["call", "app.yaml", "hello.say_hello", &arguments]).await.expect(0);
    assert!(collector.logs().is_empty());
    let dir = dir.with_variable("OTEL_LOGS_EXPORTER", "otlp");
    dir.run(["call", "app.yaml", "hello.say_hello", &arguments]).await.expect(0);
    dir.run(["call", "app.yaml", "hello.say_hello", "{}"]).await.expect(2);
    let (logs, spans) = (collector.logs(), collector.spans());
    let told: Vec<_> = logs
        .iter()
        .map(|log| (log["severityText"].as_str(), log["attributes"]["toolcrib.outcome"].as_str()))
        .collect();
    assert_eq!(told, [(Some("INFO"), Some("ok")), (Some("ERROR"), Some("invalid_args"))]);
    assert!(!json!(logs).to_string().contains(CANARY));
    for log in &logs {
        let span = spans.iter().find(|span| span["spanId"] == log["spanId"]).unwrap();
        assert_eq!(span["traceId"], log["traceId"]);
        let record: Value = serde_json::from_str(log["body"]["stringValue"].as_str().unwrap()).unwrap();
        assert_eq!((&record["tool"], &record["v"]), (&json!("hello::say_hello"), &json!(1)));
    }
}

#[tokio::test]
async fn each_call_leaves_one_record_without_values() {
    let app = "
audit: {path: audit.jsonl}
modules: {hello: {}}
tools:
  capabilities: {default_policy: grant, deny: [{module: hello, actions: [status]}], approve: [{module: hello, actions: [greet_many]}]}
";
    let dir = TestDir::with_app(app);
    let calls = [
        ("hello.say_hello", format!(r#"{{"name": "{CANARY}"}}"#), 0),
        ("hello.say_hello", format!(r#"{{"{CANARY}": 1}}"#), 2),
        ("hello.status", "{}".to_owned(), 3),
        ("hello.greet_many", format!(r#"{{"names": ["{CANARY}"]}}"#), 4),
        ("hello.no_such_tool", format!(r#"{{"name": "{CANARY}"}}"#), 2),
    ];
    for (name, arguments, code) in &calls {
        dir.run(["call", "app.yaml", name, arguments]).await.expect(*code);
    }
    let text = dir.read("audit.jsonl");
    assert!(!text.contains(CANARY), "{text}");
    assert_eq!(text.lines().count(), calls.len());
    let mut settings = dir.snapshot_settings();
    settings.add_filter(r#""time":"[^"]{24}""#, r#""time":"[time]""#);
    settings.add_filter(r#""arguments_hash":"[0-9a-f]{64}""#, r#""arguments_hash":"[hash]""#);
    settings.add_filter(r#""fingerprint":"[0-9a-f]{64}""#, r#""fingerprint":"[fingerprint]""#);
    settings.add_filter(r#""(waited|ran|total)_ms":[0-9.]+"#, r#""${1}_ms":"[ms]""#);
    settings.bind(|| insta::assert_snapshot!(text));
}
