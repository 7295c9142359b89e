//! Orders and the inventory.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use serde_json::{Value, json};

use super::authorization::has_key;
use super::responses::{HandlerResult, Refusal, json_body, ok, set};
use super::store::{SharedStore, next_id};

/// The media type of orders.
const ORDER: &str = "application/vnd.store+json; version=1";

/// The most pets of an order: there is one of each pet.
const MOST: i64 = 1;

/// The largest order number.
const LAST_ORDER: i64 = 1000;

pub(super) async fn inventory(State(store): State<SharedStore>, headers: HeaderMap) -> HandlerResult {
    has_key(&headers)?;
    let mut counts = BTreeMap::<String, u64>::new();
    for pet in store.lock().pets.values() {
        *counts.entry(pet["status"].as_str().unwrap_or("none").to_owned()).or_default() += 1;
    }
    Ok(ok(&json!(counts)))
}

pub(super) async fn place(
    State(store): State<SharedStore>,
    headers: HeaderMap,
    body: Bytes,
) -> HandlerResult {
    let mut order = json_body(&headers, &body, ORDER)?;
    let mut store = store.lock();
    let pet = order.get("petId").and_then(Value::as_i64).unwrap_or(0);
    if !store.pets.contains_key(&pet) {
        return Err(Refusal::bad(format!("there is no pet {pet}")));
    }
    if order.get("quantity").and_then(Value::as_i64).is_some_and(|quantity| quantity > MOST) {
        return Err(Refusal::invalid("quantity", "is more than there is"));
    }
    let id = next_id(&store.orders);
    set(&mut order, "id", id);
    store.orders.insert(id, order.clone());
    Ok(ok(&order))
}

pub(super) async fn show(State(store): State<SharedStore>, Path(id): Path<i64>) -> HandlerResult {
    if (6..=10).contains(&id) {
        let detail = "the number leads to a fault";
        return Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", detail));
    }
    store.lock().orders.get(&id).map(ok).ok_or_else(|| Refusal::missing("order", id))
}

pub(super) async fn delete(State(store): State<SharedStore>, Path(id): Path<i64>) -> HandlerResult {
    if id > LAST_ORDER {
        return Err(Refusal::bad(format!("the numbers of orders end at {LAST_ORDER}")));
    }
    let gone = store.lock().orders.remove(&id);
    gone.map(|_| StatusCode::NO_CONTENT.into_response()).ok_or_else(|| Refusal::missing("order", id))
}
