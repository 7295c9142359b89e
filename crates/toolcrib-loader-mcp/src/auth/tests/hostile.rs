//! Servers that want tokens, codes or requests to go where they should not.

use serde_json::{Value, json};
use toolcrib_policy::Access;
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::*;

async fn authorization_error(rules: Rules) -> (World, String) {
    let world = World::start(rules).await;
    let reason = reason(&world, ClientSettings::new().with_authorize(Browser::new())).await;
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
    let text = reason(&world, ClientSettings::new().with_authorize(Browser::new())).await;
    assert!(text.contains("`iss` differs"), "{text}");
    assert_eq!(world.hits("/token"), 0);
    // One that does not promise to name itself need not.
    let rules = Rules { iss: Some(Value::Null), metadata: without_iss, ..Rules::default() };
    let world = World::start(rules).await;
    let (loader, engine) = connect(&world, ClientSettings::new().with_authorize(Browser::new()));
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

#[tokio::test]
async fn the_operators_client_stays_with_its_authorization_server() {
    let methods = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
    let first = World::start(Rules { metadata: methods.clone(), ..Rules::default() }).await;
    let second = World::start(Rules { metadata: methods, ..Rules::default() }).await;
    let auth = ClientSettings::new().with_client("me", Some(Secret::new("s3cret")));
    let authorization = source(&first, auth.clone()).authorization().unwrap().unwrap();
    authorization.login(&*Browser::new()).await.unwrap();
    first.rules().resource = json!({"authorization_servers": [second.issuer()]});
    let error = authorization.login(&*Browser::new()).await.unwrap_err().to_string();
    assert!(error.contains("if that is intended, set `issuer`"), "{error}");
    assert_eq!(second.hits("/authorize") + second.hits("/token"), 0);

    let mut pinned = auth;
    pinned.issuer = Some("https://a.example".into());
    let authorization = source(&first, pinned).authorization().unwrap().unwrap();
    let error = authorization.login(&*Browser::new()).await.unwrap_err().to_string();
    assert!(error.contains("`issuer` is another"), "{error}");
}

#[tokio::test]
async fn what_access_does_not_name_is_not_reached() {
    let world = World::start(Rules::default()).await;
    let host = world.url().split('/').nth(2).unwrap().to_owned();
    let rules = serde_json::from_value(json!({"network": [host]})).unwrap();
    let mut auth = ClientSettings::new().with_authorize(Browser::new());
    auth.access = Access::new(&rules).unwrap();
    let reason = reason(&world, auth).await;
    assert!(reason.contains("authorization at `"), "{reason}");
    assert_eq!(world.hits("/.well-known/oauth-authorization-server") + world.hits("/authorize"), 0);
}

#[tokio::test]
async fn tokens_go_over_plain_http_to_no_other_machine() {
    let transport = http("http://192.0.2.1/mcp".into(), Vec::new());
    let source = McpSource::new("test", transport).with_auth(ClientSettings::new());
    let authorization = source.authorization().unwrap().unwrap();
    let error = authorization.login(&*Browser::new()).await.unwrap_err().to_string();
    assert!(error.contains("tokens are sent only over https"), "{error}");
}
