//! Against a real server and its authorization server, both on sockets.

mod bound;
mod flow;
mod grants;
mod hostile;
mod per_user;
mod renewal;
mod server;
mod store;

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use http::header::LOCATION;
use parking_lot::Mutex;
use serde_json::json;
use toolcrib_io::http::{HttpClient, HttpPolicy, Request};
use toolcrib_model::{Secret, ToolResult};
use toolcrib_port::ToolEngine as _;
use url::Url;

use self::server::{Rules, World};
use crate::oauth::{Authorize, ClientSettings, Redirect};
use crate::tests::{authorized, context, invoke};
use crate::{HttpProtocol, McpConnection, McpEngine, McpLoader, McpSource, McpTransport};

/// Does what a browser does for a user who agrees to everything.
struct Browser {
    client: HttpClient,
    redirect_uri: String,
}

impl Browser {
    fn new() -> Arc<Self> {
        Self::at("http://127.0.0.1:1/callback")
    }

    fn at(redirect_uri: &str) -> Arc<Self> {
        let policy = HttpPolicy { allow_private: true, ..HttpPolicy::default() };
        Arc::new(Self { client: HttpClient::new(policy).unwrap(), redirect_uri: redirect_uri.into() })
    }
}

#[async_trait]
impl Authorize for Browser {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    async fn authorize(&self, url: &Url) -> Result<Redirect, String> {
        let response = self.client.send(Request::new(Method::GET, url.clone())).await.unwrap();
        let location = response.headers[LOCATION].to_str().unwrap();
        assert!(location.starts_with(&self.redirect_uri), "{location}");
        Ok(Redirect::from_url(&location.parse().unwrap()))
    }
}

/// A server at a private address, which the operator has allowed.
fn http(url: String, headers: Vec<(String, Secret)>) -> McpTransport {
    McpTransport::Http { url, headers, allow_private: true, protocol: HttpProtocol::Any, auth: None }
}

/// A source in the namespace `test`.
fn source(world: &World, auth: ClientSettings) -> McpSource {
    let transport = http(world.url(), Vec::new());
    McpSource::new("test", transport).with_auth(auth)
}

fn connect(world: &World, auth: ClientSettings) -> (McpLoader, McpEngine) {
    let connection = McpConnection::new(source(world, auth));
    (McpLoader::new(connection.clone()), McpEngine::new(connection))
}

async fn call(engine: &McpEngine, tool: &str) -> ToolResult {
    invoke(engine, authorized(tool, json!({})), &context()).await
}

/// The reason why a source has no tools.
async fn reason(world: &World, auth: ClientSettings) -> String {
    let (loader, engine) = connect(world, auth);
    let mut loaded = toolcrib_port::ToolLoader::load(&loader).await;
    engine.close().await;
    assert!(loaded.tools.is_empty(), "{:?}", loaded.tools);
    loaded.rejected.remove(0).reason
}

/// Collects the secrets that are told of.
fn told() -> (Arc<Mutex<Vec<String>>>, crate::oauth::SecretSink) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    (told, Arc::new(move |secret| sink.lock().push(secret.expose().to_owned())))
}
