//! A small pet store on a real socket, which also says what it was asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The document of the store. Its server is relative, as those of documents from the web often are.
pub(crate) const DOCUMENT: &str = r##"
openapi: 3.0.3
info: {title: Pets, version: "1"}
servers: [{url: /api}]
paths:
  /pets:
    get:
      operationId: listPets
      parameters: [{name: tag, in: query, schema: {type: array, items: {type: string}}}]
      responses: {200: {description: All., content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}}}
    post:
      operationId: addPet
      requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
      responses: {201: {description: Added.}}
  /pets/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: string}}]
    get: {operationId: getPet, responses: {200: {description: One.}}}
    delete: {operationId: deletePet, responses: {204: {description: Gone.}}}
    head: {operationId: hasPet, responses: {200: {description: There.}}}
  /echo/{slot}:
    parameters: [{name: slot, in: path, required: true, schema: {type: string}}]
    put:
      operationId: echo
      parameters:
        - {name: q, in: query, schema: {type: string}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
      requestBody: {content: {application/json: {schema: {type: object, properties: {note: {type: string}}}}}}
      responses: {200: {description: What was asked.}}
  /answer/{kind}:
    parameters: [{name: kind, in: path, required: true, schema: {type: string}}]
    get: {operationId: answer, responses: {200: {description: Any.}}}
    post: {operationId: postAnswer, responses: {200: {description: Any.}}}
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string}
        parent: {$ref: "#/components/schemas/Pet"}
"##;

type Pets = Arc<Mutex<BTreeMap<u64, Value>>>;

/// Ends with the test.
pub(crate) struct PetStore {
    /// `http://127.0.0.1:port`.
    pub(crate) origin: String,
    task: JoinHandle<()>,
}

impl Drop for PetStore {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl PetStore {
    pub(crate) async fn start() -> Self {
        let app = Router::new()
            .route("/openapi.yaml", get(|| async { DOCUMENT }))
            .route("/stolen", any(|| async { "stolen" }))
            .route("/api/pets", get(list).post(add))
            .route("/api/pets/{id}", get(one).delete(remove))
            .route("/api/echo/{slot}", any(echo))
            .route("/api/answer/{kind}", any(answer))
            .with_state(Pets::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { origin, task }
    }
}

async fn list(State(pets): State<Pets>) -> Json<Value> {
    Json(pets.lock().values().cloned().collect())
}

async fn add(State(pets): State<Pets>, Json(mut pet): Json<Value>) -> (StatusCode, Json<Value>) {
    let mut pets = pets.lock();
    let id = pets.len() as u64 + 1;
    pet["id"] = id.into();
    pets.insert(id, pet.clone());
    (StatusCode::CREATED, Json(pet))
}

async fn one(State(pets): State<Pets>, Path(id): Path<String>) -> Response {
    match id.parse().ok().and_then(|id: u64| pets.lock().get(&id).cloned()) {
        Some(pet) => Json(pet).into_response(),
        None => (StatusCode::NOT_FOUND, Json(json!({"problem": format!("no pet {id}")}))).into_response(),
    }
}

async fn remove(State(pets): State<Pets>, Path(id): Path<u64>) -> StatusCode {
    match pets.lock().remove(&id) {
        Some(_) => StatusCode::NO_CONTENT,
        None => StatusCode::NOT_FOUND,
    }
}

async fn echo(request: Request) -> Json<Value> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let headers: BTreeMap<_, _> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().to_owned()))
        .collect();
    Json(json!({
        "method": parts.method.as_str(),
        "uri": parts.uri.to_string(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
    }))
}

async fn answer(Path(kind): Path<String>, headers: HeaderMap) -> Response {
    let typed = |content_type: &'static str, body: &'static [u8]| {
        ([(header::CONTENT_TYPE, content_type)], body).into_response()
    };
    match kind.as_str() {
        "text" => typed("text/plain; charset=utf-8", b"hello"),
        "xml" => typed("application/xml", b"<a/>"),
        "image" => typed("image/png", b"\x89PNG\xff"),
        "latin" => typed("text/plain; charset=ISO-8859-1", b"caf\xe9"),
        "binary-text" => typed("text/plain", b"\0\xff\x01"),
        "liar" => typed("application/json", b"<html>"),
        "vendor" => typed("application/vnd.api+json", b"{\"a\": 1}"),
        "long" => typed("text/plain", &[b'x'; 5000]),
        "error" => (StatusCode::INTERNAL_SERVER_ERROR, "é".repeat(3000)).into_response(),
        "login" => (StatusCode::UNAUTHORIZED, headers.contains_key("x-key").to_string()).into_response(),
        "busy" => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "7")], "slow down").into_response(),
        "moved" => Redirect::temporary("/stolen").into_response(),
        "elsewhere" => Redirect::temporary("http://192.0.2.1/").into_response(),
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}
