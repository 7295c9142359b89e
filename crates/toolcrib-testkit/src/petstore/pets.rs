//! Pets and their images.

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use serde_json::{Value, json};

use super::authorization::{has_key, has_key_or_token, has_token};
use super::responses::{HandlerResult, Refusal, created, json_body, ok, pairs, set, wants};
use super::store::{SharedStore, Store, next_id};

const JSON: &str = "application/json";
const STATUSES: [&str; 3] = ["available", "pending", "sold"];

fn pet(store: &Store, id: i64) -> Result<&Value, Refusal> {
    if id < 1 {
        return Err(Refusal::bad("the numbers of pets begin at 1"));
    }
    store.pets.get(&id).ok_or_else(|| Refusal::missing("pet", id))
}

/// Checks conditions that a schema cannot express.
fn check(pet: &Value) -> Result<(), Refusal> {
    let name = pet.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.trim().is_empty() { Err(Refusal::invalid("name", "is blank")) } else { Ok(()) }
}

pub(super) async fn add(State(store): State<SharedStore>, headers: HeaderMap, body: Bytes) -> HandlerResult {
    let mut store = store.lock();
    has_token(&store, &headers)?;
    let mut pet = json_body(&headers, &body, JSON)?;
    check(&pet)?;
    let id = pet.get("id").and_then(Value::as_i64).unwrap_or_else(|| next_id(&store.pets));
    if store.pets.contains_key(&id) {
        return Err(Refusal::conflict(format!("there is a pet {id} already")));
    }
    set(&mut pet, "id", id);
    store.pets.insert(id, pet.clone());
    Ok(created(&pet))
}

pub(super) async fn update(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    body: Bytes,
) -> HandlerResult {
    let mut store = store.lock();
    has_token(&store, &headers)?;
    let new = json_body(&headers, &body, JSON)?;
    let id =
        new.get("id").and_then(Value::as_i64).ok_or_else(|| Refusal::bad("which pet? it has no `id`"))?;
    pet(&store, id)?;
    check(&new)?;
    store.pets.insert(id, new.clone());
    Ok(ok(&new))
}

/// Finds pets by status. The parameter is one pair with commas.
pub(super) async fn by_status(State(store): State<SharedStore>, RawQuery(query): RawQuery) -> HandlerResult {
    let query = query.unwrap_or_default();
    let wanted: Vec<&str> = query.strip_prefix("status=").unwrap_or_default().split(',').collect();
    if !wanted.iter().all(|status| STATUSES.contains(status)) {
        return Err(Refusal::bad(format!("`status` has to be some of {}", STATUSES.join(", "))));
    }
    let fits = |pet: &&Value| pet["status"].as_str().is_some_and(|status| wanted.contains(&status));
    Ok(ok(&store.lock().pets.values().filter(fits).cloned().collect()))
}

/// Finds pets by tags. The parameter is a pair for each tag.
pub(super) async fn by_tags(State(store): State<SharedStore>, RawQuery(query): RawQuery) -> HandlerResult {
    let wanted = pairs(&query.unwrap_or_default())?;
    let has = |pet: &Value, tag: &str| pet["tags"].as_array().is_some_and(|tags| tags.contains(&tag.into()));
    let fits = |pet: &&Value| wanted.iter().all(|(name, tag)| name == "tags" && has(pet, tag));
    Ok(ok(&store.lock().pets.values().filter(fits).cloned().collect()))
}

pub(super) async fn show(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(id): Path<i64>,
) -> HandlerResult {
    let store = store.lock();
    has_key_or_token(&store, &headers)?;
    pet(&store, id).map(ok)
}

pub(super) async fn change(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(id): Path<i64>,
    body: String,
) -> HandlerResult {
    let mut store = store.lock();
    has_token(&store, &headers)?;
    let mut changed = pet(&store, id)?.clone();
    wants(&headers, "application/x-www-form-urlencoded")?;
    for (name, value) in pairs(&body)? {
        set(&mut changed, &name, value);
    }
    store.pets.insert(id, changed.clone());
    Ok(ok(&changed))
}

pub(super) async fn delete(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(id): Path<i64>,
) -> HandlerResult {
    let mut store = store.lock();
    has_token(&store, &headers)?;
    pet(&store, id)?;
    if store.orders.values().any(|order| order["petId"] == id) {
        return Err(Refusal::conflict(format!("the pet {id} is ordered")));
    }
    store.pets.remove(&id);
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn upload(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(id): Path<i64>,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> HandlerResult {
    let mut store = store.lock();
    has_token(&store, &headers)?;
    pet(&store, id)?;
    wants(&headers, "application/octet-stream")?;
    let said = pairs(&query.unwrap_or_default())?;
    let said = said.first().map_or("nothing", |(_, said)| said);
    let message = format!("{} bytes, and {said}", body.len());
    store.images.insert(id, body);
    Ok(ok(&json!({"code": 200, "type": "image", "message": message})))
}

pub(super) async fn photos(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(id): Path<i64>,
    body: Bytes,
) -> HandlerResult {
    let store = store.lock();
    has_token(&store, &headers)?;
    pet(&store, id)?;
    wants(&headers, "multipart/form-data; boundary=")?;
    let text = String::from_utf8_lossy(&body);
    let count = |what: &str| text.matches(what).count();
    let message =
        format!("{} parts, {} of them photos", count("name=\"") - count("filename=\""), count("filename=\""));
    Ok(ok(&json!({"code": 200, "type": "photos", "message": message})))
}

pub(super) async fn image(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    Path(id): Path<i64>,
) -> HandlerResult {
    has_key(&headers)?;
    let store = store.lock();
    let image = store.images.get(&id).ok_or_else(|| Refusal::missing("image of pet", id))?;
    Ok(([(CONTENT_TYPE, "image/png")], image.clone()).into_response())
}
