//! The console in a browser: approvals by the keyboard, filters, calls, and dry runs.

use serde_json::json;

use super::browser::Browser;
use super::{ASKED, GRANTED, operator, start};
use crate::serve::client::{app, call_ask, read, was_called};

#[tokio::test]
async fn calls_come_without_a_reload_and_are_answered_by_keys() {
    let dir = app("", ASKED);
    let (served, key) = start(&dir).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    browser.goto(&format!("http://{}/?key={key}", served.address)).await;
    browser.until("!document.querySelector('.keys').hidden").await;
    assert_eq!(browser.evaluate("document.title.includes('(')").await, json!(false));

    let mut first = ask(&served).await;
    browser.until("document.querySelectorAll('article.waiting').length === 1").await;
    browser.until("document.title.startsWith('(1) ')").await;
    let mut second = ask(&served).await;
    browser.until("document.querySelectorAll('article.waiting').length === 2").await;
    // A key is for the call that has the focus, and no call has it before a person gives it.
    browser.key("a").await;
    assert!(!was_called(&dir));
    browser.key("j").await;
    assert_eq!(browser.evaluate("document.activeElement.matches('article.waiting')").await, json!(true));
    browser.key("a").await;
    assert!(read(&mut first).await.body.contains("done"));
    // The page before shows one call too, until the browser has left it.
    browser.until("document.body.innerText.includes('The answer was accepted.')").await;
    browser.until("document.querySelectorAll('article.waiting').length === 1").await;
    browser.key("j").await;
    browser.key("d").await;
    assert!(read(&mut second).await.body.contains("approval_denied"));
    browser.until("document.body.innerText.includes('Nothing waits.')").await;
    assert_eq!(dir.read("home/called"), "ask\n");
}

#[tokio::test]
async fn a_sound_is_played_for_new_calls_only_after_a_person_asks_for_it() {
    let dir = app("", ASKED);
    let (served, key) = start(&dir).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    let count = "window.tones = 0;
        const create = AudioContext.prototype.createOscillator;
        AudioContext.prototype.createOscillator = function () { window.tones += 1; return create.call(this); };
        0";
    browser.goto(&format!("http://{}/?key={key}", served.address)).await;
    browser.evaluate(count).await;
    let _first = ask(&served).await;
    browser.until("document.title.startsWith('(1) ')").await;
    assert_eq!(browser.evaluate("window.tones").await, json!(0));

    browser.click("#sound").await;
    browser.until("document.getElementById('sound').ariaPressed === 'true' && window.tones === 1").await;
    let _second = ask(&served).await;
    browser.until("document.title.startsWith('(2) ') && window.tones === 2").await;

    // The choice is remembered, and the first key or click on another page enables the sound there.
    browser.goto(&format!("http://{}/calls", served.address)).await;
    browser.evaluate(count).await;
    let _third = ask(&served).await;
    browser.until("document.title.startsWith('(3) ')").await;
    assert_eq!(browser.evaluate("window.tones").await, json!(0));
    browser.click("h1").await;
    let _fourth = ask(&served).await;
    browser.until("document.title.startsWith('(4) ') && window.tones === 1").await;
}

async fn ask(served: &crate::serve::client::Served) -> tokio::net::TcpStream {
    use tokio::io::AsyncWriteExt as _;
    let mut stream = served.connect().await;
    stream.write_all(&served.modern_request(&[], "tools/call", call_ask())).await.unwrap();
    stream
}

#[tokio::test]
async fn allow_looks_different_from_deny_and_works_without_the_script() {
    let dir = app("", ASKED);
    let (served, key) = start(&dir).await;
    let cookie = operator(&served, &key).await;
    served.get("/", &[("cookie", &cookie)]).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    browser.goto(&format!("http://{}/?key={key}", served.address)).await;
    let mut call = ask(&served).await;
    browser.until("document.querySelector('button.allow')").await;
    let color = |of: &str| format!("getComputedStyle(document.querySelector('button.{of}')).backgroundColor");
    assert_ne!(browser.evaluate(&color("allow")).await, browser.evaluate(&color("deny")).await);
    browser.submit("/answer", &[]).await;
    assert!(read(&mut call).await.body.contains("done"));
}

#[tokio::test]
async fn a_tool_is_tried_through_the_gate_and_its_call_is_found_and_replayed_without_effects() {
    let dir = app("", "{default_policy: grant, approve: [{module: team}]}");
    let (served, key) = start(&dir).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    let at = |path: &str| format!("http://{}{path}", served.address);
    browser.goto(&at(&format!("/?key={key}"))).await;
    browser.goto(&at("/tool?name=hello.say_hello")).await;
    browser.fill("name", "Ada").await;
    browser.submit("/try", &[]).await;
    browser.until("document.body.innerText.includes('Hello, Ada!')").await;

    // One that needs an approval waits for it like any other.
    browser.goto(&at("/tool?name=team.ask")).await;
    browser.submit("/try", &[("others", "{\"what\": \"may I?\"}")]).await;
    browser.until("document.body.innerText.includes('waits for an approval')").await;
    assert!(!was_called(&dir));
    browser.goto(&at("/")).await;
    browser.until("document.body.innerText.includes('may I?')").await;
    browser.submit("/answer", &[]).await;
    browser.goto(&at("/trial?id=2")).await;
    browser.until("document.body.innerText.includes('done')").await;
    assert_eq!(dir.read("home/called"), "ask\n");

    browser.goto(&at("/calls")).await;
    browser.until("document.querySelectorAll('#calls tbody tr').length === 2").await;
    browser.submit("/calls", &[("tool", "team.ask"), ("outcome", "ok")]).await;
    assert_eq!(browser.evaluate("document.querySelectorAll('#calls tbody tr').length").await, json!(1));
    browser.submit("/calls", &[("outcome", "failed")]).await;
    assert_eq!(browser.evaluate("document.querySelectorAll('#calls tbody tr').length").await, json!(0));

    browser.goto(&at("/call?id=2")).await;
    browser.submit("/replay", &[("arguments", "{\"what\": \"again\"}")]).await;
    let shown = browser.evaluate("document.body.innerText").await;
    for part in ["It would wait for an approval.", "tools.capabilities.approve[0]", "Final arguments"] {
        assert!(shown.as_str().unwrap().contains(part), "{part}: {shown}");
    }
    browser.submit("/replay", &[("arguments", "[]")]).await;
    let shown = browser.evaluate("document.body.innerText").await;
    assert!(shown.as_str().unwrap().contains("expected one JSON object"), "{shown}");
    assert_eq!(dir.read("home/called"), "ask\n", "a dry run has no effects");
}

#[tokio::test]
async fn a_page_is_loaded_again_while_200_clients_read_it() {
    let dir = app("", GRANTED);
    let (served, key) = start(&dir).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    browser.goto(&format!("http://{}/?key={key}", served.address)).await;
    let reading = (0..200).map(|_| async {
        for path in ["/", "/calls"] {
            let page = served.get(path, &[]).await;
            assert_eq!(page.status, 200, "{path}");
        }
    });
    let reloading = async {
        for _ in 0..3 {
            browser.goto(&format!("http://{}/", served.address)).await;
            browser.until("document.body.innerText.includes('Nothing waits.')").await;
        }
    };
    tokio::join!(futures::future::join_all(reading), reloading);
}

#[tokio::test]
async fn a_browser_without_a_push_service_says_why_it_gets_no_push_messages() {
    let approvals = "approvals:
  url: http://127.0.0.1
  channels: {phones: {type: web_push, subject: 'mailto:ops@example.com', people: [operator]}}
  rules: [{module: team, ask: [phones]}]";
    let dir = app(approvals, ASKED);
    let (served, key) = start(&dir).await;
    let Some(mut browser) = Browser::start(&dir) else { return };
    browser.goto(&format!("http://{}/?key={key}", served.address)).await;
    browser.until("!document.querySelector('.push').hidden").await;
    browser.evaluate("document.getElementById('push').click()").await;
    browser.until("document.getElementById('push-told').textContent !== ''").await;
    let told = browser.evaluate("document.getElementById('push-told').textContent").await;
    let told = told.as_str().unwrap();
    let reasons = ["does not permit notifications", "push service of this browser is not available"];
    assert!(reasons.iter().any(|reason| told.contains(reason)), "{told}");
    assert_eq!(browser.evaluate("document.getElementById('push').disabled").await, json!(false));
    // The worker is permitted by the content security policy.
    let worker =
        "navigator.serviceWorker.register('/worker.js').then(() => { document.title = 'registered'; })";
    browser.evaluate(&format!("{worker}; 0")).await;
    browser.until("document.title === 'registered'").await;
    // The key is one: the registration fails, and not the call.
    let subscription = "fetch('/push').then((answer) => answer.text()).then(async (key) => {
            const { pushManager } = await navigator.serviceWorker.ready;
            await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
        }).catch((error) => error.message)";
    let refused = browser.evaluate(subscription).await;
    assert!(refused.as_str().unwrap().starts_with("Registration failed"), "{refused}");
}
