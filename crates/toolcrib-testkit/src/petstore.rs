//! A pet store with an `OpenAPI` document that fits it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::host::Host;

/// What is in the store, and what was asked of it.
#[derive(Debug, Default)]
struct Store {
    pets: BTreeMap<u64, Value>,
    /// Each request as `GET /pets`.
    asked: Vec<String>,
}

type Shared = Arc<Mutex<Store>>;

/// A service that lists, adds and shows pets, until it is dropped. Two pets, Rex and Mia, are there from the start.
///
/// Its document is `OpenAPI` 3.0 with the operations `listPets` (`limit`), `addPet` (a body with `name` and `tag`) and
/// `getPet` (`petId`), served at [`document_url`](Self::document_url).
#[derive(Debug)]
pub struct PetStore {
    host: Host,
    store: Shared,
}

impl PetStore {
    /// Opens a store.
    pub async fn start() -> Result<Self> {
        let pets = [(1, "Rex", "dog"), (2, "Mia", "cat")]
            .map(|(id, name, tag)| (id, json!({"id": id, "name": name, "tag": tag})));
        let store = Arc::new(Mutex::new(Store { pets: pets.into(), asked: Vec::new() }));
        let router = Router::new()
            .route("/openapi.json", get(|| async { Json(document("/api")) }))
            .route("/api/pets", get(list).post(add))
            .route("/api/pets/{id}", get(show))
            .with_state(Arc::clone(&store));
        Ok(Self { host: Host::start(router).await?, store })
    }

    /// Where the document is: `http://127.0.0.1:port/openapi.json`.
    pub fn document_url(&self) -> String {
        format!("{}/openapi.json", self.host.origin())
    }

    /// Where the operations are: `http://127.0.0.1:port/api`.
    pub fn base_url(&self) -> String {
        format!("{}/api", self.host.origin())
    }

    /// The document with these operations' own address, to be written to a file.
    pub fn document(&self) -> Value {
        document(&self.base_url())
    }

    /// What was asked of the store, in order, as `GET /pets`.
    pub fn asked(&self) -> Vec<String> {
        locked(&self.store).asked.clone()
    }
}

fn locked(store: &Shared) -> std::sync::MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn list(State(store): State<Shared>, Query(query): Query<BTreeMap<String, String>>) -> Json<Value> {
    let limit = query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(usize::MAX);
    let mut store = locked(&store);
    store.asked.push("GET /pets".to_owned());
    Json(store.pets.values().take(limit).cloned().collect())
}

async fn add(State(store): State<Shared>, Json(mut pet): Json<Value>) -> Response {
    let mut store = locked(&store);
    store.asked.push("POST /pets".to_owned());
    let id = store.pets.keys().next_back().map_or(1, |last| last + 1);
    let Some(fields) = pet.as_object_mut() else {
        return (StatusCode::BAD_REQUEST, Json(json!({"message": "a pet is an object"}))).into_response();
    };
    fields.insert("id".to_owned(), id.into());
    store.pets.insert(id, pet.clone());
    (StatusCode::CREATED, Json(pet)).into_response()
}

async fn show(State(store): State<Shared>, Path(id): Path<u64>) -> Response {
    let mut store = locked(&store);
    store.asked.push(format!("GET /pets/{id}"));
    match store.pets.get(&id) {
        Some(pet) => Json(pet.clone()).into_response(),
        None => {
            (StatusCode::NOT_FOUND, Json(json!({"message": format!("there is no pet {id}")}))).into_response()
        }
    }
}

fn document(server: &str) -> Value {
    let pet = json!({"$ref": "#/components/schemas/Pet"});
    let answer = |description: &str, schema: &Value| json!({"description": description, "content": {"application/json": {"schema": schema}}});
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Pet store", "version": "1.0.0"},
        "servers": [{"url": server}],
        "paths": {
            "/pets": {
                "get": {
                    "operationId": "listPets",
                    "summary": "List the pets of the store.",
                    "parameters": [{
                        "name": "limit",
                        "in": "query",
                        "description": "How many pets to list at most.",
                        "schema": {"type": "integer", "minimum": 1},
                    }],
                    "responses": {"200": answer("The pets.", &json!({"type": "array", "items": pet}))},
                },
                "post": {
                    "operationId": "addPet",
                    "summary": "Add a pet to the store.",
                    "requestBody": {"required": true, "content": {"application/json": {"schema": pet}}},
                    "responses": {"201": answer("The pet as it was added.", &pet)},
                },
            },
            "/pets/{petId}": {
                "get": {
                    "operationId": "getPet",
                    "summary": "Show one pet.",
                    "parameters": [{
                        "name": "petId",
                        "in": "path",
                        "required": true,
                        "schema": {"type": "integer"},
                    }],
                    "responses": {"200": answer("The pet.", &pet), "404": {"description": "There is no such pet."}},
                },
            },
        },
        "components": {"schemas": {"Pet": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "id": {"type": "integer", "readOnly": true},
                "name": {"type": "string"},
                "tag": {"type": "string"},
            },
        }}},
    })
}
