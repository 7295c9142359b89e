//! Servers that want tokens, codes or requests to go where they should not.

use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolcrib_policy::Access;
use toolcrib_port::{ToolEngine as _, ToolLoader as _};
use url::Url;

use super::super::challenge::Challenge;
use super::super::client::OAuthClient;
use super::super::discovery::{covers, discover, server_metadata};
use super::super::dpop::Nonce;
use super::super::http_client::AuthHttpClient;
use super::super::metadata::{ServerMetadata, WireServerMetadata, is_same_issuer};
use super::super::token_request::TokenRequest;
use super::*;
use crate::Authorization;

async fn authorization_error(rules: Rules) -> (World, String) {
    let world = World::start(rules).await;
    let reason = reason(&world, McpAuth::new().with_authorize(Browser::new())).await;
    (world, reason)
}

#[tokio::test]
async fn an_answer_from_another_server_gets_no_token() {
    let without_iss = json!({"authorization_response_iss_parameter_supported": null});
    for (iss, metadata, problem) in [
        (json!("https://evil.example"), json!({}), "comes from another server (`iss` differs)"),
        (json!("https://evil.example"), without_iss.clone(), "comes from another server (`iss` differs)"),
        (Value::Null, json!({}), "does not say who it is from (`iss` is missing)"),
    ] {
        let (world, reason) =
            authorization_error(Rules { iss: Some(iss), metadata, ..Rules::default() }).await;
        assert!(reason.contains(problem), "{reason}");
        assert_eq!((world.hits("/authorize"), world.hits("/token")), (1, 0));
    }
    // The same server in another spelling may be another one.
    let world = World::start(Rules::default()).await;
    let slash = format!("{}/", world.issuer());
    world.rules().iss = Some(json!(slash));
    let text = reason(&world, McpAuth::new().with_authorize(Browser::new())).await;
    assert!(text.contains("`iss` differs"), "{text}");
    assert_eq!(world.hits("/token"), 0);
    // One that does not promise to name itself need not.
    let rules = Rules { iss: Some(Value::Null), metadata: without_iss, ..Rules::default() };
    let world = World::start(rules).await;
    let (loader, engine) = connect(&world, McpAuth::new().with_authorize(Browser::new()));
    assert_eq!(loader.load().await.rejected, []);
    engine.close().await;
}

#[tokio::test]
async fn an_answer_to_another_login_gets_no_token() {
    let (world, reason) = authorization_error(Rules { state: Some("another"), ..Rules::default() }).await;
    assert!(reason.contains("`state` differs"), "{reason}");
    assert_eq!(world.hits("/token"), 0);
}

#[tokio::test]
async fn nobody_logs_in_where_there_is_no_pkce() {
    for methods in [Value::Null, json!([]), json!(["plain"])] {
        let metadata = json!({"code_challenge_methods_supported": methods});
        let (world, reason) = authorization_error(Rules { metadata, ..Rules::default() }).await;
        assert!(reason.contains("it does not support PKCE with S256"), "{reason}");
        assert_eq!((world.hits("/register"), world.hits("/authorize")), (0, 0));
    }
}

#[tokio::test]
async fn metadata_of_others_is_not_used() {
    for (resource, metadata, problem) in [
        (
            json!({"resource": "https://evil.example/mcp"}),
            json!({}),
            "its metadata is that of `https://evil.example/mcp`",
        ),
        (json!({}), json!({"issuer": "https://evil.example"}), "its metadata is that of another issuer"),
        (json!({"authorization_servers": []}), json!({}), "names no authorization server"),
        (json!({}), json!({"token_endpoint": null}), "has no `token_endpoint`"),
        (json!({}), json!({"response_types_supported": ["token"]}), "users cannot log in there"),
        (json!({}), json!({"registration_endpoint": null}), "it registers no clients by itself"),
    ] {
        let (world, reason) = authorization_error(Rules { metadata, resource, ..Rules::default() }).await;
        assert!(reason.contains(problem), "{reason}");
        assert_eq!((world.hits("/register"), world.hits("/authorize"), world.hits("/token")), (0, 0, 0));
    }
}

#[tokio::test]
async fn no_discovered_url_leads_to_where_tokens_are_not_safe() {
    let urls = [
        "http://mcp.example/x",
        "https://10.0.0.1/x",
        "https://169.254.169.254/latest",
        "https://[fd00::1]/x",
        "https://user:hunter2@mcp.example/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "ftp://127.0.0.1/x",
    ];
    for url in urls {
        for key in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
            let (world, reason) =
                authorization_error(Rules { metadata: json!({key: url}), ..Rules::default() }).await;
            assert!(
                reason.contains("authorization at `") && reason.contains("failed"),
                "{key} {url}: {reason}"
            );
            assert!(!reason.contains("hunter2"), "{reason}");
            assert_eq!((world.hits("/register"), world.hits("/authorize"), world.hits("/token")), (0, 0, 0));
        }
        let (world, reason) = authorization_error(Rules {
            resource: json!({"authorization_servers": [url]}),
            ..Rules::default()
        })
        .await;
        assert!(reason.contains("authorization at `"), "{url}: {reason}");
        assert_eq!(world.hits("/.well-known/oauth-authorization-server"), 0);
        let challenge = format!(r#"resource_metadata="{url}""#);
        let (world, reason) = authorization_error(Rules { challenge, ..Rules::default() }).await;
        assert!(reason.contains("authorization at `"), "{url}: {reason}");
        assert_eq!(world.hits("/authorize"), 0);
    }
}

/// A server at a public address names an address of this machine, where a canary listens.
#[tokio::test]
async fn a_canary_behind_a_discovered_url_hears_nothing() {
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = canary.local_addr().unwrap().port();
    let server: Url = "https://mcp.example/mcp".parse().unwrap();
    let http_client = AuthHttpClient::new(&server, false, &[], &Access::unlimited()).unwrap();
    let open: Url = format!("http://127.0.0.1:{port}/").parse().unwrap();
    // What a server publishes when nobody looks at the URLs in it.
    let unseen = ServerMetadata::without_metadata(&open).unwrap();
    let auth = McpAuth::new();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "0.0.0.0"] {
        for scheme in ["http", "https"] {
            let text = format!("{scheme}://{host}:{port}");
            let url: Url = text.parse().unwrap();
            http_client.document::<Value>(&url).await.unwrap_err();
            http_client
                .post(&url, "application/json", http::HeaderMap::new(), String::new())
                .await
                .unwrap_err();
            server_metadata(&http_client, &text).await.unwrap_err();
            let challenge = Challenge { resource_metadata: Some(text.clone()), ..Challenge::default() };
            discover(&http_client, &server, &challenge, None).await.unwrap_err();
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
    let mut configured = McpAuth::new().with_client("me", Some(Secret::new("s3cret")));
    let client = OAuthClient::configured(&configured, &unseen).unwrap();
    let request = TokenRequest {
        auth: &configured,
        http_client: &http_client,
        endpoint: &unseen.token_endpoint,
        issuer: "https://a.example",
        resource: "https://mcp.example/mcp",
        client: &client,
        key: None,
        nonce: &Nonce::default(),
    };
    request.send(vec![("refresh_token", "secret".into())]).await.unwrap_err();
    assert!(futures::FutureExt::now_or_never(canary.accept()).is_none(), "the canary heard somebody");

    // The operator may name the issuer, and nobody else gets in by that.
    configured.issuer = Some("https://10.0.0.1/".into());
    let issuer: Url = "https://10.0.0.1/".parse().unwrap();
    let http_client = AuthHttpClient::new(&server, false, &[issuer], &Access::unlimited()).unwrap();
    http_client.check(&"https://10.0.0.1/token".parse().unwrap()).unwrap();
    http_client.check(&"https://10.0.0.2/token".parse().unwrap()).unwrap_err();
    http_client.check(&"http://10.0.0.1/token".parse().unwrap()).unwrap_err();
}

#[tokio::test]
async fn documents_are_fetched_across_no_origin_and_tokens_across_no_redirect() {
    let canary = World::start(Rules::default()).await;
    let to = format!("{}/token", canary.issuer());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let answer = async move || (http::StatusCode::TEMPORARY_REDIRECT, [(http::header::LOCATION, to.clone())]);
    let router = axum::Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let http_client = AuthHttpClient::new(&url, true, &[], &Access::unlimited()).unwrap();
    assert_eq!(http_client.document::<Value>(&url).await.unwrap(), None);
    let answer = http_client.post(&url, "text/plain", http::HeaderMap::new(), "secret".into()).await.unwrap();
    assert_eq!(answer.status, 307);
    assert_eq!(canary.log(), [""; 0]);
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_read() {
    let body = " ".repeat(super::super::http_client::MAX_ANSWER_BYTES + 1);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let router = axum::Router::new().fallback(async move || body.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let http_client = AuthHttpClient::new(&url, true, &[], &Access::unlimited()).unwrap();
    let error = http_client.document::<Value>(&url).await.unwrap_err();
    assert!(error.to_string().contains("more than 262144 bytes"), "{error}");
}

#[tokio::test]
async fn the_operators_client_stays_with_its_authorization_server() {
    let methods = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
    let first = World::start(Rules { metadata: methods.clone(), ..Rules::default() }).await;
    let second = World::start(Rules { metadata: methods, ..Rules::default() }).await;
    let auth = McpAuth::new().with_client("me", Some(Secret::new("s3cret")));
    let authorization = Authorization::of(&source(&first, auth.clone())).unwrap().unwrap();
    authorization.login(&*Browser::new()).await.unwrap();
    first.rules().resource = json!({"authorization_servers": [second.issuer()]});
    let error = authorization.login(&*Browser::new()).await.unwrap_err().to_string();
    assert!(error.contains("if that is intended, set `auth.issuer`"), "{error}");
    assert_eq!(second.hits("/authorize") + second.hits("/token"), 0);

    let mut pinned = auth;
    pinned.issuer = Some("https://a.example".into());
    let authorization = Authorization::of(&source(&first, pinned)).unwrap().unwrap();
    let error = authorization.login(&*Browser::new()).await.unwrap_err().to_string();
    assert!(error.contains("`auth.issuer` is another"), "{error}");
}

#[tokio::test]
async fn what_access_does_not_name_is_not_reached() {
    let world = World::start(Rules::default()).await;
    let host = world.url().split('/').nth(2).unwrap().to_owned();
    let rules = serde_json::from_value(json!({"network": [host]})).unwrap();
    let mut auth = McpAuth::new().with_authorize(Browser::new());
    auth.access = Access::of_app(Some(&rules)).unwrap();
    let reason = reason(&world, auth).await;
    assert!(reason.contains("authorization at `"), "{reason}");
    assert_eq!(world.hits("/.well-known/oauth-authorization-server") + world.hits("/authorize"), 0);
}

#[tokio::test]
async fn tokens_go_over_plain_http_to_no_other_machine() {
    let transport = http("http://192.0.2.1/mcp".into(), Vec::new());
    let source = McpSource::new("test", transport).with_auth(McpAuth::new());
    let authorization = Authorization::of(&source).unwrap().unwrap();
    let error = authorization.login(&*Browser::new()).await.unwrap_err().to_string();
    assert!(error.contains("tokens are sent only over https"), "{error}");
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
