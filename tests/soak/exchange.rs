//! One request to an MCP server over HTTP, of either era, and its reply.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use toolcrib_io::http::HttpClient;

/// Where requests go, and from whom.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint<'a> {
    pub(crate) http: &'a HttpClient,
    pub(crate) url: &'a str,
    pub(crate) token: Option<&'a str>,
    /// The name of the client.
    pub(crate) client: &'a str,
}

/// A request.
pub(crate) struct Request<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) params: Value,
    /// What a client of revision 2026-07-28 can do.
    pub(crate) capabilities: Value,
    pub(crate) era: Era<'a>,
}

/// The era of a client.
#[derive(Clone, Copy)]
pub(crate) enum Era<'a> {
    /// Revision 2026-07-28.
    Modern,
    /// The first request of a client before it.
    Opening,
    /// A later one, with the session.
    Session(&'a str),
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The session that it has begun.
    pub(crate) session: Option<String>,
    pub(crate) text: String,
}

impl Endpoint<'_> {
    /// Sends a request and reads the reply to its end.
    pub(crate) async fn send(&self, request: Request<'_>) -> Result<Reply> {
        let Request { id, method, mut params, capabilities, era } = request;
        let mut post = self.http.reqwest_client().post(self.url);
        post = post.header("accept", "application/json, text/event-stream");
        post = post.header("content-type", "application/json");
        if let Some(token) = self.token {
            post = post.header("authorization", format!("Bearer {token}"));
        }
        match era {
            Era::Opening => {}
            Era::Session(session) => {
                post = post.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
            }
            Era::Modern => {
                post = post.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
                if let Some(name) = params.get("name").and_then(Value::as_str) {
                    post = post.header("mcp-name", name);
                }
                let meta = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": self.client, "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": capabilities,
                });
                params.as_object_mut().context("params")?.insert("_meta".to_owned(), meta);
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let response = post.body(body).send().await?;
        let status = response.status().as_u16();
        let session = response.headers().get("mcp-session-id");
        let session = session.and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Reply { status, session, text: response.text().await? })
    }
}

impl Reply {
    /// Returns the message that answers a request.
    pub(crate) fn message(&self, id: u64) -> Option<Value> {
        let events = self.text.lines().filter_map(|line| line.strip_prefix("data:"));
        let messages = events.chain([self.text.as_str()]);
        let mut messages = messages.filter_map(|text| serde_json::from_str::<Value>(text.trim()).ok());
        messages.find(|message| message.get("id") == Some(&json!(id)))
    }
}

/// Returns the parameters by which a client before revision 2026-07-28 begins.
pub(crate) fn opening(client: &str) -> Value {
    json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": client, "version": "1"},
    })
}
