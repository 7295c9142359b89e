//! Tokens that end, and many calls that notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_model::ErrorKind;
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::*;
use crate::oauth::{Authorization, TokenStore};
use crate::tests::eventually;

/// Rules whose tokens are to be renewed at once.
fn short() -> Rules {
    Rules { tokens: json!({"expires_in": "0"}), ..Rules::default() }
}

async fn logged_in(world: &World, auth: &ClientSettings) -> Authorization {
    let authorization = source(world, auth.clone()).authorization().unwrap().unwrap();
    authorization.login(&*Browser::new()).await.unwrap();
    authorization
}

fn refreshes(world: &World) -> Vec<String> {
    let exchanged = world.exchanged().into_iter();
    exchanged.filter_map(|fields| fields.get("refresh_token").cloned()).collect()
}

/// A server that a user has logged in at, and the engine of its tools.
async fn connected() -> (World, McpEngine) {
    let world = World::start(Rules::default()).await;
    let auth = ClientSettings::new();
    logged_in(&world, &auth).await;
    let (_, engine) = connect(&world, auth);
    (world, engine)
}

#[tokio::test]
async fn a_token_that_has_ended_is_renewed_before_it_is_sent() {
    let world = World::start(short()).await;
    let auth = ClientSettings::new();
    logged_in(&world, &auth).await;
    world.rules().tokens = json!({});
    let (_, engine) = connect(&world, auth);
    assert!(call(&engine, "read").await.is_ok());
    assert!(call(&engine, "read").await.is_ok());
    engine.close().await;
    assert_eq!(refreshes(&world), ["refresh-token-0"]);
    assert_eq!(world.exchanged()[1]["resource"], world.url());
    assert_eq!(world.exchanged()[1]["client_id"], "registered-client");
}

#[tokio::test]
async fn a_token_that_the_server_takes_no_longer_is_renewed_once_for_all_calls() {
    let (world, engine) = connected().await;
    assert!(call(&engine, "read").await.is_ok());
    world.revoke();
    let results = join_all((0..20).map(|_| call(&engine, "read"))).await;
    assert!(results.iter().all(toolcrib_model::ToolResult::is_ok), "{results:?}");
    engine.close().await;
    assert_eq!(refreshes(&world), ["refresh-token-0"]);
    assert_eq!(world.calls(), 21);
}

#[tokio::test]
async fn two_processes_that_share_a_folder_renew_a_token_once() {
    let world = World::start(Rules::default()).await;
    let folder = tempfile::tempdir().unwrap();
    // Two stores, as two processes have them.
    let auth = || ClientSettings::new().with_store(TokenStore::folder(folder.path().join("oauth"), None));
    logged_in(&world, &auth()).await;
    let engines = [connect(&world, auth()).1, connect(&world, auth()).1];
    for engine in &engines {
        assert!(call(engine, "read").await.is_ok());
    }
    world.revoke();
    let results = join_all(engines.iter().flat_map(|engine| (0..5).map(|_| call(engine, "read")))).await;
    assert!(results.iter().all(toolcrib_model::ToolResult::is_ok), "{results:?}");
    assert_eq!(refreshes(&world), ["refresh-token-0"]);
}

#[tokio::test]
async fn a_refresh_token_is_kept_when_no_other_comes() {
    let (world, engine) = connected().await;
    world.rules().tokens = json!({"refresh_token": null});
    for _ in 0..2 {
        world.revoke();
        assert!(call(&engine, "read").await.is_ok());
    }
    engine.close().await;
    assert_eq!(refreshes(&world), ["refresh-token-0", "refresh-token-0"]);
}

#[tokio::test]
async fn a_refresh_token_that_is_taken_no_longer_needs_a_login_and_is_not_sent_again() {
    let (world, engine) = connected().await;
    assert!(call(&engine, "read").await.is_ok());
    world.revoke();
    let echo = json!({"error": "invalid_grant", "error_description": "refresh-token-0 is over"});
    world.rules().refusal = Some((400, echo));
    for _ in 0..3 {
        let error = call(&engine, "read").await.error.unwrap();
        assert!(error.message.contains("needs login: toolcrib login test (the login has ended)"), "{error}");
    }
    engine.close().await;
    assert_eq!(refreshes(&world).len(), 1);
}

#[tokio::test]
async fn an_issuer_that_is_down_costs_no_login() {
    let world = World::start(Rules::default()).await;
    let auth = ClientSettings::new();
    let authorization = logged_in(&world, &auth).await;
    let (_, engine) = connect(&world, auth);
    assert!(call(&engine, "read").await.is_ok());
    world.revoke();
    world.rules().refusal =
        Some((503, json!({"error": "invalid_grant", "error_description": "refresh-token-0"})));
    let results = join_all((0..5).map(|_| call(&engine, "read"))).await;
    for result in results {
        let error = result.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
        assert!(
            error.message.contains("it issues no token (503 Service Unavailable): invalid_grant: [secret]"),
            "{error}"
        );
    }
    assert_eq!(refreshes(&world).len(), 1, "it is not asked again at once");
    world.rules().refusal = None;
    // A login helps whatever the pause.
    authorization.login(&*Browser::new()).await.unwrap();
    assert!(call(&engine, "read").await.is_ok());
    engine.close().await;
}

#[tokio::test]
async fn a_token_is_kept_although_the_call_that_renewed_it_was_given_up() {
    let world = World::start(Rules::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let auth = ClientSettings::new().with_store(TokenStore::folder(folder.path().join("oauth"), None));
    logged_in(&world, &auth).await;
    let (_, engine) = connect(&world, auth.clone());
    assert!(call(&engine, "read").await.is_ok());
    world.revoke();
    let gate = Arc::new(Notify::new());
    world.rules().gate = Some(Arc::clone(&gate));
    tokio::select! {
        result = call(&engine, "read") => panic!("{result:?}"),
        () = eventually(|| async { (world.exchanged().len() == 2).then_some(()) }) => {}
    }
    engine.close().await;
    world.rules().gate = None;
    let record = || {
        let files = std::fs::read_dir(folder.path().join("oauth")).unwrap();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        texts.filter(|text| !text.is_empty()).collect::<String>()
    };
    let before = record();
    gate.notify_one();
    eventually(|| async { (record() != before).then_some(()) }).await;
    let (_, engine) = connect(&world, auth);
    assert!(call(&engine, "read").await.is_ok());
    engine.close().await;
}

#[tokio::test]
async fn a_login_in_between_is_noticed_by_a_server_that_runs() {
    let world = World::start(Rules { tokens: json!({"refresh_token": null}), ..Rules::default() }).await;
    let auth = ClientSettings::new();
    let authorization = logged_in(&world, &auth).await;
    let (_, engine) = connect(&world, auth);
    assert!(call(&engine, "read").await.is_ok());
    world.revoke();
    assert!(call(&engine, "read").await.error.unwrap().message.contains("needs login"));
    authorization.login(&*Browser::new()).await.unwrap();
    assert!(call(&engine, "read").await.is_ok());
    engine.close().await;
}

#[tokio::test]
async fn a_server_that_takes_no_token_at_all_is_given_up() {
    let world = World::start(Rules { revoked: usize::MAX, ..Rules::default() }).await;
    let reason = reason(&world, ClientSettings::new().with_authorize(Browser::new())).await;
    assert!(reason.contains("it refuses the token that was just issued for it"), "{reason}");
    assert!(world.hits("/authorize") <= 3, "{:?}", world.log());
}

#[tokio::test]
async fn another_authorization_server_gets_nothing_of_the_last_one() {
    let first = World::start(Rules {
        registration: json!({"client_id": "first-client", "client_secret": "first-secret"}),
        metadata: json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]}),
        ..Rules::default()
    })
    .await;
    let second = World::start(Rules::default()).await;
    let auth = ClientSettings::new().with_authorize(Browser::new());
    let (_, engine) = connect(&first, auth);
    assert!(call(&engine, "read").await.is_ok());
    // From now on the tokens of the second count. The first still refreshes.
    first.revoke();
    let next = json!({"authorization_servers": [second.issuer()]});
    {
        let mut rules = first.rules();
        rules.resource = next;
        rules.refusal = Some((400, json!({"error": "invalid_grant"})));
    }
    // It knows no token of the other, so this fails; what counts is what the other saw.
    let error = call(&engine, "read").await.error.unwrap();
    assert!(error.message.contains("just issued"), "{error}");
    engine.close().await;
    assert_eq!(second.hits("/register"), 1);
    let seen = format!("{:?}{:?}", second.asked(), second.exchanged());
    for secret in ["first-client", "first-secret", "refresh-token"] {
        assert!(!seen.contains(secret), "{seen}");
    }
}

#[tokio::test]
async fn every_secret_that_is_issued_is_told_of() {
    let world = World::start(Rules {
        registration: json!({"client_secret": "registered-secret"}),
        ..Rules::default()
    })
    .await;
    let (secrets, sink) = told();
    let mut auth = ClientSettings::new();
    auth.on_secret = Some(sink);
    logged_in(&world, &auth).await;
    let (loader, engine) = connect(&world, auth);
    assert_eq!(loader.load().await.tools.len(), 2);
    world.revoke();
    assert!(call(&engine, "read").await.is_ok());
    engine.close().await;
    let secrets = secrets.lock();
    for secret in
        ["access-token-0", "refresh-token-0", "registered-secret", "access-token-1", "refresh-token-1"]
    {
        assert!(secrets.iter().any(|told| told == secret), "{secret}: {secrets:?}");
    }
}

#[tokio::test]
async fn a_server_that_wants_nothing_is_asked_without_a_token() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = async |headers: http::HeaderMap, axum::Json(request): axum::Json<Value>| {
        SEEN.fetch_add(usize::from(headers.contains_key("authorization")), Ordering::SeqCst);
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "open", "version": "1"},
            }),
            _ => json!({"tools": []}),
        };
        axum::Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
    };
    let router = axum::Router::new().route("/mcp", axum::routing::post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let transport = http(url, Vec::new());
    let source = McpSource::new("test", transport).with_auth(ClientSettings::new());
    let loader = McpLoader::new(McpConnection::new(source));
    assert_eq!(loader.load().await.rejected, []);
    assert_eq!(SEEN.load(Ordering::SeqCst), 0);
}
