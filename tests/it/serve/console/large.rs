//! The console of a large app after many calls.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{operator, start};
use crate::serve::client::Served;
use crate::support::TestDir;

const TOOLS: usize = 10_000;
const CALLS: usize = 10_000;

/// The number of calls in one request.
const CALLS_AT_ONCE: usize = 50;

/// The maximum size of a page, in bytes.
const MAX_PAGE_BYTES: usize = 1_000_000;

/// The maximum time to the first byte of a page: 100 ms, and more without optimization, while other tests run.
const FIRST_BYTE: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 100 });

/// The number of times that a page is loaded. The fastest counts, since other tests run meanwhile.
const LOADS: usize = 5;

#[tokio::test]
async fn pages_stay_small_and_fast_with_10_000_tools_and_10_000_calls() {
    let tools: Vec<_> = (0..TOOLS)
        .map(|number| {
            let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
            json!({"name": format!("tool_{number}"), "description": format!("Does the work number {number} of the department."), "risk": "low", "parameters": parameters})
        })
        .collect();
    let app = json!({
        "tools": {
            "registry": [{"type": "file", "path": "tools.json", "namespace": "work", "engine": "none"}],
            "engines": {"none": {"type": "mock"}},
            "capabilities": {"default_policy": "grant"},
        },
        "serve": {"limits": {"requests_per_second": 1_000_000}},
    });
    let dir =
        TestDir::with_app(&app.to_string()).with_file("tools.json", json!({"tools": tools}).to_string());
    let (served, key) = start(&dir).await;
    let cookie = operator(&served, &key).await;
    for begin in (0..CALLS).step_by(CALLS_AT_ONCE) {
        let calls: Vec<_> = (begin..begin + CALLS_AT_ONCE)
            .map(|number| json!({"name": format!("work.tool_{number}"), "params": {}}))
            .collect();
        let called = json!({"name": "run_parallel", "arguments": {"calls": calls}});
        let reply = served.modern(&[], "tools/call", called).await;
        assert_eq!(reply["result"]["isError"], json!(false), "{reply}");
    }
    for path in [
        "/",
        "/calls",
        "/calls?page=200",
        "/calls?q=tool_77",
        "/call?id=5000",
        "/tools",
        "/tools?page=100",
        "/tools?q=work+77",
        "/tool?name=work.tool_9",
        "/tasks",
        "/sessions",
        "/policy?tool=work.tool_9",
    ] {
        let mut best = Duration::MAX;
        for _ in 0..LOADS {
            let (first, bytes) = load(&served, path, &cookie).await;
            assert!(bytes.len() < MAX_PAGE_BYTES, "{path}: {} bytes", bytes.len());
            assert!(bytes.starts_with(b"HTTP/1.1 200"), "{path}");
            best = best.min(first);
        }
        eprintln!("{path}: {best:?}");
        assert!(best < FIRST_BYTE, "{path}: {best:?}");
    }
}

/// The time to the first byte of a page, and the page.
async fn load(served: &Served, path: &str, cookie: &str) -> (Duration, Vec<u8>) {
    let mut stream = served.connect().await;
    let request = served.request("GET", path, &[("cookie", cookie)], "");
    let begun = Instant::now();
    stream.write_all(&request).await.unwrap();
    let mut bytes = vec![stream.read_u8().await.unwrap()];
    let first = begun.elapsed();
    stream.read_to_end(&mut bytes).await.unwrap();
    (first, bytes)
}
