//! What needs approval is put to the client's user, once, about the call that runs.

use serde_json::{Value, json};

use super::client::{Served, app, call_ask, was_called};
use crate::support::TestDir;

const ASKED: &str = "{default_policy: approve}";

fn with_elicitation(mut params: Value) -> Value {
    params["_meta"] = json!({"capabilities": {"elicitation": {"form": {}}}});
    params
}

/// The call once more, with an answer to all that was asked.
fn again(asked: &Value, answer: &Value) -> Value {
    let mut params = with_elicitation(call_ask());
    params["requestState"] = asked["result"]["requestState"].clone();
    let keys = asked["result"]["inputRequests"].as_object().unwrap().keys();
    params["inputResponses"] =
        keys.map(|key| (key.clone(), answer.clone())).collect::<serde_json::Map<_, _>>().into();
    params
}

async fn served(dir: &TestDir) -> Served {
    Served::start(dir, &[]).await
}

#[tokio::test]
async fn a_call_waits_for_the_users_yes_and_runs_once() {
    let dir = app("", ASKED);
    let served = served(&dir).await;
    let asked = served.modern(&[], "tools/call", with_elicitation(call_ask())).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(!was_called(&dir));
    let question = asked["result"]["inputRequests"].as_object().unwrap().values().next().unwrap();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("Allow `team.ask`?\n\nRisk: ")
            && message.contains("\"what\": \"x\"")
            && message.ends_with("\n> Asks the team."),
        "{message}"
    );
    let yes = again(&asked, &json!({"action": "accept", "content": {}}));
    let done = served.modern(&[], "tools/call", yes.clone()).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
    assert_eq!(dir.read("home/called"), "ask\n");
    // The answer is used up.
    let replayed = served.modern(&[], "tools/call", yes).await;
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
    assert_eq!(dir.read("home/called"), "ask\n");
}

#[tokio::test]
async fn a_yes_that_comes_with_the_call_is_a_yes_to_nothing() {
    let dir = app("", ASKED);
    let served = served(&dir).await;
    let mut params = with_elicitation(call_ask());
    let yes = json!({"action": "accept", "content": {"decision": "once"}});
    params["inputResponses"] = json!({"question_1": yes, "decision": yes});
    let asked = served.modern(&[], "tools/call", params).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(!was_called(&dir));
}

#[tokio::test]
async fn a_no_and_a_client_that_cannot_ask_are_a_denial() {
    let dir = app("", ASKED);
    let served = served(&dir).await;
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {"decision": "deny", "feedback": "not today"}}),
    ] {
        let asked = served.modern(&[], "tools/call", with_elicitation(call_ask())).await;
        let denied = served.modern(&[], "tools/call", again(&asked, &answer)).await;
        let text = denied["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("approval_denied"), "{answer} {text}");
        assert_eq!(text.contains("not today"), answer["content"]["feedback"] == "not today");
    }
    let denied = served.modern(&[], "tools/call", call_ask()).await;
    assert!(
        denied["result"]["content"][0]["text"].as_str().unwrap().contains("approval_required"),
        "{denied}"
    );
    assert!(!was_called(&dir));
}

#[tokio::test]
async fn a_state_that_was_changed_or_is_for_another_call_is_refused_and_nothing_runs() {
    let dir = app("", ASKED);
    let served = served(&dir).await;
    let yes = json!({"action": "accept", "content": {}});
    let asked = served.modern(&[], "tools/call", with_elicitation(call_ask())).await;
    let state = asked["result"]["requestState"].as_str().unwrap().to_owned();
    let mut changed = state.clone().into_bytes();
    let middle = changed.len() / 2;
    changed[middle] = if changed[middle] == b'A' { b'B' } else { b'A' };
    for forged in
        [String::from_utf8(changed).unwrap(), format!("{state}A"), "rs1.e30.e30".into(), String::new()]
    {
        let mut params = again(&asked, &yes);
        params["requestState"] = forged.clone().into();
        let refused = served.modern(&[], "tools/call", params).await;
        assert_eq!(refused["error"]["code"], -32602, "{forged} {refused}");
    }
    let mut other = again(&asked, &yes);
    other["arguments"]["what"] = "something else".into();
    let refused = served.modern(&[], "tools/call", other).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(!was_called(&dir));
    // None of it has used up the real one; an answer to nothing asks again.
    let mut empty = again(&asked, &yes);
    empty["inputResponses"] = json!({"something": yes});
    let once_more = served.modern(&[], "tools/call", empty).await;
    assert_eq!(once_more["result"]["resultType"], "input_required", "{once_more}");
    let done = served.modern(&[], "tools/call", again(&once_more, &yes)).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
}

#[tokio::test]
async fn several_calls_of_one_request_are_asked_about_together() {
    let dir = app("", ASKED);
    let served = served(&dir).await;
    let params = json!({"name": "run_parallel", "arguments": {"calls": [
        {"name": "team.ask", "params": {"what": "a"}}, {"name": "team.ask", "params": {"what": "b"}},
    ]}});
    let asked = served.modern(&[], "tools/call", with_elicitation(params.clone())).await;
    let keys: Vec<_> = asked["result"]["inputRequests"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys.len(), 2, "{asked}");
    let mut second = with_elicitation(params);
    second["requestState"] = asked["result"]["requestState"].clone();
    second["inputResponses"] = json!({&keys[0]: {"action": "accept"}, &keys[1]: {"action": "decline"}});
    let done = served.modern(&[], "tools/call", second).await;
    let text = done["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("done") && text.contains("approval_denied"), "{text}");
    assert_eq!(dir.read("home/called"), "ask\n");
}

#[tokio::test]
async fn a_client_with_a_session_is_asked_in_the_middle_of_its_request() {
    use super::client::read_until;
    use tokio::io::AsyncWriteExt as _;

    let dir = app("", ASKED);
    let served = served(&dir).await;
    let session = served.session(&[], json!({"elicitation": {}})).await;
    let named = [("mcp-session-id", session.as_str())];
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call_ask()});
    let mut stream = served.connect().await;
    stream.write_all(&served.request("POST", "/mcp", &named, &call.to_string())).await.unwrap();
    let mut text = read_until(&mut stream, "elicitation/create").await;
    if !text.rsplit("elicitation/create").next().unwrap().contains("\n\n") {
        text.push_str(&read_until(&mut stream, "\n\n").await);
    }
    let data = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .find(|data| data.contains("elicitation/create"));
    let question: Value = serde_json::from_str(data.unwrap().trim()).unwrap();
    assert!(!was_called(&dir));
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"decision": "once"}}});
    assert_eq!(served.post(&named, &answer.to_string()).await.status, 202);
    let rest = read_until(&mut stream, "\"id\":7").await;
    assert!(rest.contains("done"), "{rest}");
    assert_eq!(dir.read("home/called"), "ask\n");
}
