//! Who may call tools, replay calls and follow events on the console.

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{ASKED, GRANTED, field, operator, send, start, start_by};
use crate::serve::client::{Served, app, app_with_tokens, call_ask, was_called};
use crate::support::PATIENCE;

#[tokio::test]
async fn only_the_operator_calls_tools_and_only_with_a_form_of_the_console() {
    let dir = app("", GRANTED);
    let (served, key) = start(&dir).await;
    let cookie = operator(&served, &key).await;
    let named = ("cookie", cookie.as_str());
    let page = served.get("/tool?name=team.ask", &[named]).await.body;
    let (seal, fingerprint) = (field(&page, "seal"), field(&page, "fingerprint"));
    let form = format!("tool=team::ask&fingerprint={fingerprint}&seal={seal}&field-0=hello");
    for (headers, body, status) in [
        (vec![], form.clone(), 403),
        (vec![named, ("origin", "https://evil.example")], form.clone(), 403),
        (vec![named, ("origin", "null")], form.clone(), 403),
        (vec![named], form.replace(seal, "00"), 403),
        (vec![named], form.replace("team::ask", "hello::status"), 403),
        (vec![named], format!("{form}&others=x"), 400),
        (vec![named], "x".repeat(600_000), 413),
        (vec![named, ("content-type", "application/json")], form.clone(), 415),
    ] {
        let reply = send(&served, "/try", &headers, &body).await;
        assert_eq!(reply.status, status, "{headers:?} {body}: {reply:#?}");
    }
    assert_eq!(served.get(&format!("/try?{form}"), &[named]).await.status, 405);
    assert!(!was_called(&dir));
    let taken = send(&served, "/try", &[named], &form).await;
    assert_eq!((taken.status, taken.header("location")), (303, Some("/trial?id=1")));
    crate::serve::client::until_called(&dir).await;
    // The result is the operator's.
    assert!(served.get("/trial?id=1", &[]).await.body.contains("There is no such call."));

    let page = served.get("/call?id=1", &[named]).await.body;
    let replay = format!("id=1&seal={}&arguments=%7B%7D", field(&page, "seal"));
    for (headers, body) in [(vec![], replay.clone()), (vec![named], replay.replace("seal=", "seal=0"))] {
        assert_eq!(send(&served, "/replay", &headers, &body).await.status, 403, "{headers:?}");
    }
    let run = send(&served, "/replay", &[named], &replay).await;
    assert!(run.status == 200 && run.body.contains("It would run."), "{run:#?}");
    assert!(!served.get("/call?id=1", &[]).await.body.contains("/replay"));
}

#[tokio::test]
async fn arguments_are_shown_to_those_who_approve_only_and_only_if_the_app_records_them() {
    for (audit, is_recorded) in [("", false), ("audit: {path: audit.jsonl, values: true}", true)] {
        let dir = app(audit, GRANTED);
        let (served, key) = start(&dir).await;
        served
            .modern(&[], "tools/call", json!({"name": "team__ask", "arguments": {"what": "Secretia"}}))
            .await;
        let cookie = operator(&served, &key).await;
        let page = served.get("/call?id=1", &[("cookie", &cookie)]).await.body;
        assert_eq!(page.contains("Secretia"), is_recorded, "{page}");
        assert!(!served.get("/call?id=1", &[]).await.body.contains("Secretia"));
    }
}

#[tokio::test]
async fn events_tell_a_viewer_of_what_it_may_see_and_of_nothing_else() {
    let dir = app_with_tokens(ASKED);
    let (served, key) = start(&dir).await;
    assert_eq!(served.get("/events", &[]).await.status, 401);
    let cookie = operator(&served, &key).await;
    let mut operator = Events::open(&served, ("cookie", &cookie)).await;
    let mut client = Events::open(&served, ("authorization", "Bearer a-token-for-the-builds")).await;
    assert_eq!(
        (operator.next().await, client.next().await),
        ("{\"waiting\":0}".into(), "{\"waiting\":0}".into())
    );

    // While the operator follows the console, a call waits.
    let mut stream = served.connect().await;
    let all = ("authorization", "Bearer a-token-for-all-of-it");
    stream.write_all(&served.modern_request(&[all], "tools/call", call_ask())).await.unwrap();
    assert_eq!(operator.next().await, "{\"waiting\":1}");
    let own = ("authorization", "Bearer a-token-for-the-builds");
    served.modern(&[own], "tools/call", json!({"name": "hello__nothing", "arguments": {}})).await;
    assert_eq!(client.next().await, "{\"waiting\":0}", "the first event is that of its own call");
}

/// An open stream of events.
struct Events(BufReader<TcpStream>);

impl Events {
    async fn open(served: &Served, header: (&str, &str)) -> Self {
        let mut stream = served.connect().await;
        stream.write_all(&served.request("GET", "/events", &[header], "")).await.unwrap();
        Self(BufReader::new(stream))
    }

    /// The data of the next event.
    async fn next(&mut self) -> String {
        let reading = async {
            loop {
                let mut line = String::new();
                assert_ne!(self.0.read_line(&mut line).await.unwrap(), 0, "the stream goes on");
                if let Some(data) = line.strip_prefix("data: ") {
                    return data.trim_end().to_owned();
                }
            }
        };
        timeout(PATIENCE, reading).await.expect("an event comes")
    }
}

#[tokio::test]
async fn an_app_that_is_not_served_has_a_console_and_nothing_else() {
    let dir = app("serve: {page: false}", GRANTED);
    let (served, key) = start_by(&dir, &["console", "app.yaml"]).await;
    assert!(served.address.ip().is_loopback());
    for path in ["/mcp", "/metrics", "/healthz", "/readyz"] {
        assert_eq!(served.get(path, &[]).await.status, 404, "{path}");
    }
    let cookie = operator(&served, &key).await;
    let named = ("cookie", cookie.as_str());
    let page = served.get("/tool?name=team.ask", &[named]).await.body;
    let (seal, fingerprint) = (field(&page, "seal"), field(&page, "fingerprint"));
    let form = format!("tool=team::ask&fingerprint={fingerprint}&seal={seal}&field-0=hello");
    assert_eq!(send(&served, "/try", &[named], &form).await.status, 303);
    crate::serve::client::until_called(&dir).await;
}
