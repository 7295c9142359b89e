//! What the peers promise, seen by a client and by the system.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use toolcrib_io::http::{HttpClient, HttpPolicy};

use crate::{FaultScript, FaultyModel, ModelServer, PetStore, Turn, descendants, processes_of, wait_until};

const PATIENCE: Duration = Duration::from_secs(20);

fn client() -> HttpClient {
    HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() }).unwrap()
}

fn request(stream: bool) -> Value {
    json!({
        "model": "m",
        "stream": stream,
        "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "hello"}],
    })
}

/// The status and the body of an answer, or how far the body came before it broke off.
async fn ask(base_url: &str, request: &Value) -> (u16, Result<String, String>) {
    let url = format!("{base_url}/chat/completions");
    let sent = client().reqwest_client().post(url).bearer_auth("test").json(request).send().await.unwrap();
    let status = sent.status().as_u16();
    let (mut answer, mut body) = (sent, Vec::new());
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return (status, Ok(String::from_utf8(body).unwrap())),
            Err(_) => return (status, Err(String::from_utf8(body).unwrap())),
        }
    }
}

fn events(stream: &str) -> Vec<Value> {
    let events = stream.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    events.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

#[tokio::test]
async fn a_stream_holds_the_turn_in_pieces_and_what_it_cost() {
    let turn = Turn::call("a__b", &json!({"word": "voilà, in more than one piece"})).saying("I call a tool.");
    let server = ModelServer::start([turn]).await.unwrap();
    let (status, body) = ask(&server.base_url(), &request(true)).await;
    let body = body.unwrap();
    assert_eq!(status, 200);
    assert!(body.ends_with("data: [DONE]\n\n"), "{body}");

    let events = events(&body);
    let texts = events.iter().filter_map(|event| event.pointer("/choices/0/delta/content")?.as_str());
    assert_eq!(texts.collect::<String>(), "I call a tool.");
    let pieces: Vec<_> = events
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0/function/arguments")?.as_str())
        .collect();
    assert!(pieces.len() > 3, "{pieces:?}");
    assert_eq!(pieces.concat(), r#"{"word":"voilà, in more than one piece"}"#);
    assert_eq!(events.last().unwrap()["usage"]["total_tokens"], 110);
}

#[tokio::test]
async fn a_request_that_does_not_stream_gets_the_turn_in_one_piece() {
    let server = ModelServer::start([Turn::call("a", &json!({})).and_call("b", &json!({}))]).await.unwrap();
    let (_, body) = ask(&server.base_url(), &request(false)).await;
    let answer: Value = serde_json::from_str(&body.unwrap()).unwrap();
    let calls = &answer["choices"][0]["message"]["tool_calls"];
    assert_eq!((&calls[0]["id"], &calls[1]["id"]), (&json!("call_1_1"), &json!("call_1_2")));
    assert_eq!(calls[1]["function"]["name"], "b");
}

#[tokio::test]
async fn faults_come_before_the_answer_and_in_the_middle_of_it() {
    let server =
        ModelServer::start([Turn::text("late").refused_first(429), Turn::text("half a sentence").cut_off()])
            .await
            .unwrap();
    assert_eq!(ask(&server.base_url(), &request(true)).await.0, 429);
    assert_eq!(ask(&server.base_url(), &request(true)).await.0, 200);
    let half = ask(&server.base_url(), &request(true)).await.1.unwrap_err();
    assert!(half.contains(r#""content":"half a ""#) && !half.contains("sentence"), "{half}");
    let (status, over) = ask(&server.base_url(), &request(true)).await;
    assert_eq!(status, 400);
    assert!(over.unwrap().contains("the script has no turn 3"));
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_script_of_faults_is_followed_and_what_the_api_would_refuse_is_noted() {
    let script = FaultScript::parse(
        "
answers:
  - {status: 429, headers: {retry-after: '7'}, body: [{json: {error: {message: slow down}}}]}
  - {pace: 1, body: [{say: é}, {repeat: {times: 20000, steps: [{text: a}]}}, done]}
  - {framing: {length_off: 5}, body: [{say: short}]}
  - {body: [{call: {index: 0, id: '', name: a, arguments: null}}, cut]}
",
    );
    let server = FaultyModel::start(script.unwrap(), 0).await.unwrap();
    let url = format!("{}/chat/completions", server.base_url());
    let busy = client().reqwest_client().post(url).bearer_auth("test").json(&request(true)).send().await;
    assert_eq!(busy.unwrap().headers()["retry-after"], "7");
    let (_, dripped) = ask(&server.base_url(), &request(true)).await;
    let dripped = dripped.unwrap();
    assert!(dripped.contains(r#""content":"é""#) && dripped.ends_with("aadata: [DONE]\n\n"), "{dripped}");
    assert_eq!(dripped.matches("aa").count(), 10_000);
    assert!(ask(&server.base_url(), &request(true)).await.1.unwrap_err().contains("short"));
    let cut = ask(&server.base_url(), &request(true)).await.1.unwrap_err();
    assert!(cut.contains(r#""arguments":null"#) && !cut.contains("[DONE]"), "{cut}");
    assert_eq!((ask(&server.base_url(), &request(true)).await.0, server.problems().len()), (400, 0));
    assert_eq!(ask(&server.base_url(), &json!({"messages": []})).await.0, 400);
    assert_eq!((server.requests().len(), server.problems().len()), (6, 1));
}

#[tokio::test]
async fn what_the_real_api_refuses_is_refused_and_recorded() {
    let server = ModelServer::endless(|_| Turn::text("yes")).await.unwrap();
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "a", "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
    let assistant = json!({"role": "assistant", "content": "", "tool_calls": [call("1"), call("2")]});
    for (messages, problem) in [
        (json!([]), "at least one"),
        (json!([assistant, result("1")]), "\\\"2\\\" has no result"),
        (json!([assistant, result("1"), result("2"), result("2")]), "answers no call"),
        (json!([result("1")]), "answers no call"),
    ] {
        let (status, body) = ask(&server.base_url(), &json!({"model": "m", "messages": messages})).await;
        assert_eq!(status, 400);
        assert!(body.clone().unwrap().contains(problem), "{body:?}");
    }
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    for tools in
        [json!([]), json!([tool("a.b")]), json!([tool("a"), tool("a")]), json!([{"function": {"name": "a"}}])]
    {
        let mut request = request(false);
        request["tools"] = tools;
        assert_eq!(ask(&server.base_url(), &request).await.0, 400, "{request}");
    }
    let complete = json!({"model": "m", "messages": [assistant, result("2"), result("1")]});
    assert_eq!(ask(&server.base_url(), &complete).await.0, 200);
    assert_eq!(server.requests().last().unwrap().json().unwrap(), complete);

    let url = format!("{}/chat/completions", server.base_url());
    let keyless = client().reqwest_client().post(url).json(&complete).send().await.unwrap();
    assert_eq!(keyless.status().as_u16(), 401);
}

#[tokio::test]
async fn the_pet_store_does_what_its_document_says() {
    let store = PetStore::start().await.unwrap();
    let http = client();
    let http = http.reqwest_client();
    let document = http.get(store.document_url()).send().await.unwrap().text().await.unwrap();
    assert_eq!(document.lines().count(), store.document().lines().count());
    assert!(store.document().contains(&format!(
        "servers: [{{url: \"{}/",
        store.document_url().trim_end_matches("/openapi.yaml")
    )));

    let pets = format!("{}/pet", store.base_url());
    let token = |number: u64| format!("token-of-the-store-{number}");
    let add = |token: String| http.post(&pets).bearer_auth(token).json(&json!({"name": "Bo"})).send();
    assert_eq!(add(token(1)).await.unwrap().status().as_u16(), 401, "none was issued");
    let form =
        "grant_type=client_credentials&client_id=app&client_secret=client%20secret%20%26%20of%20the%20store";
    let issued: Value = http.post(store.token_url()).body(form).send().await.unwrap().json().await.unwrap();
    assert_eq!((&issued["access_token"], store.tokens()), (&json!(token(1)), 1));
    let added = add(token(1)).await.unwrap();
    assert_eq!(
        (added.status().as_u16(), added.json().await.ok()),
        (201, Some(json!({"name": "Bo", "id": 3})))
    );
    store.revoke_tokens();
    assert_eq!(add(token(1)).await.unwrap().status().as_u16(), 401);

    store.answer_next(503, &[("retry-after", "7")]);
    let busy = http.get(format!("{pets}/findByStatus?status=pending")).send().await.unwrap();
    assert_eq!((busy.status().as_u16(), busy.headers()["retry-after"].as_bytes()), (503, &b"7"[..]));
    assert_eq!(busy.headers()["content-type"], "application/problem+json");
    let lines = ["POST /pet", "POST /pet", "POST /pet", "GET /pet/findByStatus?status=pending"];
    assert_eq!(store.asked(), lines);
    assert_eq!(store.requests()[1].body, r#"{"name":"Bo"}"#);
}

#[tokio::test]
async fn a_grandchild_is_found_as_a_descendant_and_by_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(processes_of(folder.path()).unwrap(), []);
    let mut child = Command::new("sh")
        .args(["-c", "cd /; sleep 300 & echo; wait"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("MARK", folder.path().canonicalize().unwrap())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let id = child.id().unwrap();
    child.stdout.as_mut().unwrap().read_u8().await.unwrap();
    let sleeping = || Ok(descendants(id)?.into_iter().find(|process| process.command == "sleep 300"));
    let grandchild = wait_until("the sleep of the shell", PATIENCE, sleeping).await.unwrap();
    assert!(descendants(std::process::id()).unwrap().contains(&grandchild));

    child.kill().await.unwrap();
    assert!(grandchild.is_alive(), "it has outlived its parent");
    let orphans: Vec<u32> = processes_of(folder.path()).unwrap().iter().map(|process| process.id).collect();
    assert_eq!(orphans, [grandchild.id]);
    let end = Command::new("kill").arg(grandchild.id.to_string()).status().await.unwrap();
    assert!(end.success());
    let gone = || Ok((!grandchild.is_alive()).then_some(()));
    wait_until("the end of the sleep", PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn waiting_in_vain_ends_with_what_was_waited_for() {
    let error = wait_until("a sign", Duration::from_millis(1), || Ok(None::<()>)).await.unwrap_err();
    assert_eq!(error.to_string(), "waited 0.001 s in vain: a sign");
}
