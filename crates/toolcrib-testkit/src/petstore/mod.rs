//! The classic pet store, with an `OpenAPI` document that matches it.

mod authorization;
mod orders;
mod pets;
mod responses;
mod store;
mod users;

use anyhow::Result;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use self::store::SharedStore;
use crate::http_service::HttpService;

pub use store::StoreRequest;

const DOCUMENT: &str = include_str!("document.yaml");

/// The server URL of the document.
const SERVER: &str = "/api/{version}";

/// The base path of the operations.
const BASE: &str = "/api/v3";

/// A store of pets, orders and users, until it is dropped. It starts with two pets: Rex (1, available) and Mia (2,
/// pending).
///
/// It has the operations of the well-known pet store, and others that it lacks: an upload in several parts, a download,
/// a `HEAD`. Calls are answered in JSON, text or as an image, and refused as `application/problem+json`: with 400, 404,
/// 409 and 422; with 401 for a missing bearer token, which its issuer at [`token_url`](Self::token_url) issues, a
/// missing key in a header or a cookie, or a missing password; with 500 for the orders from 6 to 10, and with 429 for
/// password guessing. Unknown operations are answered with 404 and an echo of the request.
/// [`answer_next`](Self::answer_next) injects other failures.
#[derive(Debug)]
pub struct PetStore {
    host: HttpService,
    store: SharedStore,
}

impl PetStore {
    /// The key of the scheme `api_key`.
    pub const API_KEY: &str = "key-of-the-store";

    /// The cookie value of the scheme `session`. It has characters that a cookie cannot contain unescaped.
    pub const SESSION: &str = "session; of=the store";

    /// The user name of the scheme `admin`.
    pub const ADMIN: &str = "keeper";

    /// The password of [`ADMIN`](Self::ADMIN).
    pub const ADMIN_PASSWORD: &str = "pass:word-of-the-store";

    /// The client that the issuer gives tokens to.
    pub const CLIENT_ID: &str = "app";

    /// The secret of this client.
    pub const CLIENT_SECRET: &str = "client secret & of the store";

    /// Starts a store.
    pub async fn start() -> Result<Self> {
        let store = SharedStore::default();
        let api = Router::new()
            .route("/pet", post(pets::add).put(pets::update))
            .route("/pet/findByStatus", get(pets::by_status))
            .route("/pet/findByTags", get(pets::by_tags))
            .route("/pet/{id}", get(pets::show).post(pets::change).delete(pets::delete))
            .route("/pet/{id}/uploadImage", post(pets::upload))
            .route("/pet/{id}/photos", post(pets::photos))
            .route("/pet/{id}/image", get(pets::image))
            .route("/store/inventory", get(orders::inventory))
            .route("/store/order", post(orders::place))
            .route("/store/order/{id}", get(orders::show).delete(orders::delete))
            .route("/user", post(users::create))
            .route("/user/createWithList", post(users::create_all))
            .route("/user/login", get(users::log_in))
            .route("/user/logout", get(users::log_out))
            .route("/user/{name}", get(users::show).put(users::update).delete(users::delete))
            .fallback(store::echo)
            .layer(from_fn_with_state(store.clone(), store::record));
        let router = Router::new()
            .route("/openapi.yaml", get(|| async { DOCUMENT }))
            .route("/oauth/token", post(authorization::issue))
            .nest(BASE, api)
            .with_state(store.clone());
        Ok(Self { host: HttpService::start(router).await?, store })
    }

    /// Returns the URL of the document: `http://127.0.0.1:port/openapi.yaml`.
    pub fn document_url(&self) -> String {
        format!("{}/openapi.yaml", self.host.origin())
    }

    /// Returns the base URL of the operations: `http://127.0.0.1:port/api/v3`.
    pub fn base_url(&self) -> String {
        format!("{}{BASE}", self.host.origin())
    }

    /// Returns the URL of the token issuer, for [`CLIENT_ID`](Self::CLIENT_ID) with
    /// [`CLIENT_SECRET`](Self::CLIENT_SECRET).
    pub fn token_url(&self) -> String {
        format!("{}/oauth/token", self.host.origin())
    }

    /// Returns the document in YAML, with the address of this server, to be written to a file.
    pub fn document(&self) -> String {
        DOCUMENT.replace(SERVER, &format!("{}/api/{{version}}", self.host.origin()))
    }

    /// Returns the requests, in order, as `GET /pet/1?tags=a`: method, path and query as they were received.
    pub fn asked(&self) -> Vec<String> {
        self.requests().iter().map(StoreRequest::line).collect()
    }

    /// Returns the requests with headers and bodies.
    pub fn requests(&self) -> Vec<StoreRequest> {
        self.store.lock().asked.clone()
    }

    /// Returns the number of issued tokens.
    pub fn tokens(&self) -> u64 {
        self.store.lock().tokens
    }

    /// Revokes all tokens that were issued so far.
    pub fn revoke_tokens(&self) {
        let mut store = self.store.lock();
        store.revoked = store.tokens;
    }

    /// Refuses the next request with this status and these headers, regardless of its path. Several of these are used
    /// in order.
    pub fn answer_next(&self, status: u16, headers: &[(&str, &str)]) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.store.lock().failures.push_back((status, headers));
    }
}
