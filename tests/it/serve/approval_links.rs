//! Links by which people answer calls, after the server was restarted.

use axum::response::IntoResponse as _;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use toolcrib_testkit::{Canary, Hit, wait_until};

use super::client::{SOON, Served, app, call_ask, until_called};
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

/// Starts a call in the background, and returns the path of the link that allows it.
async fn begin_task(served: &Served, receiver: &Canary, what: &str) -> String {
    let params = json!({"tool": "team.ask", "params": {"what": what}});
    let started =
        served.modern(&[], "tools/call", json!({"name": "background_run", "arguments": params})).await;
    assert_eq!(started["result"]["structuredContent"]["status"], "waiting_for_approval", "{started}");
    link(receiver, what).await
}

#[tokio::test]
async fn a_link_answers_a_task_that_a_reload_of_the_app_has_interrupted() {
    let receiver = Canary::start(|_: &Hit| "".into_response()).await.unwrap();
    let dir = dir(&receiver);
    let served = Served::start(&dir, &[]).await;
    let first = begin_task(&served, &receiver, "reloaded").await;
    let app = dir.read("app.yaml").replace("modules: {hello: {}}", "modules: {hello: {}, scheduler: {}}");
    std::fs::write(dir.path("app.yaml"), app).unwrap();
    served.until_says("app.yaml was read again").await;
    // The task asks again, and both links answer it.
    let asked = || Ok((receiver.hits().len() == 2).then_some(()));
    wait_until("the second message", SOON, asked).await.unwrap();
    let page = served.get(&first, &[]).await;
    assert!(page.status == 200 && page.body.contains("Allow this call"), "{page:?}");
    let answered = send(&served, &first, &[], "decision=allow").await;
    assert!(answered.status == 200 && answered.body.contains("Your answer was accepted"), "{answered:?}");
    until_called(&dir).await;
    let second = link(&receiver, "reloaded").await;
    assert_ne!(first, second);
    assert_eq!(served.get(&second, &[]).await.status, 410);
    assert_eq!(dir.read("home/called"), "ask\n");
}

#[tokio::test]
async fn a_task_that_waits_for_a_person_delays_no_end_and_goes_on_after_the_restart() {
    let receiver = Canary::start(|_: &Hit| "".into_response()).await.unwrap();
    let dir = dir(&receiver);
    let mut served = Served::start(&dir, &[]).await;
    let allow = begin_task(&served, &receiver, "restarted").await;
    let mut stream = served.connect().await;
    stream.write_all(&served.modern_request(&[], "tools/call", call_ask())).await.unwrap();
    let waits = || Ok((receiver.hits().len() == 2).then_some(()));
    wait_until("the message about the call of the client", SOON, waits).await.unwrap();
    let since = std::time::Instant::now();
    served.terminate();
    served.until_says("calls that wait for a person end now: `team.ask`").await;
    assert!(served.child.wait().await.unwrap().success());
    assert!(since.elapsed() < std::time::Duration::from_secs(8), "{:?}", since.elapsed());

    let served = Served::start(&dir, &[]).await;
    let asked = || Ok((receiver.hits().len() == 3).then_some(()));
    wait_until("the message after the restart", SOON, asked).await.unwrap();
    let answered = send(&served, &allow, &[], "decision=allow").await;
    assert!(answered.status == 200 && answered.body.contains("Your answer was accepted"), "{answered:?}");
    until_called(&dir).await;
    assert_eq!(dir.read("home/called"), "ask\n");
}
