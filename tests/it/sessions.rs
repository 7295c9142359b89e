//! Conversations that outlive the process: `toolcrib run --session`.

use serde_json::Value;
use toolcrib_testkit::{ModelServer, Turn, wait_until};

use crate::support::{Lab, PATIENCE};

/// Both note that they were called, and then wait for a file.
const TOOLS: &str = "
shop:
  - name: order
    description: Orders an item.
    risk: medium
    parameters: {type: object, properties: {item: {type: string}}, required: [item]}
  - name: look
    description: Looks for an item.
    risk: low
    parameters: {type: object, properties: {item: {type: string}}, required: [item]}
";

fn lab(server: &ModelServer) -> Lab {
    let script = r#"echo \"$1\" >> effects.txt; while [ ! -e go ]; do sleep 0.05; done; echo done"#;
    let app = format!(
        r#"
agents:
  - id: clerk
    brain: {{provider: openai, model: m, base_url: "{}"}}
tools:
  registry: [{{type: file, path: tools.yaml, engine: shop}}]
  engines:
    shop: {{type: command, argv: [sh, -c, "{script}", sh, "{{item}}"]}}
  capabilities: {{default_policy: grant}}
"#,
        server.base_url()
    );
    Lab::with_app(&app).with_file("tools.yaml", TOOLS).with_variable("OPENAI_API_KEY", "test")
}

/// Starts a run, and kills it when the tool has noted that it was called.
async fn killed_in_the_midst(lab: &Lab) {
    let mut child = lab.start(&["run", "app.yaml", "Get me a lamp.", "--session", "monday", "--json"]);
    let effects = lab.path("effects.txt");
    let has_begun =
        || Ok(std::fs::read_to_string(&effects).is_ok_and(|text| text.ends_with('\n')).then_some(()));
    wait_until("the call", PATIENCE, has_begun).await.unwrap();
    child.kill().await.unwrap();
    lab.assert_nothing_is_left(&[]).await;
}

fn told(server: &ModelServer) -> Vec<Value> {
    let last = server.requests().last().unwrap().json().unwrap();
    last["messages"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_run_that_was_killed_during_a_call_goes_on_and_does_not_call_again() {
    let turns =
        [Turn::call("shop__order", &serde_json::json!({"item": "lamp"})), Turn::text("I do not know.")];
    let server = ModelServer::start(turns).await.unwrap();
    let lab = lab(&server);
    killed_in_the_midst(&lab).await;
    std::fs::write(lab.path("go"), "").unwrap();
    let report = lab.run(["run", "app.yaml", "--session", "monday", "--json"]).await.expect(0).json();
    assert_eq!(report["text"], "I do not know.");
    assert_eq!(lab.read("effects.txt"), "lamp\n", "the item was ordered once");
    let told = told(&server);
    let result = told.last().unwrap();
    assert_eq!((&result["role"], told.len()), (&"tool".into(), 4));
    assert!(result["content"].as_str().unwrap().contains("outcome_unknown"), "{result}");
}

#[tokio::test]
async fn a_call_that_only_looks_is_made_again() {
    let turns = [Turn::call("shop__look", &serde_json::json!({"item": "lamp"})), Turn::text("There it is.")];
    let server = ModelServer::start(turns).await.unwrap();
    let lab = lab(&server);
    killed_in_the_midst(&lab).await;
    std::fs::write(lab.path("go"), "").unwrap();
    let report = lab.run(["run", "app.yaml", "--session", "monday", "--json"]).await.expect(0).json();
    assert_eq!(report["text"], "There it is.");
    assert_eq!(lab.read("effects.txt"), "lamp\nlamp\n");
    assert_eq!(told(&server).last().unwrap()["content"], "done");
}

#[tokio::test]
async fn a_conversation_goes_on_in_the_next_process_and_belongs_to_one_at_a_time() {
    let turns = [Turn::text("Hello Ada."), Turn::text("You are Ada.")];
    let server = ModelServer::start(turns).await.unwrap();
    let lab = lab(&server);
    lab.run(["run", "app.yaml", "I am Ada.", "--session", "a", "--json"]).await.expect(0);
    lab.run(["run", "app.yaml", "Who am I?", "--session", "a", "--json"]).await.expect(0);
    let said: Vec<_> = told(&server).iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said[1..], ["I am Ada.", "Hello Ada.", "Who am I?"]);
    let bad = lab.run(["run", "app.yaml", "Hello?", "--session", "../a"]).await.expect(2);
    assert!(bad.stderr.contains("--session: an id has"), "{bad:#?}");
}

#[tokio::test]
async fn two_runs_of_one_session_do_not_mix() {
    let turns = [Turn::call("shop__order", &serde_json::json!({"item": "lamp"})), Turn::text("Done.")];
    let server = ModelServer::start(turns).await.unwrap();
    let lab = lab(&server);
    let first = lab.start(&["run", "app.yaml", "Get me a lamp.", "--session", "monday", "--json"]);
    let begun = || Ok(lab.path("effects.txt").exists().then_some(()));
    wait_until("the call", PATIENCE, begun).await.unwrap();
    let output =
        lab.start(&["run", "app.yaml", "And me.", "--session", "monday"]).wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("another run works with the session `monday`"), "{told}");
    std::fs::write(lab.path("go"), "").unwrap();
    assert_eq!(lab.finish(first).await.expect(0).json()["text"], "Done.");
}
