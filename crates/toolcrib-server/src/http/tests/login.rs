//! The page that browsers come back to after a login by a link.

use toolcrib_app::oauth::client::LoginOwner;
use toolcrib_sdk::LoginPrompt;

use super::*;

/// A tool whose user logs in by a link.
pub(super) fn log_in() -> FunctionTool {
    FunctionTool::new("log_in", "Logs in.", |_: Nothing, context: CallContext| async move {
        let prompt = LoginPrompt::new(&context, "crm", "ada");
        let agrees = prompt.show("https://login.example/?state=s").await;
        prompt.ended().await;
        prompt.ended().await;
        Ok::<_, ToolError>(json!({"agrees": agrees}))
    })
}

impl Served {
    /// Begins a session of a client with these capabilities.
    pub(super) async fn session_with(&self, revision: &str, capabilities: &Value) -> TestSession {
        let answer = self.answer(&initialize_as(revision, "", capabilities)).await;
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
        let headers = format!("mcp-session-id: {id}\r\nmcp-protocol-version: {revision}\r\n");
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        let answer = self.answer(&request("POST", "/mcp", &headers, &body)).await;
        assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
        TestSession { headers }
    }
}

fn form(body: &str, more: &str) -> Vec<u8> {
    let text = String::from_utf8(request("POST", "/oauth/callback", more, body)).unwrap();
    text.replace("content-type: application/json", "content-type: application/x-www-form-urlencoded")
        .into_bytes()
}

#[tokio::test]
async fn an_answer_is_taken_once_for_its_user_and_only_after_that_person_has_agreed() {
    let served = Served::start().await;
    let links = served.server.shared.runtime().app().extensions.login_links.clone();
    assert!(links.is_served());
    let owner = LoginOwner { namespace: "crm".into(), user: "alice".into() };
    let (waiting, of_owner) = (links.clone(), owner.clone());
    let login =
        tokio::spawn(async move { waiting.answer(of_owner, "state-1".into(), std::future::pending()).await });
    timeout(PATIENCE, async {
        while links.owner("state-1").is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    let again = links.answer(owner, "state-2".into(), std::future::pending()).await;
    assert_eq!(again.unwrap_err(), "a login of this user waits already; follow its link");

    for unknown in ["", "?code=c&state=state-2", "?code=c", "?code=c&state=state-1&state=state-1"] {
        let answer = served.answer(&request("GET", &format!("/oauth/callback{unknown}"), "", "")).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{unknown}: {answer}");
    }
    // It comes from the page of the authorization server.
    let foreign = "sec-fetch-site: cross-site\r\n";
    let answer = "code=code-1&state=state-1&iss=https%3A%2F%2Flogin.example";
    let page = served.answer(&request("GET", &format!("/oauth/callback?{answer}"), foreign, "")).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("frame-ancestors 'none'"), "{page}");
    assert!(page.contains("<strong>alice</strong> to <strong>crm</strong>"), "{page}");
    assert!(!login.is_finished(), "nobody has agreed");
    let refused = served.answer(&form(answer, "origin: https://evil.example\r\n")).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let refused = served.answer(&request("POST", "/oauth/callback", "", answer)).await;
    assert!(refused.starts_with("HTTP/1.1 415"), "{refused}");
    assert!(!login.is_finished());

    let page = served.answer(&form(answer, "")).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("is being completed"), "{page}");
    let redirect = timeout(PATIENCE, login).await.unwrap().unwrap().unwrap();
    assert_eq!(redirect.code.unwrap().expose(), "code-1");
    assert_eq!(redirect.issuer.as_deref(), Some("https://login.example"));
    let again = served.answer(&form(answer, "")).await;
    assert!(again.starts_with("HTTP/1.1 404"), "{again}");
    served.end().await;
}

/// Reads from a stream until it has a message of this method or with this id, and returns the message.
async fn message_with(stream: &mut TcpStream, read: &mut String, is_it: impl Fn(&Value) -> bool) -> Value {
    timeout(PATIENCE, async {
        let mut bytes = [0; 4096];
        loop {
            let data = read.lines().filter_map(|line| line.strip_prefix("data:"));
            let found =
                data.filter_map(|data| serde_json::from_str(data.trim()).ok()).find(|value| is_it(value));
            if let Some(found) = found {
                return found;
            }
            let count = stream.read(&mut bytes).await.unwrap();
            assert!(count > 0, "{read}");
            read.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn the_client_that_shows_the_page_of_a_login_is_told_once_that_it_has_ended() {
    let served = Served::start().await;
    let mut streams = Vec::new();
    for (capabilities, method, count) in [
        (json!({"elicitation": {"url": {}}}), "url", 1),
        // The link is a line in a form, of which the client knows no page.
        (json!({"elicitation": {}}), "form", 0),
    ] {
        let session = served.session_with("2025-11-25", &capabilities).await;
        let (mut stream, mut read) = (served.send(&session.call("shop__log_in")).await, String::new());
        let asked = |message: &Value| message["method"] == "elicitation/create";
        let asked = message_with(&mut stream, &mut read, asked).await;
        assert_eq!(asked["params"]["mode"], method, "{asked}");
        let body = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}}).to_string();
        let answer = served.answer(&request("POST", "/mcp", &session.headers, &body)).await;
        assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
        let is_result = |message: &Value| message["id"] == 7 && message["result"].is_object();
        message_with(&mut stream, &mut read, is_result).await;
        // What belongs to no request comes in the stream of the session.
        let mut stream = served.send(&request("GET", "/mcp", &session.headers, "")).await;
        let mut told = String::new();
        if count > 0 {
            let ended = |message: &Value| message["method"] == "notifications/elicitation/complete";
            let ended = message_with(&mut stream, &mut told, ended).await;
            assert_eq!(ended["params"], json!({"elicitationId": asked["params"]["elicitationId"]}));
        }
        streams.push((stream, told, count));
    }
    served.end().await;
    for (stream, mut told, count) in streams {
        told.push_str(&read(stream).await);
        assert_eq!(told.matches("elicitation/complete").count(), count, "{told}");
    }
}
