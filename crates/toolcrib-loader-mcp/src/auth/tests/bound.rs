//! Tokens that are bound to a key of ours.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::server::verified;
use super::{Browser, Rules, World, call, connect, reason, source};
use crate::oauth::{ClientSettings, TokenStore};

/// What the authorization server says of the keys that it knows.
fn knows_keys() -> serde_json::Value {
    json!({"dpop_signing_alg_values_supported": ["ES256", "RS256"]})
}

fn bound() -> Rules {
    Rules { is_bound: true, metadata: knows_keys(), ..Rules::default() }
}

fn auth() -> ClientSettings {
    ClientSettings::new().with_authorize(Browser::new())
}

#[tokio::test]
async fn each_request_proves_that_the_token_is_ours() {
    for metadata in [knows_keys(), json!({})] {
        let world = World::start(Rules { metadata, ..bound() }).await;
        let (loader, engine) = connect(&world, auth());
        assert_eq!(loader.load().await.tools.len(), 2);
        assert_eq!(call(&engine, "read").await.error, None);
        engine.close().await;

        let asked = world.exchanged().remove(0);
        let (head, claims) = verified(&asked["dpop"]);
        assert_eq!((&head["typ"], &head["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        assert!(head["jwk"].get("d").is_none());
        assert_eq!(
            (&claims["htm"], &claims["htu"]),
            (&json!("POST"), &json!(format!("{}/token", world.issuer())))
        );
        assert!(claims.get("ath").is_none());
        let members =
            format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, head["jwk"]["x"], head["jwk"]["y"]);
        let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(members));
        assert_eq!(world.asked()[0]["dpop_jkt"], thumbprint, "the code is bound, too");

        let proofs = world.proofs();
        assert!(proofs.len() >= 3, "{proofs:?}");
        let mut ids = BTreeSet::new();
        for (token, proof) in &proofs {
            let (sent, claims) = verified(proof);
            assert_eq!(sent["jwk"], head["jwk"]);
            assert_eq!((&claims["htm"], &claims["htu"]), (&json!("POST"), &json!(world.url())));
            assert_eq!(claims["ath"], URL_SAFE_NO_PAD.encode(Sha256::digest(token)));
            assert!(ids.insert(claims["jti"].as_str().unwrap().to_owned()), "each proof is sent once");
        }
    }
}

#[tokio::test]
async fn a_nonce_that_a_server_wants_is_in_the_next_proof() {
    let world = World::start(Rules { nonces: ["of-issuer", "of-server"], ..bound() }).await;
    let (loader, engine) = connect(&world, auth());
    assert_eq!(loader.load().await.tools.len(), 2);
    assert_eq!(world.hits("/token"), 2, "once without, once with it");
    let before = world.proofs().len();
    assert_eq!(call(&engine, "read").await.error, None);
    assert_eq!(world.proofs().len(), before + 1, "it is known by then");

    world.rules().nonces[1] = "another";
    assert_eq!(call(&engine, "read").await.error, None);
    assert_eq!(world.calls(), 2);
    assert_eq!(world.hits("/token"), 2);
    engine.close().await;
}

#[tokio::test]
async fn a_server_that_wants_another_nonce_each_time_is_given_up() {
    // No proof ever fits: letters that no nonce has are not sent.
    for nonce in ["a b", "a\"b"] {
        let world = World::start(Rules { nonces: ["", nonce], ..bound() }).await;
        let reason = reason(&world, auth()).await;
        assert!(reason.contains("sends none"), "{reason}");
        assert_eq!(world.hits("/authorize"), 1, "nobody is sent to log in again");
        assert!(world.proofs().len() < 10, "{}", world.proofs().len());
    }
}

#[tokio::test]
async fn the_key_is_kept_with_its_tokens_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = TokenStore::folder(folder.path().join("tokens"), None);
    let world = World::start(bound()).await;
    let login = source(&world, auth().with_store(store.clone())).authorization().unwrap().unwrap();
    login.login(&*Browser::new()).await.unwrap();
    let key = |at: usize| verified(&world.exchanged()[at]["dpop"]).0["jwk"].clone();

    // Another process, whose token has ended meanwhile.
    world.revoke();
    let (loader, engine) = connect(&world, ClientSettings::new().with_store(store));
    assert_eq!(loader.load().await.tools.len(), 2);
    engine.close().await;
    let renewal = &world.exchanged()[1];
    assert_eq!(renewal["grant_type"], "refresh_token");
    assert_eq!(key(0), key(1));
}

#[tokio::test]
async fn nobody_who_does_not_ask_for_it_gets_a_bound_token() {
    let world = World::start(Rules { metadata: knows_keys(), ..Rules::default() }).await;
    let (loader, engine) = connect(&world, auth());
    assert_eq!(loader.load().await.tools.len(), 2);
    engine.close().await;
    assert!(!world.exchanged()[0].contains_key("dpop"));
    assert!(!world.asked()[0].contains_key("dpop_jkt"));
    assert!(world.proofs().is_empty());
}

#[tokio::test]
async fn a_server_that_takes_bound_tokens_only_is_sent_no_other() {
    let resource = json!({"dpop_bound_access_tokens_required": true});
    let other = json!({"dpop_signing_alg_values_supported": ["RS256"]});
    let cases = [
        (other, json!({}), "it binds none to keys of ES256"),
        (knows_keys(), json!({"token_type": "bearer"}), "is bound to no key"),
    ];
    for (metadata, tokens, problem) in cases {
        let world = World::start(Rules { resource: resource.clone(), metadata, tokens, ..bound() }).await;
        let reason = reason(&world, auth()).await;
        assert!(reason.contains(problem), "{reason}");
        assert!(world.proofs().is_empty());
    }
}

#[tokio::test]
async fn a_server_of_the_old_transport_gets_proofs_too() {
    let world = World::start(Rules { nonces: ["", "of-server"], ..bound() }).await;
    let transport = super::http(world.url().replace("/mcp", "/sse"), Vec::new());
    let source = crate::McpSource::new("test", transport).with_auth(auth());
    // Its metadata are those of another path, so what it says is found by the challenge.
    world.rules().resource = json!({"resource": world.url().replace("/mcp", "/sse")});
    let connection = crate::McpConnection::new(source);
    let loaded = crate::McpLoader::new(connection.clone()).load().await;
    assert_eq!(loaded.tools.len(), 2, "{:?}", loaded.rejected);
    connection.close().await;
    let at_messages = world.url().replace("/mcp", "/messages");
    assert!(world.proofs().iter().any(|(_, proof)| verified(proof).1["htu"] == json!(at_messages)));
}
