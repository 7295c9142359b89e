//! All pages of the console: accessible, and with pictures for the documentation.

use std::path::PathBuf;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::browser::{Browser, axe};
use super::start;
use crate::serve::client::Served;
use crate::support::{TestDir, mcp_script};

/// The pages, with the names of their pictures.
const PAGES: [(&str, &str); 8] = [
    ("/", "overview"),
    ("/calls", "calls"),
    ("/call?id=2", "call"),
    ("/tools", "tools"),
    ("/tools?q=greet+somebody", "search"),
    ("/tool?name=notes.edit", "tool"),
    ("/sessions", "sessions"),
    ("/policy?tool=notes.edit&arguments=%7B%22path%22%3A+%22a.md%22%7D", "policy"),
];

/// The pictures of the documentation: the page, the width, and whether it is dark.
const PICTURES: [(&str, u32, bool); 7] = [
    ("overview", 1440, false),
    ("overview", 1440, true),
    ("overview", 390, false),
    ("overview", 390, true),
    ("call", 1024, false),
    ("tool", 1024, true),
    ("tasks", 1024, false),
];

/// An app with a server that edits notes, and an operator who is asked first.
fn notes() -> TestDir {
    let tool = json!({
        "name": "edit", "description": "Replaces a text in a note.",
        "inputSchema": {"type": "object", "required": ["path", "old_text", "new_text"], "properties": {
            "path": {"type": "string", "description": "The note."},
            "old_text": {"type": "string"},
            "new_text": {"type": "string"},
            "mode": {"enum": ["once", "all"]},
            "dry_run": {"type": "boolean", "default": false},
            "at_most": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"enum": ["work", "home"]}},
            "options": {"type": "object"},
        }},
    });
    let app = json!({
        "app": {"id": "notes"},
        "modules": {"hello": {}},
        "tools": {
            "registry": [
                {"type": "mcp", "namespace": "notes", "command": ["sh", "server.sh"], "cwd": "."},
                {"type": "mcp", "namespace": "tickets", "command": ["no-such-program"]},
            ],
            "capabilities": {"default_policy": "grant", "approve": [{"module": "notes"}], "deny": [{"module": "hello", "actions": ["status"]}]},
        },
    });
    let functions = format!("on_call() {{ text done; }}\nlist() {{ reply '{}'; }}", json!({"tools": [tool]}));
    TestDir::with_app(&app.to_string()).with_file("server.sh", mcp_script(&functions))
}

/// Makes calls of all outcomes, and leaves one waiting.
async fn fill(served: &Served) -> tokio::net::TcpStream {
    for name in ["Ada", "Grace", "Linus"] {
        served
            .modern(&[], "tools/call", json!({"name": "hello__say_hello", "arguments": {"name": name}}))
            .await;
    }
    served.modern(&[], "tools/call", json!({"name": "hello__say_hello", "arguments": {"nam": 1}})).await;
    served.modern(&[], "tools/call", json!({"name": "hello__status", "arguments": {}})).await;
    let arguments = json!({
        "path": "groceries.md",
        "old_text": "# Groceries\n- milk\n- tea\n- apples",
        "new_text": "# Groceries\n- oat milk\n- tea\n- apples\n- bread",
    });
    let call =
        served.modern_request(&[], "tools/call", json!({"name": "notes__edit", "arguments": arguments}));
    let mut stream = served.connect().await;
    stream.write_all(&call).await.unwrap();
    stream
}

#[tokio::test]
async fn every_page_is_accessible_at_all_widths_and_in_both_color_schemes() {
    let dir = notes();
    let (served, key) = start(&dir).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    let Some(axe) = axe() else { return };
    let at = |path: &str| format!("http://{}{path}", served.address);
    browser.goto(&at(&format!("/?key={key}"))).await;
    let _waiting = fill(&served).await;
    browser.until("document.querySelector('article.waiting')").await;
    for page in PAGES {
        is_accessible(&mut browser, &axe, &served, page).await;
    }
}

/// Checks a page at all widths and in both color schemes, and takes its pictures where they are wanted. The page is given
/// by its path and the name of its pictures.
pub(super) async fn is_accessible(
    browser: &mut Browser,
    axe: &str,
    served: &Served,
    (path, name): (&str, &str),
) {
    let pictures = std::env::var_os("TOOLCRIB_SCREENSHOTS").map(PathBuf::from);
    for (width, is_dark) in
        [(1440, false), (1024, true), (1024, false), (390, false), (390, true), (1440, true)]
    {
        browser.size(width, 900, is_dark).await;
        browser.goto(&format!("http://{}{path}", served.address)).await;
        browser.evaluate(&format!("{axe}; 0")).await;
        let found = browser.evaluate("axe.run().then((run) => run.violations.map((one) => [one.id, one.nodes.map((node) => node.html + node.failureSummary)]))").await;
        assert_eq!(found, json!([]), "{path} at {width}, dark: {is_dark}");
        let overflow = browser.evaluate("document.documentElement.scrollWidth - innerWidth").await;
        assert!(overflow.as_i64().unwrap() <= 0, "{path} at {width} is {overflow} too wide");
        if let Some(folder) = &pictures
            && (PICTURES.contains(&(name, width, is_dark)) || std::env::var_os("TOOLCRIB_ALL").is_some())
        {
            let scheme = if is_dark { "dark" } else { "light" };
            browser.screenshot(&folder.join(format!("console-{name}-{width}-{scheme}.png")), false).await;
        }
    }
}
