//! Logging in, and calls that need it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_port::{RejectKind, ToolEngine as _, ToolLoader as _};

use super::*;
use crate::oauth::{Grant, TokenStore};

#[tokio::test]
async fn a_login_registers_a_client_and_the_tools_are_there() {
    let world = World::start(Rules::default()).await;
    let (loader, engine) = connect(&world, ClientSettings::new().with_authorize(Browser::new()));
    let loaded = loader.load().await;
    assert_eq!(loaded.rejected, []);
    assert_eq!(loaded.tools.len(), 2);
    let result = call(&engine, "read").await;
    assert_eq!(result.result, json!("read with Bearer [secret]"), "{:?}", result.error);
    engine.close().await;

    let asked = world.asked().remove(0);
    let resource = world.url();
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "registered-client"),
        ("code_challenge_method", "S256"),
        ("resource", resource.as_str()),
        ("redirect_uri", "http://127.0.0.1:1/callback"),
    ] {
        assert_eq!(asked[name], value);
    }
    assert!(!asked.contains_key("scope"), "{asked:?}");
    assert_eq!((world.hits("/register"), world.hits("/authorize"), world.hits("/token")), (1, 1, 1));
    assert_eq!(
        world.hits("/.well-known/oauth-protected-resource"),
        0,
        "the place that the server names is enough"
    );
}

#[tokio::test]
async fn without_a_login_the_error_names_the_command_and_nothing_is_asked_of_anybody() {
    let world = World::start(Rules::default()).await;
    let mut auth = ClientSettings::new();
    auth.login_command = Some("toolcrib login app.yaml test".into());
    let (loader, engine) = connect(&world, auth);
    let rejected = loader.load().await.rejected.remove(0);
    assert_eq!(rejected.kind, RejectKind::NeedsLogin);
    assert_eq!(rejected.reason, "needs login: toolcrib login app.yaml test (no user has logged in)");
    let error = call(&engine, "read").await.error.unwrap();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, false), "{error}");
    let log = world.log();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].starts_with("POST ") && !log[0].contains(" /"), "{log:?}");
}

#[tokio::test]
async fn a_login_by_itself_serves_the_next_connection() {
    let world = World::start(Rules::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let auth = || ClientSettings::new().with_store(TokenStore::folder(folder.path().join("oauth"), None));
    let authorization = source(&world, auth()).authorization().unwrap().unwrap();
    let logged_in = authorization.login(&*Browser::new()).await.unwrap();
    assert_eq!((logged_in.issuer.as_str(), logged_in.resource), (world.issuer(), world.url()));
    assert!(logged_in.is_renewed);
    assert_eq!(authorization.last_redirect_port().await, Some(1));

    let (loader, engine) = connect(&world, auth());
    assert_eq!(loader.load().await.tools.len(), 2);
    engine.close().await;
    assert_eq!(world.hits("/authorize"), 1);

    // The same redirect, the same client.
    authorization.login(&*Browser::new()).await.unwrap();
    assert_eq!(world.hits("/register"), 1);
    authorization.login(&*Browser::at("http://127.0.0.1:2/callback")).await.unwrap();
    assert_eq!(world.hits("/register"), 2);

    assert!(authorization.logout().await.unwrap());
    assert!(!authorization.logout().await.unwrap());
    assert!(reason(&world, auth()).await.contains("needs login"));
}

#[tokio::test]
async fn scopes_come_from_the_challenge_else_the_metadata_and_the_operators_are_always_there() {
    let has = |scopes: &[&str]| json!({"scopes_supported": scopes});
    for (challenge, resource, server, own, wanted) in [
        (r#", scope="a""#, has(&["b"]), has(&[]), "", "a"),
        ("", has(&["b", "c"]), has(&[]), "", "b c"),
        ("", has(&["b", "c"]), has(&["offline_access"]), "", "b c offline_access"),
        ("", has(&["b"]), has(&["b"]), "", "b"),
        ("", has(&["b", "c"]), has(&[]), "c", "c"),
        (r#", scope="a""#, has(&["b"]), has(&[]), "c", "c a"),
        // By itself it would take the place of what a server grants by default.
        ("", has(&[]), has(&["offline_access"]), "", ""),
    ] {
        let rules = Rules { challenge: challenge.into(), resource, metadata: server, ..Rules::default() };
        let world = World::start(rules).await;
        let mut auth = ClientSettings::new().with_authorize(Browser::new());
        auth.scopes = own.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
        let (loader, engine) = connect(&world, auth);
        assert_eq!(loader.load().await.rejected, []);
        engine.close().await;
        let asked = world.asked().remove(0);
        assert_eq!(asked.get("scope").map_or("", String::as_str), wanted, "{challenge} {own}");
        assert_eq!(asked.contains_key("prompt"), wanted.contains("offline_access"));
    }
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_gets_them_and_runs_once() {
    let rules =
        Rules { challenge: r#", scope="basic""#.into(), write_scope: Some("write"), ..Rules::default() };
    let world = World::start(rules).await;
    let (_, engine) = connect(&world, ClientSettings::new().with_authorize(Browser::new()));
    let result = call(&engine, "write").await;
    assert!(result.is_ok(), "{result:?}");
    engine.close().await;
    let scopes: Vec<_> = world.asked().iter().map(|asked| asked["scope"].clone()).collect();
    assert_eq!(scopes, ["basic", "basic write"]);
    assert_eq!(world.calls(), 1);
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_ends_with_the_command_and_the_next_login_asks_for_them() {
    let rules =
        Rules { challenge: r#", scope="basic""#.into(), write_scope: Some("write"), ..Rules::default() };
    let world = World::start(rules).await;
    let auth = ClientSettings::new();
    let authorization = source(&world, auth.clone()).authorization().unwrap().unwrap();
    authorization.login(&*Browser::new()).await.unwrap();
    let (_, engine) = connect(&world, auth);
    let error = call(&engine, "write").await.error.unwrap();
    assert!(
        error.message.contains("needs login: toolcrib login test (the server wants more scopes: write)"),
        "{error}"
    );
    assert!(call(&engine, "read").await.is_ok(), "what needs no more goes on");
    authorization.login(&*Browser::new()).await.unwrap();
    assert!(call(&engine, "write").await.is_ok());
    assert_eq!(world.asked()[1]["scope"], "basic write");
    engine.close().await;
}

#[tokio::test]
async fn scopes_that_were_granted_and_are_not_enough_are_not_asked_for_again() {
    // No token ever has the scope `a b`, which is two.
    let rules = Rules { challenge: r#", scope="a""#.into(), write_scope: Some("a b"), ..Rules::default() };
    let world = World::start(rules).await;
    let (_, engine) = connect(&world, ClientSettings::new().with_authorize(Browser::new()));
    let error = call(&engine, "write").await.error.unwrap();
    engine.close().await;
    assert!(error.message.contains("needs login"), "{error}");
    assert_eq!(world.hits("/authorize"), 2, "{:?}", world.log());
}

#[tokio::test]
async fn the_operators_client_proves_itself_as_the_server_wants_it() {
    let basic = format!("Basic {}", STANDARD.encode("my%3Aid:my%20s%26cret"));
    for (methods, header, field) in [
        (json!(["client_secret_basic", "client_secret_post"]), Some(basic.as_str()), None),
        (json!(["client_secret_post"]), None, Some("my s&cret")),
        (Value::Null, Some(basic.as_str()), None),
    ] {
        let metadata =
            json!({"token_endpoint_auth_methods_supported": methods, "registration_endpoint": null});
        let world = World::start(Rules { metadata, ..Rules::default() }).await;
        let auth = ClientSettings::new().with_client("my:id", Some(Secret::new("my s&cret")));
        let (loader, engine) = connect(&world, auth.with_authorize(Browser::new()));
        assert_eq!(loader.load().await.rejected, []);
        engine.close().await;
        let exchanged = world.exchanged().remove(0);
        assert_eq!(exchanged.get("authorization").map(String::as_str), header);
        assert_eq!(exchanged.get("client_secret").map(String::as_str), field);
        assert_eq!(world.hits("/register"), 0);
    }
}

#[tokio::test]
async fn a_registered_client_proves_itself_as_its_registration_says() {
    let basic = format!("Basic {}", STANDARD.encode("registered-client:s3cret"));
    for (method, header, field) in [
        ("client_secret_basic", Some(basic.as_str()), None),
        ("client_secret_post", None, Some("s3cret")),
        ("none", None, None),
    ] {
        let registration = json!({"client_secret": "s3cret", "token_endpoint_auth_method": method});
        let metadata = json!({"token_endpoint_auth_methods_supported": [method]});
        let world = World::start(Rules { metadata, registration, ..Rules::default() }).await;
        let (loader, engine) = connect(&world, ClientSettings::new().with_authorize(Browser::new()));
        assert_eq!(loader.load().await.rejected, []);
        engine.close().await;
        let exchanged = world.exchanged().remove(0);
        assert_eq!(exchanged.get("authorization").map(String::as_str), header, "{method}");
        assert_eq!(exchanged.get("client_secret").map(String::as_str), field, "{method}");
    }
}

#[tokio::test]
async fn a_document_describes_the_client_where_the_server_takes_one() {
    for (takes, id) in [(true, "https://a.example/client.json"), (false, "registered-client")] {
        let metadata = json!({"client_id_metadata_document_supported": takes});
        let world = World::start(Rules { metadata, ..Rules::default() }).await;
        let mut auth = ClientSettings::new().with_authorize(Browser::new());
        auth.client_metadata_url = Some("https://a.example/client.json".into());
        let (loader, engine) = connect(&world, auth);
        assert_eq!(loader.load().await.rejected, []);
        engine.close().await;
        assert_eq!(world.asked()[0]["client_id"], id);
    }
}

#[tokio::test]
async fn a_server_without_metadata_is_its_own_authorization_server() {
    for has_metadata in [false, true] {
        let rules =
            Rules { has_resource: false, has_metadata: false, iss: Some(Value::Null), ..Rules::default() };
        let world = World::start(rules).await;
        let origin = world.url().strip_suffix("/mcp").unwrap().to_owned();
        if has_metadata {
            let mut rules = world.rules();
            rules.has_metadata = true;
            rules.metadata = json!({
                "issuer": origin,
                "authorization_response_iss_parameter_supported": false,
            });
        }
        let (loader, engine) = connect(&world, ClientSettings::new().with_authorize(Browser::new()));
        assert_eq!(loader.load().await.rejected, [], "{has_metadata}");
        engine.close().await;
        assert_eq!(world.asked()[0]["resource"], world.url());
    }
}

#[tokio::test]
async fn an_authorization_server_below_a_path_is_found() {
    let world = World::start(Rules { tenant: "/tenant", ..Rules::default() }).await;
    let (loader, engine) = connect(&world, ClientSettings::new().with_authorize(Browser::new()));
    assert_eq!(loader.load().await.rejected, []);
    engine.close().await;
    assert_eq!(world.hits("/.well-known/oauth-authorization-server"), 0);
}

#[tokio::test]
async fn an_app_is_authorized_on_its_own_behalf() {
    let methods = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]});
    let world =
        World::start(Rules { metadata: methods, challenge: r#", scope="a""#.into(), ..Rules::default() })
            .await;
    let auth = ClientSettings::new()
        .with_client("me", Some(Secret::new("s3cret")))
        .with_grant(Grant::ClientCredentials);
    let (loader, engine) = connect(&world, auth);
    assert_eq!(loader.load().await.rejected, []);
    world.revoke();
    assert!(call(&engine, "read").await.is_ok(), "another token takes its place");
    engine.close().await;
    for exchanged in world.exchanged() {
        assert_eq!(exchanged["grant_type"], "client_credentials");
        assert_eq!(exchanged["authorization"], format!("Basic {}", STANDARD.encode("me:s3cret")));
        assert_eq!((&exchanged["resource"], exchanged["scope"].as_str()), (&world.url(), "a"));
    }
    assert_eq!((world.exchanged().len(), world.hits("/authorize")), (2, 0));
}

#[tokio::test]
async fn an_app_signs_who_it_is() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let pem =
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(&pkcs8));
    let world = World::start(Rules::default()).await;
    let mut auth = ClientSettings::new().with_client("me", None).with_grant(Grant::ClientCredentials);
    auth.private_key = Some(Secret::new(pem));
    let (loader, engine) = connect(&world, auth.clone());
    assert_eq!(loader.load().await.rejected, []);
    engine.close().await;

    let exchanged = world.exchanged().remove(0);
    assert_eq!(exchanged["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let (text, signature) = exchanged["client_assertion"].rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref());
    public.verify(text.as_bytes(), &signature).unwrap();
    let claims = URL_SAFE_NO_PAD.decode(text.split_once('.').unwrap().1).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(claims["aud"], world.issuer());
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("me"), &json!("me")));

    auth.store = TokenStore::memory();
    auth.private_key = Some(Secret::new("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"));
    let reason = reason(&world, auth).await;
    assert!(reason.contains("`private_key` is not a key of the curve P-256"), "{reason}");
}

#[tokio::test]
async fn a_server_of_the_old_transport_is_logged_in_at_too() {
    let world = World::start(Rules::default()).await;
    let url = world.url().replace("/mcp", "/sse");
    world.rules().resource = json!({"resource": url});
    let transport = McpTransport::Http {
        url,
        headers: Vec::new(),
        allow_private: true,
        protocol: HttpProtocol::Sse,
        auth: None,
    };
    let auth = ClientSettings::new().with_authorize(Browser::new());
    let connection = McpConnection::new(McpSource::new("test", transport).with_auth(auth));
    let (loader, engine) = (McpLoader::new(connection.clone()), McpEngine::new(connection));
    assert_eq!(loader.load().await.rejected, []);
    // The stream stays; what is posted needs another token.
    world.revoke();
    let result = call(&engine, "read").await;
    assert!(result.is_ok(), "{result:?}");
    engine.close().await;
    assert_eq!((world.hits("/sse"), world.hits("/authorize"), world.hits("/token")), (1 + 1, 1, 2));
}

#[tokio::test]
async fn the_operators_header_is_sent_as_it_is() {
    let world = World::start(Rules::default()).await;
    let headers = vec![("authorization".to_owned(), Secret::new("Bearer mine"))];
    let transport = http(world.url(), headers);
    let source =
        McpSource::new("test", transport).with_auth(ClientSettings::new().with_authorize(Browser::new()));
    let loader = McpLoader::new(McpConnection::new(source));
    let reason = loader.load().await.rejected.remove(0).reason;
    assert!(!reason.contains("mine"), "{reason}");
    assert_eq!(world.hits("/authorize"), 0);
}
