//! Authorization, and the issuer of tokens.

use axum::Json;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::PetStore;
use super::responses::{Refusal, pairs};
use super::store::{SharedStore, Store};

/// `keeper:pass:word-of-the-store`.
const ADMIN: &str = "Basic a2VlcGVyOnBhc3M6d29yZC1vZi10aGUtc3RvcmU=";

/// [`PetStore::SESSION`] as it is encoded in a cookie.
const SESSION_PAIR: &str = "session=session%3B%20of%3Dthe%20store";

fn header(headers: &HeaderMap, name: impl Into<HeaderName>) -> &str {
    headers.get(name.into()).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn unauthorized(detail: &str) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized", detail)
}

fn holds(is_there: bool, detail: &str) -> Result<(), Refusal> {
    if is_there { Ok(()) } else { Err(unauthorized(detail)) }
}

/// Checks that the request has a valid token.
pub(super) fn has_token(store: &Store, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_taken = |number: u64| store.revoked < number && number <= store.tokens;
    let number = header(headers, AUTHORIZATION).strip_prefix("Bearer token-of-the-store-");
    let number = number.and_then(|number| number.parse().ok());
    holds(number.is_some_and(is_taken), "the token is missing, or no longer taken")
}

pub(super) fn has_key(headers: &HeaderMap) -> Result<(), Refusal> {
    let key = header(headers, HeaderName::from_static("api_key"));
    holds(key == PetStore::API_KEY, "the key is missing, or another one")
}

pub(super) fn has_key_or_token(store: &Store, headers: &HeaderMap) -> Result<(), Refusal> {
    has_key(headers).or_else(|refusal| has_token(store, headers).map_err(|_| refusal))
}

pub(super) fn has_session(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_there = header(headers, COOKIE).split("; ").any(|pair| pair == SESSION_PAIR);
    holds(is_there, "no user is logged in")
}

pub(super) fn is_admin(headers: &HeaderMap) -> Result<(), Refusal> {
    holds(header(headers, AUTHORIZATION) == ADMIN, "only the keeper may")
}

/// Issues a token for the credentials of the client, which must be in the body.
pub(super) async fn issue(State(store): State<SharedStore>, body: String) -> Response {
    let given = pairs(&body).unwrap_or_default();
    let has = |name: &str, value: &str| given.iter().any(|(key, text)| key == name && text == value);
    let is_known = has("grant_type", "client_credentials")
        && has("client_id", PetStore::CLIENT_ID)
        && has("client_secret", PetStore::CLIENT_SECRET);
    if !is_known {
        return (StatusCode::UNAUTHORIZED, Json(json!({"error": "invalid_client"}))).into_response();
    }
    let mut store = store.lock();
    store.tokens += 1;
    let token = format!("token-of-the-store-{}", store.tokens);
    Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 600})).into_response()
}
