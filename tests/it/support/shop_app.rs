//! A shop with an agent: it orders items and looks for them by a script.

use toolcrib_testkit::ModelServer;

use super::TestDir;

const TOOLS: &str = "
shop:
  - name: order
    description: Orders an item.
    risk: $RISK
    parameters: {type: object, properties: {item: {type: string}}, required: [item]}
  - name: look
    description: Looks for an item.
    risk: low
    parameters: {type: object, properties: {item: {type: string}}, required: [item]}
";

/// Returns a dir with a clerk at the model server. Both tools run the script with the item; orders have this risk.
pub(crate) fn shop_app(server: &ModelServer, script: &str, risk_of_orders: &str) -> TestDir {
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
    let tools = TOOLS.replace("$RISK", risk_of_orders);
    TestDir::with_app(&app).with_file("tools.yaml", tools).with_variable("OPENAI_API_KEY", "test")
}
