//! Push messages to browsers, at a push service on a socket that decrypts what it gets.

use std::collections::VecDeque;

use axum::body::Bytes as Body;
use axum::extract::State;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;
use ring::signature;
use toolcrib_testkit::wait_until;

use super::*;
use crate::Console;
use crate::approval::PendingApprovals;

/// A message as the push service gets it.
type Delivery = (HeaderMap, Vec<u8>);

/// A push service that answers with these statuses in turn, and with 201 after them.
struct PushService {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Delivery>>>,
}

type ServiceState = (Arc<Mutex<Vec<Delivery>>>, Arc<Mutex<VecDeque<u16>>>);

async fn accept(
    State((received, statuses)): State<ServiceState>,
    headers: HeaderMap,
    body: Body,
) -> StatusCode {
    received.lock().push((headers, body.to_vec()));
    StatusCode::from_u16(statuses.lock().pop_front().unwrap_or(201)).unwrap()
}

impl PushService {
    async fn start(statuses: &[u16]) -> Self {
        let received: Arc<Mutex<Vec<Delivery>>> = Arc::default();
        let statuses: Arc<Mutex<VecDeque<u16>>> = Arc::new(Mutex::new(statuses.iter().copied().collect()));
        let state = (Arc::clone(&received), statuses);
        let router = Router::new().route("/push/{id}", post(accept)).with_state(state);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, received }
    }

    async fn received(&self, count: usize) -> Vec<Delivery> {
        let received = || Ok(Some(self.received.lock().clone()).filter(|all| all.len() >= count));
        wait_until("the push messages", PATIENCE, received).await.unwrap()
    }
}

/// A browser, whose key decrypts one message.
struct Browser {
    key: EphemeralPrivateKey,
    public: Vec<u8>,
    auth: [u8; 16],
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derived<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> [u8; N] {
    let mut out = [0; N];
    let prk = Salt::new(HKDF_SHA256, salt).extract(secret);
    prk.expand(info, Length(N)).unwrap().fill(&mut out).unwrap();
    out
}

impl Browser {
    fn new() -> Self {
        let key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = key.compute_public_key().unwrap().as_ref().to_vec();
        Self { key, public, auth: [3; 16] }
    }

    /// The form that the page sends.
    fn form(&self, seal: &str, endpoint: &str) -> String {
        let (public, auth) = (URL_SAFE_NO_PAD.encode(&self.public), URL_SAFE_NO_PAD.encode(self.auth));
        let endpoint = endpoint.replace(':', "%3A").replace('/', "%2F");
        format!("seal={seal}&endpoint={endpoint}&p256dh={public}&auth={auth}")
    }

    /// Decrypts a body of one record (RFC 8188 and RFC 8291).
    fn decrypt(self, body: &[u8]) -> Value {
        let (salt, rest) = body.split_at(16);
        let (head, rest) = rest.split_at(5);
        let (sender, record) = rest.split_at(usize::from(head[4]));
        let peer = UnparsedPublicKey::new(&ECDH_P256, sender);
        let text = agree_ephemeral(self.key, &peer, |secret| {
            let ikm: [u8; 32] = derived(&self.auth, secret, &[b"WebPush: info\0", &self.public, sender]);
            let key: [u8; 16] = derived(salt, &ikm, &[b"Content-Encoding: aes128gcm\0"]);
            let nonce: [u8; 12] = derived(salt, &ikm, &[b"Content-Encoding: nonce\0"]);
            let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
            let mut record = record.to_vec();
            let text = key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record);
            text.unwrap().to_vec()
        });
        let mut text = text.unwrap();
        assert_eq!(text.pop(), Some(2), "the last record");
        serde_json::from_slice(&text).unwrap()
    }
}

/// Checks the token of a request with the key that browsers subscribe with.
fn verify(headers: &HeaderMap, audience: &str, key: &str) {
    let value = headers["authorization"].to_str().unwrap();
    let (token, public) = value.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
    assert_eq!(public, key);
    let (text, signed) = token.rsplit_once('.').unwrap();
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let public = signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, decode(public));
    public.verify(text.as_bytes(), &decode(signed)).unwrap();
    let claims: Value = serde_json::from_slice(&decode(text.split_once('.').unwrap().1)).unwrap();
    assert_eq!((&claims["aud"], &claims["sub"]), (&json!(audience), &json!("mailto:ops@example.com")));
}

/// A served app whose calls are approved by people with push messages.
struct Pushing {
    server: Server,
    console: Console,
    pending: PendingApprovals,
    address: SocketAddr,
    leave: Arc<Notify>,
    serving: tokio::task::JoinHandle<Result<(), Error>>,
}

impl Pushing {
    async fn start() -> Self {
        let text = "app: {id: desk}\nmodules: {hello: {}}\nserve: {tokens: [{name: ci, token: a-token-of-the-ci}]}\n\
             approvals:\n  url: http://127.0.0.1\n  people: {bob: {key: a-key-of-bob-for-the-page}, eve: {key: a-key-of-eve-for-the-page}}\n  \
             channels: {phones: {type: web_push, subject: 'mailto:ops@example.com', people: [bob, operator], allow_private: true}}\n  \
             rules: [{module: hello, ask: [phones]}]\n";
        let app = Blueprint::from_text("app.yaml", text).unwrap();
        let pending = PendingApprovals::default();
        let approver = pending.approver(ClientApprover::new(Arc::new(DenyAll)));
        let runtime = Arc::new(Runtime::start(app, approver).await.unwrap());
        let console = Console::new(&pending).unwrap();
        let server = Server::new(runtime, ServerSettings::default()).unwrap();
        let server = server.with_console(console.clone()).with_approvals(&pending).unwrap();
        let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (address, leave) = (listening.address(), Arc::new(Notify::new()));
        let left = Arc::clone(&leave);
        let serving = tokio::spawn(listening.serve(async move { left.notified().await }));
        Self { server, console, pending, address, leave, serving }
    }

    async fn exchange(&self, method: &str, path: &str, cookie: &str, form: &str) -> (u16, String) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncookie: {cookie}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            form.len()
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = read(stream).await;
        (answer[9..12].parse().unwrap(), answer)
    }

    /// The cookie of a viewer with this key.
    async fn sign_in(&self, key: &str) -> String {
        let (status, answer) = self.exchange("POST", "/sign-in", "", &format!("key={key}")).await;
        assert_eq!(status, 303, "{answer}");
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        cookie.split_once(';').unwrap().0.to_owned()
    }

    /// The seal of the button on the page of a viewer.
    async fn seal(&self, cookie: &str) -> Option<String> {
        let (status, page) = self.exchange("GET", "/", cookie, "").await;
        assert_eq!(status, 200, "{page}");
        let (_, rest) = page.split_once("id=\"push\"")?;
        Some(rest.split_once("data-seal=\"")?.1.split_once('"')?.0.to_owned())
    }

    fn call(&self, name: &str) -> tokio::task::JoinHandle<Value> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "hello__say_hello", "arguments": {"name": name}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
        let headers = "authorization: Bearer a-token-of-the-ci\r\nmcp-protocol-version: 2026-07-28\r\n\
                       mcp-method: tools/call\r\nmcp-name: hello__say_hello\r\n";
        let (address, request) = (self.address, request("POST", "/mcp", headers, &body));
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(&request).await.unwrap();
            message(&read(stream).await)
        })
    }

    async fn end(self) {
        self.leave.notify_one();
        timeout(PATIENCE, self.serving).await.unwrap().unwrap().unwrap();
        self.server.close().await;
    }
}

#[tokio::test]
async fn the_browser_of_a_person_gets_an_encrypted_message_about_a_call_that_waits() {
    let served = Pushing::start().await;
    let service = PushService::start(&[]).await;
    let bob = served.sign_in("a-key-of-bob-for-the-page").await;
    let (status, answer) = served.exchange("GET", "/push", &bob, "").await;
    assert_eq!(status, 200, "{answer}");
    let key = answer.rsplit("\r\n\r\n").next().unwrap().to_owned();
    let seal = served.seal(&bob).await.unwrap();
    let browser = Browser::new();
    let form = browser.form(&seal, &format!("http://{}/push/bob", service.address));
    let (status, answer) = served.exchange("POST", "/push", &bob, &form).await;
    assert_eq!(status, 200, "{answer}");

    let outcome = served.call("Ada Lovelace");
    let (headers, body) = service.received(1).await.remove(0);
    verify(&headers, &format!("http://{}", service.address), &key);
    assert_eq!(headers["content-encoding"], "aes128gcm");
    let mut told = browser.decrypt(&body);
    let tag = told["tag"].take();
    assert!(tag.as_str().unwrap().starts_with("approval_"), "{tag}");
    let expected = json!({"title": "Allow hello.say_hello?", "body": "desk, low risk", "tag": null,
        "url": "http://127.0.0.1/#approvals"});
    assert_eq!(told, expected, "no argument and no link that answers");

    let [question] = served.pending.questions().try_into().unwrap();
    served.pending.answer_as("bob", question.id, crate::approval::OperatorAnswer::Once).await.unwrap();
    let outcome = outcome.await.unwrap();
    assert_eq!(outcome["result"]["isError"], false, "{outcome}");
    served.end().await;
}

#[tokio::test]
async fn a_subscription_that_the_push_service_has_ended_is_removed() {
    let served = Pushing::start().await;
    let service = PushService::start(&[410]).await;
    let operator = served.sign_in(served.console.operator_key()).await;
    let seal = served.seal(&operator).await.unwrap();
    let form = Browser::new().form(&seal, &format!("http://{}/push/old", service.address));
    assert_eq!(served.exchange("POST", "/push", &operator, &form).await.0, 200);
    // The page of the operator was seen, so the calls wait for them.
    let first = served.call("Ada");
    service.received(1).await;
    let removed = async {
        while served.pending.subscriptions().await > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, removed).await.unwrap();
    let form = Browser::new().form(&seal, &format!("http://{}/push/new", service.address));
    assert_eq!(served.exchange("POST", "/push", &operator, &form).await.0, 200);
    let second = served.call("Bob");
    let received = service.received(2).await;
    assert_eq!(received.len(), 2, "the ended subscription gets no further message");
    first.abort();
    second.abort();
    served.end().await;
}

#[tokio::test]
async fn only_those_who_answer_and_whom_a_channel_names_subscribe_and_at_secure_endpoints_only() {
    let served = Pushing::start().await;
    let (bob, eve, ci) = (
        served.sign_in("a-key-of-bob-for-the-page").await,
        served.sign_in("a-key-of-eve-for-the-page").await,
        served.sign_in("a-token-of-the-ci").await,
    );
    let seal = served.seal(&bob).await.unwrap();
    let form = |endpoint: &str| Browser::new().form(&seal, endpoint);
    let good = form("https://push.example.com/a");
    for (cookie, form, status) in [
        ("", good.clone(), 403),
        (ci.as_str(), good.clone(), 403),
        (eve.as_str(), good.clone(), 404),
        (bob.as_str(), good.replace("seal=", "seal=0"), 403),
        (bob.as_str(), good.replace("p256dh=B", "p256dh=C"), 400),
        (bob.as_str(), form("http://push.example.com/a"), 400),
        (bob.as_str(), form("ftp://push.example.com/a"), 400),
        (bob.as_str(), good.clone(), 200),
    ] {
        let (found, answer) = served.exchange("POST", "/push", cookie, &form).await;
        assert_eq!(found, status, "{form}: {answer}");
    }
    assert!(served.seal(&eve).await.is_none());
    for (cookie, status) in [("", 403), (ci.as_str(), 403), (eve.as_str(), 404), (bob.as_str(), 200)] {
        assert_eq!(served.exchange("GET", "/push", cookie, "").await.0, status);
    }
    let (status, worker) = served.exchange("GET", "/worker.js", &bob, "").await;
    assert!(
        status == 200 && worker.contains("worker-src 'self'") && worker.contains("text/javascript"),
        "{worker}"
    );
    served.end().await;
}
