//! Servers that mean no good, where documents and tokens are to be had from.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use toolcrib_model::{ErrorKind, Secret, ToolResult};
use toolcrib_port::{LoadOutcome, RejectKind};
use toolcrib_testkit::{Canary, RawServer};

use super::Fixture;
use super::hostile::MEGABYTE;
use crate::oauth::ClientCredentials;
use crate::{Credential, CredentialKind, RestSource};

const DOCUMENT: &str = r#"{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "a"}}}}"#;

/// Much less than a test may take.
const SHORT: Duration = Duration::from_millis(200);

/// What is loaded from a server.
async fn load(origin: &str) -> LoadOutcome {
    let source = RestSource::new(&format!("{origin}/api.json"), "api").with_timeout(SHORT);
    Fixture::open(source.with_max_response_bytes(MEGABYTE)).await.loaded
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";

#[tokio::test]
async fn a_server_that_floods_or_drips_has_no_document_and_no_token() {
    for is_flood in [true, false] {
        let server =
            if is_flood { RawServer::flooding(OK).await } else { RawServer::dripping(OK).await }.unwrap();
        let loaded = load(&server.origin()).await;
        let [reject] = loaded.rejected.as_slice() else { panic!("{loaded:?}") };
        let expected = if is_flood { RejectKind::TooLarge } else { RejectKind::Unavailable };
        assert_eq!((loaded.tools.len(), reject.kind), (0, expected), "{}", reject.reason);

        let api = Canary::start(|_| "reached".into_response()).await.unwrap();
        let result = call_with_token_from(&server.origin(), &api).await;
        assert_eq!(result.error.unwrap().kind, ErrorKind::Unavailable);
        assert_eq!(api.hits().len(), 0);
        // The rest stood in the buffers of the system.
        assert!(server.sent() < 50 * MEGABYTE);
    }
}

#[tokio::test]
async fn what_a_server_says_of_a_document_is_a_hint_and_its_length_a_promise() {
    let answer = |head: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
    let length = DOCUMENT.len();
    for (answer, tools) in [
        (answer("content-type: image/png", DOCUMENT), 1),
        (answer("content-type: text/html; charset=utf-16", DOCUMENT), 1),
        (answer("content-type: application/json", "openapi: 3.0.0\npaths: {/a: {get: {}}}"), 0),
        (answer(&format!("content-length: {length}"), &format!("{DOCUMENT} junk behind it")), 1),
        (answer(&format!("content-length: {}", length + 1), DOCUMENT), 0),
        (answer("content-length: -1", DOCUMENT), 0),
        (answer("transfer-encoding: chunked", DOCUMENT), 0),
        (answer("content-encoding: gzip", DOCUMENT), 1),
        (answer("content-type: application/json", "<html>Log in</html>"), 0),
        (answer("content-type: application/json", "\0\u{1}"), 0),
        (answer("content-type: application/json", ""), 0),
        ("HTTP/1.1 204 No Content\r\n\r\n".into(), 0),
        ("HTTP/1.1 304 Not Modified\r\n\r\n".into(), 0),
        ("no HTTP".into(), 0),
    ] {
        let server = RawServer::answering(answer.clone()).await.unwrap();
        let loaded = load(&server.origin()).await;
        assert_eq!(loaded.tools.len(), tools, "{answer}: {:?}", loaded.rejected);
        assert_eq!(loaded.rejected.len(), 1 - tools, "{answer}: {:?}", loaded.rejected);
        assert!(loaded.rejected.iter().all(|reject| reject.reason.len() < 500), "{:?}", loaded.rejected);
    }
}

fn redirect(to: &str) -> Response {
    let location = HeaderMap::from_iter([(axum::http::header::LOCATION, to.parse().unwrap())]);
    (StatusCode::TEMPORARY_REDIRECT, location).into_response()
}

#[tokio::test]
async fn no_redirect_of_a_document_or_of_a_token_leads_elsewhere() {
    let canary = Canary::start(|_| DOCUMENT.into_response()).await.unwrap();
    let elsewhere = [
        canary.origin(),
        format!("http://localhost:{}/api.json", canary.port()),
        format!("//127.0.0.1:{}/api.json", canary.port()),
        format!("http://127.1:{}/", canary.port()),
        format!("http://user@127.0.0.1:{}/", canary.port()),
        "http://169.254.169.254/latest/meta-data".into(),
        "file:///etc/passwd".into(),
    ];
    for target in elsewhere {
        let last = target.clone();
        // Some hops at home come first.
        let server = Canary::start(move |hit| match hit.uri.as_str() {
            "/api.json" | "/token" => redirect("/two"),
            "/two" => redirect("three"),
            _ => redirect(&last),
        })
        .await
        .unwrap();
        let loaded = load(&server.origin()).await;
        assert_eq!((loaded.tools.len(), loaded.rejected.len()), (0, 1), "{target}");
        assert_eq!(server.hits().len(), 3, "{target}");
        let api = Canary::start(|_| "reached".into_response()).await.unwrap();
        let error = call_with_token_from(&server.origin(), &api).await.error.unwrap();
        assert_eq!((error.kind, api.hits().len()), (ErrorKind::Unavailable, 0), "{target}: {error}");
        // The request for a token has a secret in it, and follows nothing at all.
        assert_eq!(server.hits().len(), 4, "{target}");
    }
    assert_eq!(canary.hits().len(), 0);
}

#[tokio::test]
async fn an_issuer_that_hands_out_no_token_that_can_be_sent_is_told_of() {
    for answer in [
        json!({}),
        json!([]),
        json!({"access_token": ""}),
        json!({"access_token": 7}),
        json!({"access_token": "a\r\nX-Injected: 1"}),
        json!({"access_token": "t", "token_type": "mac"}),
        json!({"error": "x".repeat(100_000)}),
    ] {
        let shown: String = answer.to_string().chars().take(60).collect();
        let issuer = Canary::start(move |_| Json(answer.clone()).into_response()).await.unwrap();
        let api = Canary::start(|_| "reached".into_response()).await.unwrap();
        let error = call_with_token_from(&issuer.origin(), &api).await.error.unwrap();
        assert_eq!((error.kind, api.hits().len()), (ErrorKind::Unavailable, 0), "{shown}");
        assert!(error.message.len() < 500, "{shown}: {error}");
    }
    // Nonsense about its life is no reason not to use it.
    for life in [json!(-1), json!("soon"), json!(1e300), json!(null), json!({}), json!(u64::MAX)] {
        let issuer = Canary::start(move |_| {
            Json(json!({"access_token": "token", "expires_in": life})).into_response()
        })
        .await
        .unwrap();
        let api = Canary::start(|_| "reached".into_response()).await.unwrap();
        assert_eq!(call_with_token_from(&issuer.origin(), &api).await.result, "reached");
    }
}

/// Calls an API with a token from this origin.
async fn call_with_token_from(issuer: &str, api: &Canary) -> ToolResult {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.json");
    std::fs::write(&path, DOCUMENT).unwrap();
    let credentials = ClientCredentials {
        token_url: format!("{issuer}/token"),
        client_id: "app".into(),
        client_secret: Secret::new("a-client-secret"),
        scopes: Vec::new(),
        audience: None,
        secret_in_body: true,
    };
    let source = RestSource::new(path.to_str().unwrap(), "api")
        .with_base_url(api.origin())
        .with_timeout(SHORT)
        .with_credential(Credential::new(CredentialKind::OAuth2(credentials)));
    Fixture::open(source).await.call("a", json!({})).await
}
