//! App files and tool files that are wrong: what is said, where, and with which exit code.

use serde_json::json;

use crate::support::{TestDir, error_texts};

#[tokio::test]
async fn a_missing_app_file_is_named() {
    let dir = TestDir::new();
    let mut text = String::new();
    for command in ["validate", "tools", "plan", "run", "serve"] {
        let output = dir.run([command, "app.yaml"]).await.expect(2);
        assert!(output.stderr.contains("app.yaml"), "{command}: {output:#?}");
    }
    text.push_str(&error_texts(&dir, ["validate", "absent/app.yaml"], 2).await);
    text.push_str(&error_texts(&dir, ["call", "app.yaml", "hello.status"], 2).await);
    snapshot!(dir, text);
}

#[tokio::test]
async fn a_broken_app_file_is_shown_with_line_and_column() {
    let mut text = String::new();
    let mut dir = TestDir::new();
    for app in [
        "agents:\n  - id: [a\nmodules: {}\n",
        "app: {id: a}\napp: {id: b}\n",
        "a: *b\n",
        "- not\n- a mapping\n",
    ] {
        dir = dir.with_file("app.yaml", app);
        text.push_str(&error_texts(&dir, ["validate", "app.yaml"], 2).await);
    }
    dir = dir.with_file("app.json", r#"{"app": {"id": "a",}}"#);
    text.push_str(&error_texts(&dir, ["validate", "app.json"], 2).await);
    snapshot!(dir, text);
}

#[tokio::test]
async fn all_that_is_unknown_in_an_app_file_is_named_with_the_nearest() {
    let dir = TestDir::with_app(
        "
agents:
  - {id: a, role: assistent, brain: {provider: recorded, recording: turns.yaml}}
  - {id: a, brain: {provider: recorded, recording: turns.yaml}}
modules:
  helo: {}
  filesystem: {constraints: {allowed_actions: [reed], blocked_actions: [rm]}}
tools:
  registry:
    - {type: fiel, path: tools.yaml}
    - {path: tools.yaml}
    - {type: file, path: tools.yaml, engine: shpo}
  engines:
    shop: {type: comand, argv: [\"true\"]}
",
    );
    snapshot!(dir, error_texts(&dir, ["validate", "app.yaml"], 2).await);
}

#[tokio::test]
async fn an_unknown_key_is_named_with_the_nearest_wherever_it_stands() {
    let mut text = String::new();
    let mut dir = TestDir::new();
    for app in [
        "modles: {}\n",
        "agents: [{id: a, brain: {provider: opnai}}]\n",
        "agents: [{id: a, brain: {provider: openai, modle: gpt}}]\n",
        "modules: {hello: {constrains: {}}}\n",
        "tools: {capabilities: {default_policy: alow}}\n",
        "tools: {capabilities: {grant: [{modul: hello}]}}\n",
        "runtime: {tool_injection: drect}\n",
        "runtime: {max_turns: many}\n",
    ] {
        dir = dir.with_file("app.yaml", app);
        text.push_str(&error_texts(&dir, ["validate", "app.yaml"], 2).await);
    }
    snapshot!(dir, text);
}

#[tokio::test]
async fn the_settings_of_a_source_are_checked_too() {
    let mut text = String::new();
    let mut dir = TestDir::new();
    for entry in [
        "{type: file, paht: tools.yaml}",
        "{type: mcp, namespace: team}",
        "{type: mcp, namespace: team, command: [sh], url: 'http://localhost:1/mcp'}",
    ] {
        dir = dir.with_file("app.yaml", format!("tools:\n  registry:\n    - {entry}\n"));
        text.push_str(&error_texts(&dir, ["validate", "app.yaml"], 2).await);
    }
    let unset = "tools:\n  registry:\n    - {type: rest, namespace: pets, spec: '${UNSET_VARIABLE}'}\n";
    dir = dir.with_file("app.yaml", unset);
    text.push_str(&error_texts(&dir, ["validate", "app.yaml"], 5).await);
    snapshot!(dir, text);
}

#[tokio::test]
async fn validating_starts_nothing() {
    let dir = TestDir::with_app(
        "tools: {registry: [{type: mcp, namespace: team, command: [sh, -c, 'touch started']}]}\n",
    );
    dir.run(["validate", "app.yaml"]).await.expect(0);
    assert!(!dir.path("started").exists());
    dir.run(["validate", "app.yaml", "--connect"]).await.expect(5);
    assert!(dir.path("started").exists());
}

#[tokio::test]
async fn a_broken_tool_is_rejected_and_its_siblings_load() {
    let dir = TestDir::new().with_file(
        "tools.yaml",
        "
- {name: good, description: Works., parameters: {type: object, properties: {a: {type: integer}}}}
- {description: Has no name.}
- {name: bad_schema, parameters: {type: object, properties: {a: {type: intger}}}}
- {name: bad_pattern, parameters: {type: object, properties: {a: {type: string, pattern: '(a'}}}}
- {name: outside, parameters: {$ref: 'https://example.com/schema.json'}}
- {name: good, description: The same again., parameters: {type: object, properties: {a: {type: integer}}}}
- {name: good, description: An overload., parameters: {type: object, properties: {b: {type: string}}}}
- just a text
- {name: '', description: Has an empty name.}
- {name: risky, risk: enormous}
",
    );
    let loaded = dir.run(["load", "--file", "tools.yaml", "--json"]).await.expect(0).json();
    let names: Vec<_> = loaded["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, [&json!("good"), &json!("good")]);
    snapshot!(dir, error_texts(&dir, ["load", "--file", "tools.yaml"], 0).await);
}

#[tokio::test]
async fn a_number_among_the_words_of_a_command_is_answered_with_how_to_quote_it() {
    let dir = TestDir::with_app(
        "tools: {registry: [{type: inline, namespace: w, engine: w, tools: [{name: a}]}], engines: {w: {type: command, argv: [echo, 1]}}}\n",
    );
    let said = dir.run(["validate", "app.yaml"]).await.expect(2).stderr;
    assert!(
        said.contains("`tools.engines.w.argv[1]`") && said.contains("quote a number, as in \"1\""),
        "{said}"
    );
}

#[tokio::test]
async fn a_duplicate_in_a_file_fails_a_strict_load() {
    let dir = TestDir::new().with_file("tools.yaml", "[{name: good}, {name: good}]\n");
    dir.run(["load", "--file", "tools.yaml"]).await.expect(0);
    dir.run(["load", "--file", "tools.yaml", "--strict"]).await.expect(2);
}

#[tokio::test]
async fn a_file_without_tools_says_what_it_should_hold() {
    let mut text = String::new();
    let mut dir = TestDir::new();
    for tools in ["", "just a text\n", "- {name: a\n", "shop: 3\n"] {
        dir = dir.with_file("tools.yaml", tools);
        text.push_str(&error_texts(&dir, ["load", "--file", "tools.yaml"], 2).await);
    }
    text.push_str(&error_texts(&dir, ["load", "--file", "absent.yaml"], 2).await);
    snapshot!(dir, text);
}

#[tokio::test]
async fn a_wrong_command_line_is_bad_usage() {
    let dir = TestDir::with_app("modules: {hello: {}}\n");
    dir.run(["frobnicate"]).await.expect(2);
    dir.run(["validate"]).await.expect(2);
    dir.run(["load"]).await.expect(2);
    dir.run(["load", "--file", "a", "--mcp", "b"]).await.expect(2);
    dir.run(["load", "--mcp", "sh -c 'unclosed"]).await.expect(2);
    dir.run(["search", "app.yaml", "greet", "--limit", "0"]).await.expect(2);
    dir.run(["--help"]).await.expect(0);
}
