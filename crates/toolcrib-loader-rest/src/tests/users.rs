//! Credentials that belong to the user of a call.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use futures::future::join_all;
use serde_json::json;
use toolcrib_model::{ErrorKind, Secret, SubjectToken, ToolError, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_sdk::{UserHeaders, UserText};
use toolcrib_testkit::Canary;

use super::Fixture;
use crate::oauth::ClientCredentials;
use crate::{Credential, CredentialKind, RestSource};

/// Keys of all users but `carol`.
#[derive(Debug)]
struct Keys;

#[async_trait]
impl UserText for Keys {
    async fn for_user(&self, user: &str) -> Result<Secret, ToolError> {
        if user == "carol" {
            return Err(ToolError::new(ErrorKind::Unavailable, "there is no key of carol"));
        }
        Ok(Secret::new(format!("Bearer key-of-{user}")))
    }
}

fn keys() -> UserHeaders {
    UserHeaders::new([("Authorization".to_owned(), Arc::new(Keys) as Arc<dyn UserText>)])
}

async fn open(
    server: &Canary,
    folder: &tempfile::TempDir,
    configure: impl FnOnce(RestSource) -> RestSource,
) -> Fixture {
    let path = folder.path().join("api.json");
    let operation = json!({"get": {
        "operationId": "whoami",
        "parameters": [{"name": "authorization", "in": "header", "schema": {}}, {"name": "user", "in": "query", "schema": {}}],
    }});
    let document = json!({"openapi": "3.0.3", "paths": {"/whoami": operation}});
    std::fs::write(&path, document.to_string()).unwrap();
    let source = RestSource::new(path.to_str().unwrap(), "api").with_base_url(server.origin());
    Fixture::open(configure(source)).await
}

#[tokio::test]
async fn each_user_sends_their_own_headers_and_a_user_without_one_sends_nothing() {
    let server = Canary::start(|hit| {
        Json(json!({"uri": hit.uri, "sent": hit.header("authorization")})).into_response()
    })
    .await
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let api = open(&server, &folder, |mut source| {
        source.user_headers = keys();
        source.with_header("authorization", Secret::new("Bearer of-nobody"))
    })
    .await;
    let users = ["alice", "bob"];
    let calls = (0..40).map(|number| {
        let user = users[number % 2];
        api.call_as(user, "whoami", json!({"user": user, "authorization": "Bearer forged"}))
    });
    for result in join_all(calls).await {
        assert_eq!(result.result["sent"], "Bearer [secret]", "{result:?}");
    }
    let hits = server.hits();
    assert_eq!(hits.len(), 40);
    for hit in hits {
        let user = hit.uri.strip_prefix("/whoami?user=").unwrap();
        assert_eq!(hit.header("authorization"), format!("Bearer key-of-{user}"));
    }

    let error = api.call_as("carol", "whoami", json!({})).await.error.unwrap();
    assert_eq!(error.message, "there is no key of carol");
    let error = api.call("whoami", json!({})).await.error.unwrap();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Denied, "`api` is called with the credentials of a user, and this call has no user")
    );
    assert_eq!(server.hits().len(), 40, "nothing is sent");
}

/// A call by a user who came with the token `of-USER`.
fn caller(user: &str, expires_in: u64) -> CallContext {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut context = CallContext::new("session").with_user(user);
    let token = SubjectToken { token: Secret::new(format!("of-{user}")), expires_at: now + expires_in };
    context.subject_token = Some(Arc::new(token));
    context
}

#[tokio::test]
async fn the_token_of_each_caller_is_exchanged_once_and_used_for_no_other() {
    // Exchanges `of-USER` for `USER-NUMBER`, until the user is revoked.
    let issuer = Canary::start(|hit| {
        let user = hit.body.split("subject_token=of-").nth(1).unwrap().split('&').next().unwrap();
        if user == "mallory" {
            let error = json!({"error": "invalid_grant", "error_description": "of-mallory was revoked"});
            return (StatusCode::BAD_REQUEST, Json(error)).into_response();
        }
        Json(json!({
            "access_token": format!("{user}-{}", hit.number),
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "token_type": "Bearer",
            "expires_in": 3600,
        }))
        .into_response()
    })
    .await
    .unwrap();
    // Takes no token that was issued second.
    let server = Canary::start(|hit| {
        let is_rejected = hit.header("authorization").ends_with("-2");
        let status = if is_rejected { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
        (status, Json(json!({"sent": hit.header("authorization")}))).into_response()
    })
    .await
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let exchange = CredentialKind::TokenExchange(ClientCredentials {
        token_url: format!("{}/token", issuer.origin()),
        client_id: "toolcrib".into(),
        client_secret: Secret::new("hunter2"),
        scopes: vec!["read".into()],
        audience: Some("api".into()),
        secret_in_body: false,
    });
    let api = open(&server, &folder, |source| source.with_credential(Credential::new(exchange))).await;
    let call = async |user: &'static str, expires_in| {
        api.call_in(&caller(user, expires_in), "whoami", json!({"user": user})).await
    };
    for _ in 0..2 {
        assert!(call("alice", 600).await.is_ok());
    }
    // The second token is refused by the server, and another one requested.
    let calls = (0..20).map(|number| call(["alice", "bob"][number % 2], 600));
    assert!(join_all(calls).await.iter().all(ToolResult::is_ok));
    for hit in server.hits() {
        let user = hit.uri.strip_prefix("/whoami?user=").unwrap();
        assert!(hit.header("authorization").starts_with(&format!("Bearer {user}-")), "{hit:?}");
    }
    assert_eq!(issuer.hits().len(), 3, "one of alice, and two of bob");
    assert_eq!(
        issuer.hits()[0].body,
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=of-alice&\
         subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&\
         requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&scope=read&audience=api"
    );

    let sent = server.hits().len();
    let error = call("mallory", 600).await.error.unwrap();
    assert!(error.message.ends_with("400 Bad Request: invalid_grant: [secret] was revoked"), "{error}");
    let error = call("alice", 0).await.error.unwrap();
    assert!(error.message.contains("the token of the caller has expired"), "{error}");
    let error = api.call_as("alice", "whoami", json!({})).await.error.unwrap();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Denied, "`api` is called with the token of the caller, and this call has none")
    );
    assert_eq!((server.hits().len(), issuer.hits().len()), (sent, 4), "nothing is sent");
}

#[test]
fn headers_of_users_need_one_destination_and_the_name_of_a_header_that_holds_keys() {
    let open = |base_url: Option<&str>, name: &str| {
        let mut source = RestSource::new("api.json", "api");
        source.base_url = base_url.map(str::to_owned);
        source.user_headers = UserHeaders::new([(name.to_owned(), Arc::new(Keys) as Arc<dyn UserText>)]);
        source.open().err().unwrap().to_string()
    };
    assert!(
        open(None, "x-key")
            .contains("`user_headers` of the OpenAPI source rest api.json: they are sent to `base_url`")
    );
    for name in ["Host", "Content-Length", "a b", ""] {
        let error = open(Some("https://api.example"), name);
        assert!(error.contains("cannot be the header of a key"), "{error}");
    }
}
