//! Skills are prompts, beside those of the servers behind; and what reading and prompting needs an answer for is asked.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::client::{Served, read_until};
use super::reader::app;

const GRANTED: &str = "{default_policy: grant}";

fn names(list: &Value) -> Vec<&str> {
    let prompts = list["result"]["prompts"].as_array().unwrap_or_else(|| panic!("{list}"));
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap()).collect()
}

fn text(got: &Value) -> &str {
    let text = got["result"]["messages"][0]["content"]["text"].as_str();
    text.unwrap_or_else(|| panic!("{got}"))
}

#[tokio::test]
async fn skills_are_prompts_beside_those_of_the_servers_behind() {
    let dir = app("", GRANTED);
    let served = Served::start(&dir, &[]).await;
    let found = served.modern(&[], "server/discover", json!({})).await;
    assert_eq!(found["result"]["capabilities"]["prompts"]["listChanged"], true, "{found}");
    let list = served.modern(&[], "prompts/list", json!({})).await;
    assert_eq!(names(&list), ["triage", "team.triage"]);
    let skill = &list["result"]["prompts"][0];
    assert_eq!(skill["description"], "Sorts what comes in. For: inbox");
    assert_eq!(skill["arguments"][0]["name"], "arguments");
    let params = json!({"name": "triage", "arguments": {"arguments": "my mail"}});
    let got = served.modern(&[], "prompts/get", params).await;
    insta::assert_snapshot!(text(&got));
    let other = served.modern(&[], "prompts/get", json!({"name": "team.triage"})).await;
    assert_eq!(text(&other), "Sort it.");
    let wrong = json!({"name": "triage", "arguments": {"mail": "all"}});
    let refused = served.modern(&[], "prompts/get", wrong).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn a_skill_that_policy_keeps_from_a_client_does_not_exist_for_it() {
    let serve = "
serve:
  tokens:
    - {name: ci, token: 0123456789abcdef-ci}
    - {name: me, token: 0123456789abcdef-me}
";
    let denied = r#"{default_policy: grant, deny: [{module: context_builder, actions: [use_skill], session: "serve/ci/*"}, {module: team, session: "serve/ci/*"}]}"#;
    let dir = app(serve, denied);
    let served = Served::start(&dir, &[]).await;
    let ci = [("authorization", "Bearer 0123456789abcdef-ci")];
    let me = [("authorization", "Bearer 0123456789abcdef-me")];
    assert_eq!(names(&served.modern(&me, "prompts/list", json!({})).await), ["triage", "team.triage"]);
    assert!(names(&served.modern(&ci, "prompts/list", json!({})).await).is_empty());
    let message = |name: &str| {
        let (served, ci, name) = (&served, &ci, name.to_owned());
        async move {
            let got = served.modern(ci, "prompts/get", json!({"name": name})).await;
            got["error"]["message"].as_str().unwrap_or_else(|| panic!("{got}")).replace(&name, "NAME")
        }
    };
    assert_eq!(message("triage").await, message("nothing").await);
}

#[tokio::test]
async fn reading_and_prompting_wait_for_the_users_yes() {
    let dir =
        app("", "{default_policy: grant, approve: [{module: team, actions: [read_resource, get_prompt]}]}");
    let served = Served::start(&dir, &[]).await;
    let form = json!({"capabilities": {"elicitation": {"form": {}}}});
    let requests = [
        ("resources/read", json!({"uri": "toolcrib://team/team://notes"}), "The notes."),
        ("prompts/get", json!({"name": "team.triage"}), "Sort it."),
    ];
    for (method, params, expected) in requests {
        let mut first = params.clone();
        first["_meta"] = form.clone();
        let asked = served.modern(&[], method, first.clone()).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        assert!(!dir.path("home/read").exists() || method != "resources/read");
        let mut again = first;
        again["requestState"] = asked["result"]["requestState"].clone();
        let keys = asked["result"]["inputRequests"].as_object().unwrap().keys();
        again["inputResponses"] = keys
            .map(|key| (key.clone(), json!({"action": "accept", "content": {}})))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let done = served.modern(&[], method, again.clone()).await;
        assert!(done["result"].to_string().contains(expected), "{done}");
        let replayed = served.modern(&[], method, again).await;
        assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
        // Where the client cannot ask, there is nobody.
        let denied = served.modern(&[], method, params).await;
        assert!(denied["error"]["message"].as_str().unwrap().contains("approval"), "{denied}");
    }
    assert_eq!(dir.read("home/read"), "read\n");
}

#[tokio::test]
async fn what_a_server_asks_before_it_gives_a_prompt_is_put_to_the_client() {
    let dir = app("", GRANTED);
    std::fs::write(dir.path("home/asks"), "").unwrap();
    let served = Served::start(&dir, &[]).await;
    let mut params = json!({"name": "team.triage", "_meta": {"capabilities": {"elicitation": {"form": {}}}}});
    let asked = served.modern(&[], "prompts/get", params.clone()).await;
    let requests = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
    let (key, question) = requests.iter().next().unwrap();
    assert!(question["params"]["message"].as_str().unwrap().contains("Which color?"), "{question}");
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({key: {"action": "accept", "content": {"color": "blue"}}});
    let got = served.modern(&[], "prompts/get", params).await;
    assert_eq!(text(&got), "Sort blue.");
}

#[tokio::test]
async fn a_client_hears_when_the_prompts_of_a_server_are_others() {
    let dir = app("", GRANTED);
    let served = Served::start(&dir, &[]).await;
    let session = served.session(&[], json!({})).await;
    let named = [("mcp-session-id", session.as_str())];
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(served.post(&named, &initialized).await.status, 202);
    let mut old = served.connect().await;
    old.write_all(&served.request("GET", "/mcp", &named, "")).await.unwrap();
    read_until(&mut old, "\r\n\r\n").await;
    let wanted = json!({"notifications": {"promptsListChanged": true, "resourcesListChanged": true}});
    let listen = served.modern_request(&[], "subscriptions/listen", wanted);
    let mut modern = served.connect().await;
    modern.write_all(&listen).await.unwrap();
    read_until(&mut modern, "acknowledged").await;
    let told = served.modern(&[], "tools/call", json!({"name": "team__tell", "arguments": {}})).await;
    assert_eq!(told["result"]["content"][0]["text"], "told", "{told}");
    read_until(&mut modern, "notifications/prompts/list_changed").await;
    read_until(&mut old, "notifications/prompts/list_changed").await;
}
