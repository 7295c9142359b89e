//! What a client of the server pays for the list of hundreds of tools.

use serde_json::Value;

use super::{MAX_BEFORE, TOOLS, all_tools, count, file};
use crate::serve::client::Served;
use crate::support::{TestDir, shared};

const APP: &str = "
tools:
  registry: [{type: file, path: tools.json, engine: nothing}]
  engines: {nothing: {type: mock}}
  capabilities: {default_policy: grant}
";

/// The least that is saved of what listing all tools would cost, in percent.
const MIN_SAVED: f64 = 95.0;

#[tokio::test]
async fn a_client_of_the_server_pays_at_most_900_tokens_for_527_tools_and_the_plan_says_what_it_saves() {
    let Some(shared) = shared() else { return };
    let all = all_tools(&shared);
    let selections: [Vec<&Value>; 2] =
        [all.iter().take(TOOLS).collect(), all.iter().step_by(3).take(TOOLS).collect()];
    for tools in selections {
        assert_eq!(tools.len(), TOOLS);
        let dir = TestDir::with_app(APP).with_file("tools.json", file(&tools));
        let served = Served::start(&dir, &["--surface", "discovery"]).await;
        let listed = served.modern(&[], "tools/list", serde_json::json!({})).await;
        let listed = listed["result"]["tools"].as_array().unwrap();
        let tokens: u64 = listed.iter().map(|tool| count(&tool.to_string())).sum();
        eprintln!("{tokens} tokens for {} tools", listed.len());
        assert!(tokens <= MAX_BEFORE, "{tokens}");

        let planned = ["plan", "app.yaml", "--serve", "--surface", "discovery", "--json"];
        let plan = dir.start(&planned).wait_with_output().await.unwrap();
        let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
        assert_eq!(plan["tokens"], tokens, "{plan}");
        assert_eq!(plan["mode"], "discovery");
        assert_eq!(plan["tools"].as_array().unwrap().len(), listed.len());
        let saved =
            100.0 - 100.0 * plan["tokens"].as_f64().unwrap() / plan["direct_tokens"].as_f64().unwrap();
        assert!(saved >= MIN_SAVED, "{plan}");
        // Of all tools, what serves to find others is not needed.
        assert!(plan["direct_tools"].as_u64().unwrap() >= 500, "{plan}");
        let told = dir.start(&["plan", "app.yaml", "--serve"]).wait_with_output().await.unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        assert!(told.contains(&format!("tokens of tools/list: {tokens}, of all tools: ")), "{told}");
    }
}
