//! An authorization server, and an MCP server that notes what it hears.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Whom its tokens are for.
pub(super) const AUDIENCE: &str = "https://tools.example.com/mcp";

/// Where the metadata of that is.
pub(super) const METADATA: &str = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";

/// What an encoded public key of the curve P-256 begins with (RFC 5480).
const KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// What is answered to who asks for the keys.
#[derive(Clone, Copy, Debug)]
pub(super) enum Published {
    Keys,
    Nothing,
    Failure,
    /// More keys than anybody has.
    TooMuch,
    /// The metadata of another issuer.
    OfAnother,
    /// Metadata by which the keys are somewhere else on this machine, in the clear.
    Elsewhere,
}

/// An authorization server that signs what it is told to.
pub(super) struct Issuer {
    pub(super) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    url: String,
    key: Mutex<(usize, EcdsaKeyPair)>,
    published: Mutex<Published>,
    asked: Mutex<Vec<String>>,
}

fn new_key() -> EcdsaKeyPair {
    let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap()
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Lays one object over another; `null` takes a member out.
pub(super) fn laid(mut below: Value, above: &Value) -> Value {
    for (name, value) in above.as_object().unwrap() {
        if value.is_null() {
            below.as_object_mut().unwrap().remove(name);
        } else {
            below[name] = value.clone();
        }
    }
    below
}

fn encoded(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

/// A token with other claims under the signature that it had.
pub(super) fn with_claims(token: &str, claims: &Value) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    let old: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    format!("{}.{}.{}", parts[0], encoded(&laid(old, claims)), parts[2])
}

/// A token that brings the key along that it is signed with.
pub(super) fn by_own_key(issuer: &Issuer, claims: &Value) -> String {
    let key = new_key();
    let head = json!({"alg": "ES256", "typ": "at+jwt", "kid": "key-1", "jwk": jwk(&key, 1)});
    signed(&head, &issuer.claims(claims), &key)
}

fn signed(head: &Value, claims: &Value, key: &EcdsaKeyPair) -> String {
    let text = format!("{}.{}", encoded(head), encoded(claims));
    let signature = key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn jwk(key: &EcdsaKeyPair, number: usize) -> Value {
    let point = key.public_key().as_ref();
    let coordinate = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    json!({
        "kty": "EC", "crv": "P-256", "use": "sig", "kid": format!("key-{number}"),
        "x": coordinate(&point[1..33]), "y": coordinate(&point[33..]),
    })
}

impl Issuer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            url: url.clone(),
            key: Mutex::new((1, new_key())),
            published: Mutex::new(Published::Keys),
            asked: Mutex::default(),
        });
        let router = Router::new().fallback(any(publish)).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared }
    }

    /// From now on it signs with another key, and publishes that alone.
    pub(super) fn rotate(&self) {
        let mut key = self.shared.key.lock();
        *key = (key.0 + 1, new_key());
    }

    pub(super) fn publish(&self, published: Published) {
        *self.shared.published.lock() = published;
    }

    /// How often a path was asked for.
    pub(super) fn asked(&self, path: &str) -> usize {
        self.shared.asked.lock().iter().filter(|asked| *asked == path).count()
    }

    fn claims(&self, claims: &Value) -> Value {
        let usual = json!({
            "iss": self.url, "aud": AUDIENCE, "sub": "somebody", "client_id": "desk", "iat": now(), "exp": now() + 600,
        });
        laid(usual, claims)
    }

    /// A token with these claims in the place of the usual ones.
    pub(super) fn token(&self, claims: &Value) -> String {
        self.token_with_head(&json!({}), claims)
    }

    pub(super) fn token_with_head(&self, head: &Value, claims: &Value) -> String {
        let key = self.shared.key.lock();
        let usual = json!({"alg": "ES256", "typ": "at+jwt", "kid": format!("key-{}", key.0)});
        signed(&laid(usual, head), &self.claims(claims), &key.1)
    }

    /// A token that says it is of another issuer, under the name of one of its keys.
    pub(super) fn token_as(&self, other: &Self, key: &str, claims: &Value) -> String {
        let claims = laid(json!({"iss": other.url}), claims);
        self.token_with_head(&json!({"kid": key}), &claims)
    }

    /// A token that nobody has signed.
    pub(super) fn unsigned(&self, claims: &Value) -> String {
        format!("{}.{}.", encoded(&json!({"alg": "none", "typ": "JWT"})), encoded(&self.claims(claims)))
    }

    /// A token that anybody can make, where a public key passes for a secret.
    pub(super) fn by_public_key(&self, claims: &Value) -> String {
        let key = self.shared.key.lock();
        let der = [&KEY_HEAD, key.1.public_key().as_ref()].concat();
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der));
        let head = json!({"alg": "HS256", "typ": "at+jwt", "kid": "key-1"});
        let text = format!("{}.{}", encoded(&head), encoded(&self.claims(claims)));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, pem.as_bytes()), text.as_bytes());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(tag))
    }
}

async fn publish(State(issuer): State<Arc<Shared>>, uri: Uri) -> Response {
    issuer.asked.lock().push(uri.path().to_owned());
    let published = *issuer.published.lock();
    match (uri.path(), published) {
        ("/.well-known/openid-configuration", Published::OfAnother) => {
            Json(json!({"issuer": "https://login.example.com", "jwks_uri": format!("{}/keys", issuer.url)}))
                .into_response()
        }
        ("/.well-known/openid-configuration", Published::Elsewhere) => {
            let elsewhere = issuer.url.replace("127.0.0.1", "localhost");
            Json(json!({"issuer": issuer.url, "jwks_uri": format!("{elsewhere}/keys")})).into_response()
        }
        ("/.well-known/openid-configuration", _) => {
            Json(json!({"issuer": issuer.url, "jwks_uri": format!("{}/keys", issuer.url)})).into_response()
        }
        ("/keys", Published::Failure) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        ("/keys", Published::Keys | Published::OfAnother | Published::Elsewhere) => {
            let key = issuer.key.lock();
            Json(json!({"keys": [jwk(&key.1, key.0)]})).into_response()
        }
        ("/keys", Published::TooMuch) => {
            let key = issuer.key.lock();
            let mut own = jwk(&key.1, key.0);
            own["more"] = "x".repeat(1024 * 1024).into();
            Json(json!({"keys": [own]})).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// An MCP server that notes the heads and bodies of all requests.
pub(super) struct Upstream {
    pub(super) url: String,
    heard: Arc<Mutex<String>>,
}

impl Upstream {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<String>>::default();
        let router = Router::new().route("/mcp", post(hear)).with_state(Arc::clone(&heard));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, heard }
    }

    /// All of it.
    pub(super) fn heard(&self) -> String {
        self.heard.lock().clone()
    }
}

async fn hear(
    State(heard): State<Arc<Mutex<String>>>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    heard.lock().extend([format!("{headers:?} "), request.to_string()]);
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "far", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "tell", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "told"}]}),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
}
