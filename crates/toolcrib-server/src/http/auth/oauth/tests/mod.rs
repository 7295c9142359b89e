//! What tokens of an authorization server promise. The signatures in `vectors.json` were made by another library, OpenSSL by way
//! of Python's `cryptography`; `weak` is by a key of 1,024 bits, `HS256` by the public key as the secret.

mod cache;
mod signatures;
mod tokens;

use serde_json::{Value, json};
use toolcrib_app::App;
use toolcrib_app::sections::serve::ServedOAuth;

/// A time at which the tokens of the vectors are good, in seconds since 1970.
const NOW: f64 = 1_800_000_000.0;

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors.json")).unwrap()
}

/// What an app says that takes the tokens of the vectors.
fn served() -> ServedOAuth {
    let oauth = json!({
        "issuer": "https://login.example.com",
        "audience": "https://tools.example.com/mcp",
        "clients": [{"name": "desk", "client_id": "desk", "scopes": ["tools:read"]}],
    });
    let app = App::from_text("app.yaml", &json!({"serve": {"oauth": oauth}}).to_string()).unwrap();
    app.config.serve.oauth.as_ref().unwrap().served(&app.file).unwrap()
}
