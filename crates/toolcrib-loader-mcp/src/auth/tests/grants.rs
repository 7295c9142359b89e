//! Tokens without a login, by the word of others.

use std::fs;

use serde_json::json;
use toolcrib_model::Secret;
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::{Browser, Rules, World, call, connect, reason, source, told};
use crate::oauth::{ClientSettings, Grant, IdentityProvider, IdentityToken};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

fn text(token: &str) -> IdentityToken {
    IdentityToken::Text(Secret::new(token))
}

fn workload(token: IdentityToken) -> ClientSettings {
    ClientSettings::new().with_client("workload", None).with_grant(Grant::WorkloadIdentity(token))
}

#[tokio::test]
async fn the_platforms_word_gets_a_token_and_its_file_is_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "identity-0\n").unwrap();
    let world = World::start(Rules { challenge: r#"scope="read""#.into(), ..Rules::default() }).await;
    let (secrets, sink) = told();
    let mut auth = workload(IdentityToken::File(file.clone()));
    auth.on_secret = Some(sink);
    let (loader, engine) = connect(&world, auth);
    assert_eq!(loader.load().await.tools.len(), 2);
    fs::write(&file, "identity-1").unwrap();
    world.revoke();
    assert_eq!(call(&engine, "read").await.error, None);
    engine.close().await;

    let asked = world.exchanged();
    assert_eq!(asked.len(), 2);
    for (number, fields) in asked.iter().enumerate() {
        assert_eq!(fields["grant_type"], JWT_BEARER);
        assert_eq!(fields["assertion"], format!("identity-{number}"));
        assert_eq!(fields["client_id"], "workload");
        assert_eq!(fields["scope"], "read");
        assert_eq!(fields["resource"], world.url());
    }
    assert!(secrets.lock().contains(&"identity-1".to_owned()));
}

#[tokio::test]
async fn an_identity_token_that_cannot_be_used_is_said_without_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        IdentityToken::File(folder.path().join(name))
    };
    let cases = [
        (IdentityToken::File(folder.path().join("gone")), "cannot be used"),
        (IdentityToken::File(folder.path().to_owned()), "it is not a file"),
        (file("empty", ""), "is not a valid token"),
        (file("two", "s3cret and more"), "is not a valid token"),
        (file("long", &"s3cret".repeat(10_000)), "is not a valid token"),
    ];
    let world = World::start(Rules::default()).await;
    for (token, problem) in cases {
        let reason = reason(&world, workload(token)).await;
        assert!(reason.contains(problem) && !reason.contains("s3cret"), "{reason}");
    }
    assert_eq!(world.hits("/token"), 0);
}

#[tokio::test]
async fn a_refusal_is_the_end_and_no_other_grant_is_tried() {
    let refusal = json!({"error": "invalid_grant", "error_description": "identity-0 is too old"});
    let world = World::start(Rules { tokens: refusal, ..Rules::default() }).await;
    let auth = workload(text("identity-0")).with_authorize(Browser::new());
    let reason = reason(&world, auth.clone()).await;
    assert!(reason.contains("invalid_grant: [secret] is too old"), "{reason}");
    assert_eq!((world.hits("/token"), world.hits("/authorize"), world.hits("/register")), (1, 0, 0));

    let authorization = source(&world, auth).authorization().unwrap().unwrap();
    let error = authorization.login(&*Browser::new()).await.unwrap_err().to_string();
    assert!(error.contains("no user logs in there"), "{error}");
}

/// A server, the provider that knows the user, and what we say to both.
async fn company(rules: Rules, provider: Rules) -> (World, World, ClientSettings) {
    let methods = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]});
    let world = World::start(Rules { metadata: methods, ..rules }).await;
    let provider = World::start(provider).await;
    let mut at_provider = IdentityProvider::new(provider.issuer(), "toolcrib-at-idp");
    at_provider.client_secret = Some(Secret::new("idp-s3cret"));
    let auth = ClientSettings::new()
        .with_client("toolcrib", Some(Secret::new("s3cret")))
        .with_grant(Grant::EnterpriseManaged(at_provider, text("id-token-0")));
    (world, provider, auth)
}

#[tokio::test]
async fn the_identity_provider_says_who_the_user_is() {
    let rules = Rules { challenge: r#"scope="read""#.into(), ..Rules::default() };
    let (world, provider, auth) = company(rules, Rules::default()).await;
    let (loader, engine) = connect(&world, auth);
    assert_eq!(loader.load().await.tools.len(), 2);
    engine.close().await;

    let exchange = provider.exchanged().remove(0);
    for (name, value) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ("subject_token", "id-token-0"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("audience", world.issuer()),
        ("resource", &world.url()),
        ("scope", "read"),
    ] {
        assert_eq!(exchange[name], value, "{name}");
    }
    let grant = world.exchanged().remove(0);
    assert_eq!((grant["grant_type"].as_str(), grant["assertion"].as_str()), (JWT_BEARER, "id-jag-0"));
    assert!(grant["authorization"].starts_with("Basic "));
    // Neither learns what the other one knows.
    let all = |fields: &std::collections::HashMap<String, String>| format!("{fields:?}");
    assert!(!all(&exchange).contains("toolcrib\"") && !all(&grant).contains("id-token-0"));
}

#[tokio::test]
async fn what_is_no_word_of_the_provider_goes_to_no_other_server() {
    let cases = [
        (
            json!({"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}),
            "not what it was asked for",
        ),
        (json!({"access_token": "a b"}), "that can be sent"),
        (
            json!({"error": "invalid_grant", "error_description": "id-token-0 has ended"}),
            "[secret] has ended",
        ),
    ];
    for (tokens, problem) in cases {
        let (world, _provider, auth) = company(Rules::default(), Rules { tokens, ..Rules::default() }).await;
        let reason = reason(&world, auth).await;
        assert!(reason.contains(problem), "{reason}");
        assert_eq!(world.hits("/token"), 0);
    }
}
