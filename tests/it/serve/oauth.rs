//! Clients with tokens of an authorization server: a real one of a few lines, whose keys sign real tokens. Who has none that
//! fits is turned away with the right status, and no server behind us hears of it.

mod issuer;

use std::fs;

use serde_json::{Value, json};
use tokio::time::timeout;

use self::issuer::{Issuer, Published, Upstream, now};
use super::client::{Reply, SOON, Served, app, call_ask, was_called};
use crate::support::{TestDir, mcp_script};

const GRANTED: &str = "{default_policy: grant}";

/// A tool file's worth of text that is kept rather than shown.
const LARGE: &str = r#"on_call() { line=$(printf 'abcdefghij%.0s' $(seq 1 100)); all=$line; for i in $(seq 1 99); do all="$all\\n$line"; done; text "$all"; }"#;

/// An app that takes the tokens of this issuer: from `desk` those of its scopes, and from Ada all.
fn dir(issuer: &Issuer, more: &str) -> TestDir {
    let (url, audience) = (&issuer.url, issuer::AUDIENCE);
    let oauth = format!(
        "issuer: '{url}', audience: '{audience}', clients: [
        {{name: ada, subject: ada}},
        {{name: writers, client_id: desk, scopes: [tools:read, tools:write]}},
        {{name: readers, client_id: desk, scopes: [tools:read], namespaces: [hello], max_risk_level: low}}]"
    );
    app(&format!("serve: {{oauth: {{{oauth}}}{more}}}"), GRANTED).with_variable("TOOLCRIB_LOG", "trace")
}

fn call() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_ask()}).to_string()
}

async fn post(served: &Served, token: &str) -> Reply {
    served.post(&[("authorization", &format!("Bearer {token}"))], &call()).await
}

async fn modern(served: &Served, token: &str, method: &str, params: Value) -> Value {
    served.modern(&[("authorization", &format!("Bearer {token}"))], method, params).await
}

#[tokio::test]
async fn scopes_say_what_a_client_is_left() {
    let issuer = Issuer::start().await;
    let dir = dir(&issuer, "");
    let served = Served::start(&dir, &[]).await;
    let reader = issuer.token(&json!({"scope": "tools:read openid"}));
    let listed = modern(&served, &reader, "tools/list", json!({})).await.to_string();
    assert!(listed.contains("hello__status") && !listed.contains("team__ask"), "{listed}");
    let denied = modern(&served, &reader, "tools/call", call_ask()).await;
    assert!(denied["result"]["content"][0]["text"].as_str().unwrap().contains("denied"), "{denied}");
    assert!(!was_called(&dir));
    let writer = issuer.token(&json!({"scope": "tools:write tools:read"}));
    let done = modern(&served, &writer, "tools/call", call_ask()).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
    // The keys were asked for once, by way of the metadata of the issuer.
    assert_eq!(issuer.asked("/keys"), 1);
}

#[tokio::test]
async fn a_token_that_is_good_and_fits_no_entry_is_forbidden_with_what_it_lacks() {
    let issuer = Issuer::start().await;
    let dir = dir(&issuer, "");
    let served = Served::start(&dir, &[]).await;
    let metadata = format!("resource_metadata=\"{}\"", issuer::METADATA);
    for (claims, challenge) in [
        (json!({}), "error=\"insufficient_scope\", scope=\"tools:read tools:write\""),
        (json!({"scope": "tools:write"}), "error=\"insufficient_scope\", scope=\"tools:read tools:write\""),
        (json!({"scope": "tools:read tools:write", "client_id": "other"}), "error=\"insufficient_scope\""),
    ] {
        let reply = post(&served, &issuer.token(&claims)).await;
        assert_eq!(reply.status, 403, "{claims} {reply:#?}");
        let expected = format!("Bearer realm=\"toolcrib\", {metadata}, {challenge}");
        assert_eq!(reply.header("www-authenticate"), Some(expected.as_str()), "{claims}");
    }
    assert!(!was_called(&dir));
    let ada = issuer.token(&json!({"sub": "ada", "client_id": "other"}));
    assert!(modern(&served, &ada, "tools/list", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn a_token_that_is_not_good_is_turned_away_and_nothing_behind_hears_of_it() {
    let issuer = Issuer::start().await;
    let dir = dir(&issuer, "");
    let served = Served::start(&dir, &[]).await;
    // Ada's, whom all of them would let in.
    let token = |mut claims: Value| {
        claims.as_object_mut().unwrap().entry("sub").or_insert("ada".into());
        issuer.token(&claims)
    };
    let good = token(json!({}));
    let (signed, _) = good.rsplit_once('.').unwrap();
    let wrong = [
        ("for another server", token(json!({"aud": "https://other.example.com/mcp"}))),
        ("for nobody", token(json!({"aud": null}))),
        ("of another issuer", token(json!({"iss": "https://evil.example.com"}))),
        ("expired", token(json!({"exp": now() - 3600}))),
        ("without an end", token(json!({"exp": null}))),
        ("bound to a key", token(json!({"cnf": {"jkt": "a"}}))),
        ("not yet valid", token(json!({"nbf": now() + 3600}))),
        ("without a subject", token(json!({"sub": null}))),
        ("without a signature", format!("{signed}.")),
        (
            "with the signature of another",
            format!("{signed}.{}", issuer.token(&json!({})).rsplit_once('.').unwrap().1),
        ),
        ("with other claims", issuer::with_claims(&good, &json!({"sub": "ada", "admin": true}))),
        ("by no algorithm", issuer.unsigned(&json!({"sub": "ada"}))),
        ("by the public key as a secret", issuer.by_public_key(&json!({"sub": "ada"}))),
        ("by a key of its own", issuer::by_own_key(&issuer, &json!({"sub": "ada"}))),
        (
            "by a key of another under the same id",
            Issuer::start().await.token_as(&issuer, "key-1", &json!({"sub": "ada"})),
        ),
        ("by an unknown key", Issuer::start().await.token_as(&issuer, "unknown", &json!({"sub": "ada"}))),
        (
            "by another unknown key",
            Issuer::start().await.token_as(&issuer, "unknown-2", &json!({"sub": "ada"})),
        ),
        ("of another kind", issuer.token_with_head(&json!({"typ": "logout+jwt"}), &json!({"sub": "ada"}))),
        ("with an extension", issuer.token_with_head(&json!({"crit": ["exp"]}), &json!({"sub": "ada"}))),
        ("too long", token(json!({"more": "x".repeat(20_000)}))),
        ("no token", "a.b.c".to_owned()),
        ("nothing", String::new()),
    ];
    let mut told = Vec::new();
    for (what, token) in &wrong {
        let reply = post(&served, token).await;
        assert_eq!(reply.status, 401, "{what} {reply:#?}");
        let challenge = reply.header("www-authenticate").unwrap_or_default();
        let start = format!(
            "Bearer realm=\"toolcrib\", resource_metadata=\"{}\", error=\"invalid_token\"",
            issuer::METADATA
        );
        assert!(challenge.starts_with(&start), "{what}: {challenge}");
        told.push(format!("{what}: {}", reply.body.trim()));
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        assert_eq!(served.get("/metrics", &headers).await.status, 401, "{what}");
        let delete = [headers[0], ("mcp-session-id", "guessed")];
        assert_eq!(served.raw(&served.request("DELETE", "/mcp", &delete, "")).await.status, 401, "{what}");
    }
    insta::assert_snapshot!(told.join("\n"));
    let bearer = format!("Bearer {good}");
    let twice = [("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(served.post(&twice, &call()).await.status, 401);
    let missing = served.post(&[], &call()).await;
    let expected = format!("Bearer realm=\"toolcrib\", resource_metadata=\"{}\"", issuer::METADATA);
    assert_eq!((missing.status, missing.header("www-authenticate")), (401, Some(expected.as_str())));
    assert!(!was_called(&dir));
    // Unknown keys had the set fetched once more, and then no longer.
    assert_eq!(issuer.asked("/keys"), 2);
    let done = modern(&served, &good, "tools/call", call_ask()).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
}

#[tokio::test]
async fn a_key_that_is_new_is_found_at_once_and_one_that_is_gone_is_good_no_longer() {
    let issuer = Issuer::start().await;
    let dir = dir(&issuer, "");
    let served = Served::start(&dir, &[]).await;
    let old = issuer.token(&json!({"sub": "ada"}));
    assert!(modern(&served, &old, "tools/list", json!({})).await["result"].is_object());
    issuer.rotate();
    let new = issuer.token(&json!({"sub": "ada"}));
    let asking = (0..8).map(|_| modern(&served, &new, "tools/list", json!({})));
    for listed in futures::future::join_all(asking).await {
        assert!(listed["result"].is_object(), "{listed}");
    }
    assert_eq!(issuer.asked("/keys"), 2);
    assert_eq!(post(&served, &old).await.status, 401);
    assert!(!was_called(&dir));
}

#[tokio::test]
async fn while_the_keys_cannot_be_had_nobody_comes_in_by_a_token_of_the_issuer() {
    let issuer = Issuer::start().await;
    let dir =
        dir(&issuer, ", tokens: [{name: own, token: '${OWN}'}]").with_variable("OWN", "a-token-of-our-own");
    let token = issuer.token(&json!({"sub": "ada"}));
    let never = [
        Published::Nothing,
        Published::Failure,
        Published::TooMuch,
        Published::OfAnother,
        Published::Elsewhere,
    ];
    for published in never {
        issuer.publish(published);
        let served = Served::start(&dir, &[]).await;
        let reply = post(&served, &token).await;
        assert_eq!(reply.status, 503, "{published:?} {reply:#?}");
        assert_eq!(reply.header("retry-after"), Some("3"), "{published:?}");
        assert!(!was_called(&dir), "{published:?}");
        // A token that could not be good in any case needs no keys.
        assert_eq!(post(&served, &issuer.token(&json!({"aud": "x"}))).await.status, 401, "{published:?}");
        let listed = modern(&served, "a-token-of-our-own", "tools/list", json!({})).await;
        assert!(listed["result"].is_object(), "{published:?} {listed}");
    }
    let served = Served::start(&dir, &[]).await;
    assert_eq!(post(&served, &token).await.status, 503);
    served.until_says("the keys of the authorization server are unavailable").await;
    issuer.publish(Published::Keys);
    let coming = async {
        while post(&served, &token).await.status == 503 {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, coming).await.expect("the keys are asked for again");
    let done = modern(&served, &token, "tools/call", call_ask()).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
}

#[tokio::test]
async fn keys_are_fetched_where_the_app_says_and_kept_when_it_is_read_again() {
    let issuer = Issuer::start().await;
    let dir = dir(&issuer, "");
    let text =
        dir.read("app.yaml").replace("clients:", &format!("jwks_url: '{}/keys', clients:", issuer.url));
    fs::write(dir.path("app.yaml"), &text).unwrap();
    let served = Served::start(&dir, &[]).await;
    let ada = format!("Bearer {}", issuer.token(&json!({"sub": "ada"})));
    let session = served.session(&[("authorization", &ada)], json!({})).await;
    assert_eq!((issuer.asked("/keys"), issuer.asked("/.well-known/openid-configuration")), (1, 0));
    // The next version of the app lets Ada go on where she was, and nobody else in.
    let next = text
        .replace("subject: ada", "subject: ada, max_risk_level: low")
        .replace("client_id: desk", "client_id: shut");
    fs::write(dir.path("app.yaml"), next).unwrap();
    served.until_says("app.yaml was read again").await;
    let named = [("authorization", ada.as_str()), ("mcp-session-id", session.as_str())];
    assert_eq!(served.post(&named, &call()).await.status, 200);
    let reader = issuer.token(&json!({"scope": "tools:read"}));
    assert_eq!(post(&served, &reader).await.status, 403);
    assert_eq!(issuer.asked("/keys"), 1);
}

#[tokio::test]
async fn two_people_with_one_client_share_no_session_and_one_keeps_theirs_with_another_token() {
    let issuer = Issuer::start().await;
    let dir = dir(&issuer, "").with_file("server.sh", mcp_script(LARGE));
    let served = Served::start(&dir, &[]).await;
    let of = |subject: &str, id: u64| {
        issuer.token(&json!({"sub": subject, "scope": "tools:read tools:write", "jti": id.to_string()}))
    };
    let (bob, eve) = (of("bob", 1), of("eve", 1));
    assert_ne!(bob, of("bob", 2));

    let [bobs, eves, bobs_next] = [&bob, &eve, &of("bob", 2)].map(|token| format!("Bearer {token}"));
    let session = served.session(&[("authorization", &bobs)], json!({})).await;
    let named = |bearer| [("authorization", bearer), ("mcp-session-id", session.as_str())];
    let foreign = served.post(&named(eves.as_str()), &call()).await;
    assert_eq!(foreign.status, 404, "{foreign:#?}");
    let delete = served.request("DELETE", "/mcp", &named(eves.as_str()), "");
    assert_eq!(served.raw(&delete).await.status, 404);
    let own = served.post(&named(bobs_next.as_str()), &call()).await;
    assert_eq!(own.status, 200, "{own:#?}");

    let called = modern(&served, &bob, "tools/call", call_ask()).await;
    let content = called["result"]["content"].as_array().unwrap_or_else(|| panic!("{called:#}"));
    let link = content.iter().find(|block| block["type"] == "resource_link");
    let uri = link.unwrap_or_else(|| panic!("{called:#}"))["uri"].clone();
    let theirs = modern(&served, &eve, "resources/read", json!({"uri": uri})).await;
    assert!(theirs["error"].is_object(), "{theirs}");
    let again = modern(&served, &of("bob", 2), "resources/read", json!({"uri": uri})).await;
    assert!(again["result"].to_string().contains("abcdefghij"), "{again}");
}

#[tokio::test]
async fn clients_find_the_authorization_server_by_the_metadata_of_the_resource() {
    let issuer = Issuer::start().await;
    let dir = dir(&issuer, "");
    let served = Served::start(&dir, &[]).await;
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let reply = served.get(path, &[]).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")), "{path}");
        let expected = json!({
            "resource": issuer::AUDIENCE,
            "authorization_servers": [issuer.url],
            "bearer_methods_supported": ["header"],
            "resource_name": "toolcrib",
            "scopes_supported": ["tools:read", "tools:write"],
        });
        assert_eq!(reply.message(), expected, "{path}");
        assert_eq!(served.get(path, &[("host", "evil.example")]).await.status, 403, "{path}");
    }
    assert_eq!(served.get("/.well-known/oauth-protected-resource/other", &[]).await.status, 404);
    let plain = app("", GRANTED);
    let plain = Served::start(&plain, &[]).await;
    assert_eq!(plain.get("/.well-known/oauth-protected-resource", &[]).await.status, 404);
}

#[tokio::test]
async fn a_token_is_passed_on_to_nobody_and_told_to_nobody() {
    let issuer = Issuer::start().await;
    let upstream = Upstream::start().await;
    let oauth = format!(
        "serve: {{oauth: {{issuer: '{}', audience: '{}', clients: [{{name: all, client_id: desk}}]}}}}",
        issuer.url,
        issuer::AUDIENCE
    );
    let dir = TestDir::with_app(&format!(
        "tools:\n  registry: [{{type: mcp, namespace: far, url: '{}'}}]\n  capabilities: {GRANTED}\n{oauth}\n",
        upstream.url
    ));
    let dir = dir.with_variable("TOOLCRIB_LOG", "trace");
    let served = Served::start(&dir, &[]).await;
    let token = issuer.token(&json!({}));
    let called = modern(&served, &token, "tools/call", json!({"name": "far__tell", "arguments": {}})).await;
    assert_eq!(called["result"]["content"][0]["text"], "told", "{called}");
    let foreign = issuer.token(&json!({"aud": "https://other.example.com"}));
    let turned_away = post(&served, &foreign).await;
    let heard = upstream.heard();
    assert!(heard.contains("tools/call"), "{heard}");
    let said = served.until_says("far").await;
    for (token, text) in
        [(&token, &heard), (&token, &said), (&foreign, &said), (&foreign, &format!("{turned_away:?}"))]
    {
        // Its parts say as much as all of it.
        for part in token.split('.') {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }
}

#[tokio::test]
async fn an_address_that_others_reach_is_served_to_who_has_a_token_of_the_issuer() {
    let issuer = Issuer::start().await;
    let dir = dir(&issuer, "");
    let served = Served::start_at(&dir, "0.0.0.0:0", &[]).await;
    let host = ("host", "localhost");
    assert_eq!(served.post(&[host], &call()).await.status, 401);
    let token = format!("Bearer {}", issuer.token(&json!({"sub": "ada"})));
    let done = served.modern(&[host, ("authorization", &token)], "tools/call", call_ask()).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
}
