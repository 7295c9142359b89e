//! The classic pet store as a real service.

#![expect(clippy::result_large_err, reason = "a refusal is an answer, and there are few")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::{Path, Query, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const DOCUMENT: &str = include_str!("document.yaml");

/// An image of a pet, long enough for a handle.
pub(super) const IMAGE: [u8; 200] = [0xff; 200];

#[derive(Default)]
struct Store {
    pets: BTreeMap<u64, Value>,
    orders: BTreeMap<u64, Value>,
    users: BTreeMap<String, Value>,
}

type Shared = Arc<Mutex<Store>>;

/// Ends with the test.
pub(super) struct Service {
    pub(super) origin: String,
    task: JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Service {
    pub(super) async fn start() -> Self {
        let api = Router::new()
            .route("/pet", post(put_pet).put(put_pet))
            .route("/pet/findByStatus", get(by_status))
            .route("/pet/findByTags", get(by_tags))
            .route("/pet/{id}", get(get_pet).post(form_pet).delete(delete_pet))
            .route("/pet/{id}/uploadImage", post(upload))
            .route("/pet/{id}/image", get(image))
            .route("/store/inventory", get(inventory))
            .route("/store/order", post(order))
            .route("/store/order/{id}", get(get_order).delete(delete_order))
            .route("/user", post(add_user))
            .route("/user/createWithList", post(add_users))
            .route("/user/login", get(login))
            .route("/user/logout", get(logout))
            .route("/user/{name}", get(get_user).put(put_user).delete(delete_user));
        let app = Router::new()
            .route("/openapi.yaml", get(|| async { DOCUMENT }))
            .route("/oauth/token", post(token))
            .nest("/api/v3", api)
            .with_state(Shared::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { origin, task }
    }
}

fn problem(status: StatusCode, title: &str, detail: &str) -> Response {
    let body = json!({"title": title, "detail": detail, "status": status.as_u16()}).to_string();
    (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
}

fn missing(what: &str, id: impl std::fmt::Display) -> Response {
    problem(StatusCode::NOT_FOUND, "Not there", &format!("there is no {what} {id}"))
}

fn found(what: &str, id: impl std::fmt::Display, value: Option<&Value>) -> Response {
    value.map_or_else(|| missing(what, id), |value| Json(value.clone()).into_response())
}

fn has_token(headers: &HeaderMap) -> Result<(), Response> {
    match headers.get("authorization").map(axum::http::HeaderValue::as_bytes) {
        Some(b"Bearer issued") => Ok(()),
        _ => Err(problem(StatusCode::UNAUTHORIZED, "No token", "send the token that was issued")),
    }
}

fn has_key(headers: &HeaderMap) -> Result<(), Response> {
    match headers.get("api_key").map(axum::http::HeaderValue::as_bytes) {
        Some(b"the key") => Ok(()),
        _ => Err(problem(StatusCode::FORBIDDEN, "No key", "send the key")),
    }
}

async fn token(body: String) -> Response {
    let expected = "grant_type=client_credentials&scope=write%3Apets&client_id=app&client_secret=secret";
    if body == expected {
        Json(json!({"access_token": "issued", "token_type": "Bearer", "expires_in": 600})).into_response()
    } else {
        (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_request"}))).into_response()
    }
}

async fn put_pet(
    State(store): State<Shared>,
    method: axum::http::Method,
    headers: HeaderMap,
    Json(mut pet): Json<Value>,
) -> Result<Response, Response> {
    has_token(&headers)?;
    let mut store = store.lock().unwrap();
    let id = match pet["id"].as_u64() {
        Some(id) if method == "PUT" && !store.pets.contains_key(&id) => return Ok(missing("pet", id)),
        Some(id) => id,
        None => store.pets.len() as u64 + 1,
    };
    pet["id"] = id.into();
    store.pets.insert(id, pet.clone());
    Ok(Json(pet).into_response())
}

/// The parameter is one pair with commas.
async fn by_status(State(store): State<Shared>, RawQuery(query): RawQuery) -> Json<Value> {
    let query = query.unwrap_or_default();
    let wanted: Vec<&str> = query.strip_prefix("status=").unwrap_or_default().split(',').collect();
    let store = store.lock().unwrap();
    let fits = |pet: &&Value| pet["status"].as_str().is_some_and(|status| wanted.contains(&status));
    Json(store.pets.values().filter(fits).cloned().collect())
}

/// The parameter is a pair for each tag.
async fn by_tags(State(store): State<Shared>, Query(pairs): Query<Vec<(String, String)>>) -> Json<Value> {
    let store = store.lock().unwrap();
    let has = |pet: &Value, tag: &str| pet["tags"].as_array().is_some_and(|tags| tags.contains(&tag.into()));
    let fits = |pet: &&Value| pairs.iter().all(|(name, tag)| name == "tags" && has(pet, tag));
    Json(store.pets.values().filter(fits).cloned().collect())
}

async fn get_pet(
    State(store): State<Shared>,
    headers: HeaderMap,
    Path(id): Path<u64>,
) -> Result<Response, Response> {
    has_key(&headers)?;
    Ok(found("pet", id, store.lock().unwrap().pets.get(&id)))
}

async fn form_pet(
    State(store): State<Shared>,
    headers: HeaderMap,
    Path(id): Path<u64>,
    body: String,
) -> Result<Response, Response> {
    has_token(&headers)?;
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    let mut store = store.lock().unwrap();
    let Some(pet) = store.pets.get_mut(&id) else { return Err(missing("pet", id)) };
    for (name, value) in url::form_urlencoded::parse(body.as_bytes()) {
        pet[name.as_ref()] = value.as_ref().into();
    }
    Ok(Json(pet.clone()).into_response())
}

async fn delete_pet(
    State(store): State<Shared>,
    headers: HeaderMap,
    Path(id): Path<u64>,
) -> Result<Response, Response> {
    has_token(&headers)?;
    if headers.contains_key("api_key") {
        return Err(problem(StatusCode::BAD_REQUEST, "Forged", "nobody sets this key here"));
    }
    match store.lock().unwrap().pets.remove(&id) {
        Some(_) => Ok(StatusCode::NO_CONTENT.into_response()),
        None => Ok(missing("pet", id)),
    }
}

async fn upload(headers: HeaderMap, Path(id): Path<u64>, body: Bytes) -> Result<Response, Response> {
    has_token(&headers)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    Ok(Json(json!({"pet": id, "type": headers["content-type"].to_str().unwrap(), "body": text}))
        .into_response())
}

async fn image(headers: HeaderMap, Path(_): Path<u64>) -> Result<Response, Response> {
    has_key(&headers)?;
    Ok(([(header::CONTENT_TYPE, "image/png")], IMAGE).into_response())
}

async fn inventory(State(store): State<Shared>, headers: HeaderMap) -> Result<Json<Value>, Response> {
    has_key(&headers)?;
    let mut counts = BTreeMap::<String, u64>::new();
    for pet in store.lock().unwrap().pets.values() {
        *counts.entry(pet["status"].as_str().unwrap_or("none").to_owned()).or_default() += 1;
    }
    Ok(Json(json!(counts)))
}

async fn order(State(store): State<Shared>, headers: HeaderMap, body: String) -> Response {
    assert_eq!(headers["content-type"], "application/vnd.store+json; version=1");
    let mut order: Value = serde_json::from_str(&body).unwrap();
    let mut store = store.lock().unwrap();
    let pet = order["petId"].as_u64().unwrap_or(0);
    if !store.pets.contains_key(&pet) {
        return problem(StatusCode::BAD_REQUEST, "Invalid order", &format!("there is no pet {pet}"));
    }
    let id = store.orders.len() as u64 + 1;
    order["id"] = id.into();
    store.orders.insert(id, order.clone());
    Json(order).into_response()
}

async fn get_order(State(store): State<Shared>, Path(id): Path<u64>) -> Response {
    found("order", id, store.lock().unwrap().orders.get(&id))
}

async fn delete_order(State(store): State<Shared>, Path(id): Path<u64>) -> StatusCode {
    let gone = store.lock().unwrap().orders.remove(&id);
    if gone.is_some() { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }
}

fn keep(store: &Shared, user: &Value) {
    let name = user["username"].as_str().unwrap().to_owned();
    store.lock().unwrap().users.insert(name, user.clone());
}

async fn add_user(State(store): State<Shared>, Json(user): Json<Value>) -> Json<Value> {
    keep(&store, &user);
    Json(user)
}

async fn add_users(State(store): State<Shared>, Json(users): Json<Vec<Value>>) -> String {
    for user in &users {
        keep(&store, user);
    }
    format!("{} users", users.len())
}

async fn login(State(store): State<Shared>, Query(query): Query<BTreeMap<String, String>>) -> Response {
    let store = store.lock().unwrap();
    let user = store.users.get(&query["username"]);
    if user.is_some_and(|user| user["password"] == query["password"].as_str()) {
        let limit = [("x-ratelimit-remaining", "41"), ("set-cookie", "session=1")];
        return (limit, "logged in").into_response();
    }
    let retry = [("retry-after", "3")];
    (StatusCode::TOO_MANY_REQUESTS, retry, "wrong too often").into_response()
}

async fn logout(headers: HeaderMap) -> StatusCode {
    let is_known = headers.get("cookie").is_some_and(|cookie| cookie == "session=a%3Bb");
    if is_known { StatusCode::NO_CONTENT } else { StatusCode::INTERNAL_SERVER_ERROR }
}

async fn get_user(State(store): State<Shared>, Path(name): Path<String>) -> Response {
    found("user", &name, store.lock().unwrap().users.get(&name))
}

async fn put_user(
    State(store): State<Shared>,
    Path(name): Path<String>,
    Json(user): Json<Value>,
) -> Response {
    let mut store = store.lock().unwrap();
    match store.users.get_mut(&name) {
        None => missing("user", name),
        Some(old) => {
            *old = user.clone();
            Json(user).into_response()
        }
    }
}

async fn delete_user(State(store): State<Shared>, Path(name): Path<String>) -> Response {
    match store.lock().unwrap().users.remove(&name) {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => missing("user", name),
    }
}
