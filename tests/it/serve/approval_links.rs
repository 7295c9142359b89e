//! Links by which people answer calls, after the server was restarted.

use axum::response::IntoResponse as _;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use toolcrib_testkit::{Canary, Hit, wait_until};

use super::client::{SOON, Served, app, call_ask};
use super::console::send;
use crate::support::TestDir;

/// An app whose calls a person approves whom a webhook asks.
fn dir(receiver: &Canary) -> TestDir {
    let approvals = format!(
        "approvals:
  url: http://127.0.0.1
  people: {{alice: {{}}}}
  channels: {{hook: {{type: webhook, url: '{}', people: [alice]}}}}
  rules: [{{module: team, ask: [hook]}}]",
        receiver.url("/hook")
    );
    app(&approvals, "{default_policy: approve}")
}

/// Returns the path of the link that allows the call with this argument, once it was sent.
async fn link(receiver: &Canary, what: &str) -> String {
    let sent = || {
        let hits = receiver.hits();
        let mut messages = hits.iter().rev().filter_map(|hit| serde_json::from_str::<Value>(&hit.body).ok());
        Ok(messages.find(|message| message["call"]["arguments"]["what"] == what))
    };
    let message = wait_until("the message", SOON, sent).await.unwrap();
    message["links"]["allow"].as_str().unwrap().strip_prefix("http://127.0.0.1").unwrap().to_owned()
}

/// The call of a client that resumes it.
fn resumable(what: &str, state: Option<&Value>) -> Value {
    let mut params = call_ask();
    params["arguments"]["what"] = what.into();
    params["_meta"] = json!({"capabilities": {"elicitation": {"form": {}}}});
    if let Some(state) = state {
        params["requestState"] = state["result"]["requestState"].clone();
    }
    params
}

#[tokio::test]
async fn a_link_answers_a_call_that_its_client_resumes_after_a_restart() {
    let receiver = Canary::start(|_: &Hit| "".into_response()).await.unwrap();
    let dir = dir(&receiver);
    for (what, is_killed) in [("stopped", false), ("killed", true)] {
        let mut served = Served::start(&dir, &[]).await;
        let asked = served.modern(&[], "tools/call", resumable(what, None)).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let allow = link(&receiver, what).await;
        // This client waits, and cannot resume its call.
        let mut waits = call_ask();
        let waiting = format!("lost when {what}");
        waits["arguments"]["what"] = waiting.as_str().into();
        let mut stream = served.connect().await;
        stream.write_all(&served.modern_request(&[], "tools/call", waits)).await.unwrap();
        let lost = link(&receiver, &waiting).await;
        if is_killed {
            served.child.kill().await.unwrap();
        } else {
            drop(stream);
            served.terminate();
            served.child.wait().await.unwrap();
        }

        let served = Served::start(&dir, &[]).await;
        let page = served.get(&lost, &[]).await;
        assert_eq!(page.status, 410, "{page:?}");
        if is_killed {
            assert!(page.body.contains("has ended, and the call with it"), "{page:?}");
        }
        let page = served.get(&allow, &[]).await;
        assert!(page.status == 200 && page.body.contains("Allow this call"), "{page:?}");
        let answered = send(&served, &allow, &[], "decision=allow").await;
        assert!(
            answered.status == 200 && answered.body.contains("when the call is made again"),
            "{answered:?}"
        );
        assert_eq!(send(&served, &allow, &[], "decision=allow").await.status, 410);
        let done = served.modern(&[], "tools/call", resumable(what, Some(&asked))).await;
        assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
        let replayed = served.modern(&[], "tools/call", resumable(what, Some(&asked))).await;
        assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
    }
    assert_eq!(dir.read("home/called"), "ask\nask\n");
}
