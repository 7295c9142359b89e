//! Calls that people answer by signed links, and what the links are good for.

use axum::response::IntoResponse as _;
use http::StatusCode;
use toolcrib_testkit::{Canary, Hit, MailReceiver, wait_until};

use super::*;
use crate::Console;
use crate::approval::{ApprovalLink, LinkDecision, OperatorAnswer, PendingApprovals};

const TOKENS: &str = "[{name: ci, token: a-token-of-the-ci}, {name: alice-laptop, token: a-token-of-alice}]";

/// A served app whose calls are approved by people whom a webhook asks.
struct Approving {
    server: Server,
    pending: PendingApprovals,
    address: SocketAddr,
    receiver: Canary,
    leave: Arc<Notify>,
    serving: tokio::task::JoinHandle<Result<(), Error>>,
}

/// An answer of the server: its status, and its text.
type Answered = (u16, String);

impl Approving {
    /// Starts an app with these settings of its rule, and a receiver that answers with this status.
    async fn start(rule: &str, status: StatusCode) -> Self {
        let receiver = Canary::start(move |_: &Hit| status.into_response()).await.unwrap();
        let hook = format!("type: webhook, url: \"{}\", secret: of-the-hook", receiver.url("/hook"));
        Self::start_with(rule, &hook, receiver).await
    }

    /// Starts an app that asks by this channel.
    async fn start_with(rule: &str, channel: &str, receiver: Canary) -> Self {
        let text = format!(
            "app: {{id: desk}}\nmodules: {{hello: {{}}}}\nserve: {{tokens: {TOKENS}}}\n\
             approvals:\n  url: http://127.0.0.1\n  \
             people: {{alice: {{principals: [alice-laptop], email: alice@example.com}}, bob: {{email: bob@example.com, key: a-key-of-bob-for-the-page}}}}\n  \
             channels: {{channel: {{{channel}, people: [alice, bob]}}}}\n  \
             rules: [{{module: hello, ask: [channel]{rule}}}]\n"
        );
        let app = Blueprint::from_text("app.yaml", &text).unwrap();
        let pending = PendingApprovals::default();
        let approver = pending.approver(ClientApprover::new(Arc::new(DenyAll)));
        let runtime = Arc::new(Runtime::start(app, approver).await.unwrap());
        let server = Server::new(runtime, ServerSettings::default()).unwrap();
        let server = server.with_console(Console::new(&pending).unwrap()).with_approvals(&pending).unwrap();
        let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (address, leave) = (listening.address(), Arc::new(Notify::new()));
        let left = Arc::clone(&leave);
        let serving = tokio::spawn(listening.serve(async move { left.notified().await }));
        Self { server, pending, address, receiver, leave, serving }
    }

    async fn exchange(&self, request: Vec<u8>) -> Answered {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(&request).await.unwrap();
        let answer = read(stream).await;
        (answer[9..12].parse().unwrap(), answer)
    }

    /// Begins a call of this client, whose outcome the task returns.
    fn call(&self, token: &str, name: &str) -> tokio::task::JoinHandle<Value> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "hello__say_hello", "arguments": {"name": name}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
        let headers = format!(
            "authorization: Bearer {token}\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
             mcp-name: hello__say_hello\r\n"
        );
        let (address, request) = (self.address, request("POST", "/mcp", &headers, &body));
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(&request).await.unwrap();
            message(&read(stream).await)
        })
    }

    /// The messages that the receiver has, once there are so many.
    async fn messages(&self, count: usize) -> Vec<Value> {
        let hits = || Ok(Some(self.receiver.hits()).filter(|hits| hits.len() >= count));
        let hits = wait_until("the messages", PATIENCE, hits).await.unwrap();
        let mut messages: Vec<Value> =
            hits.iter().map(|hit| serde_json::from_str(&hit.body).unwrap()).collect();
        messages.sort_by_key(|message| message["person"].to_string());
        messages
    }

    async fn get(&self, path: &str) -> Answered {
        self.exchange(request("GET", path, "", "")).await
    }

    async fn post(&self, path: &str, form: &str) -> Answered {
        self.post_from(path, "", form).await
    }

    async fn post_from(&self, path: &str, headers: &str, form: &str) -> Answered {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n{headers}\r\n{form}",
            form.len()
        );
        self.exchange(request.into_bytes()).await
    }

    /// The path of a link that this server signs.
    fn signed(&self, change: impl FnOnce(ApprovalLink) -> ApprovalLink, path: &str) -> String {
        let link = self.pending.verify_link(path.strip_prefix("/approve/").unwrap()).unwrap();
        format!("/approve/{}", self.pending.sign_link(&change(link)))
    }

    async fn end(self) {
        self.leave.notify_one();
        timeout(PATIENCE, self.serving).await.unwrap().unwrap().unwrap();
        self.server.close().await;
    }
}

/// The path of a link in a message.
fn path(message: &Value, decision: &str) -> String {
    let link = message["links"][decision].as_str().unwrap();
    link.strip_prefix("http://127.0.0.1").unwrap().to_owned()
}

fn is_error(outcome: &Value) -> bool {
    outcome["result"]["isError"].as_bool().unwrap()
}

#[tokio::test]
async fn a_person_is_asked_with_signed_links_and_only_the_form_behind_one_decides() {
    let served = Approving::start("", StatusCode::OK).await;
    let outcome = served.call("a-token-of-the-ci", "Ada");
    let [mut to_alice, to_bob] = served.messages(2).await.try_into().unwrap();
    let hit = &served.receiver.hits()[0];
    assert!(hit.header("webhook-signature").starts_with("v1,"), "{hit:?}");
    let (allow, deny) = (path(&to_alice, "allow"), path(&to_alice, "deny"));
    assert_ne!(path(&to_bob, "allow"), allow);
    for key in ["/id", "/at", "/expires", "/links/allow", "/links/deny", "/call/session", "/call/description"]
    {
        *to_alice.pointer_mut(key).unwrap() = "…".into();
    }
    insta::assert_json_snapshot!(to_alice);

    // What follows links decides nothing, however often.
    for _ in 0..3 {
        let (status, page) = served.get(&allow).await;
        assert_eq!(status, 200, "{page}");
        for shown in
            ["you are alice", "hello.say_hello", "&quot;Ada&quot;", "Called by ci", ">Allow this call<"]
        {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(page.contains("default-src 'none'") && !page.contains("<script"), "{page}");
        let (status, page) = served.get(&deny).await;
        assert!(status == 200 && page.contains(">Deny<") && !page.contains("Allow this call"), "{page}");
    }
    // Neither does a form of another kind, or from another page.
    for (headers, form, refused) in [
        ("", "", 400),
        ("", "decision=deny", 400),
        ("", "decision=allow&decision=allow", 400),
        ("origin: https://evil.example\r\n", "decision=allow", 403),
        ("origin: null\r\n", "decision=allow", 403),
    ] {
        assert_eq!(served.post_from(&allow, headers, form).await.0, refused, "{headers}{form}");
    }
    assert_eq!(served.exchange(request("POST", &allow, "", "decision=allow")).await.0, 415);
    assert!(!outcome.is_finished());

    let (status, page) = served.post_from(&allow, "origin: http://127.0.0.1\r\n", "decision=allow").await;
    assert!(status == 200 && page.contains("Your answer was accepted"), "{page}");
    assert!(!is_error(&outcome.await.unwrap()));
    // It is used up, and so are the other links to the question.
    for (link, decision) in [(&allow, "allow"), (&deny, "deny"), (&path(&to_bob, "allow"), "allow")] {
        assert_eq!(served.get(link).await.0, 410);
        assert_eq!(served.post(link, &format!("decision={decision}")).await.0, 410);
    }
    served.end().await;
}

#[tokio::test]
async fn a_link_is_good_for_its_question_person_and_decision_until_it_expires() {
    let served = Approving::start("", StatusCode::OK).await;
    let outcome = served.call("a-token-of-the-ci", "Ada");
    let [to_alice, _] = served.messages(2).await.try_into().unwrap();
    let (allow, deny) = (path(&to_alice, "allow"), path(&to_alice, "deny"));
    let (_, token) = allow.split_at("/approve/".len());
    let (contents, signature) = token.split_once('.').unwrap();
    let (_, of_deny) = deny.split_once('.').unwrap();
    let other = PendingApprovals::default();
    other.open_channels(served.server.runtime().app(), None).unwrap();
    let forged = other.sign_link(&served.pending.verify_link(token).unwrap());
    let forgeries = [
        format!("/approve/{contents}"),
        format!("/approve/{contents}.{of_deny}"),
        format!("/approve/{contents}.{}", signature.to_lowercase()),
        format!("/approve/{forged}"),
        "/approve/x".to_owned(),
        served.signed(|link| ApprovalLink { person: "mallory".into(), ..link }, &allow),
    ];
    for link in &forgeries {
        assert_eq!(served.get(link).await.0, 403, "{link}");
        assert_eq!(served.post(link, "decision=allow").await.0, 403, "{link}");
    }
    let spent = [
        served.signed(|link| ApprovalLink { expires: 1, ..link }, &allow),
        served.signed(|link| ApprovalLink { question: link.question + 1, ..link }, &allow),
        served.signed(|link| ApprovalLink { process: "other".into(), ..link }, &allow),
    ];
    for link in &spent {
        assert_eq!(served.get(link).await.0, 410, "{link}");
        assert_eq!(served.post(link, "decision=allow").await.0, 410, "{link}");
    }
    assert_eq!(served.post(&deny, "decision=allow").await.0, 400);
    assert!(!outcome.is_finished());

    // The links to one question do not answer another one.
    let second = served.call("a-token-of-the-ci", "Grace");
    let messages = served.messages(4).await;
    let of_second = messages.iter().find(|message| message["call"]["arguments"]["name"] == "Grace").unwrap();
    assert_eq!(served.post(&deny, "decision=deny&feedback=not+today").await.0, 200);
    let denied = outcome.await.unwrap();
    assert!(is_error(&denied) && denied.to_string().contains("not today"), "{denied}");
    assert!(!second.is_finished());
    assert_eq!(served.post(&path(of_second, "allow"), "decision=allow").await.0, 200);
    assert!(!is_error(&second.await.unwrap()));
    served.end().await;
}

#[tokio::test]
async fn a_person_answers_by_the_link_in_a_mail() {
    let (mails, receiver) = (
        MailReceiver::start(&[]).await.unwrap(),
        Canary::start(|_: &Hit| StatusCode::OK.into_response()).await,
    );
    let channel = format!("type: email, server: \"{}\", from: Toolcrib <toolcrib@example.com>", mails.url());
    let served = Approving::start_with("", &channel, receiver.unwrap()).await;
    let outcome = served.call("a-token-of-the-ci", "Ada");
    let received = || Ok(Some(mails.mails()).filter(|mails| mails.len() == 2));
    let received = wait_until("the mails", PATIENCE, received).await.unwrap();
    let to_bob = received.iter().find(|mail| mail.to == ["bob@example.com"]).unwrap().body();
    let links: Vec<&str> = to_bob.lines().filter_map(|line| line.strip_prefix("http://127.0.0.1")).collect();
    let [allow, deny] = links[..] else { panic!("{to_bob}") };
    assert!(served.get(allow).await.1.contains("you are bob"));
    assert_eq!(served.post(deny, "decision=deny&feedback=ask+on+Monday").await.0, 200);
    let denied = outcome.await.unwrap();
    assert!(is_error(&denied) && denied.to_string().contains("ask on Monday"), "{denied}");
    served.end().await;
}

#[tokio::test]
async fn of_two_answers_at_once_the_first_counts() {
    let served = Approving::start("", StatusCode::OK).await;
    let outcome = served.call("a-token-of-the-ci", "Ada");
    let [to_alice, to_bob] = served.messages(2).await.try_into().unwrap();
    let (allow, deny) = (path(&to_alice, "allow"), path(&to_bob, "deny"));
    let (yes, no) = tokio::join!(served.post(&allow, "decision=allow"), served.post(&deny, "decision=deny"));
    let statuses = [yes.0, no.0];
    assert!(statuses == [200, 410] || statuses == [410, 200], "{statuses:?}");
    assert_eq!(is_error(&outcome.await.unwrap()), no.0 == 200);
    served.end().await;
}

#[tokio::test]
async fn two_people_confirm_a_call_that_needs_two_and_neither_does_it_twice() {
    let served = Approving::start(", approvers: 2", StatusCode::OK).await;
    let outcome = served.call("a-token-of-the-ci", "Ada");
    let [to_alice, to_bob] = served.messages(2).await.try_into().unwrap();
    let (allow, deny) = (path(&to_alice, "allow"), path(&to_alice, "deny"));
    let (status, page) = served.post(&allow, "decision=allow").await;
    assert!(status == 200 && page.contains("another person"), "{page}");
    for (link, form) in [(&allow, "decision=allow"), (&deny, "decision=deny")] {
        assert_eq!(served.get(link).await.0, 403);
        assert_eq!(served.post(link, form).await.0, 403);
    }
    assert!(!outcome.is_finished());
    let second = path(&to_bob, "allow");
    assert!(served.get(&second).await.1.contains("Approved by: alice"));
    assert_eq!(served.post(&second, "decision=allow").await.0, 200);
    assert!(!is_error(&outcome.await.unwrap()));
    served.end().await;
}

#[tokio::test]
async fn the_person_who_makes_a_call_gets_no_link_and_can_use_none_with_four_eyes() {
    let served = Approving::start(", four_eyes: true", StatusCode::OK).await;
    let outcome = served.call("a-token-of-alice", "Ada");
    let [to_bob] = served.messages(1).await.try_into().unwrap();
    assert_eq!(to_bob["person"], "bob");
    let allow = path(&to_bob, "allow");
    let of_alice = served.signed(|link| ApprovalLink { person: "alice".into(), ..link }, &allow);
    assert_eq!(served.get(&of_alice).await.0, 403);
    assert_eq!(served.post(&of_alice, "decision=allow").await.0, 403);
    assert!(!outcome.is_finished());
    assert_eq!(served.post(&allow, "decision=allow").await.0, 200);
    assert!(!is_error(&outcome.await.unwrap()));
    served.end().await;
}

/// The value of a header of an answer.
fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let line = answer.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name}: {answer}"))
}

/// The value of a hidden field of a page.
fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{page}"));
    rest.split('"').next().unwrap()
}

#[tokio::test]
async fn a_person_signs_in_at_the_page_and_is_one_of_those_who_approve() {
    let served = Approving::start(", approvers: 2", StatusCode::OK).await;
    let outcome = served.call("a-token-of-the-ci", "Ada");
    served.messages(2).await;
    assert_eq!(served.get("/?key=another-key-of-bob").await.0, 401);
    let (status, signed_in) = served.get("/?key=a-key-of-bob-for-the-page").await;
    assert_eq!(status, 303, "{signed_in}");
    let cookie = header(&signed_in, "set-cookie").split(';').next().unwrap();
    let cookie = format!("cookie: {cookie}\r\n");
    let (_, page) = served.exchange(request("GET", "/", &cookie, "")).await;
    for shown in ["you are bob", "It needs the approval of 2 people", ">Allow this call<"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("Allow this tool"), "{page}");
    let form = format!("question={}&seal={}", field(&page, "question"), field(&page, "seal"));
    let mut told = Vec::new();
    for say in ["tool", "once", "once", "deny"] {
        let (status, answer) = served.post_from("/answer", &cookie, &format!("{form}&say={say}")).await;
        told.push((status, header(&answer, "location").to_owned()));
    }
    let expected = ["/?told=refused", "/?told=recorded", "/?told=refused", "/?told=refused"];
    assert_eq!(told, expected.map(|path| (303, path.to_owned())));
    assert_eq!(served.post_from("/answer", "", &format!("{form}&say=once")).await.0, 403);
    // Questions to the user are for the operator alone.
    assert_eq!(served.post_from("/reply", &cookie, &form).await.0, 403);
    let (_, page) = served.exchange(request("GET", "/", &cookie, "")).await;
    assert!(page.contains("Approved by: bob") && page.contains("You have answered this question"), "{page}");
    let id = served.pending.questions()[0].id;
    served.pending.answer(id, OperatorAnswer::Once).await.unwrap();
    assert!(!is_error(&outcome.await.unwrap()));
    served.end().await;
}

#[tokio::test]
async fn a_call_is_refused_when_nobody_can_be_asked_about_it() {
    let served = Approving::start("", StatusCode::NOT_FOUND).await;
    let outcome = served.call("a-token-of-the-ci", "Ada").await.unwrap();
    assert!(is_error(&outcome) && outcome.to_string().contains("no one is available"), "{outcome}");
    served.end().await;
}

#[tokio::test]
async fn an_operator_may_answer_before_the_people_do() {
    let served = Approving::start("", StatusCode::OK).await;
    let outcome = served.call("a-token-of-the-ci", "Ada");
    let [to_alice, _] = served.messages(2).await.try_into().unwrap();
    let id = served.pending.questions()[0].id;
    served.pending.answer(id, OperatorAnswer::Once).await.unwrap();
    assert!(!is_error(&outcome.await.unwrap()));
    assert_eq!(served.post(&path(&to_alice, "deny"), "decision=deny").await.0, 410);
    let link = served.pending.verify_link(&path(&to_alice, "deny")["/approve/".len()..]).unwrap();
    assert_eq!((link.question, link.decision), (id, LinkDecision::Deny));
    served.end().await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_person_fails_at_once_when_the_server_leaves() {
    let served = Approving::start("", StatusCode::OK).await;
    let outcome = served.call("a-token-of-the-ci", "Ada");
    served.messages(2).await;
    let notice = served.server.shutdown_notice().unwrap();
    assert_eq!(notice, "calls that wait for a person end now: `hello.say_hello`");
    served.leave.notify_one();
    // Long before the time that running calls have.
    let outcome = timeout(DRAIN / 2, outcome).await.unwrap().unwrap();
    let message = outcome["error"]["message"].as_str().unwrap();
    assert!(message.contains("shutting down") && message.contains("not approved"), "{outcome}");
    assert_eq!(served.server.shutdown_notice(), None);
    served.end().await;
}
