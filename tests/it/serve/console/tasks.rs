//! The page of tasks, with watchers and schedules that run.

use serde_json::{Value, json};

use super::browser::{Browser, axe};
use super::pages::is_accessible;
use super::start;
use crate::serve::client::Served;
use crate::support::TestDir;

/// A shop with a tool whose result changes, and one that fails.
const MANIFEST: &str = r"
name: shop
description: Counts things.
tools:
  - {name: stock, description: Counts what is left., argv: [sh, stock.sh], risk: low}
  - {name: broken, description: Fails., argv: [sh, -c, exit 3], risk: low}
";

/// Counts the calls.
const STOCK: &str = r#"echo >> ../calls.txt
lines=$(wc -l < ../calls.txt)
echo "{\"left\": $((lines * 7 % 10))}"
"#;

fn shop() -> TestDir {
    let app = json!({
        "app": {"id": "shop"},
        "tools": {
            "registry": [{"type": "exec", "path": "./shop"}],
            "capabilities": {"default_policy": "grant"},
        },
        "execution": {"watchers": true, "scheduler": true},
    });
    TestDir::with_app(&app.to_string())
        .with_file("shop/toolcrib.yaml", MANIFEST)
        .with_file("shop/stock.sh", STOCK)
}

async fn call(served: &Served, name: &str, arguments: Value) {
    let reply = served.modern(&[], "tools/call", json!({"name": name, "arguments": arguments})).await;
    assert_eq!(reply["result"]["isError"], json!(false), "{reply}");
}

#[tokio::test]
async fn schedules_show_past_and_next_runs_and_watchers_their_values() {
    let dir = shop();
    let (served, key) = start(&dir).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    call(&served, "watch_start", json!({"name": "shop.stock", "interval": 5, "label": "stock"})).await;
    for tool in ["shop.stock", "shop.broken"] {
        let action = json!({"tool": tool});
        call(&served, "schedule_cron", json!({"cron": "*/5 * * * * *", "action": action})).await;
    }
    browser.goto(&format!("http://{}/?key={key}", served.address)).await;
    browser.goto(&format!("http://{}/tasks", served.address)).await;
    // The page follows the runs without a reload.
    for shown in [
        "document.querySelector('#watcher svg.spark[aria-label^=\"The last 2 values\"]')",
        "document.querySelectorAll('#schedule svg.timeline-of-runs g.ok').length >= 2",
        "document.querySelectorAll('#schedule svg.timeline-of-runs g.failed').length >= 2",
    ] {
        browser.until(shown).await;
    }
    // Failed runs differ from the others by their shape too, and every schedule has five more runs.
    let shapes = "[...document.querySelectorAll('#schedule svg.timeline-of-runs g.failed')].every((mark) => mark.querySelector('path.cross'))";
    assert_eq!(browser.evaluate(shapes).await, json!(true));
    let next = "document.querySelectorAll('#schedule svg.timeline-of-runs g.next').length";
    assert_eq!(browser.evaluate(next).await, json!(10));
    browser.click("#schedule details summary").await;
    browser.until("document.querySelector('#schedule details[open] li').innerText.includes(' UTC: ')").await;

    let Some(axe) = axe() else { return };
    is_accessible(&mut browser, &axe, &served, ("/tasks", "tasks")).await;
}
