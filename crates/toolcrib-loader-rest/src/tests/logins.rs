//! Logins of users at an API.

use async_trait::async_trait;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures::future::join_all;
use serde_json::json;
use toolcrib_model::{ErrorKind, Secret, ToolResult};
use toolcrib_oauth::client::{Authorize, ClientSettings, Redirect, TokenStore};
use toolcrib_testkit::{Canary, Hit};
use url::{Url, form_urlencoded};

use super::Fixture;
use crate::{Credential, CredentialKind, RestSource};

/// A user who agrees to everything.
struct Agreeing(&'static str);

#[async_trait]
impl Authorize for Agreeing {
    fn redirect_uri(&self) -> &'static str {
        "http://127.0.0.1:1/callback"
    }

    async fn authorize(&self, url: &Url) -> Result<Redirect, String> {
        let state = url.query_pairs().find(|(key, _)| key == "state").unwrap().1.into_owned();
        let mut back: Url = self.redirect_uri().parse().unwrap();
        back.query_pairs_mut().append_pair("code", &format!("code-{}", self.0)).append_pair("state", &state);
        Ok(Redirect::from_url(&back))
    }
}

/// An authorization server, whose tokens are `login-of-USER-NUMBER`.
fn issue(hit: &Hit) -> Response {
    let origin = format!("http://{}", hit.header("host"));
    if hit.uri == "/.well-known/oauth-authorization-server" {
        let document = json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "code_challenge_methods_supported": ["S256"],
        });
        return Json(document).into_response();
    }
    if hit.uri != "/token" {
        return StatusCode::NOT_FOUND.into_response();
    }
    let fields: Vec<(String, String)> = form_urlencoded::parse(hit.body.as_bytes()).into_owned().collect();
    let from = fields.iter().find(|(name, _)| name == "code" || name == "refresh_token").unwrap();
    let user = from.1.rsplit('-').next().unwrap();
    Json(json!({
        "access_token": format!("login-of-{user}-{}", hit.number),
        "refresh_token": format!("refresh-{user}"),
        "token_type": "Bearer",
        "expires_in": 3600,
    }))
    .into_response()
}

#[tokio::test]
async fn each_user_calls_with_their_own_login_which_is_renewed_and_nobody_calls_without_one() {
    let issuer = Canary::start(issue).await.unwrap();
    // Takes no token of a login, which are the second and the fourth answer, only those that were renewed.
    let server = Canary::start(|hit| {
        let is_first = hit.header("authorization").ends_with(['2', '4']);
        let status = if is_first { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
        (status, Json(json!({"sent": hit.header("authorization")}))).into_response()
    })
    .await
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.json");
    let operation = json!({"get": {
        "operationId": "whoami",
        "parameters": [{"name": "user", "in": "query", "schema": {}}],
    }});
    std::fs::write(&path, json!({"openapi": "3.0.3", "paths": {"/whoami": operation}}).to_string()).unwrap();
    let mut settings = ClientSettings::new()
        .with_client("toolcrib", Some(Secret::new("hunter2")))
        .with_store(TokenStore::folder(folder.path().join("oauth"), None));
    settings.issuer = Some(issuer.origin());
    settings.trusts_issuer = true;
    settings.needs_token = true;
    let kind = CredentialKind::Login { settings: Box::new(settings), per_user: true };
    let source = RestSource::new(path.to_str().unwrap(), "api")
        .with_base_url(server.origin())
        .with_credential(Credential::new(kind));
    let (loader, engine) = source.open().unwrap();
    for user in ["alice", "bob"] {
        let login = loader.logins().unwrap().open(Some(user)).unwrap();
        login.login(&Agreeing(user)).await.unwrap();
    }
    let api = Fixture { loaded: toolcrib_port::ToolLoader::load(&loader).await, engine };
    assert_eq!(api.loaded.rejected, []);

    let calls = (0..20).map(|number| {
        let user = ["alice", "bob"][number % 2];
        api.call_as(user, "whoami", json!({"user": user}))
    });
    let results = join_all(calls).await;
    assert!(results.iter().all(ToolResult::is_ok), "{results:?}");
    assert!(results.iter().all(|result| result.result["sent"] == "Bearer [secret]"), "{results:?}");
    let calls = || server.hits().into_iter().filter(|hit| hit.uri.starts_with("/whoami")).collect::<Vec<_>>();
    let hits = calls();
    for hit in &hits {
        let user = hit.uri.strip_prefix("/whoami?user=").unwrap();
        assert!(hit.header("authorization").starts_with(&format!("Bearer login-of-{user}-")), "{hit:?}");
    }
    let tokens = issuer.hits().iter().filter(|hit| hit.uri == "/token").count();
    assert_eq!(tokens, 4, "two logins, and one renewal of each");

    let error = api.call_as("carol", "whoami", json!({})).await.error.unwrap();
    assert_eq!(
        (error.kind, error.retryable, error.message.as_str()),
        (ErrorKind::Unavailable, false, "needs login: toolcrib login api --as carol (no user has logged in)")
    );
    let error = api.call("whoami", json!({})).await.error.unwrap();
    assert_eq!(error.message, "`api` is called with the credentials of a user, and this call has no user");
    assert_eq!(calls().len(), hits.len(), "nothing is sent");
}
