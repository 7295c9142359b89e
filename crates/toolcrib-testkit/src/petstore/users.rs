//! Users and logins.

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_LANGUAGE, COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::IntoResponse as _;
use serde_json::Value;

use super::authorization::{has_session, is_admin};
use super::responses::{HandlerResult, Refusal, created, json_body, ok, pairs};
use super::store::{SharedStore, Store};

const JSON: &str = "application/json";

/// The most consecutive wrong passwords.
const MAX_WRONG: u32 = 2;

/// The duration of the lock after that, in seconds.
const PAUSE: &str = "60";

/// Returns the user without the password.
fn shown(user: &Value) -> Value {
    let mut shown = user.clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.shift_remove("password");
    }
    shown
}

fn keep(store: &mut Store, user: &Value) -> Result<(), Refusal> {
    let name = user.get("username").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        return Err(Refusal::invalid("username", "is missing"));
    }
    if store.users.contains_key(name) {
        return Err(Refusal::conflict(format!("there is a user {name} already")));
    }
    store.users.insert(name.to_owned(), user.clone());
    Ok(())
}

pub(super) async fn create(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    body: Bytes,
) -> HandlerResult {
    let user = json_body(&headers, &body, JSON)?;
    keep(&mut store.lock(), &user)?;
    Ok(created(&shown(&user)))
}

pub(super) async fn create_all(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    body: Bytes,
) -> HandlerResult {
    let users = json_body(&headers, &body, JSON)?;
    let users = users.as_array().ok_or_else(|| Refusal::bad("the body is no list"))?;
    let mut store = store.lock();
    users.iter().try_for_each(|user| keep(&mut store, user))?;
    Ok(format!("{} users", users.len()).into_response())
}

pub(super) async fn log_in(State(store): State<SharedStore>, RawQuery(query): RawQuery) -> HandlerResult {
    let given = pairs(&query.unwrap_or_default())?;
    let value = |name: &str| given.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
    let mut store = store.lock();
    if store.wrong_logins >= MAX_WRONG {
        let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests", "wrong too often");
        return Err(refusal.with_retry_after(Some(PAUSE.to_owned())));
    }
    if store.users.get(value("username")).is_none_or(|user| user["password"] != value("password")) {
        store.wrong_logins += 1;
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized", "name or password are wrong"));
    }
    store.wrong_logins = 0;
    let headers = [
        ("x-rate-limit-remaining", "41"),
        ("x-expires-after", "2030-01-01T00:00:00Z"),
        (SET_COOKIE.as_str(), "session=hidden; HttpOnly"),
    ];
    Ok((headers, format!("logged in: {}", value("username"))).into_response())
}

pub(super) async fn log_out(headers: HeaderMap) -> HandlerResult {
    has_session(&headers)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn show(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> HandlerResult {
    let store = store.lock();
    let user = store.users.get(&name).ok_or_else(|| Refusal::missing("user", &name))?;
    let mut answer = ok(&shown(user));
    let cookies = headers.get(COOKIE).and_then(|cookies| cookies.to_str().ok()).unwrap_or_default();
    let locale = cookies.split("; ").find_map(|pair| pair.strip_prefix("locale="));
    if let Some(locale) = locale.and_then(|locale| HeaderValue::from_str(locale).ok()) {
        answer.headers_mut().insert(CONTENT_LANGUAGE, locale);
    }
    Ok(answer)
}

pub(super) async fn update(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(name): Path<String>,
    body: Bytes,
) -> HandlerResult {
    has_session(&headers)?;
    let user = json_body(&headers, &body, JSON)?;
    let mut store = store.lock();
    let old = store.users.get_mut(&name).ok_or_else(|| Refusal::missing("user", &name))?;
    *old = user;
    Ok(ok(&shown(old)))
}

pub(super) async fn delete(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> HandlerResult {
    is_admin(&headers)?;
    let gone = store.lock().users.remove(&name);
    gone.map(|_| StatusCode::NO_CONTENT.into_response()).ok_or_else(|| Refusal::missing("user", name))
}
