//! The app that the clients are given.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{TestDir, new_database};

/// Its tools: a cheap one, two that are asked about, one that takes long, and one that brings a lot. The slow one leaves its
/// process in the file `started`.
const APP: &str = r#"
tools:
  registry:
    - {type: file, path: price.yaml, engine: price}
    - {type: file, path: order.yaml, engine: order}
    - {type: file, path: slow.yaml, engine: slow}
    - {type: file, path: catalogue.yaml, engine: catalogue}
  engines:
    price: {type: command, argv: [sh, -c, 'echo "$1: 3 euro"', sh, "{item}"]}
    order: {type: command, argv: [sh, -c, 'echo "$1 is on its way"', sh, "{item}"]}
    slow: {type: command, argv: [sh, -c, 'echo $$ > started.new; mv started.new started; exec sleep 600']}
    catalogue: {type: command, argv: [sh, -c, 'seq -f "lamp %g, in a colour of its own" 5000']}
  capabilities: {default_policy: grant, approve: [{module: shop, actions: [order, refund]}]}
serve: {surface: mixed, pin: [shop.price]}
"#;

/// The app in a dir.
pub(super) fn shop() -> TestDir {
    shop_with("")
}

/// The app with a store that several processes share. A stranger's machine has no server for it.
pub(super) fn shared_shop() -> Option<TestDir> {
    let url = new_database()?;
    Some(shop_with("store: '${STORE_URL}'\n").with_variable("STORE_URL", url))
}

/// The app with more settings.
fn shop_with(settings: &str) -> TestDir {
    let item = json!({
        "type": "object",
        "properties": {"item": {"type": "string", "description": "The item."}},
        "required": ["item"],
    });
    let tool = |name: &str, description: &str, risk: &str, parameters: &Value| json!({"name": name, "description": description, "risk": risk, "parameters": parameters});
    let none = json!({"type": "object", "properties": {}});
    let file = |tools: &[Value]| json!({"shop": tools}).to_string();
    TestDir::with_app(&format!("{APP}{settings}"))
        .with_file("price.yaml", file(&[tool("price", "What an item costs, in euro.", "low", &item)]))
        .with_file(
            "order.yaml",
            file(&[
                tool("order", "Orders an item.", "medium", &item),
                tool("refund", "Pays back what an item was sold for, a refund.", "medium", &item),
            ]),
        )
        .with_file("slow.yaml", file(&[tool("slow", "Counts the stock, which takes long.", "low", &none)]))
        .with_file("catalogue.yaml", file(&[tool("catalogue", "All items that there are.", "low", &none)]))
}

/// The file in which the slow tool leaves its process.
pub(super) fn started(dir: &TestDir) -> PathBuf {
    dir.path("started")
}

/// What a client of this revision has to tell of all its steps.
pub(super) fn expected(revision: &str) -> Value {
    json!({
        "revision": revision,
        "found": "shop.price",
        "called": "lamp: 3 euro",
        "executed": "lamp: 3 euro",
        "wrong": [true, "invalid_args"],
        "approved": "lamp is on its way",
        "denied": [true, "approval_denied"],
        "asked": [
            "Allow `shop.order`?",
            "Allow `shop.refund`?",
        ],
        "running": true,
        "cancelled": true,
        "afterwards": "lamp: 3 euro",
        "large": {"is_bounded": true, "resource": true, "next": true, "handle": true},
    })
}
