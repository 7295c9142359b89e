//! Logging in at an MCP server: by the binary, with a browser of a few lines.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{PATIENCE, TestDir, new_database, query};

const APP: &str = r#"
modules: {hello: {}}
tools:
  registry:
    - {type: mcp, namespace: crm, url: "${CRM_URL}"}
  capabilities: {default_policy: grant}
"#;

/// What no output may hold.
const SECRETS: [&str; 4] = ["access-token-7f3a", "refresh-token-91c2", "client-secret-e4d0", "code-5b6f"];

/// An MCP server that is its own authorization server.
#[derive(Clone, Default)]
struct Server {
    origin: String,
    asked: Arc<Mutex<Vec<HashMap<String, String>>>>,
    exchanges: Arc<Mutex<Vec<String>>>,
    /// The number of requests for the list of tools.
    lists: Arc<AtomicUsize>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { origin: format!("http://{}", listener.local_addr().unwrap()), ..Self::default() };
        let router = Router::new()
            .route("/mcp", post(mcp))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        server
    }

    fn dir(&self) -> TestDir {
        TestDir::with_app(APP)
            .with_variable("CRM_URL", format!("{}/mcp", self.origin))
            .with_variable("TOOLCRIB_LOG", "trace")
    }
}

async fn resource(State(server): State<Server>) -> Json<Value> {
    Json(json!({"resource": format!("{}/mcp", server.origin), "authorization_servers": [server.origin]}))
}

async fn metadata(State(server): State<Server>) -> Json<Value> {
    let at = |path: &str| format!("{}{path}", server.origin);
    Json(json!({
        "issuer": server.origin,
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "registration_endpoint": at("/register"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
        "authorization_response_iss_parameter_supported": true,
        "scopes_supported": ["offline_access"],
    }))
}

async fn register() -> Json<Value> {
    Json(json!({"client_id": "client", "client_secret": SECRETS[2]}))
}

/// Sends the browser back at once.
async fn authorize(State(server): State<Server>, Query(query): Query<HashMap<String, String>>) -> Response {
    let to = format!(
        "{}?code={}&state={}&iss={}",
        query["redirect_uri"], SECRETS[3], query["state"], server.origin
    );
    server.asked.lock().push(query);
    (axum::http::StatusCode::FOUND, [("location", to)]).into_response()
}

async fn token(State(server): State<Server>, body: String) -> Json<Value> {
    server.exchanges.lock().push(body);
    Json(json!({
        "access_token": SECRETS[0],
        "refresh_token": SECRETS[1],
        "token_type": "Bearer",
        "expires_in": 3_600,
    }))
}

async fn mcp(
    State(server): State<Server>,
    headers: axum::http::HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    let sent = headers.get("authorization").map(|value| value.to_str().unwrap()).unwrap_or_default();
    if sent != format!("Bearer {}", SECRETS[0]) {
        let place = format!("{}/.well-known/oauth-protected-resource/mcp", server.origin);
        let challenge = format!(r#"Bearer resource_metadata="{place}", scope="read""#);
        let status = axum::http::StatusCode::UNAUTHORIZED;
        return (status, [("www-authenticate", challenge)]).into_response();
    }
    let Some(id) = request.get("id") else { return axum::http::StatusCode::ACCEPTED.into_response() };
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "crm", "version": "1"},
        }),
        "tools/list" => {
            server.lists.fetch_add(1, Ordering::Relaxed);
            json!({"tools": [{"name": "tell", "description": sent, "inputSchema": {"type": "object"}}]})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": format!("you sent {sent}")}]}),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
}

/// Fetches a URL of this machine: the whole answer.
async fn fetch(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Where an answer sends the browser.
fn location(answer: &str) -> &str {
    answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap()
}

/// Logs in as a user does who reads the URL. Returns the exit code and all that was printed.
async fn log_in(dir: &TestDir, words: &[&str]) -> (Option<i32>, String) {
    let mut child = dir.start(words);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut printed = String::new();
    let url = loop {
        let mut line = String::new();
        let count = timeout(PATIENCE, stderr.read_line(&mut line)).await.unwrap().unwrap();
        assert_ne!(count, 0, "no URL: {printed}");
        printed.push_str(&line);
        if line.trim().starts_with("http://") {
            break line.trim().to_owned();
        }
    };
    let answer = fetch(&url).await;
    let back = location(&answer);
    // Anybody can send a browser here; only the answer to this login counts.
    let forged = back.replace("state=", "state=x").replace(SECRETS[3], "forged");
    assert!(fetch(&forged).await.starts_with("HTTP/1.1 404"));
    assert!(fetch(back).await.starts_with("HTTP/1.1 200"));
    let output = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    timeout(PATIENCE, stderr.read_to_string(&mut printed)).await.unwrap().unwrap();
    printed.push_str(std::str::from_utf8(&output.stdout).unwrap());
    (output.status.code(), printed)
}

/// The text of all files of a folder.
fn everything_below(folder: &std::path::Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            if path.is_dir() {
                return everything_below(&path);
            }
            // Vectors of tools are no text.
            String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
        })
        .collect()
}

#[track_caller]
fn assert_no_secrets(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[tokio::test]
async fn a_server_that_needs_a_login_says_the_command_and_serves_after_it() {
    let server = Server::start().await;
    let dir = server.dir();
    let run_output = dir.run(["tools", "app.yaml", "--json"]).await.expect(5);
    let rejected = &run_output.json()["rejected"];
    let reason = rejected[0]["reason"].as_str().unwrap();
    assert!(reason.contains("needs login: toolcrib login app.yaml crm (no user has logged in)"), "{reason}");
    assert_eq!(rejected.as_array().unwrap().len(), 1);
    let siblings = run_output.json()["tools"].as_array().unwrap().len();
    assert!(siblings > 0, "the others serve");
    assert_eq!(rejected[0]["kind"], "needs_login");
    let found =
        dir.run(["search", "app.yaml", "open deals of this quarter", "--json"]).await.expect(0).json();
    assert_ne!(found["outcome"], "ok", "{found}");
    assert_eq!(found["reason"], "needs_login", "{found}");

    let (code, printed) = log_in(&dir, &["login", "app.yaml", "crm"]).await;
    assert_eq!(code, Some(0), "{printed}");
    let done = format!("crm: logged in at {} for read offline_access", server.origin);
    assert!(printed.contains(&done), "{printed}");
    assert_no_secrets(&printed);
    assert_eq!(server.asked.lock().len(), 1);
    assert!(!server.exchanges.lock()[0].contains("forged"));

    let folder = dir.path("home/.local/state/toolcrib/oauth");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");

    for words in [
        &["tools", "app.yaml", "--json"][..],
        &["call", "app.yaml", "crm.tell", "{}"],
        &["call", "app.yaml", "crm.tell", "{}", "--json"],
        &["show", "app.yaml", "crm.tell", "--json"],
        &["doctor", "app.yaml"],
    ] {
        let run_output = dir.run_words(words).await.expect(0);
        assert_no_secrets(&run_output.report());
    }
    let run_output = dir.run(["call", "app.yaml", "crm.tell", "{}"]).await.expect(0);
    assert_eq!(run_output.stdout.trim_end(), "you sent Bearer [secret]");

    let kept = everything_below(&dir.path("home/.cache"));
    assert!(kept.contains("tell"), "its tools are kept");
    assert_no_secrets(&kept);

    let run_output = dir.run(["login", "app.yaml", "crm", "--logout"]).await.expect(0);
    assert_eq!(run_output.stdout, "crm: logged out\n");
    let run_output = dir.run(["call", "app.yaml", "crm.tell", "{}"]).await;
    assert!(run_output.stderr.contains("needs login") || run_output.code != Some(0), "{run_output:?}");
    let again = dir.run(["login", "app.yaml", "crm", "--logout", "--json"]).await.expect(0);
    assert_eq!(again.json(), json!({"namespace": "crm", "logged_out": false}));
}

#[tokio::test]
async fn another_login_has_the_tools_listed_again() {
    let server = Server::start().await;
    let dir = server.dir();
    let lists = || server.lists.load(Ordering::Relaxed);
    let search = async || {
        dir.run(["search", "app.yaml", "tell", "--json"]).await.expect(0);
        lists()
    };
    let (code, printed) = log_in(&dir, &["login", "app.yaml", "crm"]).await;
    assert_eq!(code, Some(0), "{printed}");
    let first = search().await;
    assert!(first > 0);
    assert_eq!(search().await, first, "the list is cached");
    let (code, printed) = log_in(&dir, &["login", "app.yaml", "crm"]).await;
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(search().await, first + 1);
}

#[tokio::test]
async fn a_login_for_machines_prints_one_document() {
    let server = Server::start().await;
    let dir = server.dir();
    let (code, printed) = log_in(&dir, &["login", "app.yaml", "crm", "--json"]).await;
    assert_eq!(code, Some(0), "{printed}");
    let document: Value = serde_json::from_str(&printed[printed.rfind("\n{").unwrap()..]).unwrap();
    assert_eq!(
        document,
        json!({
            "namespace": "crm",
            "issuer": server.origin,
            "resource": format!("{}/mcp", server.origin),
            "scopes": ["read", "offline_access"],
            "renewed": true,
        })
    );
    assert_no_secrets(&printed);
}

#[tokio::test]
async fn a_login_that_cannot_be_says_why() {
    let server = Server::start().await;
    let dir = server.dir();
    let run_output = dir.run(["login", "app.yaml", "crn"]).await.expect(2);
    assert!(
        run_output.stderr.contains("no MCP server or API of the namespace `crn`; there is: `crm`"),
        "{run_output:?}"
    );
    let run_output = dir.run(["login", "app.yaml", "crm", "--timeout", "1"]).await.expect(1);
    assert!(run_output.stderr.contains("no user logged in within 1 s; start again"), "{run_output:?}");
    for (auth, problem) in [
        ("{client_secret: x}", "set `client_id` too"),
        ("{grant: client_credentials}", "`grant: client_credentials` needs a `client_id`"),
        ("{grant: workload_identity, client_id: x}", "this `grant` needs an `identity_token`"),
        ("{grant: workload_identity, identity_token: x}", "this `grant` needs a `client_id`"),
        ("{identity_token: x}", "`identity_token` is for `grant: workload_identity`"),
        (
            "{grant: enterprise_managed, client_id: x, identity_token: x}",
            "`grant: enterprise_managed` and `identity_provider` go together",
        ),
        (
            "{grant: enterprise_managed, client_id: x, identity_token: x, identity_provider: {issuer: y, client_id: z}}",
            "`identity_provider.issuer` is not a URL",
        ),
        ("{issuer: here}", "`issuer` is not a URL"),
        ("{client_metadata_url: \"http://a.example/x\"}", "`client_metadata_url` has to be an https URL"),
        ("{client_idd: x}", "did you mean `client_id`?"),
    ] {
        let app = APP.replace("url: \"${CRM_URL}\"", &format!("url: \"${{CRM_URL}}\", auth: {auth}"));
        let dir = server.dir().with_file("app.yaml", app);
        let run_output = dir.run(["validate", "app.yaml"]).await.expect(2);
        assert!(run_output.stderr.contains(problem), "{auth}: {run_output:?}");
    }
}

#[tokio::test]
async fn a_login_on_one_machine_is_that_of_all_replicas() {
    let Some(url) = new_database() else { return };
    let server = Server::start().await;
    let app = format!("store: '${{STORE_URL}}'\n{APP}");
    let key = "0f".repeat(32);
    // Each has a home of its own.
    let dirs = [(); 2].map(|()| {
        let dir = server.dir().with_file("app.yaml", &app).with_variable("STORE_URL", url.clone());
        dir.with_variable("TOOLCRIB_TOKEN_KEY", key.clone())
    });
    let (code, printed) = log_in(&dirs[0], &["login", "app.yaml", "crm"]).await;
    assert_eq!(code, Some(0), "{printed}");
    for dir in &dirs {
        let run_output = dir.run(["call", "app.yaml", "crm.tell", "{}"]).await.expect(0);
        assert_eq!(run_output.stdout.trim_end(), "you sent Bearer [secret]");
        assert!(!dir.path("home/.local/state/toolcrib/oauth").exists());
    }
    let stored = query(&url, "SELECT body FROM toolcrib_records WHERE kind = 'token'").unwrap();
    assert_eq!(stored.len(), 1);
    assert_no_secrets(&stored.concat());
    let other = server.dir().with_file("app.yaml", &app).with_variable("STORE_URL", url.clone());
    let run_output = other.run(["call", "app.yaml", "crm.tell", "{}"]).await;
    assert!(
        run_output.report().contains("set `TOOLCRIB_TOKEN_KEY` to the same key for all replicas"),
        "{run_output:?}"
    );
    let run_output = dirs[1].run(["login", "app.yaml", "crm", "--logout"]).await.expect(0);
    assert_eq!(run_output.stdout, "crm: logged out\n");
    let run_output = dirs[0].run(["call", "app.yaml", "crm.tell", "{}"]).await;
    assert!(run_output.report().contains("needs login"), "{run_output:?}");
}
