//! `toolcrib lint`: what people and machines read, and by which code it ends.

use serde_json::json;

use crate::support::{TestDir, error_texts, mcp_script, repository};

const APP: &str = "
modules: {hello: {}}
tools:
  registry:
    - {type: file, path: shop.yaml}
    - {type: mcp, namespace: team, command: [sh, server.sh]}
  capabilities: {default_policy: grant, deny: [{module: hidden}]}
";

const SHOP: &str = r#"
shop:
  - {name: price, description: "What an item of the shop costs, in euro."}
  - {name: item_price, description: "What an item of the shop costs, in euros."}
  - {name: send.letter, description: Writes to all who subscribed.}
  - {name: send_letter, description: Prints a page and posts it.}
  - {name: refund}
  - {name: stock, description: Looks into the books of the shop.}
  - {name: orders, description: Looks into the books of the shop.}
hidden:
  - {name: refund_all}
"#;

fn dir() -> TestDir {
    TestDir::with_app(APP).with_file("shop.yaml", SHOP).with_file("server.sh", mcp_script(""))
}

#[tokio::test]
async fn each_finding_says_what_where_and_what_to_do() {
    let dir = dir();
    let text = error_texts(&dir, ["lint", "app.yaml"], 1).await;
    assert!(!text.contains("refund_all"), "what no agent sees is no finding: {text}");
    snapshot!(dir, text);
}

#[tokio::test]
async fn an_app_without_a_finding_ends_with_0_one_whose_source_is_down_with_5_and_a_broken_one_with_2() {
    let dir = TestDir::with_app("modules: {hello: {}, filesystem: {}}\n");
    let clean = dir.run(["lint", "app.yaml", "--json"]).await.expect(0).json();
    assert_eq!((&clean["ok"], &clean["findings"]), (&json!(true), &json!([])));
    let dir = dir.with_file(
        "app.yaml",
        "modules: {hello: {}}\ntools: {registry: [{type: mcp, namespace: a, command: [sh, -c, exit 3]}]}\n",
    );
    let down = dir.run(["lint", "app.yaml", "--json"]).await.expect(5).json();
    assert_eq!(down["rejected"][0]["kind"], "unavailable");
    dir.with_file("app.yaml", "modules: {helo: {}}\n").run(["lint", "app.yaml"]).await.expect(2);
}

#[tokio::test]
async fn the_examples_have_no_finding() {
    let root = repository();
    let dir = TestDir::new();
    let starters = ["agent", "openapi", "team"];
    let starters = starters.map(|name| format!("crates/toolcrib-cli/starter/init/{name}/app.yaml"));
    for app in ["examples/quickstart/app.yaml"].into_iter().chain(starters.iter().map(String::as_str)) {
        let app = root.join(app);
        let output = dir.run(["lint", app.to_str().unwrap()]).await.expect(0);
        assert!(output.stdout.starts_with("0 findings in "), "{output:#?}");
    }
}
