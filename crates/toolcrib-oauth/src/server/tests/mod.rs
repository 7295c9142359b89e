//! What tokens of an authorization server promise. The signatures in `vectors.json` were made by another library, OpenSSL by way
//! of Python's `cryptography`; `weak` is by a key of 1,024 bits, `HS256` by the public key as the secret.

mod cache;
mod signatures;
mod tokens;

use serde_json::Value;

use super::{ResourceServer, SignatureAlgorithm};

/// A time at which the tokens of the vectors are good, in seconds since 1970.
const NOW: f64 = 1_800_000_000.0;

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors.json")).unwrap()
}

/// A server that takes the tokens of the vectors.
fn served() -> ResourceServer {
    let (issuer, resource) = ("https://login.example.com", "https://tools.example.com/mcp");
    ResourceServer {
        issuer: issuer.to_owned(),
        issuer_url: issuer.parse().unwrap(),
        audience: resource.to_owned(),
        resource: resource.to_owned(),
        resource_url: resource.parse().unwrap(),
        jwks_url: None,
        jwks_setting: "jwks_url",
        allow_private: false,
        algorithms: SignatureAlgorithm::ALL.to_vec(),
    }
}
