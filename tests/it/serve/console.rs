//! The console: what it shows to whom, and that only the operator's yes, given there, lets a call run.

mod browser;
mod hostile;
mod interaction;
mod large;
mod pages;
mod permissions;
mod tasks;

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::timeout;

use super::client::{
    ASKS_USER, Reply, SOON, Served, app, app_with_tokens, call_ask, heard, read, was_called,
};
use crate::support::{PATIENCE, TestDir, chromium, mcp_script};

const ASKED: &str = "{default_policy: approve}";
const GRANTED: &str = "{default_policy: grant}";

/// A server whose tool is described by somebody who means no good.
const HOSTILE: &str = r#"<script>alert(1)</script> \" onmouseover=alert(2) <img src=x onerror=alert(3)>"#;

/// The script of the console, which is the only one.
const SCRIPT: &str = "<script src=\"/console.js\" defer></script>";

/// A served app, and the key of its operator.
pub(super) async fn start(dir: &TestDir) -> (Served, String) {
    start_by(dir, &["serve", "app.yaml", "--http", "0"]).await
}

/// What this command serves, and the key of its operator.
async fn start_by(dir: &TestDir, words: &[&str]) -> (Served, String) {
    let mut child = dir.start(words);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let key = timeout(PATIENCE, async {
        loop {
            let line = lines.next_line().await.unwrap().expect("it says where its page is");
            if let Some((_, rest)) = line.split_once("http://")
                && let Some((address, key)) = rest.split_once("/?key=")
            {
                return (address.parse().unwrap(), key.to_owned());
            }
        }
    });
    let (address, key) = key.await.expect("it serves a page");
    (Served { child, address, said: heard(lines) }, key)
}

/// The cookie that an answer sets.
fn cookie(reply: &Reply) -> String {
    let set = reply.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {reply:#?}"));
    assert!(set.contains("; HttpOnly") && set.contains("; SameSite=Strict"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

pub(super) async fn operator(served: &Served, key: &str) -> String {
    cookie(&served.get(&format!("/?key={key}"), &[]).await)
}

pub(super) async fn send(served: &Served, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
    all.retain(|(name, _)| headers.iter().all(|(other, _)| other != name));
    all.extend(headers);
    served.raw(&served.request("POST", path, &all, body)).await
}

/// The value of a hidden field of the first form that has it.
pub(super) fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{page}"));
    rest.split('"').next().unwrap()
}

/// Starts a call that waits at the page, and the page with it.
async fn waiting(served: &Served, cookie: &str, what: &str) -> (tokio::net::TcpStream, String) {
    let shown = format!("&quot;what&quot;: &quot;{what}&quot;");
    waiting_for(served, cookie, "team__ask", &json!({"what": what}), &shown).await
}

/// The same for any tool, whose question is shown at the page by this text.
async fn waiting_for(
    served: &Served,
    cookie: &str,
    tool: &str,
    arguments: &serde_json::Value,
    shown: &str,
) -> (tokio::net::TcpStream, String) {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    let mut stream = served.connect().await;
    stream.write_all(&served.request("POST", "/mcp", &headers, &call.to_string())).await.unwrap();
    let begun = tokio::time::Instant::now();
    loop {
        let page = served.get("/", &[("cookie", cookie)]).await;
        if page.body.contains(shown) {
            return (stream, page.body);
        }
        assert!(begun.elapsed() < SOON, "no question: {page:#?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn anybody_on_this_machine_reads_it_without_scripts() {
    let dir = app("", GRANTED);
    let (served, _) = start(&dir).await;
    served
        .modern(&[], "tools/call", json!({"name": "hello__say_hello", "arguments": {"name": "Secretia"}}))
        .await;
    let mut shown = String::new();
    for path in ["/", "/calls", "/tools", "/tasks", "/sessions", "/policy"] {
        let page = served.get(path, &[]).await;
        assert_eq!(page.status, 200, "{path}");
        let policy = page.header("content-security-policy").unwrap();
        for part in
            ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]
        {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{policy}");
        }
        assert_eq!(page.header("access-control-allow-origin"), None);
        assert_eq!(page.body.matches(SCRIPT).count(), 1, "{path}");
        shown.push_str(&page.body.replace(SCRIPT, ""));
    }
    for part in [
        "team.ask</a>",
        "hello.say_hello</a>",
        ">loaded, connected<",
        "granted",
        "data-label=\"Outcome\" class=\"ok\">ok</td>",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for hidden in
        ["<script", "style=", "Secretia", "action=\"/answer\"", "action=\"/try\"", "action=\"/replay\""]
    {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    for (path, kind) in
        [("/console.css", "text/css; charset=utf-8"), ("/console.js", "text/javascript; charset=utf-8")]
    {
        let file = served.get(path, &[]).await;
        assert_eq!((file.status, file.header("content-type")), (200, Some(kind)));
    }
    let found = served.get("/tools?q=greet+somebody", &[]).await.body;
    for shown in ["value=\"greet somebody\"", "hello.say_hello</a>", "keyword: rank 1", "together: "] {
        assert!(found.contains(shown), "{shown}: {found}");
    }
}

#[tokio::test]
async fn how_the_connection_of_a_server_stands_is_shown() {
    let dir = app("", GRANTED);
    let (served, _) = start(&dir).await;
    served.modern(&[], "tools/call", call_ask()).await;
    let page = served.get("/", &[]).await.body;
    assert!(page.contains("loaded, connected"), "{page}");

    let dir = app("", GRANTED).with_file("server.sh", mcp_script("on_call() { exit 3; }"));
    let (served, _) = start(&dir).await;
    for _ in 0..3 {
        served.modern(&[], "tools/call", call_ask()).await;
    }
    let page = served.get("/", &[]).await.body;
    assert!(page.contains("<b>loaded, fails:</b>") && page.contains("exited with status 3"), "{page}");
    let figures = served.get("/metrics", &[]).await.body;
    assert!(figures.contains("toolcrib_sources_down 1"), "{figures}");
}

#[tokio::test]
async fn what_a_server_calls_its_tools_stays_a_text() {
    let script = mcp_script("on_call() { text done; }").replace("Asks the team.", HOSTILE);
    let dir = app("", GRANTED).with_file("server.sh", script);
    let (served, _) = start(&dir).await;
    served.modern(&[], "tools/call", json!({"name": "<b>none</b>", "arguments": {}})).await;
    for path in [
        "/tools",
        "/calls",
        "/tools?q=%3Cscript%3Ealert(4)%3C/script%3E%22onfocus=alert(5)",
        "/tools?q=alert",
        "/?told=%3Cscript%3E",
    ] {
        let page = served.get(path, &[]).await.body.replace(SCRIPT, "");
        for markup in ["<script", "<img", "<b>none", "\"onfocus", "\u{202e}"] {
            assert!(!page.contains(markup), "{path}: {markup}: {page}");
        }
    }
    for (path, shown) in [
        ("/tools?q=team.ask", "&lt;script&gt;alert(1)&lt;/script&gt; &quot; onmouseover"),
        ("/calls", "&lt;b&gt;none"),
    ] {
        let page = served.get(path, &[]).await.body;
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

#[tokio::test]
async fn a_yes_at_the_page_lets_exactly_that_call_run() {
    let dir = app("", ASKED);
    let (served, key) = start(&dir).await;
    // Nobody was there yet, so nothing waits.
    let denied = served.modern(&[], "tools/call", call_ask()).await.to_string();
    assert!(denied.contains("approval_required"), "{denied}");
    let cookie = operator(&served, &key).await;
    let named = ("cookie", cookie.as_str());
    let page = served.get("/", &[named]).await;
    assert!(page.body.contains("you are the operator"), "{}", page.body);

    let (mut stream, page) = waiting(&served, &cookie, "first").await;
    let (mut other, _) = waiting(&served, &cookie, "second").await;
    let (question, seal) = (field(&page, "question"), field(&page, "seal"));
    let yes = format!("question={question}&seal={seal}&say=once");
    let own = format!("http://{}", served.address);
    let next: u64 = question.parse::<u64>().unwrap() + 1;
    let refused = [
        (vec![], yes.clone(), 403),
        (vec![("cookie", "toolcrib_1=operator.00")], yes.clone(), 403),
        (vec![named, ("origin", "https://evil.example")], yes.clone(), 403),
        (vec![named, ("origin", "null")], yes.clone(), 403),
        (vec![named, ("host", "evil.example")], yes.clone(), 403),
        (vec![named], format!("question={question}&say=once"), 403),
        (vec![named], format!("question={next}&seal={seal}&say=once"), 403),
        (vec![named], format!("question={question}&seal={seal}&say=perhaps"), 400),
        (vec![named], "x".repeat(20_000), 413),
        (vec![named, ("content-type", "application/json")], yes.clone(), 415),
    ];
    for (headers, body, status) in refused {
        let reply = send(&served, "/answer", &headers, &body).await;
        assert_eq!(reply.status, status, "{headers:?} {reply:#?}");
    }
    assert_eq!(served.get(&format!("/answer?{yes}"), &[named]).await.status, 405);
    assert!(!was_called(&dir));

    let taken = send(&served, "/answer", &[named, ("origin", &own)], &yes).await;
    assert_eq!((taken.status, taken.header("location")), (303, Some("/?told=taken")));
    assert!(read(&mut stream).await.body.contains("done"));
    assert_eq!(dir.read("home/called"), "ask\n");
    let again = send(&served, "/answer", &[named], &yes).await;
    assert_eq!(again.header("location"), Some("/?told=gone"));

    let page = served.get("/", &[named]).await.body;
    let no = format!(
        "question={}&seal={}&say=deny&feedback=not+today",
        field(&page, "question"),
        field(&page, "seal")
    );
    send(&served, "/answer", &[named], &no).await;
    let said = read(&mut other).await.body;
    assert!(said.contains("approval_denied") && said.contains("not today"), "{said}");
    assert_eq!(dir.read("home/called"), "ask\n");
    assert!(served.get("/", &[named]).await.body.contains("Nothing waits."));
    let page = served.get("/calls", &[named]).await.body;
    for shown in ["approved", "approval_denied", "of them for an answer"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

#[tokio::test]
async fn with_tokens_it_wants_one_and_shows_what_that_one_may_see() {
    let dir = app_with_tokens(ASKED);
    let (served, key) = start(&dir).await;
    let closed = served.get("/", &[]).await;
    assert_eq!(closed.status, 401);
    assert!(closed.body.contains("Sign in") && !closed.body.contains("hello"), "{}", closed.body);
    for wrong in ["key=", "key=a-token-for-the-build", "", "key=a&key=a-token-for-the-builds"] {
        assert_eq!(send(&served, "/sign-in", &[], wrong).await.status, 401, "{wrong}");
    }
    let forged = format!("toolcrib_{}=client-all.{}", served.address.port(), "0".repeat(64));
    assert_eq!(served.get("/", &[("cookie", &forged)]).await.status, 401);

    let all = ("authorization", "Bearer a-token-for-all-of-it");
    served.modern(&[all], "tools/call", json!({"name": "hello__status", "arguments": {}})).await;
    let cookie = cookie(&send(&served, "/sign-in", &[], "key=a-token-for-the-builds").await);
    let page = served.get("/tools", &[("cookie", &cookie)]).await.body;
    assert!(page.contains("you read as the client ci") && page.contains("hello.say_hello"), "{page}");
    // Neither the tools nor the calls of others, nor what answers them.
    for path in
        ["/", "/calls", "/call?id=1", "/tools", "/tool?name=team.ask", "/sessions", "/policy?tool=team.ask"]
    {
        let page = served.get(path, &[("cookie", &cookie)]).await.body;
        // The page quotes the question.
        let page =
            page.replace("There is no tool <b>team.ask</b>", "").replace("There is no tool team.ask", "");
        for hidden in [
            "team.ask</",
            "Asks the team",
            "serve/all/",
            "action=\"/answer\"",
            "action=\"/try\"",
            "hello.status in",
        ] {
            assert!(!page.contains(hidden), "{hidden}: {page}");
        }
    }
    assert_eq!(send(&served, "/answer", &[("cookie", &cookie)], "question=1").await.status, 403);
    let cookie = operator(&served, &key).await;
    assert!(served.get("/tools", &[("cookie", &cookie)]).await.body.contains("team.ask"));
    let page = served.get("/calls", &[("cookie", &cookie)]).await.body;
    assert!(page.contains("serve/all/"), "{page}");
}

#[tokio::test]
async fn an_app_may_have_none() {
    let dir = app("serve: {page: false}", GRANTED);
    let served = Served::start(&dir, &[]).await;
    for path in ["/", "/console.css", "/console.js", "/events", "/calls", "/tools?q=x"] {
        assert_eq!(served.get(path, &[]).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_browser_shows_it_and_runs_nothing() {
    let Some(browser) = chromium() else { return };
    let script =
        mcp_script("on_call() { text done; }").replace("Asks the team.", "<script>document.title=1</script>");
    let dir = app("", ASKED).with_file("server.sh", script);
    let (served, key) = start(&dir).await;
    let cookie = operator(&served, &key).await;
    served.get("/", &[("cookie", &cookie)]).await;
    let (_stream, _) = waiting(&served, &cookie, "ship it?").await;
    let picture = dir.path("page.png");
    let address = format!("http://{}/?key={key}", served.address);
    let dom = browse(&dir, &browser, &["--dump-dom", &address]).await;
    assert!(
        dom.contains("<h1>") && dom.contains("Waiting for approval") && dom.contains("Allow this call"),
        "{dom}"
    );
    assert!(
        !dom.replace("<script src=\"/console.js\" defer=\"\"></script>", "").contains("<script"),
        "{dom}"
    );
    assert!(!dom.contains("<title>1"), "{dom}");
    let to = format!("--screenshot={}", picture.display());
    browse(&dir, &browser, &["--window-size=1100,900", &to, &address]).await;
    let bytes = std::fs::read(&picture).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{} bytes", bytes.len());
}

/// What the browser says. It is given a profile of its own.
pub(crate) async fn browse(dir: &TestDir, browser: &Path, arguments: &[&str]) -> String {
    let profile = format!("--user-data-dir={}", dir.path("profile").display());
    let mut command = dir.command(browser, &dir.path("home"));
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]);
    command.args([
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        &profile,
    ]);
    let child = command.args(arguments).stderr(Stdio::null()).spawn().expect("the browser starts");
    let output = timeout(PATIENCE, child.wait_with_output()).await.expect("the browser ends").unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn a_question_to_the_user_is_answered_at_the_page_and_a_late_answer_is_told_so() {
    let dir = app("", ASKS_USER);
    let (served, key) = start(&dir).await;
    let cookie = operator(&served, &key).await;
    let named = ("cookie", cookie.as_str());
    served.get("/", &[named]).await;
    let fields = json!([
        {"name": "count", "type": "integer", "required": true},
        {"name": "region", "type": "choice", "choices": ["eu", "us"], "default": "us"},
    ]);
    let content = "\n# Plan\n1. <b>Ship</b>";
    let asked =
        json!({"question": "Agreed?", "content": content, "choices": ["red", "blue"], "fields": fields});
    let (mut stream, page) = waiting_for(&served, &cookie, "ask_user", &asked, "Agreed?").await;
    assert!(page.contains(
        "<textarea name=\"content\" rows=\"16\" aria-label=\"The text\">\n\n# Plan\n1. &lt;b&gt;Ship&lt;/b&gt;</textarea>"
    ));
    assert!(page.contains("<h4>Plan</h4><p>1. &lt;b&gt;Ship&lt;/b&gt;</p>"), "{page}");
    assert!(page.contains("<option value=\"1\" selected>us</option>"), "{page}");
    assert!(!page.replace(SCRIPT, "").contains("<script"), "{page}");
    // Others see that somebody asks, and not what.
    let others = served.get("/", &[]).await.body;
    assert!(others.contains("Questions") && !others.contains("Agreed?"), "{others}");

    let (question, seal) = (field(&page, "question"), field(&page, "seal"));
    let form = |rest: &str| format!("question={question}&seal={seal}&{rest}");
    let yes = form("say=yes&content=%0D%0A%23+Plan%0D%0A1.+Wait&choice=1&field-0=3&field-1=0");
    for (headers, body, status) in [
        (vec![], yes.clone(), 403),
        (vec![named, ("origin", "https://evil.example")], yes.clone(), 403),
        (vec![named], yes.replace(seal, "00"), 403),
        (vec![named], form("say=once"), 400),
        (vec![named], form("say=yes&choice=1&field-0=many"), 400),
        (vec![named], "x".repeat(600_000), 413),
    ] {
        let reply = send(&served, "/reply", &headers, &body).await;
        assert_eq!(reply.status, status, "{headers:?} {reply:#?}");
    }
    // The seal of a question is none for a call.
    assert_eq!(send(&served, "/answer", &[named], &form("say=once")).await.status, 403);
    let taken = send(&served, "/reply", &[named], &yes).await;
    assert_eq!(taken.header("location"), Some("/?told=taken"));
    let body = read(&mut stream).await.body;
    for part in ["blue", "1. Wait", "content_was_edited", "eu"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let late = send(&served, "/reply", &[named], &yes).await;
    assert_eq!(late.header("location"), Some("/?told=late"));
    assert!(served.get("/?told=late", &[named]).await.body.contains("Too late"));
}

#[tokio::test]
async fn lists_for_people_show_titles_and_leave_out_what_is_not_to_be_picked() {
    let tools = json!([
        {"name": "open", "title": "Open <a> ticket", "description": "Files it.", "risk": "low"},
        {"name": "purge", "description": "For one agent.", "user_selectable": false, "risk": "low"},
    ]);
    let app = json!({
        "tools": {
            "registry": [{"type": "inline", "namespace": "desk", "engine": "none", "tools": tools}],
            "engines": {"none": {"type": "mock"}},
            "capabilities": {"default_policy": "grant"},
        },
    });
    let dir = TestDir::with_app(&app.to_string());
    let listed = dir.run(["tools", "app.yaml"]).await.expect(0);
    assert!(listed.stdout.contains("Open <a> ticket: Files it."), "{listed:?}");
    assert!(!listed.stdout.contains("desk.purge"), "{listed:?}");
    let all = dir.run(["tools", "app.yaml", "--all", "--json"]).await.expect(0).json();
    let of_desk = |tool: &&Value| tool["namespace"] == "desk";
    let of_desk: Vec<&Value> = all["tools"].as_array().unwrap().iter().filter(of_desk).collect();
    assert_eq!(of_desk[0]["metadata"]["title"], "Open <a> ticket", "{all}");
    assert_eq!(of_desk.len(), 2, "{all}");

    let (served, _key) = start(&dir).await;
    let page = served.get("/tools", &[]).await.body;
    assert!(page.contains("desk.open</a><br><small>Open &lt;a&gt; ticket</small></td>"), "{page}");
    assert!(!page.contains("desk.purge"), "{page}");
    let found = served.get("/tools?q=desk.purge", &[]).await.body;
    assert!(found.contains("desk.purge"), "{found}");
}
