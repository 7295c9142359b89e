//! The values of secret variables stand in no output, no log, no record and no request to the model.

use serde_json::json;
use toolcrib_testkit::{ModelServer, Turn};

use crate::support::TestDir;

const CANARY: &str = "canary-7f3a91c2e4";

const APP: &str = r#"
agents:
  - {id: clerk, brain: {provider: openai, model: m, base_url: "${MODEL_URL:-http://127.0.0.1:9/v1}", api_key: "${MODEL_KEY}"}}
tools:
  registry:
    - {type: file, path: tools.yaml, engine: shop}
    - {type: mcp, namespace: down, command: [sh, -c, 'echo "$DOWN_TOKEN" >&2; echo "$DOWN_TOKEN"; exit 1'], env: {DOWN_TOKEN: "${SHOP_TOKEN}"}}
    - {type: rest, namespace: far, spec: far.yaml, base_url: "http://127.0.0.1:9/", headers: {Authorization: "Bearer ${SHOP_TOKEN}"}, allow_private: true}
  engines:
    shop:
      type: command
      env: {SHOP_TOKEN: "${SHOP_TOKEN}"}
      tools:
        tell: [sh, -c, 'echo "the token is $SHOP_TOKEN"', sh]
        tell_json: [sh, tell.sh]
        fail: [sh, -c, 'echo "bad token $SHOP_TOKEN" >&2; exit 3', sh]
        encode: [sh, -c, 'printf %s "$SHOP_TOKEN" | base64', sh]
        dump: [sh, -c, 'printf %s "$SHOP_TOKEN" | od -An -v -tx1 | tr -d " \n"', sh]
  capabilities: {default_policy: grant}
"#;

const TOOLS: &str = "
shop:
  - {name: tell, description: Tells it.}
  - {name: tell_json, description: Tells it as JSON.}
  - {name: fail, description: Fails with it.}
  - {name: encode, description: Tells it in base64.}
  - {name: dump, description: Tells it in hexadecimal digits.}
";

const FAR: &str = "
openapi: 3.0.0
info: {title: Far, version: '1'}
servers: [{url: 'http://127.0.0.1:9/'}]
paths: {/x: {get: {operationId: fetch, responses: {'200': {description: ok}}}}}
";

/// By itself, since braces in a command line are places for arguments.
const TELL: &str = r#"printf '{"token": "%s", "list": ["%s"]}' "$SHOP_TOKEN" "$SHOP_TOKEN""#;

fn dir() -> TestDir {
    TestDir::with_app(APP)
        .with_file("tools.yaml", TOOLS)
        .with_file("far.yaml", FAR)
        .with_file("tell.sh", format!("{TELL}\n"))
        .with_variable("SHOP_TOKEN", CANARY)
        .with_variable("MODEL_KEY", format!("{CANARY}-model"))
        .with_variable("TOOLCRIB_LOG", "trace")
}

#[tokio::test]
async fn a_secret_stands_in_nothing_that_a_command_prints_or_logs() {
    let dir = dir();
    for words in [
        &["call", "app.yaml", "shop.tell", "{}"][..],
        &["call", "app.yaml", "shop.tell", "{}", "--json"],
        &["call", "app.yaml", "shop.tell_json", "{}"],
        &["call", "app.yaml", "shop.fail", "{}"],
        &["call", "app.yaml", "shop.fail", "{}", "--json"],
        &["call", "app.yaml", "shop.encode", "{}"],
        &["call", "app.yaml", "shop.dump", "{}"],
        &["call", "app.yaml", "far.fetch", "{}", "--json"],
        &["call", "app.yaml", "down.anything", "{}"],
        &["run", "app.yaml", "Hello.", "--json"],
        &["validate", "app.yaml"],
        &["tools", "app.yaml", "--json"],
        &["show", "app.yaml", "shop.tell", "--json"],
        &["search", "app.yaml", "token"],
        &["plan", "app.yaml", "--json"],
        &["doctor", "app.yaml"],
    ] {
        let run_output = dir.run_words(words).await;
        let report = run_output.report();
        let (base64, hex) = ("Y2FuYXJ5LTdmM2E5MWMyZTQ", "63616e6172792d37");
        assert!([CANARY, base64, hex].iter().all(|form| !report.contains(form)), "{words:?}: {report}");
    }
    // The tools do tell it, so that there is something to be taken out.
    for (tool, told) in [
        ("shop.tell", "the token is [secret SHOP_TOKEN]\n"),
        ("shop.tell_json", r#"{"token": "[secret SHOP_TOKEN]", "list": ["[secret SHOP_TOKEN]"]}"#),
        ("shop.encode", "[secret SHOP_TOKEN]\n"),
        ("shop.dump", "[secret SHOP_TOKEN]"),
    ] {
        let run_output = dir.run(["call", "app.yaml", tool, "{}"]).await.expect(0);
        assert_eq!(run_output.stdout.trim_end(), told.trim_end(), "{tool}");
    }
    let failed = dir.run(["call", "app.yaml", "shop.fail", "{}"]).await.expect(1);
    assert!(failed.stderr.contains("bad token [secret SHOP_TOKEN]"), "{failed:?}");
}

#[tokio::test]
async fn a_secret_is_sent_to_no_model_and_stands_in_no_recording() {
    let turns = [
        Turn::call("shop__tell", &json!({}))
            .and_call("shop__tell_json", &json!({}))
            .and_call("shop__fail", &json!({})),
        Turn::text("Done."),
    ];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = dir().with_variable("MODEL_URL", server.base_url());
    let words = ["run", "app.yaml", "Tell.", "--json", "--record", "turns.jsonl"];
    let run_output = dir.run(words).await.expect(0);
    let requests: Vec<_> =
        server.requests().iter().map(|request| request.json().unwrap().to_string()).collect();
    assert_eq!(requests.len(), 2);
    for text in requests.iter().chain([&run_output.report(), &dir.read("turns.jsonl")]) {
        assert!(!text.contains(CANARY), "{text}");
    }
    assert!(requests[1].contains("the token is [secret SHOP_TOKEN]"), "{}", requests[1]);
}

#[tokio::test]
async fn a_secret_of_a_file_is_used_masked_and_told_by_its_provider_alone() {
    let app = r#"
secrets: [{type: files, path: mounted}, {type: dotenv}]
tools:
  registry:
    - {type: file, path: tools.yaml, engine: shop}
    - {type: mcp, namespace: far, url: "http://127.0.0.1:9/", headers: {Authorization: "Bearer {{secret.GONE}}"}}
  engines:
    shop:
      type: command
      env: {SHOP_TOKEN: "{{secret.SHOP_TOKEN}}", OTHER_TOKEN: "${OTHER_TOKEN}"}
      tools: {tell: [sh, -c, 'echo "the tokens are $SHOP_TOKEN and $OTHER_TOKEN"', sh]}
  capabilities: {default_policy: grant}
"#;
    let dir = TestDir::with_app(app)
        .with_file("tools.yaml", "shop: [{name: tell, description: Tells them.}]\n")
        .with_file("mounted/SHOP_TOKEN", format!("{CANARY}\n"))
        .with_file(".env", format!("OTHER_TOKEN='{CANARY}-other' # comment\n"));
    let called = dir.run(["call", "app.yaml", "shop.tell", "{}"]).await.expect(0);
    assert_eq!(called.stdout, "the tokens are [secret SHOP_TOKEN] and [secret OTHER_TOKEN]\n");
    let validated = dir.run(["validate", "app.yaml"]).await;
    assert!(validated.stdout.contains("secret SHOP_TOKEN: the folder ./mounted\n"), "{validated:?}");
    assert!(validated.stdout.contains("secret OTHER_TOKEN: ./.env\n"), "{validated:?}");
    assert!(
        validated
            .stderr
            .contains("the secret `GONE` is not set: the providers have no file ./mounted/GONE, "),
        "{validated:?}"
    );
    for words in [&["validate", "app.yaml", "--json"][..], &["doctor", "app.yaml"], &["validate", "app.yaml"]]
    {
        let report = dir.run_words(words).await.report();
        assert!(report.contains("SHOP_TOKEN") && !report.contains(CANARY), "{words:?}: {report}");
    }
}
