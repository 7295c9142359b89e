//! Credentials that belong to the user of a call.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Json;
use axum::response::IntoResponse as _;
use futures::future::join_all;
use serde_json::json;
use toolcrib_model::{ErrorKind, Secret, ToolError};
use toolcrib_sdk::{UserHeaders, UserText};
use toolcrib_testkit::Canary;

use super::Fixture;
use crate::RestSource;

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

async fn open(server: &Canary, folder: &tempfile::TempDir) -> Fixture {
    let path = folder.path().join("api.json");
    let operation = json!({"get": {
        "operationId": "whoami",
        "parameters": [{"name": "authorization", "in": "header", "schema": {}}, {"name": "user", "in": "query", "schema": {}}],
    }});
    let document = json!({"openapi": "3.0.3", "paths": {"/whoami": operation}});
    std::fs::write(&path, document.to_string()).unwrap();
    let mut source = RestSource::new(path.to_str().unwrap(), "api").with_base_url(server.origin());
    source.user_headers = keys();
    Fixture::open(source.with_header("authorization", Secret::new("Bearer of-nobody"))).await
}

#[tokio::test]
async fn each_user_sends_their_own_headers_and_a_user_without_one_sends_nothing() {
    let server = Canary::start(|hit| {
        Json(json!({"uri": hit.uri, "sent": hit.header("authorization")})).into_response()
    })
    .await
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let api = open(&server, &folder).await;
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

#[test]
fn headers_of_users_need_one_destination_and_the_name_of_a_header_that_holds_keys() {
    let open = |base_url: Option<&str>, name: &str| {
        let mut source = RestSource::new("api.json", "api");
        source.base_url = base_url.map(str::to_owned);
        source.user_headers = UserHeaders::new([(name.to_owned(), Arc::new(Keys) as Arc<dyn UserText>)]);
        source.open().err().unwrap().to_string()
    };
    assert!(open(None, "x-key").contains("`user_headers` of the OpenAPI source rest api.json: they are sent to `base_url`"));
    for name in ["Host", "Content-Length", "a b", ""] {
        let error = open(Some("https://api.example"), name);
        assert!(error.contains("cannot be the header of a key"), "{error}");
    }
}
