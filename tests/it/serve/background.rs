//! Calls that take long: in the background, or as tasks where the client takes these.

use serde_json::{Value, json};
use toolcrib_testkit::wait_until;

use super::client::{SOON, Served, call_ask, let_go, was_called};
use super::reader::app;

const GRANTED: &str = "{default_policy: grant}";
const AFTER: &str = "execution: {background_after: 1}";

fn texts(done: &Value) -> Vec<&str> {
    let content = done["result"]["content"].as_array().unwrap_or_else(|| panic!("{done}"));
    content.iter().filter_map(|block| block["text"].as_str()).collect()
}

fn status_call() -> Value {
    json!({"name": "hello__status", "arguments": {}})
}

fn with_tasks(mut params: Value) -> Value {
    params["_meta"] = json!({"capabilities": {
        "elicitation": {"form": {}},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    }});
    params
}

/// How a task stands.
async fn task(served: &Served, headers: &[(&str, &str)], id: &str) -> Value {
    served.modern(headers, "tasks/get", with_tasks(json!({"taskId": id}))).await
}

/// Waits until a task stands so.
async fn until(served: &Served, id: &str, status: &str) -> Value {
    tokio::time::timeout(SOON, async {
        loop {
            let now = task(served, &[], id).await;
            if now["result"]["status"] == status {
                return now;
            }
            assert!(now["result"]["status"] == "working", "{now}");
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("the task is not {status}"))
}

#[tokio::test]
async fn a_call_that_takes_long_goes_on_and_its_end_is_told_once() {
    let dir = app(AFTER, GRANTED);
    let served = Served::start(&dir, &[]).await;
    let moved = served.modern(&[], "tools/call", call_ask()).await;
    let id = moved["result"]["structuredContent"]["task_id"].as_str().unwrap_or_else(|| panic!("{moved}"));
    assert!(was_called(&dir));
    let listed = json!({"name": "background_run", "arguments": {"task_id": id}});
    let status = served.modern(&[], "tools/call", listed).await;
    assert_eq!(status["result"]["structuredContent"]["status"], "running", "{status}");
    let_go(&dir);
    let noted = tokio::time::timeout(SOON, async {
        loop {
            let done = served.modern(&[], "tools/call", status_call()).await;
            if let [_, noted] = texts(&done)[..] {
                return noted.to_owned();
            }
        }
    });
    let noted = noted.await.expect("it is told").replace(id, "TASK");
    let (at, rest) = noted.split_once(" UTC: ").unwrap();
    assert!(at.starts_with("This happened outside of your calls:\n- "), "{noted}");
    assert_eq!(rest, "The background task TASK (team.ask) has ended: \"ask done\"");
    let after = served.modern(&[], "tools/call", status_call()).await;
    assert_eq!(texts(&after).len(), 1, "{after}");
}

#[tokio::test]
async fn a_call_that_may_go_on_in_the_background_asks_its_client_as_any() {
    let dir = app(AFTER, "{default_policy: approve}");
    let_go(&dir);
    let served = Served::start(&dir, &[]).await;
    let mut params = call_ask();
    params["_meta"] = json!({"capabilities": {"elicitation": {"form": {}}}});
    let asked = served.modern(&[], "tools/call", params.clone()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap();
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({key: {"action": "accept", "content": {}}});
    let done = served.modern(&[], "tools/call", params).await;
    assert_eq!(texts(&done)[0], "ask done", "{done}");
}

#[tokio::test]
async fn a_client_that_takes_tasks_gets_one_and_nobody_else_sees_it() {
    let serve = format!(
        "{AFTER}
serve:
  tokens:
    - {{name: ci, token: 0123456789abcdef-ci}}
    - {{name: me, token: 0123456789abcdef-me}}
"
    );
    let dir = app(&serve, GRANTED);
    let served = Served::start(&dir, &[]).await;
    let ci = [("authorization", "Bearer 0123456789abcdef-ci")];
    let me = [("authorization", "Bearer 0123456789abcdef-me")];
    let found = served.modern(&me, "server/discover", json!({})).await;
    let extensions = &found["result"]["capabilities"]["extensions"];
    assert!(extensions["io.modelcontextprotocol/tasks"].is_object(), "{found}");
    let created = served.modern(&me, "tools/call", with_tasks(call_ask())).await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    let id = created["result"]["taskId"].as_str().unwrap();
    assert_eq!(created["result"]["ttlMs"].as_u64().unwrap() / 60_000, 30, "{created}");
    assert_eq!(task(&served, &me, id).await["result"]["status"], "working");
    for (headers, other) in [(&ci, id), (&me, "task_0123456789abcdef")] {
        let unknown = task(&served, headers, other).await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        let cancel = served.modern(headers, "tasks/cancel", with_tasks(json!({"taskId": other}))).await;
        assert_eq!(cancel["error"]["code"], -32602, "{cancel}");
    }
    // A client that does not say that it takes tasks is told what is missing.
    let silent = served.modern(&me, "tasks/get", json!({"taskId": id})).await;
    assert_eq!(silent["error"]["code"], -32021, "{silent}");
    let_go(&dir);
    let done = tokio::time::timeout(SOON, async {
        loop {
            let now = task(&served, &me, id).await;
            if now["result"]["status"] == "completed" {
                return now;
            }
        }
    });
    let done = done.await.expect("it ends");
    assert_eq!(done["result"]["result"]["content"][0]["text"], "ask done", "{done}");
    // It is there to be read again, and its end is told in no other way.
    assert_eq!(task(&served, &me, id).await["result"]["result"], done["result"]["result"]);
    assert_eq!(texts(&served.modern(&me, "tools/call", status_call()).await).len(), 1);
}

#[tokio::test]
async fn a_task_that_is_cancelled_ends() {
    let dir = app(AFTER, GRANTED);
    let served = Served::start(&dir, &[]).await;
    let created = served.modern(&[], "tools/call", with_tasks(call_ask())).await;
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}"));
    let cancel = || served.modern(&[], "tasks/cancel", with_tasks(json!({"taskId": id})));
    assert_eq!(cancel().await["result"]["resultType"], "complete");
    until(&served, id, "cancelled").await;
    assert_eq!(cancel().await["result"]["resultType"], "complete");
}

#[tokio::test]
async fn what_is_asked_in_the_middle_of_a_task_is_answered_by_an_update() {
    let dir = app(AFTER, GRANTED);
    std::fs::write(dir.path("home/asks"), "").unwrap();
    let served = Served::start(&dir, &[]).await;
    let created = served.modern(&[], "tools/call", with_tasks(call_ask())).await;
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}"));
    let_go(&dir);
    let asks = until(&served, id, "input_required").await;
    let requests = asks["result"]["inputRequests"].as_object().unwrap();
    let key = requests.keys().next().unwrap();
    assert!(requests[key]["params"]["message"].as_str().unwrap().contains("Which color?"), "{asks}");
    let update = |answer: Value| {
        served.modern(&[], "tasks/update", with_tasks(json!({"taskId": id, "inputResponses": answer})))
    };
    let other = update(json!({"something": {"action": "accept"}})).await;
    assert_eq!(other["result"]["resultType"], "complete", "{other}");
    assert_eq!(task(&served, &[], id).await["result"]["status"], "input_required");
    update(json!({key: {"action": "accept", "content": {"color": "blue"}}})).await;
    let done = until(&served, id, "completed").await;
    assert_eq!(done["result"]["result"]["content"][0]["text"], "chose blue", "{done}");
}

#[tokio::test]
async fn a_question_that_comes_after_the_client_has_left_is_answered_by_nobody() {
    let dir = app(AFTER, GRANTED);
    std::fs::write(dir.path("home/asks"), "").unwrap();
    let served = Served::start(&dir, &[]).await;
    let mut params = call_ask();
    params["_meta"] = json!({"capabilities": {"elicitation": {"form": {}}}});
    let moved = served.modern(&[], "tools/call", params).await;
    let id = moved["result"]["structuredContent"]["task_id"].as_str().unwrap_or_else(|| panic!("{moved}"));
    let_go(&dir);
    let wait = json!({"name": "background_run", "arguments": {"task_id": id, "wait": true}});
    let done = served.modern(&[], "tools/call", wait).await;
    assert_eq!(done["result"]["structuredContent"]["result"], "chose none", "{done}");
    wait_until("the call of the tool", SOON, || Ok(was_called(&dir).then_some(()))).await.unwrap();
}
