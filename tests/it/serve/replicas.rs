//! Replicas of one app on a store in PostgreSQL, behind a proxy that sends each request to the next.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use toolcrib_testkit::RoundRobin;

use super::client::{Served, WAITS, app, call_ask, let_go, read, read_until, until_called, was_called};
use super::console::{field, operator, send, start};
use crate::support::{PATIENCE, TestDir, mcp_script, new_database};

const ASKED: &str = "{default_policy: approve}";
const GRANTED: &str = "{default_policy: grant}";

/// A server whose tool has a long result.
const LONG: &str = r#"on_call() { text "$(printf 'item %s;\\n' $(seq 1 20000))"; }"#;

/// Three replicas of one app behind a proxy that sends each request to the next.
pub(crate) struct Replicas {
    _served: [Served; 3],
    proxy: RoundRobin,
}

impl Replicas {
    /// Starts the replicas in one folder. The app has to have a store that they share.
    pub(crate) async fn start(dir: &TestDir) -> Self {
        let served =
            [Served::start(dir, &[]).await, Served::start(dir, &[]).await, Served::start(dir, &[]).await];
        let proxy = before(&served.each_ref()).await;
        Self { _served: served, proxy }
    }

    /// Returns the URL of the proxy for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.proxy.address())
    }
}

async fn before(replicas: &[&Served]) -> RoundRobin {
    RoundRobin::start(replicas.iter().map(|served| served.address).collect()).await.unwrap()
}

/// Sends a request of revision 2026-07-28 to the next replica.
async fn next(proxy: &RoundRobin, any: &Served, method: &str, params: Value) -> Value {
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(&any.modern_request(&[], method, params)).await.unwrap();
    read(&mut stream).await.message()
}

/// Apps in folders of their own, as on several machines, on one store.
fn dirs<const N: usize>(capabilities: &str) -> Option<[TestDir; N]> {
    let url = new_database()?;
    let store = "store: '${STORE_URL}'\nexecution: {scheduler: true}";
    Some([(); N].map(|()| app(store, capabilities).with_variable("STORE_URL", url.clone())))
}

async fn served<const N: usize>(dirs: &[TestDir; N]) -> [Served; N] {
    let mut served = Vec::new();
    for dir in dirs {
        served.push(Served::start(dir, &[]).await);
    }
    served.try_into().unwrap_or_else(|_| unreachable!("there is one for each dir"))
}

fn with_elicitation(mut params: Value) -> Value {
    params["_meta"] = json!({"capabilities": {"elicitation": {"form": {}}}});
    params
}

/// The call once more, with the state of the question and with answers.
fn again(asked: &Value, answer: Option<&Value>) -> Value {
    let mut params = with_elicitation(call_ask());
    params["requestState"] = asked["result"]["requestState"].clone();
    if let Some(answer) = answer {
        let keys = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}")).keys();
        let answers = keys.map(|key| (key.clone(), answer.clone()));
        params["inputResponses"] = answers.collect::<serde_json::Map<_, _>>().into();
    }
    params
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"decision": "once"}})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

async fn ask(served: &Served) -> Value {
    let asked = served.modern(&[], "tools/call", with_elicitation(call_ask())).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    asked
}

/// Waits for a page that shows a text.
async fn page_with(served: &Served, cookie: &str, shown: &str) -> String {
    let begun = tokio::time::Instant::now();
    loop {
        let page = served.get("/", &[("cookie", cookie)]).await.body;
        if page.contains(shown) {
            return page;
        }
        assert!(begun.elapsed() < PATIENCE, "no {shown:?}: {page}");
    }
}

fn once(page: &str) -> String {
    format!("question={}&seal={}&say=once", field(page, "question"), field(page, "seal"))
}

#[tokio::test]
async fn a_question_of_one_replica_is_answered_at_another_and_its_call_ends_at_a_third() {
    let Some(dirs) = dirs::<3>(ASKED) else { return };
    let asks = Served::start(&dirs[0], &[]).await;
    let (answers, key) = start(&dirs[1]).await;
    let ends = Served::start(&dirs[2], &[]).await;
    let cookie = operator(&answers, &key).await;
    answers.get("/", &[("cookie", &cookie)]).await;
    let asked = ask(&asks).await;
    let page = page_with(&answers, &cookie, "team.ask").await;
    let taken = send(&answers, "/answer", &[("cookie", &cookie)], &once(&page)).await;
    assert_eq!(taken.header("location"), Some("/?told=taken"), "{taken:#?}");
    let late = send(&answers, "/answer", &[("cookie", &cookie)], &once(&page)).await;
    assert_eq!(late.header("location"), Some("/?told=gone"), "{late:#?}");
    // The answer may still be on its way to the replica that asked, which then asks once more.
    let mut done = ends.modern(&[], "tools/call", again(&asked, None)).await;
    let begun = tokio::time::Instant::now();
    while done["result"]["resultType"] == "input_required" && begun.elapsed() < PATIENCE {
        done = ends.modern(&[], "tools/call", again(&done, None)).await;
    }
    assert_eq!(text(&done), "done", "{done}");
    assert_eq!(dirs[0].read("home/called"), "ask\n");
    assert!(!was_called(&dirs[1]) && !was_called(&dirs[2]));
    // The question is answered, whatever its client says now.
    let replayed = ends.modern(&[], "tools/call", again(&asked, Some(&yes()))).await;
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
    assert_eq!(dirs[0].read("home/called"), "ask\n");
}

#[tokio::test]
async fn a_page_of_one_replica_works_at_another_with_the_key_and_the_cookie_of_any() {
    let Some(dirs) = dirs::<2>(ASKED) else { return };
    let (one, key) = start(&dirs[0]).await;
    let (mut two, other_key) = start(&dirs[1]).await;
    assert_ne!(key, other_key);
    let cookie = operator(&two, &key).await;
    one.get("/", &[("cookie", &cookie)]).await;
    let asked = ask(&one).await;
    let page = page_with(&one, &cookie, "team.ask").await;
    let forged = once(&page).replace("seal=", "seal=0");
    assert_eq!(send(&two, "/answer", &[("cookie", &cookie)], &forged).await.status, 403);
    assert_eq!(send(&two, "/answer", &[], &once(&page)).await.status, 403);
    let taken = send(&two, "/answer", &[("cookie", &cookie)], &once(&page)).await;
    assert_eq!(taken.header("location"), Some("/?told=taken"), "{taken:#?}");
    let late = send(&one, "/answer", &[("cookie", &cookie)], &once(&page)).await;
    assert_eq!(late.header("location"), Some("/?told=gone"), "{late:#?}");
    let mut done = one.modern(&[], "tools/call", again(&asked, None)).await;
    while done["result"]["resultType"] == "input_required" {
        done = one.modern(&[], "tools/call", again(&done, None)).await;
    }
    assert_eq!(text(&done), "done", "{done}");
    assert_eq!(dirs[0].read("home/called"), "ask\n");
    // The key ends with its replica, and a cookie does not.
    let of_two = operator(&one, &other_key).await;
    two.terminate();
    two.child.wait().await.unwrap();
    assert_eq!(one.get(&format!("/?key={other_key}"), &[]).await.status, 401);
    assert_eq!(one.get("/", &[("cookie", &of_two)]).await.status, 200);
}

#[tokio::test]
async fn a_browser_subscribes_to_push_messages_at_another_replica_than_that_of_its_page() {
    let Some(url) = new_database() else { return };
    let settings = "store: '${STORE_URL}'\napprovals:\n  url: http://127.0.0.1\n  channels: {phones: {type: web_push, \
                    subject: 'mailto:ops@example.com', people: [operator]}}\n  \
                    rules: [{module: team, ask: [phones]}]\n";
    let dirs = [(); 2].map(|()| app(settings, ASKED).with_variable("STORE_URL", url.clone()));
    let (one, key) = start(&dirs[0]).await;
    let (two, _) = start(&dirs[1]).await;
    let cookie = operator(&one, &key).await;
    let page = page_with(&one, &cookie, "data-seal").await;
    let seal = page.split_once("data-seal=\"").unwrap().1.split('"').next().unwrap();
    let endpoint = "https%3A%2F%2Fpush.example.com%2Fa";
    let (p256dh, auth) = (format!("BA{}", "A".repeat(85)), "A".repeat(22));
    let form = format!("seal={seal}&endpoint={endpoint}&p256dh={p256dh}&auth={auth}");
    let subscribed = send(&two, "/push", &[("cookie", &cookie)], &form).await;
    assert_eq!(subscribed.status, 200, "{subscribed:#?}");
    let forged = send(&two, "/push", &[("cookie", &cookie)], &form.replace("seal=", "seal=0")).await;
    assert_eq!(forged.status, 403, "{forged:#?}");
}

#[tokio::test]
async fn a_client_behind_a_proxy_answers_its_question_and_the_call_runs_once() {
    let Some(dirs) = dirs::<3>(ASKED) else { return };
    let replicas = served(&dirs).await;
    let proxy = before(&replicas.each_ref()).await;
    for round in 1..=4 {
        let asked = next(&proxy, &replicas[0], "tools/call", with_elicitation(call_ask())).await;
        // Another call must not be resumed with its state, and does not use it up.
        let mut other = again(&asked, Some(&yes()));
        other["arguments"]["what"] = "something else".into();
        let refused = next(&proxy, &replicas[0], "tools/call", other).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let done = next(&proxy, &replicas[0], "tools/call", again(&asked, Some(&yes()))).await;
        assert_eq!(text(&done), "done", "{done}");
        let replayed = next(&proxy, &replicas[0], "tools/call", again(&asked, Some(&yes()))).await;
        assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
        let runs =
            dirs.iter().filter(|dir| was_called(dir)).map(|dir| dir.read("home/called").lines().count());
        assert_eq!(runs.sum::<usize>(), round);
    }
}

#[tokio::test]
async fn a_call_that_had_not_begun_in_a_replica_that_was_killed_is_asked_again_and_runs_in_another() {
    let Some(dirs) = dirs::<2>(ASKED) else { return };
    let [mut killed, survivor] = served(&dirs).await;
    let asked = ask(&killed).await;
    killed.child.kill().await.unwrap();
    let asked_again = survivor.modern(&[], "tools/call", again(&asked, Some(&yes()))).await;
    assert_eq!(asked_again["result"]["resultType"], "input_required", "{asked_again}");
    assert!(!was_called(&dirs[1]));
    let done = survivor.modern(&[], "tools/call", again(&asked_again, Some(&yes()))).await;
    assert_eq!(text(&done), "done", "{done}");
    assert_eq!(dirs[1].read("home/called"), "ask\n");
    assert!(!was_called(&dirs[0]));
}

#[tokio::test]
async fn a_call_that_had_begun_in_a_replica_that_was_killed_is_not_repeated() {
    let Some(dirs) = dirs::<2>(ASKED) else { return };
    let dirs = dirs.map(|dir| dir.with_file("server.sh", mcp_script(WAITS)));
    let mut killed = Served::start(&dirs[0], &[]).await;
    let (survivor, key) = start(&dirs[1]).await;
    let cookie = operator(&survivor, &key).await;
    survivor.get("/", &[("cookie", &cookie)]).await;
    let asked = ask(&killed).await;
    let page = page_with(&survivor, &cookie, "team.ask").await;
    send(&survivor, "/answer", &[("cookie", &cookie)], &once(&page)).await;
    until_called(&dirs[0]).await;
    killed.child.kill().await.unwrap();
    let lost = survivor.modern(&[], "tools/call", again(&asked, None)).await;
    assert!(text(&lost).contains("outcome_unknown"), "{lost}");
    assert!(!was_called(&dirs[1]));
    let_go(&dirs[0]);
}

#[tokio::test]
async fn a_session_of_an_earlier_client_is_used_at_any_replica_and_ends_with_its_own() {
    let Some(dirs) = dirs::<2>(GRANTED) else { return };
    let [mut owns, other] = served(&dirs).await;
    let [session, lost] = [owns.session(&[], json!({})).await, owns.session(&[], json!({})).await];
    let of = |session| [("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_ask()}).to_string();
    let mut events = other.connect().await;
    events.write_all(&other.request("GET", "/mcp", &of(&session), "")).await.unwrap();
    read_until(&mut events, "text/event-stream").await;
    let answered = other.post(&of(&session), &call).await;
    assert_eq!(text(&answered.message()), "done", "{answered:#?}");
    assert_eq!(dirs[0].read("home/called"), "ask\n");
    assert!(!was_called(&dirs[1]));

    let [id, version] = of(&session);
    let forged = owns.post(&[id, version, ("toolcrib-handoff", "00ff")], &call).await;
    assert_eq!(forged.status, 403, "{forged:#?}");
    let ended = other.raw(&other.request("DELETE", "/mcp", &of(&session), "")).await;
    assert_eq!(ended.status, 204, "{ended:#?}");
    assert_eq!(other.post(&of(&session), &call).await.status, 404);

    owns.terminate();
    owns.child.wait().await.unwrap();
    let gone = other.post(&of(&lost), &call).await;
    assert_eq!(gone.status, 404, "a client begins another session then: {gone:#?}");
    let again = other.session(&[], json!({})).await;
    assert_eq!(text(&other.post(&of(&again), &call).await.message()), "done");
}

#[tokio::test]
async fn a_handle_of_one_replica_is_read_at_another() {
    let Some(dirs) = dirs::<2>(GRANTED) else { return };
    let dirs = dirs.map(|dir| dir.with_file("server.sh", mcp_script(LONG)));
    let [makes, reads] = served(&dirs).await;
    let made = makes.modern(&[], "tools/call", call_ask()).await;
    let shown = text(&made);
    let at = shown.find("r_").unwrap_or_else(|| panic!("no handle: {made}"));
    let handle: String = shown[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let read = json!({"name": "read_result", "arguments": {"handle": handle, "grep": "item 19999;"}});
    let found = reads.modern(&[], "tools/call", read.clone()).await;
    assert!(text(&found).contains("item 19999;"), "{found}");
    drop(makes);
    let found = reads.modern(&[], "tools/call", read).await;
    assert!(text(&found).contains("item 19999;"), "{found}");
}

#[tokio::test]
async fn the_clients_of_all_replicas_see_the_same_tools() {
    let Some(dirs) = dirs::<3>(GRANTED) else { return };
    let mut lists = Vec::new();
    for replica in &served(&dirs).await {
        let reply = replica.modern_reply(&[], "tools/list", json!({})).await;
        lists.push(reply.body);
    }
    assert!(lists[0].contains("team__ask"), "{}", lists[0]);
    assert!(lists.iter().all(|list| *list == lists[0]), "{lists:#?}");
}

#[tokio::test]
async fn a_replica_that_loses_the_store_answers_calls_that_need_none_and_says_so() {
    let Some(dirs) = dirs::<1>("{default_policy: approve, grant: [{module: hello}]}") else { return };
    let store = dirs[0].environment("STORE_URL");
    let (database, _) = store.split_once('?').unwrap_or((&store, ""));
    let name = database.rsplit('/').next().unwrap().to_owned();
    let [replica] = served(&dirs).await;
    let ready = replica.get("/readyz", &[]).await;
    assert_eq!((ready.status, ready.body.trim()), (200, "ready"));
    let server = std::env::var("TOOLCRIB_TEST_POSTGRES").unwrap();
    let sql = format!("DROP DATABASE {name} WITH (FORCE)");
    let dropped = std::process::Command::new("psql").args([&server, "--quiet", "--command", &sql]).output();
    assert!(dropped.unwrap().status.success());
    let hello = json!({"name": "hello__say_hello", "arguments": {"name": "Ada"}});
    let greeted = replica.modern(&[], "tools/call", hello).await;
    assert_eq!(text(&greeted), "Hello, Ada!");
    let refused = replica.modern(&[], "tools/call", with_elicitation(call_ask())).await;
    assert!(refused["error"]["message"].as_str().unwrap_or_default().contains("postgres://"), "{refused}");
    assert!(!was_called(&dirs[0]));
    let told = async || {
        let ready = replica.get("/readyz", &[]).await;
        ready.body.contains("without its store")
    };
    let begun = tokio::time::Instant::now();
    while !told().await {
        assert!(begun.elapsed() < PATIENCE, "it is not told");
    }
}
