//! A schema that an API would refuse is rewritten for it, and the call still means the original.

use serde_json::json;
use toolcrib_testkit::{ModelServer, Turn};

use crate::support::TestDir;

const TOOLS: &str = r##"
shop:
  - name: find
    description: Finds items.
    parameters:
      type: object
      properties:
        "filter[name]": {$ref: "#/$defs/name"}
        "päge": {type: integer, default: 1}
        above: {$ref: "#/$defs/tree"}
      anyOf: [{required: ["filter[name]"]}, {required: ["päge"]}]
      additionalProperties: false
      $defs:
        name: {type: string, minLength: 2}
        tree: {type: object, properties: {child: {$ref: "#/$defs/tree"}}}
"##;

fn dir(schemas: &str) -> TestDir {
    let app = format!(
        r#"
agents:
  - {{id: clerk, brain: {{provider: openai, model: m, base_url: "${{MODEL_URL}}", schemas: {schemas}}}}}
tools:
  registry: [{{type: file, path: tools.yaml, engine: shop}}]
  engines: {{shop: {{type: command, argv: [sh, -c, 'printf %s "$1" > given.json', sh, '{{@arguments}}']}}}}
  capabilities: {{default_policy: grant}}
"#
    );
    TestDir::with_app(&app).with_file("tools.yaml", TOOLS).with_variable("OPENAI_API_KEY", "test")
}

#[tokio::test]
async fn what_an_api_refuses_is_rewritten_for_it_and_means_the_same() {
    for schemas in ["openai", "anthropic", "gemini", "portable"] {
        let lookup = Turn::text("Nothing.");
        let server = ModelServer::start([lookup]).await.unwrap();
        let dir = dir(schemas).with_variable("MODEL_URL", server.base_url());
        dir.run(["run", "app.yaml", "Look.", "--json"]).await.expect(0);
        let request = server.requests()[0].json().unwrap();
        let tools = request["tools"].as_array().unwrap();
        let sent = &tools.iter().find(|tool| tool["function"]["name"] == "shop__find").unwrap()["function"];
        let parameters = &sent["parameters"];
        let text = parameters.to_string();
        assert!(parameters.get("anyOf").is_none() && !text.contains("$ref"), "{schemas}: {parameters:#}");
        let names: Vec<&String> = parameters["properties"].as_object().unwrap().keys().collect();
        let is_plain =
            |name: &&String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        assert!(names.len() == 3 && names.iter().all(is_plain), "{schemas}: {names:?}");

        // What the model was offered is what it calls; the tool is given its own names, and is checked by its own schema.
        for (value, is_right) in [("lamp", true), ("x", false)] {
            let call = Turn::call("shop__find", &json!({names[0].as_str(): value}));
            let server = ModelServer::start([call, Turn::text("Done.")]).await.unwrap();
            let dir = self::dir(schemas).with_variable("MODEL_URL", server.base_url());
            let report = dir.run(["run", "app.yaml", "Find.", "--json"]).await.expect(0).json();
            assert_eq!(report["calls"][0]["ok"], is_right, "{schemas}: {report:#}");
            if is_right {
                let given: serde_json::Value = serde_json::from_str(&dir.read("given.json")).unwrap();
                assert_eq!(given, json!({"filter[name]": "lamp", "päge": 1}), "{schemas}");
            }
        }
    }
}

#[tokio::test]
async fn a_schema_is_sent_as_it_is_where_the_app_says_so() {
    let server = ModelServer::start([Turn::text("Nothing.")]).await.unwrap();
    let dir = dir("original").with_variable("MODEL_URL", server.base_url());
    dir.run(["run", "app.yaml", "Look.", "--json"]).await.expect(0);
    let request = server.requests()[0].json().unwrap();
    let tools = request["tools"].as_array().unwrap();
    let sent = tools.iter().find(|tool| tool["function"]["name"] == "shop__find").unwrap();
    assert!(sent["function"]["parameters"]["properties"].get("filter[name]").is_some(), "{sent:#}");
}
