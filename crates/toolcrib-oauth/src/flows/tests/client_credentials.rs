//! Tokens that are obtained with client credentials.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib_io::http::{HttpClient, HttpPolicy, Response};
use toolcrib_model::Secret;

use super::super::TokenSource;
use crate::Error;
use crate::client::ClientCredentials;

#[test]
fn a_token_is_used_until_shortly_before_its_end() {
    let settings = ClientCredentials {
        token_url: "https://id.example/token".into(),
        client_id: "me".into(),
        client_secret: Secret::new("hunter2"),
        scopes: Vec::new(),
        audience: None,
        secret_in_body: false,
    };
    let client = HttpClient::new(HttpPolicy::default()).unwrap();
    let source = TokenSource::new(settings, client, "https://id.example/token".parse().unwrap());
    let read = |status: u16, body: Value| {
        let response = Response {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::from(body.to_string()),
            truncated: false,
            elapsed: Duration::ZERO,
        };
        let now = Instant::now();
        source.read(&response, now, 1).map(|token| token.usable_until.map(|end| (end - now).as_secs()))
    };
    for (expires_in, expected) in [
        (json!(3600), Some(3570)),
        (json!("3600"), Some(3570)),
        (json!(20), Some(10)),
        (json!(0), Some(0)),
        (json!(-5), Some(0)),
        (json!(1e300), Some(365 * 24 * 3600 - 30)),
        (json!(null), None),
        (json!("soon"), None),
    ] {
        let usable =
            read(200, json!({"access_token": "t", "token_type": "bearer", "expires_in": expires_in}));
        assert_eq!(usable.unwrap(), expected, "{expires_in}");
    }
    for (status, body, passes) in [
        (200, json!({}), false),
        (200, json!({"access_token": ""}), false),
        (200, json!({"access_token": "a\r\nb"}), false),
        (200, json!({"access_token": "t", "token_type": "mac"}), false),
        (401, json!({"error": "invalid_client"}), false),
        (503, json!(null), true),
    ] {
        let error = read(status, body.clone()).unwrap_err();
        assert!(
            matches!(&error, Error::Failed { is_transient, .. } if *is_transient == passes),
            "{body}: {error}"
        );
    }
    let long = json!({"error": "invalid_client", "error_description": "x\n".repeat(5000)});
    let told = read(400, long).unwrap_err().to_string();
    assert!(told.starts_with(
        "authorization at `https://id.example/token` failed: the answer was 400 Bad Request: invalid_client: xx"
    ));
    assert!(told.len() < 300 && !told.contains('\n'), "{told}");
}
