//! Calls that are wrong or forbidden: each says how the call would be right, and with which exit code.

use crate::support::{TestDir, error_texts};

const APP: &str = "
modules:
  hello: {}
  filesystem: {constraints: {blocked_actions: [mkdir]}}
tools:
  registry: [{type: file, path: tools.yaml, engine: shop}, {type: file, path: more.yaml}]
  engines:
    shop:
      type: command
      tools:
        sell: [sh, -c, 'echo \"$1\" >> sold.txt; echo sold', sh, '{@arguments}']
        fail: [sh, -c, 'echo the drawer is stuck >&2; exit 3']
        missing: [no-such-program-anywhere]
  capabilities:
    default_policy: grant
    approve: [{module: shop, actions: [sell]}]
    deny: [{module: filesystem, actions: [write]}]
";

const TOOLS: &str = "
shop:
  - name: sell
    description: Sells an item.
    parameters:
      type: object
      additionalProperties: false
      properties:
        item: {type: string, description: The item.}
        count: {type: integer, minimum: 1, maximum: 9}
        wrapping: {type: string, enum: [none, paper, box]}
      required: [item, count]
  - {name: fail, description: Fails.}
  - {name: missing, description: Its program is missing.}
";

fn dir() -> TestDir {
    let more = "shop: [{name: engineless, description: Nobody runs it.}]\nother: [{name: sell}]\n";
    TestDir::with_app(APP).with_file("tools.yaml", TOOLS).with_file("more.yaml", more)
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_with_the_nearest_name() {
    let dir = dir();
    let mut text = error_texts(&dir, ["call", "app.yaml", "shop.sel", "{}"], 2).await;
    text.push_str(&error_texts(&dir, ["call", "app.yaml", "sell", "{}"], 2).await);
    text.push_str(&error_texts(&dir, ["call", "app.yaml", "unlike.anything", "{}"], 2).await);
    text.push_str(&error_texts(&dir, ["show", "app.yaml", "shop.sel"], 2).await);
    snapshot!(dir, text);
}

#[tokio::test]
async fn wrong_arguments_are_answered_with_the_schema_and_an_example() {
    let dir = dir();
    let mut text = String::new();
    for arguments in [
        r#"{"item": "lamp"}"#,
        r#"{"item": "lamp", "count": "two"}"#,
        r#"{"item": "lamp", "count": 12}"#,
        r#"{"item": "lamp", "count": 2, "wraping": "box"}"#,
        r#"{"item": "lamp", "count": 2, "wrapping": "foil"}"#,
    ] {
        text.push_str(&error_texts(&dir, ["call", "app.yaml", "shop.sell", arguments, "--yes"], 2).await);
    }
    assert!(!dir.path("sold.txt").exists());
    snapshot!(dir, text);
}

#[tokio::test]
async fn arguments_that_are_no_json_object_are_shown_with_line_and_column() {
    let dir = dir().with_file("arguments.json", "{\n  \"item\": \"lamp\",\n  \"count\": 2,,\n}\n");
    let mut text = String::new();
    for arguments in
        ["{\"item\": ", "[1]", "@arguments.json", "@absent.json", r#"{"item": "a", "item": "b"}"#]
    {
        text.push_str(&error_texts(&dir, ["call", "app.yaml", "shop.sell", arguments], 2).await);
    }
    snapshot!(dir, text);
}

#[tokio::test]
async fn what_policy_forbids_exits_with_3_and_what_nobody_approves_with_4() {
    let dir = dir();
    let write = r#"{"path": "a", "content": "b"}"#;
    let sell = r#"{"item": "lamp", "count": 2}"#;
    let mut text = error_texts(&dir, ["call", "app.yaml", "filesystem.write", write], 3).await;
    text.push_str(&error_texts(&dir, ["call", "app.yaml", "filesystem.mkdir", r#"{"path": "a"}"#], 3).await);
    text.push_str(&error_texts(&dir, ["call", "app.yaml", "shop.sell", sell], 4).await);
    assert!(!dir.path("sold.txt").exists());
    // Approving is no way round a denial.
    dir.run(["call", "app.yaml", "filesystem.write", write, "--yes"]).await.expect(3);
    assert!(!dir.path("a").exists());

    dir.run(["call", "app.yaml", "shop.sell", sell, "--yes"]).await.expect(0);
    assert_eq!(dir.read("sold.txt"), "{\"item\":\"lamp\",\"count\":2}\n");
    snapshot!(dir, text);
}

#[tokio::test]
async fn a_meta_tool_exits_like_the_call_inside_and_is_no_way_round_the_gate() {
    let dir = dir();
    for (name, params, code) in [
        ("hello.status", "{}", 0),
        ("shop.sel", "{}", 2),
        ("filesystem.write", r#"{"path": "a", "content": "b"}"#, 3),
        ("shop.sell", r#"{"item": "lamp", "count": 2}"#, 4),
        ("shop.fail", "{}", 1),
    ] {
        let arguments = format!(r#"{{"name": "{name}", "params": {params}}}"#);
        for meta in ["context_builder.execute_tool", "execute_tool"] {
            dir.run(["call", "app.yaml", meta, &arguments]).await.expect(code);
        }
    }
    assert!(!dir.path("a").exists() && !dir.path("sold.txt").exists());
}

#[tokio::test]
async fn a_call_says_how_its_arguments_were_repaired_and_not_which_defaults_were_filled_in() {
    let dir = dir();
    let dir = dir.with_file("notes.txt", "one\n");
    let read = dir.run(["call", "app.yaml", "filesystem.read", r#"{"path": "notes.txt"}"#]).await.expect(0);
    assert!(!read.stderr.contains("note:"), "{read:#?}");
    let output = dir.run(["call", "app.yaml", "hello.say_hello", r#"{"name": [1]}"#]).await.expect(0);
    assert_eq!(output.stdout, "Hello, [1]!\n");
    assert!(
        output.stderr.contains("note: the argument /name was changed from [1] to \"[1]\""),
        "{output:#?}"
    );
}

#[tokio::test]
async fn a_tool_that_fails_exits_with_1_and_one_that_nothing_can_run_with_5() {
    let dir = dir();
    let mut text = error_texts(&dir, ["call", "app.yaml", "shop.fail"], 1).await;
    text.push_str(&error_texts(&dir, ["call", "app.yaml", "shop.missing"], 5).await);
    text.push_str(&error_texts(&dir, ["call", "app.yaml", "shop.engineless"], 5).await);
    snapshot!(dir, text);
}
