//! An MCP server and its authorization server, on two ports of this machine.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode, Uri};
use parking_lot::{Mutex, MutexGuard};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use url::{Url, form_urlencoded};

/// How the servers behave; a test changes what it is about.
pub(super) struct Rules {
    /// Laid over the metadata of the authorization server; `null` takes a key out.
    pub(super) metadata: Value,
    /// Laid over the metadata of the resource.
    pub(super) resource: Value,
    /// Whether the authorization server publishes any.
    pub(super) has_metadata: bool,
    /// Whether the resource does.
    pub(super) has_resource: bool,
    /// The path below which the authorization server is.
    pub(super) tenant: &'static str,
    /// In the place of `iss`; `null` leaves it out.
    pub(super) iss: Option<Value>,
    /// In the place of `state`.
    pub(super) state: Option<&'static str>,
    /// Laid over the answer to a registration.
    pub(super) registration: Value,
    /// Laid over the tokens.
    pub(super) tokens: Value,
    /// What refreshing is answered with instead.
    pub(super) refusal: Option<(u16, Value)>,
    /// What the challenge of the server has besides its metadata.
    pub(super) challenge: String,
    /// The scope that the tool `write` needs.
    pub(super) write_scope: Option<&'static str>,
    /// Whether tokens that were issued before are taken no longer.
    pub(super) revoked: usize,
    /// Whether tokens are bound to keys.
    pub(super) is_bound: bool,
    /// The nonces that the authorization server and the server want in proofs; empty for none.
    pub(super) nonces: [&'static str; 2],
    /// How many requests a token is good for.
    pub(super) uses: usize,
    /// The logins whose tokens are taken no longer, by their numbers.
    pub(super) revoked_logins: Vec<usize>,
    /// Holds back answers with tokens.
    pub(super) gate: Option<Arc<Notify>>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            metadata: json!({}),
            resource: json!({}),
            has_metadata: true,
            has_resource: true,
            tenant: "",
            iss: None,
            state: None,
            registration: json!({}),
            tokens: json!({}),
            refusal: None,
            challenge: String::new(),
            write_scope: None,
            revoked: 0,
            is_bound: false,
            nonces: [""; 2],
            uses: usize::MAX,
            revoked_logins: Vec::new(),
            gate: None,
        }
    }
}

/// Both servers.
#[derive(Clone)]
pub(super) struct World {
    shared: Arc<Shared>,
}

struct Shared {
    rules: Mutex<Rules>,
    /// Every request, as `METHOD path`.
    log: Mutex<Vec<String>>,
    /// What `/authorize` was asked.
    asked: Mutex<Vec<HashMap<String, String>>>,
    /// What `/token` was asked, with `Authorization` among the fields.
    exchanged: Mutex<Vec<HashMap<String, String>>>,
    /// The scopes of each token that was issued; the number of a token is its place.
    issued: Mutex<Vec<String>>,
    /// The login of each token that was issued, and how often it was used.
    owners: Mutex<Vec<(usize, usize)>>,
    /// How many calls of each login ran, and how many that named another login.
    calls_of_logins: Mutex<(HashMap<usize, usize>, usize)>,
    /// The tokens that the server was sent, and the proofs with them.
    proofs: Mutex<Vec<(String, String)>>,
    calls: AtomicUsize,
    /// The stream that was opened last.
    stream: Mutex<Option<mpsc::UnboundedSender<String>>>,
    issuer: String,
    server: String,
}

/// Lays one object over another.
fn laid(mut below: Value, above: &Value) -> Value {
    for (key, value) in above.as_object().unwrap() {
        if value.is_null() {
            below.as_object_mut().unwrap().remove(key);
        } else {
            below[key] = value.clone();
        }
    }
    below
}

impl World {
    pub(super) async fn start(rules: Rules) -> Self {
        let authorization = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let resource = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let issuer = format!("{}{}", at(&authorization), rules.tenant);
        let shared = Shared {
            issuer,
            server: at(&resource),
            rules: Mutex::new(rules),
            log: Mutex::default(),
            asked: Mutex::default(),
            exchanged: Mutex::default(),
            issued: Mutex::default(),
            owners: Mutex::default(),
            calls_of_logins: Mutex::default(),
            proofs: Mutex::default(),
            calls: AtomicUsize::new(0),
            stream: Mutex::default(),
        };
        let world = Self { shared: Arc::new(shared) };
        let routes = |router: Router<Self>| {
            router
                .route("/authorize", get(authorize))
                .route("/token", post(token))
                .route("/register", post(register))
                .fallback(metadata)
        };
        let (auth, server) = (
            routes(Router::new()),
            routes(
                Router::new()
                    .route("/mcp", post(mcp).get(nothing))
                    .route("/sse", get(stream))
                    .route("/messages", post(messages)),
            ),
        );
        for (listener, router) in [(authorization, auth), (resource, server)] {
            let router = router.with_state(world.clone());
            tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        }
        world
    }

    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.shared.server)
    }

    pub(super) fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    pub(super) fn rules(&self) -> MutexGuard<'_, Rules> {
        self.shared.rules.lock()
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.shared.log.lock().clone()
    }

    /// How often a path was asked for.
    pub(super) fn hits(&self, path: &str) -> usize {
        self.log().iter().filter(|line| line.ends_with(&format!(" {path}"))).count()
    }

    pub(super) fn asked(&self) -> Vec<HashMap<String, String>> {
        self.shared.asked.lock().clone()
    }

    pub(super) fn exchanged(&self) -> Vec<HashMap<String, String>> {
        self.shared.exchanged.lock().clone()
    }

    /// The tokens that the server was sent with a proof, and the proofs.
    pub(super) fn proofs(&self) -> Vec<(String, String)> {
        self.shared.proofs.lock().clone()
    }

    /// How many calls ran.
    pub(super) fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::SeqCst)
    }

    /// How many calls of each login ran, by its number, and how many calls named another login than that of their token.
    pub(super) fn calls_of_logins(&self) -> (HashMap<usize, usize>, usize) {
        self.shared.calls_of_logins.lock().clone()
    }

    /// How many tokens were issued.
    pub(super) fn issued(&self) -> usize {
        self.shared.issued.lock().len()
    }

    /// Has the server take no token that was issued so far.
    pub(super) fn revoke(&self) {
        self.rules().revoked = self.shared.issued.lock().len();
    }

    fn note(&self, method: &str, path: &str) {
        self.shared.log.lock().push(format!("{method} {path}"));
    }

    /// Turns a request away.
    fn challenge(&self) -> Response {
        let rules = self.rules();
        let scheme = if rules.is_bound { "DPoP" } else { "Bearer" };
        let place = format!("{}/.well-known/oauth-protected-resource/mcp", self.shared.server);
        let challenge = if rules.has_resource && !rules.challenge.contains("resource_metadata") {
            format!(r#"{scheme} resource_metadata="{place}" {}"#, rules.challenge)
        } else {
            format!("{scheme} {}", rules.challenge)
        };
        (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)]).into_response()
    }

    /// The scopes of a token, if it is one that is taken.
    fn scopes_of(&self, headers: &HeaderMap) -> Option<String> {
        let scheme = if self.rules().is_bound { "DPoP" } else { "Bearer" };
        let token = headers.get(AUTHORIZATION)?.to_str().unwrap().strip_prefix(scheme)?.trim_start();
        let token = token.strip_prefix("access-token-")?;
        let number: usize = token.parse().unwrap();
        let (login, uses) = {
            let mut owners = self.shared.owners.lock();
            let (login, uses) = owners.get_mut(number)?;
            *uses += 1;
            (*login, *uses)
        };
        let is_revoked = {
            let rules = self.rules();
            number < rules.revoked || uses > rules.uses || rules.revoked_logins.contains(&login)
        };
        self.shared.issued.lock().get(number).filter(|_| !is_revoked).cloned()
    }
}

async fn nothing() -> StatusCode {
    StatusCode::METHOD_NOT_ALLOWED
}

/// The documents of both servers.
async fn metadata(State(world): State<World>, uri: Uri) -> Response {
    world.note("GET", uri.path());
    let rules = world.rules();
    let (issuer, tenant) = (world.issuer(), rules.tenant);
    let is_server = uri.path() == format!("/.well-known/oauth-authorization-server{tenant}");
    if is_server && rules.has_metadata {
        let origin = issuer.strip_suffix(tenant).unwrap();
        let document = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": true,
        });
        return Json(laid(document, &rules.metadata)).into_response();
    }
    if uri.path() == "/.well-known/oauth-protected-resource/mcp" && rules.has_resource {
        let document = json!({"resource": world.url(), "authorization_servers": [issuer]});
        return Json(laid(document, &rules.resource)).into_response();
    }
    StatusCode::NOT_FOUND.into_response()
}

async fn authorize(State(world): State<World>, Query(query): Query<HashMap<String, String>>) -> Response {
    world.note("GET", "/authorize");
    let number = {
        let mut asked = world.shared.asked.lock();
        asked.push(query.clone());
        asked.len() - 1
    };
    let rules = world.rules();
    let mut to: Url = query["redirect_uri"].parse().unwrap();
    to.query_pairs_mut()
        .append_pair("code", &format!("authorization-code-{number}"))
        .append_pair("state", rules.state.unwrap_or(&query["state"]));
    match &rules.iss {
        None => _ = to.query_pairs_mut().append_pair("iss", world.issuer()),
        Some(Value::String(iss)) => _ = to.query_pairs_mut().append_pair("iss", iss),
        Some(_) => {}
    }
    (StatusCode::FOUND, [(LOCATION, to.to_string())]).into_response()
}

async fn register(State(world): State<World>, Json(request): Json<Value>) -> Response {
    world.note("POST", "/register");
    assert_eq!(request["application_type"], "native");
    let answer = json!({"client_id": "registered-client", "redirect_uris": request["redirect_uris"]});
    (StatusCode::CREATED, Json(laid(answer, &world.rules().registration))).into_response()
}

async fn token(State(world): State<World>, headers: HeaderMap, body: Bytes) -> Response {
    world.note("POST", "/token");
    let mut fields: HashMap<String, String> = form_urlencoded::parse(&body).into_owned().collect();
    for name in ["authorization", "dpop"] {
        if let Some(header) = headers.get(name) {
            fields.insert(name.into(), header.to_str().unwrap().into());
        }
    }
    world.shared.exchanged.lock().push(fields.clone());
    let gate = world.rules().gate.clone();
    if let Some(gate) = gate {
        gate.notified().await;
    }
    let rules = world.rules();
    let grant = fields["grant_type"].as_str();
    if rules.is_bound
        && let Some(turned_away) = wants_nonce(&headers, rules.nonces[0], StatusCode::BAD_REQUEST)
    {
        return turned_away;
    }
    // The token of a caller, `caller-NUMBER`.
    let caller = fields.get("subject_token").and_then(|token| token.strip_prefix("caller-")?.parse().ok());
    if grant == "urn:ietf:params:oauth:grant-type:token-exchange" && caller.is_none() {
        let answer = json!({
            "access_token": "id-jag-0",
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "token_type": "N_A",
        });
        return Json(laid(answer, &rules.tokens)).into_response();
    }
    if let Some((status, body)) = rules.refusal.as_ref().filter(|_| grant == "refresh_token") {
        return (StatusCode::from_u16(*status).unwrap(), Json(body.clone())).into_response();
    }
    let login = |fields: &HashMap<String, String>| -> usize {
        let after = |key: &str, prefix: &str| fields.get(key)?.strip_prefix(prefix)?.parse::<usize>().ok();
        let renewed = after("refresh_token", "refresh-token-");
        let renewed = renewed.and_then(|number| Some(world.shared.owners.lock().get(number)?.0));
        renewed.or(caller).or_else(|| after("code", "authorization-code-")).unwrap_or_default()
    };
    let login = login(&fields);
    if grant != "authorization_code" && rules.revoked_logins.contains(&login) {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"}))).into_response();
    }
    let scope = match grant {
        "authorization_code" => {
            let number: usize = fields["code"].strip_prefix("authorization-code-").unwrap().parse().unwrap();
            let asked = world.shared.asked.lock()[number].clone();
            assert_eq!(
                asked["code_challenge"],
                URL_SAFE_NO_PAD.encode(Sha256::digest(&fields["code_verifier"]))
            );
            assert_eq!(asked["redirect_uri"], fields["redirect_uri"]);
            assert_eq!(asked["resource"], fields["resource"]);
            asked.get("scope").cloned().unwrap_or_default()
        }
        _ => fields.get("scope").cloned().unwrap_or_default(),
    };
    let number = {
        let mut issued = world.shared.issued.lock();
        issued.push(scope);
        world.shared.owners.lock().push((login, 0));
        issued.len() - 1
    };
    let answer = json!({
        "access_token": format!("access-token-{number}"),
        "refresh_token": format!("refresh-token-{number}"),
        "token_type": if rules.is_bound { "DPoP" } else { "bearer" },
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "expires_in": 3_600,
    });
    Json(laid(answer, &rules.tokens)).into_response()
}

/// Turns a proof away that does not have the nonce, if there is to be one.
fn wants_nonce(headers: &HeaderMap, nonce: &str, status: StatusCode) -> Option<Response> {
    let (_, claims) = verified(headers["dpop"].to_str().unwrap());
    let fits = nonce.is_empty() || claims["nonce"] == nonce;
    let headers = [("dpop-nonce", nonce), ("www-authenticate", r#"DPoP error="use_dpop_nonce""#)];
    (!fits).then(|| (status, headers, Json(json!({"error": "use_dpop_nonce"}))).into_response())
}

/// The head and the claims of a JWT that is signed with the key in its head.
pub(super) fn verified(jwt: &str) -> (Value, Value) {
    let parts: Vec<_> = jwt.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
    let head: Value = serde_json::from_slice(&parts[0]).unwrap();
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(head["jwk"][name].as_str().unwrap()).unwrap();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let (text, _) = jwt.rsplit_once('.').unwrap();
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    key.verify(text.as_bytes(), &parts[2]).unwrap();
    (head, serde_json::from_slice(&parts[1]).unwrap())
}

/// The same over HTTP with server-sent events: the stream, and where it says to post.
async fn stream(State(world): State<World>, headers: HeaderMap) -> Response {
    world.note("GET", "/sse");
    if world.scopes_of(&headers).is_none() {
        return world.challenge();
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    sender.send("event: endpoint\ndata: /messages\n\n".to_owned()).unwrap();
    *world.shared.stream.lock() = Some(sender);
    let events = futures::stream::unfold(receiver, |mut receiver| async {
        Some((Ok::<_, Infallible>(receiver.recv().await?), receiver))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

async fn messages(world: State<World>, headers: HeaderMap, request: Json<Value>) -> Response {
    let shared = Arc::clone(&world.shared);
    let response = mcp(world, headers, request).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let event = format!("data: {}\n\n", std::str::from_utf8(&body).unwrap());
    shared.stream.lock().as_ref().unwrap().send(event).unwrap();
    StatusCode::ACCEPTED.into_response()
}

/// A server of a few lines. It wants a token for everything.
async fn mcp(State(world): State<World>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    let method = request["method"].as_str().unwrap().to_owned();
    world.note("POST", &method);
    let Some(scopes) = world.scopes_of(&headers) else {
        return world.challenge();
    };
    if let Some(proof) = headers.get("dpop") {
        let token = headers[AUTHORIZATION].to_str().unwrap().split_once(' ').unwrap().1;
        world.shared.proofs.lock().push((token.into(), proof.to_str().unwrap().into()));
        let nonce = world.rules().nonces[1];
        if let Some(turned_away) = wants_nonce(&headers, nonce, StatusCode::UNAUTHORIZED) {
            return turned_away;
        }
    }
    let name = request["params"]["name"].as_str().unwrap_or_default();
    if let Some(scope) = world.rules().write_scope
        && name == "write"
        && !scopes.split(' ').any(|one| one == scope)
    {
        let challenge = format!(r#"Bearer error="insufficient_scope", scope="{scope}""#);
        return (StatusCode::FORBIDDEN, [(WWW_AUTHENTICATE, challenge)]).into_response();
    }
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match method.as_str() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        }),
        "tools/list" => {
            let tools =
                ["read", "write"].map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            json!({"tools": tools})
        }
        "tools/call" => {
            world.shared.calls.fetch_add(1, Ordering::SeqCst);
            if let Some(meant) = request["params"]["arguments"]["login"].as_u64() {
                let token = headers[AUTHORIZATION].to_str().unwrap().rsplit('-').next().unwrap();
                let login = world.shared.owners.lock()[token.parse::<usize>().unwrap()].0;
                let mut calls = world.shared.calls_of_logins.lock();
                *calls.0.entry(login).or_default() += 1;
                calls.1 += usize::from(meant != login as u64);
            }
            // Some servers tell what they were sent.
            let sent = headers[AUTHORIZATION].to_str().unwrap();
            json!({"content": [{"type": "text", "text": format!("{name} with {sent}")}]})
        }
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
}
