//! The values of secret variables stand in no output, no log, no record and no request to the model.

use serde_json::json;
use toolcrib_testkit::{ModelServer, Turn};

use crate::support::Lab;

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
        tell_json: [sh, -c, 'printf "{\"token\": \"%s\", \"list\": [\"%s\"]}" "$SHOP_TOKEN" "$SHOP_TOKEN"', sh]
        fail: [sh, -c, 'echo "bad token $SHOP_TOKEN" >&2; exit 3', sh]
        encode: [sh, -c, 'printf %s "$SHOP_TOKEN" | base64', sh]
  capabilities: {default_policy: grant}
"#;

const TOOLS: &str = "
shop:
  - {name: tell, description: Tells it.}
  - {name: tell_json, description: Tells it as JSON.}
  - {name: fail, description: Fails with it.}
  - {name: encode, description: Tells it in base64.}
";

const FAR: &str = "
openapi: 3.0.0
info: {title: Far, version: '1'}
servers: [{url: 'http://127.0.0.1:9/'}]
paths: {/x: {get: {operationId: fetch, responses: {'200': {description: ok}}}}}
";

fn lab() -> Lab {
    Lab::with_app(APP)
        .with_file("tools.yaml", TOOLS)
        .with_file("far.yaml", FAR)
        .with_variable("SHOP_TOKEN", CANARY)
        .with_variable("MODEL_KEY", format!("{CANARY}-model"))
        .with_variable("TOOLCRIB_LOG", "trace")
}

#[tokio::test]
async fn a_secret_stands_in_nothing_that_a_command_prints_or_logs() {
    let lab = lab();
    for words in [
        &["call", "app.yaml", "shop.tell", "{}"][..],
        &["call", "app.yaml", "shop.tell", "{}", "--json"],
        &["call", "app.yaml", "shop.tell_json", "{}"],
        &["call", "app.yaml", "shop.fail", "{}"],
        &["call", "app.yaml", "shop.fail", "{}", "--json"],
        &["call", "app.yaml", "shop.encode", "{}"],
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
        let ran = lab.run_words(words).await;
        let report = ran.report();
        let encoded = "Y2FuYXJ5LTdmM2E5MWMyZTQ";
        assert!(!report.contains(CANARY) && !report.contains(encoded), "{words:?}: {report}");
    }
    let ran = lab.run(["call", "app.yaml", "shop.tell", "{}"]).await.expect(0);
    assert_eq!(ran.stdout, "the token is [secret SHOP_TOKEN]\n");
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
    let lab = lab().with_variable("MODEL_URL", server.base_url());
    let words = ["run", "app.yaml", "Tell.", "--json", "--record", "turns.jsonl"];
    let ran = lab.run(words).await.expect(0);
    let requests: Vec<_> =
        server.requests().iter().map(|request| request.json().unwrap().to_string()).collect();
    assert_eq!(requests.len(), 2);
    for text in requests.iter().chain([&ran.report(), &lab.read("turns.jsonl")]) {
        assert!(!text.contains(CANARY), "{text}");
    }
    assert!(requests[1].contains("the token is [secret SHOP_TOKEN]"), "{}", requests[1]);
}
