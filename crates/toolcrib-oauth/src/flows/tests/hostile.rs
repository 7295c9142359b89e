//! Servers that want tokens or requests to go where they should not.

use axum::Router;
use http::header::{HeaderMap, LOCATION};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolcrib_model::Secret;
use toolcrib_policy::Access;
use url::Url;

use super::super::challenge::Challenge;
use super::super::context::Context;
use super::super::credentials::covers;
use super::super::discovery::{discover, server_metadata};
use super::super::dpop::Nonce;
use super::super::http_client::AuthHttpClient;
use super::super::registration::OAuthClient;
use super::super::server_metadata::{ServerMetadata, WireServerMetadata};
use super::super::token_request::TokenRequest;
use crate::client::ClientSettings;
use crate::metadata::{MAX_ANSWER_BYTES, is_same_issuer};

/// Serves this router on a port of this machine.
async fn serve(router: Router) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

fn client(server: &Url, allow_private: bool, issuers: &[Url]) -> AuthHttpClient {
    AuthHttpClient::new(server, allow_private, issuers, &Access::unlimited()).unwrap()
}

/// A server at a public address names an address of this machine, where a canary listens.
#[tokio::test]
async fn a_canary_behind_a_discovered_url_hears_nothing() {
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = canary.local_addr().unwrap().port();
    let server: Url = "https://mcp.example/mcp".parse().unwrap();
    let http_client = client(&server, false, &[]);
    let open: Url = format!("http://127.0.0.1:{port}/").parse().unwrap();
    // What a server publishes when nobody looks at the URLs in it.
    let unseen = ServerMetadata::without_metadata(&open);
    let auth = ClientSettings::new();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "0.0.0.0"] {
        for scheme in ["http", "https"] {
            let text = format!("{scheme}://{host}:{port}");
            let url: Url = text.parse().unwrap();
            http_client.document::<Value>(&url).await.unwrap_err();
            http_client.post(&url, "application/json", HeaderMap::new(), String::new()).await.unwrap_err();
            server_metadata(&http_client, &text).await.unwrap_err();
            let challenge = Challenge { resource_metadata: Some(text.clone()), ..Challenge::default() };
            discover(&http_client, &server, &challenge, (None, false)).await.unwrap_err();
            for key in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
                let mut wire =
                    json!({"issuer": "https://a.example", "token_endpoint": "https://a.example/token"});
                wire[key] = json!(text);
                let wire: WireServerMetadata = serde_json::from_value(wire).unwrap();
                ServerMetadata::new(wire, "https://a.example", &http_client).unwrap_err();
            }
        }
    }
    OAuthClient::for_login(&auth, &http_client, &unseen, "http://127.0.0.1:1/", None).await.unwrap_err();
    let configured = ClientSettings::new().with_client("me", Some(Secret::new("s3cret")));
    let client_of = OAuthClient::configured(&configured, &unseen).unwrap();
    let context = Context {
        namespace: "test".into(),
        server: server.clone(),
        settings: configured,
        http_client,
        issuer_nonce: Nonce::default(),
    };
    let request = TokenRequest {
        context: &context,
        endpoint: &unseen.token_endpoint,
        issuer: "https://a.example",
        resource: "https://mcp.example/mcp",
        client: &client_of,
        key: None,
    };
    request.send(vec![("refresh_token", "secret".into())]).await.unwrap_err();
    assert!(futures::FutureExt::now_or_never(canary.accept()).is_none(), "the canary heard somebody");

    // The operator may name the issuer, and nobody else gets in by that.
    let issuer: Url = "https://10.0.0.1/".parse().unwrap();
    let http_client = client(&server, false, &[issuer]);
    http_client.check(&"https://10.0.0.1/token".parse().unwrap()).unwrap();
    http_client.check(&"https://10.0.0.2/token".parse().unwrap()).unwrap_err();
    http_client.check(&"http://10.0.0.1/token".parse().unwrap()).unwrap_err();
}

#[tokio::test]
async fn documents_are_fetched_across_no_origin_and_tokens_across_no_redirect() {
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = format!("http://{}/token", canary.local_addr().unwrap());
    let answer = async move || (http::StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to.clone())]);
    let url = serve(Router::new().fallback(answer)).await;
    let http_client = client(&url, true, &[]);
    assert_eq!(http_client.document::<Value>(&url).await.unwrap(), None);
    let answer = http_client.post(&url, "text/plain", HeaderMap::new(), "secret".into()).await.unwrap();
    assert_eq!(answer.status, 307);
    assert!(futures::FutureExt::now_or_never(canary.accept()).is_none(), "the canary heard somebody");
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_read() {
    let body = " ".repeat(MAX_ANSWER_BYTES + 1);
    let url = serve(Router::new().fallback(async move || body.clone())).await;
    let http_client = client(&url, true, &[]);
    let error = http_client.document::<Value>(&url).await.unwrap_err();
    assert!(error.to_string().contains("more than 262144 bytes"), "{error}");
}

#[test]
fn a_resource_covers_what_is_below_it_at_its_origin() {
    let server: Url = "https://a.example/mcp/one".parse().unwrap();
    for (resource, is_covered) in [
        ("https://a.example/mcp/one", true),
        ("https://a.example/mcp", true),
        ("https://a.example/mcp/", true),
        ("https://a.example", true),
        ("https://a.example:443/", true),
        ("https://a.example/mc", false),
        ("https://a.example/mcp/one/two", false),
        ("https://a.example/mcp#one", false),
        ("https://a.example/mcp?one", false),
        ("https://a.example:8443/", false),
        ("http://a.example/", false),
        ("https://a.example.evil.example/", false),
        ("mcp", false),
        ("", false),
    ] {
        assert_eq!(covers(resource, &server), is_covered, "{resource}");
    }
}

#[test]
fn an_issuer_is_another_in_another_spelling() {
    for (one, other, is_same) in [
        ("https://a.example", "https://a.example", true),
        ("https://a.example", "https://a.example/", true),
        ("https://a.example/x", "https://a.example/x/", false),
        ("https://a.example", "https://A.example", false),
        ("https://a.example", "https://a.example:443", false),
        ("https://a.example", "https://a.example?x", false),
    ] {
        assert_eq!(is_same_issuer(one, other), is_same, "{one} {other}");
    }
}

#[test]
fn a_nonce_that_is_too_long_is_not_kept() {
    let headers = HeaderMap::from_iter([("dpop-nonce".parse().unwrap(), "x".repeat(2_000).parse().unwrap())]);
    assert!(!Nonce::default().note(&headers));
}
