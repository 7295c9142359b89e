//! Credentials on the wire: where they arrive, and where they never do.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, Secret, ToolResult};
use toolcrib_testkit::{Canary, Hit};

use super::Fixture;
use crate::oauth::ClientCredentials;
use crate::{Credential, CredentialKind, KeyLocation, RestSource};

fn ok(_: &Hit) -> Response {
    Json(json!({"ok": true})).into_response()
}

/// A document whose server is this, with schemes of each kind and parameters that would write into their slots.
fn document(server: &str) -> Value {
    let secured = |name: &str, scheme: &str| {
        json!({"get": {
            "operationId": name,
            "security": [{scheme: []}],
            "parameters": [
                {"name": "Authorization", "in": "header", "schema": {}},
                {"name": "x-key", "in": "header", "required": true, "schema": {}},
                {"name": "API_KEY", "in": "query", "schema": {}},
                {"name": "session", "in": "cookie", "schema": {}},
                {"name": "filter", "in": "query", "schema": {"type": "object"}},
            ],
        }})
    };
    json!({
        "openapi": "3.0.3",
        "servers": [{"url": server}],
        "paths": {
            "/bearer": secured("bearer", "bearer"),
            "/basic": secured("basic", "basic"),
            "/header": secured("header", "header"),
            "/query": secured("query", "query"),
            "/cookie": secured("cookie", "cookie"),
            "/open": {"get": {"operationId": "open", "security": []}},
            "/change": {"post": {"operationId": "change"}},
        },
        "components": {"securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer"},
            "basic": {"type": "http", "scheme": "basic"},
            "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "query": {"type": "apiKey", "in": "query", "name": "api_key"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": "session"},
        }},
    })
}

struct Api {
    fixture: Fixture,
    _folder: tempfile::TempDir,
}

impl Api {
    async fn open(server: &str, configure: impl FnOnce(RestSource) -> RestSource) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("api.json");
        std::fs::write(&path, document(server).to_string()).unwrap();
        let source = RestSource::new(path.to_str().unwrap(), "api").with_private_allowed();
        let fixture = Fixture::open(configure(source)).await;
        assert_eq!(fixture.loaded.rejected, []);
        Self { fixture, _folder: folder }
    }

    async fn call(&self, name: &str) -> ToolResult {
        let arguments = json!({
            "Authorization": "forged", "x-key": "forged", "API_KEY": "forged", "session": "forged",
        });
        self.fixture.call(name, arguments).await
    }
}

fn bearer(token: &str) -> Credential {
    Credential::new(CredentialKind::Bearer { token: Secret::new(token) })
}

fn key(value: &str, slot: Option<(KeyLocation, &str)>) -> Credential {
    let slot = slot.map(|(location, name)| (location, name.to_owned()));
    Credential::new(CredentialKind::ApiKey { value: Secret::new(value), slot })
}

fn oauth(issuer: &Canary) -> Credential {
    Credential::new(CredentialKind::OAuth2(ClientCredentials {
        token_url: format!("{}/token", issuer.origin()),
        client_id: "m:e".into(),
        client_secret: Secret::new("hunter 2"),
        scopes: vec!["read".into(), "write".into()],
        audience: Some("pets".into()),
        secret_in_body: false,
    }))
}

/// Issues the tokens `t1`, `t2` and so on.
async fn issuer(expires_in: Value) -> Canary {
    Canary::start(move |hit| {
        let token =
            json!({"access_token": format!("t{}", hit.number), "token_type": "Bearer", "expires_in": expires_in});
        Json(token).into_response()
    })
    .await.unwrap()
}

#[tokio::test]
async fn a_credential_arrives_in_its_slot_and_nothing_forged_does() {
    let server = Canary::start(ok).await.unwrap();
    let api = Api::open(&server.origin(), |source| {
        let basic = CredentialKind::Basic { username: "me".into(), password: Secret::new("pass:word") };
        [
            bearer("token"),
            Credential::new(basic),
            key("in header", None).for_scheme("header"),
            key("in&query", None).for_scheme("query"),
            key("in;cookie", Some((KeyLocation::Cookie, "session"))),
        ]
        .into_iter()
        .fold(source, |source, credential| source.with_credential(credential.for_origin(server.origin())))
    })
    .await;
    assert_eq!(api.fixture.tool("bearer").parameter_names().collect::<Vec<_>>(), ["filter"]);
    for name in ["bearer", "basic", "header", "query", "cookie", "open"] {
        assert!(api.call(name).await.is_ok(), "{name}");
    }
    let told: Vec<_> = server
        .hits()
        .iter()
        .map(|hit| {
            [&hit.uri, hit.header("authorization"), hit.header("x-key"), hit.header("cookie")].join("|")
        })
        .collect();
    let expected = [
        "/bearer|Bearer token||",
        "/basic|Basic bWU6cGFzczp3b3Jk||",
        "/header||in header|",
        "/query?api_key=in%26query|||",
        "/cookie|||session=in%3Bcookie",
        "/open|||",
    ];
    assert_eq!(told, expected);
    let forged = api.fixture.call("query", json!({"filter": {"api_key": "forged"}})).await.error.unwrap();
    assert_eq!(forged.kind, ErrorKind::InvalidArgs);
    assert_eq!(server.hits().len(), 6);
}

#[tokio::test]
async fn a_credential_goes_to_no_origin_but_its_own() {
    let server = Canary::start(|_| StatusCode::UNAUTHORIZED.into_response()).await.unwrap();
    // The document chooses another server than the one that the credential is for, another port or another spelling.
    let port = server.port();
    for origin in [
        "https://api.example".to_owned(),
        "http://127.0.0.1".into(),
        format!("http://localhost:{port}"),
        format!("https://127.0.0.1:{port}"),
    ] {
        let api =
            Api::open(&server.origin(), |source| source.with_credential(bearer("token").for_origin(&origin)))
                .await;
        let error = api.call("bearer").await.error.unwrap();
        assert!(error.hint.unwrap().contains("is for another origin than this server, and was not sent"));
    }
    assert_eq!(server.hits().len(), 4);
    assert!(server.hits().iter().all(|hit| hit.header("authorization").is_empty()));
}

#[tokio::test]
async fn no_redirect_takes_a_credential_or_a_call_to_another_origin() {
    let canary = Canary::start(ok).await.unwrap();
    let targets = [
        canary.origin(),
        format!("http://localhost:{}/", canary.port()),
        format!("//127.0.0.1:{}/", canary.port()),
        format!("http://user@127.0.0.1:{}/", canary.port()),
        format!("\\\\127.0.0.1:{}", canary.port()),
    ];
    for target in targets {
        let first = target.clone();
        // Two hops within the origin come before the one that leaves it.
        let server = Canary::start(move |hit| match hit.uri.split('?').next().unwrap_or_default() {
            "/bearer" => Redirect::temporary("/two").into_response(),
            "/two" => (StatusCode::FOUND, [("location", "three")]).into_response(),
            _ => (StatusCode::PERMANENT_REDIRECT, [("location", first.as_str())]).into_response(),
        })
        .await
        .unwrap();
        let api = Api::open(&server.origin(), |source| {
            source.with_base_url(server.origin()).with_credential(bearer("token"))
        })
        .await;
        let result = api.call("bearer").await;
        assert_eq!(result.metadata["status"], 308, "{target}");
        assert!(result.error.unwrap().hint.unwrap().contains("redirects to another origin are not followed"));
        let uris: Vec<_> = server.hits().iter().map(|hit| hit.uri.clone()).collect();
        assert_eq!(uris, ["/bearer?API_KEY=forged", "/two", "/three"]);
        assert!(server.hits().iter().all(|hit| hit.header("authorization") == "Bearer token"));
        // A call that changes something follows none at all.
        assert_eq!(api.call("change").await.metadata["status"], 308);
        assert_eq!(server.hits().len(), 4);
    }
    assert_eq!(canary.hits().len(), 0);
}

#[tokio::test]
async fn a_server_that_sends_a_credential_back_tells_it_to_nobody() {
    let server = Canary::start(|hit| {
        let got = hit.header("authorization");
        Json(json!({"headers": {"authorization": got}, "again": got, "short": "token"})).into_response()
    })
    .await
    .unwrap();
    let basic = CredentialKind::Basic { username: "me".into(), password: Secret::new("pass:word") };
    let api = Api::open(&server.origin(), |source| {
        source
            .with_base_url(server.origin())
            .with_credential(bearer("a-long-token"))
            .with_credential(Credential::new(basic))
    })
    .await;
    for (name, kind) in [("bearer", "Bearer"), ("basic", "Basic")] {
        let shown = format!("{kind} [secret]");
        let expected = json!({"headers": {"authorization": shown}, "again": shown, "short": "token"});
        assert_eq!(api.call(name).await.result, expected);
    }

    // In the headers of an answer, be it a failure, and where the key was a part of the URL.
    let server = Canary::start(|hit| {
        let got = format!("{}, {}, {}", hit.header("authorization"), hit.header("cookie"), hit.uri);
        (StatusCode::BAD_REQUEST, [("location", got.clone()), ("x-request-id", got.clone())], got)
            .into_response()
    })
    .await
    .unwrap();
    let issuer = Canary::start(|_| {
        Json(json!({"access_token": "a-fetched-token", "token_type": "Bearer"})).into_response()
    })
    .await
    .unwrap();
    let api = Api::open(&server.origin(), |source| {
        source
            .with_base_url(server.origin())
            .with_credential(oauth(&issuer))
            .with_credential(key("a key & more", None).for_scheme("query"))
            .with_credential(key("a cookie; more", None).for_scheme("cookie"))
    })
    .await;
    for (name, expected) in [
        ("bearer", "Bearer [secret], , /bearer"),
        ("query", ", , /query?api_key=[secret]"),
        ("cookie", ", session=[secret], /cookie"),
    ] {
        let result = api.fixture.call(name, json!({"x-key": "x"})).await;
        let headers = &result.metadata["headers"];
        let told = result.error.unwrap().message;
        assert!(told.ends_with(&format!("400 Bad Request: {expected}")), "{told}");
        assert_eq!([&headers["location"], &headers["x-request-id"]], [expected, expected], "{name}");
    }
}

#[tokio::test]
async fn redirects_without_end_end() {
    let server =
        Canary::start(|hit| Redirect::temporary(&format!("/{}", hit.number)).into_response()).await.unwrap();
    let api = Api::open(&server.origin(), |source| source).await;
    assert_eq!(api.call("open").await.metadata["status"], 307);
    assert_eq!(server.hits().len(), 6);
}

#[tokio::test]
async fn calls_that_need_a_token_at_once_wait_for_one_request_of_it() {
    let server = Canary::start(ok).await.unwrap();
    let issuer = issuer(json!(3600)).await;
    let api = Api::open(&server.origin(), |source| {
        source.with_base_url(server.origin()).with_credential(oauth(&issuer))
    })
    .await;
    let calls = (0..20).map(|_| api.call("bearer"));
    assert!(futures::future::join_all(calls).await.iter().all(ToolResult::is_ok));
    assert_eq!((issuer.hits().len(), server.hits().len()), (1, 20));
    assert!(server.hits().iter().all(|hit| hit.header("authorization") == "Bearer t1"));
    let asked = &issuer.hits()[0];
    assert_eq!((asked.method.as_str(), asked.uri.as_str()), ("POST", "/token"));
    assert_eq!(asked.body, "grant_type=client_credentials&scope=read%20write&audience=pets");
    // `m%3Ae:hunter%202`
    assert_eq!(asked.header("authorization"), "Basic bSUzQWU6aHVudGVyJTIwMg==");
}

#[tokio::test]
async fn a_token_that_has_ended_or_is_not_taken_is_fetched_anew() {
    let server = Canary::start(ok).await.unwrap();
    let ended = issuer(json!(0)).await;
    let api = Api::open(&server.origin(), |source| {
        source.with_base_url(server.origin()).with_credential(oauth(&ended))
    })
    .await;
    assert!(api.call("bearer").await.is_ok() && api.call("bearer").await.is_ok());
    assert_eq!((ended.hits().len(), server.hits()[1].header("authorization")), (2, "Bearer t2"));

    // Revoked before its end: once more with another, and not a third time.
    let server = Canary::start(|hit| match hit.header("authorization") {
        "Bearer t2" if hit.uri == "/change" => ok(hit),
        _ => StatusCode::UNAUTHORIZED.into_response(),
    })
    .await
    .unwrap();
    let issuer = issuer(json!(3600)).await;
    let api = Api::open(&server.origin(), |source| {
        source.with_base_url(server.origin()).with_credential(oauth(&issuer))
    })
    .await;
    assert!(api.call("change").await.is_ok());
    assert_eq!((server.hits().len(), issuer.hits().len()), (2, 2));
    assert_eq!(api.call("bearer").await.metadata["status"], 401);
    assert_eq!((server.hits().len(), issuer.hits().len()), (4, 3));
}

#[tokio::test]
async fn a_call_without_its_token_is_not_sent_and_the_issuer_is_left_alone_for_a_while() {
    let server = Canary::start(ok).await.unwrap();
    let issuer = Canary::start(|_| {
        (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"error": "temporarily_unavailable"}))).into_response()
    })
    .await
    .unwrap();
    let api = Api::open(&server.origin(), |source| {
        source.with_base_url(server.origin()).with_credential(oauth(&issuer))
    })
    .await;
    let calls = (0..5).map(|_| api.call("bearer"));
    for result in futures::future::join_all(calls).await {
        let error = result.error.unwrap();
        assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, true));
        assert!(error.message.ends_with("503 Service Unavailable: temporarily_unavailable"), "{error}");
    }
    assert_eq!((server.hits().len(), issuer.hits().len()), (0, 1));
}

#[tokio::test]
async fn the_secret_of_a_client_follows_no_redirect_and_no_document() {
    let canary = Canary::start(ok).await.unwrap();
    let elsewhere = canary.origin();
    let issuer = Canary::start(move |_| Redirect::temporary(&elsewhere).into_response()).await.unwrap();
    let server = Canary::start(ok).await.unwrap();
    let api = Api::open(&canary.origin(), |source| {
        source.with_base_url(server.origin()).with_credential(oauth(&issuer))
    })
    .await;
    let error = api.call("bearer").await.error.unwrap();
    assert!(error.message.contains("307 Temporary Redirect"), "{error}");
    assert_eq!((issuer.hits().len(), canary.hits().len(), server.hits().len()), (1, 0, 0));
}
