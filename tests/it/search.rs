//! Search by the binary: its settings, its reasons, its evaluation, and queries of all sorts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{TestDir, error_texts, mcp_script};

const APP: &str = "
modules: {hello: {}, filesystem: {}}
tools:
  registry:
    - {type: file, path: shipping.yaml}
    - {type: mcp, namespace: team, command: [sh, server.sh]}
  capabilities: {default_policy: grant, deny: [{module: hello}]}
";

const SHIPPING: &str = r#"
shipping:
  - {name: quote, description: "What it costs to ship a parcel, in euro."}
  - {name: book_pickup, description: Has a parcel picked up., parameters: {type: object, properties: {day: {type: string}}}}
"#;

fn dir() -> TestDir {
    TestDir::with_app(APP).with_file("shipping.yaml", SHIPPING).with_file("server.sh", mcp_script(""))
}

/// What was found, best first, and why nothing was.
async fn found(dir: &TestDir, query: &str) -> (Vec<String>, Value) {
    let found = dir.run(["search", "app.yaml", query, "--json"]).await.expect(0).json();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    (found["results"].as_array().unwrap().iter().map(name).collect(), found["reason"].clone())
}

#[tokio::test]
async fn each_of_these_queries_finds_what_was_meant_or_says_why_not() {
    let dir = dir();
    for (query, first) in [
        ("read a text file", "filesystem.read"),
        ("book-pickup", "shipping.book_pickup"),
        ("SHIPPING.BookPickup()", "shipping.book_pickup"),
        ("lire un fichier", "filesystem.read"),
        ("qoute", "shipping.quote"),
    ] {
        let (names, reason) = found(&dir, query).await;
        let shown: String = query.chars().take(40).collect();
        assert_eq!(names.first().map(String::as_str), Some(first), "{shown}: {names:?} {reason}");
        assert_eq!(reason, Value::Null, "{shown}");
    }
    for query in ["chop wood", "切木头"] {
        let report = dir.run(["search", "app.yaml", query, "--json"]).await.expect(0).json();
        assert!(report["outcome"] == "weak" || report["outcome"] == "no_match", "{report}");
    }
    let (names, _) = found(&dir, &"parcel ".repeat(14_000)).await;
    assert!(names[0].starts_with("shipping."), "of a query of 100 KB the beginning is read: {names:?}");
    for query in ["", "  ", "?!"] {
        assert_eq!(found(&dir, query).await, (vec![], json!("empty_query")), "{query:?}");
    }
}

#[tokio::test]
async fn a_tool_that_may_not_be_used_is_told_as_a_number_only() {
    let dir = dir();
    let text = error_texts(&dir, ["search", "app.yaml", "greets one person by name"], 0).await;
    assert!(!text.contains("say_hello"), "{text}");
    snapshot!(dir, text);
}

#[tokio::test]
async fn a_source_that_is_down_may_have_had_what_was_not_found() {
    let dir = dir().with_file("server.sh", "exit 3\n");
    assert_eq!(found(&dir, "zirconium futures").await.1, json!("source_down"));
    assert_eq!(found(&dir, "read a text file").await.1, Value::Null, "what is there is found");
}

#[tokio::test]
async fn a_document_that_wants_credentials_needs_a_login() {
    let app = axum::Router::new().fallback(async || axum::http::StatusCode::UNAUTHORIZED);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let source =
        format!("{{type: rest, namespace: crm, spec: 'http://{address}/a.json', allow_private: true}}");
    let dir = TestDir::with_app(&format!("modules: {{hello: {{}}}}\ntools: {{registry: [{source}]}}\n"));
    let tools = dir.run(["tools", "app.yaml", "--json"]).await.expect(5).json();
    assert_eq!(tools["rejected"][0]["kind"], "needs_login", "{tools}");
    assert_eq!(found(&dir, "zirconium futures").await.1, "needs_login");
}

#[tokio::test]
async fn an_explanation_has_the_place_in_each_arm_and_the_words_that_matched() {
    let dir = dir();
    let query = ["search", "app.yaml", "read a text file", "--explain", "--limit", "1"];
    let output = dir.run(query).await.expect(0).stdout;
    for part in
        ["1. filesystem.read (low)", "keyword: rank 1", "meaning: rank 1", "together: ", "words: read, text"]
    {
        assert!(output.contains(part), "{part}: {output}");
    }
    let named =
        dir.run(["search", "app.yaml", "shipping.quote", "--explain", "--limit", "1"]).await.expect(0);
    assert!(named.stdout.contains("the query names it"), "{named:#?}");
    let plain = dir.run(["search", "app.yaml", "shipping.quote", "--json"]).await.expect(0).json();
    assert_eq!(plain["results"][0]["explain"], Value::Null);
}

#[tokio::test]
async fn a_setting_that_is_wrong_is_shown_with_line_and_column() {
    let dir = TestDir::new();
    let mut text = String::new();
    for settings in [
        "{tier: fast}",
        "{model: all-MiniLM-L6-v2}",
        "{tier: fastembed, model: all-MiniLM-L6-v2, model_dir: models}",
        "{rankng: fused}",
        "{ranking: best}",
        "{synonyms: [greet, hail]}",
        "{synonyms: [[greet, hail], [ship]]}",
    ] {
        std::fs::write(dir.path("app.yaml"), format!("tools:\n  search: {settings}\n")).unwrap();
        let output = dir.run(["validate", "app.yaml"]).await.expect(2);
        writeln!(text, "{settings}\n  {}", output.stderr.trim_end()).unwrap();
    }
    snapshot!(dir, text);
}

#[tokio::test]
async fn settings_change_what_is_found_and_how() {
    let with = |settings: &str| {
        let app = format!("{APP}  search: {settings}\n");
        dir().with_file("app.yaml", app)
    };
    let query = ["search", "app.yaml", "consignment", "--json"];
    assert_eq!(with("{tier: keyword}").run(query).await.expect(0).json()["outcome"], "no_match");
    let dir = with("{tier: keyword, synonyms: [[consignment, parcel]]}");
    let report = dir.run(query).await.expect(0).json();
    assert_eq!((&report["engine"], &report["outcome"]), (&json!("keyword"), &json!("ok")), "{report}");
    assert!(report["results"][0]["name"].as_str().unwrap().starts_with("shipping."), "{report}");
    let weighted = with("{ranking: weighted}").run(["search", "app.yaml", "ship a parcel", "--json"]).await;
    let score = weighted.expect(0).json()["results"][0]["score"].as_f64().unwrap();
    assert!(score > 2.0, "the weighted sum is no share: {score}");
}

const TOOLS: &str = r#"[
    {"namespace": "files", "name": "read", "description": "Reads a text file.", "parameters": {}},
    {"namespace": "files", "name": "remove", "description": "Deletes a file.", "parameters": {}},
    {"namespace": "weather", "name": "forecast", "description": "The weather of tomorrow.", "parameters": {}}
]"#;

const QUERIES: &str = r#"{"query": "delete this file", "relevant": ["files::remove"]}
{"query": "will it rain tomorrow", "relevant_any": [["weather::forecast", "files::read"]]}
{"query": "chop wood", "relevant": []}
"#;

#[tokio::test]
async fn an_evaluation_has_the_figures_of_its_form_and_reads_as_well() {
    let dir = TestDir::new().with_file("tools.json", TOOLS).with_file("queries.jsonl", QUERIES);
    let words = ["eval", "--tools", "tools.json", "--queries", "queries.jsonl"];
    let report = dir.run_words(&[&words[..], &["--json"]].concat()).await.expect(0).json();
    for key in [
        "tools",
        "queries",
        "engine",
        "ndcg@10",
        "recall@1",
        "recall@5",
        "recall@10",
        "completeness@10",
        "mrr@10",
        "hit@1",
        "abstained",
        "index_ms",
        "latency_ms",
    ] {
        assert!(report.get(key).is_some(), "{key}: {report}");
    }
    assert_eq!(
        (&report["tools"], &report["queries"], &report["ndcg@10"]),
        (&json!(3), &json!(3), &json!(1.0))
    );
    assert!(report["latency_ms"]["p50"].as_f64().unwrap() > 0.0);
    let told = dir.run(words).await.expect(0).stdout;
    for line in ["ndcg@10          100.0 %", "tools            3", "latency          p50 "] {
        assert!(told.contains(line), "{line}: {told}");
    }
}

#[tokio::test]
async fn an_evaluation_takes_the_settings_of_an_app_and_says_what_answered() {
    let dir = TestDir::new().with_file("tools.json", TOOLS).with_file("queries.jsonl", QUERIES);
    let words = ["eval", "--tools", "tools.json", "--queries", "queries.jsonl"];
    for (flags, engine) in [
        (&[][..], "hybrid builtin:"),
        (&["--tier", "builtin", "--ranking", "weighted"], "hybrid builtin:"),
        (&["--tier", "keyword", "--ranking", "fused"], "keyword"),
    ] {
        let report = dir.run_words(&[&words[..], flags, &["--json"]].concat()).await.expect(0).json();
        let said = report["engine"].as_str().unwrap();
        assert!(said.starts_with(engine) && report["ndcg@10"] == json!(1.0), "{flags:?}: {report}");
    }
    let mut text = String::new();
    for flags in [
        &["--tier", "words"][..],
        &["--ranking", "best"],
        &["--model", "a", "--model-dir", "b", "--tier", "fastembed"],
        &["--model-dir", "models"],
        &["--tier", "keyword", "--model", "all-MiniLM-L6-v2"],
    ] {
        let output = dir.run_words(&[&words[..], flags].concat()).await.expect(2);
        writeln!(text, "{}", output.stderr.trim_end()).unwrap();
    }
    snapshot!(dir, text);
}

#[tokio::test]
async fn a_labelled_set_that_is_wrong_is_named_with_line_and_column() {
    let dir = TestDir::new();
    let mut text = String::new();
    for (tools, queries, code) in [
        ("", QUERIES, 2),
        ("{}", QUERIES, 2),
        ("[{\"name\": \"read\"}]", QUERIES, 2),
        (TOOLS, "{\"query\": \"a\", \"relevant\": []}\n{\"query\": 3, \"relevant\": []}\n", 2),
        (TOOLS, "{\"query\": \"a\", \"relevent\": [\"files::read\"]}\n", 2),
        (TOOLS, "no json\n", 2),
        (TOOLS, "{\"query\": \"a\", \"relevant\": [\"no name\"]}\n", 2),
        (TOOLS, "{\"query\": \"read a file\", \"relevant\": [\"files::open\"]}\n", 0),
        (TOOLS, "", 2),
        ("[]", "{\"query\": \"a\", \"relevant\": []}\n", 0),
    ] {
        std::fs::write(dir.path("tools.json"), tools).unwrap();
        std::fs::write(dir.path("queries.jsonl"), queries).unwrap();
        let output =
            dir.run(["eval", "--tools", "tools.json", "--queries", "queries.jsonl"]).await.expect(code);
        writeln!(text, "{}", output.stderr).unwrap();
    }
    dir.run(["eval", "--tools", "none.json", "--queries", "queries.jsonl"]).await.expect(2);
    snapshot!(dir, text);
}
