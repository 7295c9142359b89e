//! The gateway as a separate process, and clients of it and of the servers.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_io::process::{Child, Command, spawn};

use crate::peers::{self, Peer, named};

pub(crate) type Client = RunningService<RoleClient, ClientConfig>;

/// The time limit for a program to listen.
const PATIENCE: Duration = Duration::from_mins(1);

/// The OpenAPI documents that are served too, in the folder of the shared data.
const DOCUMENTS: [&str; 2] =
    ["readmeio_oas_examples__3.0_json_star_trek.json", "twilio_twilio_oai__spec_json_twilio_studio_v2.json"];

/// Returns the OpenAPI documents, if the shared data exists.
pub(crate) fn documents() -> Vec<PathBuf> {
    let Ok(shared) = named("TOOLCRIB_SHARED") else { return Vec::new() };
    let documents = DOCUMENTS.map(|name| shared.join("data/openapi").join(name));
    documents.into_iter().filter(|path| path.is_file()).collect()
}

/// Writes an app with these sources.
pub(crate) fn write_app(folder: &TempDir, registry: &[Value]) -> Result<(), Box<dyn Error>> {
    let app = json!({"tools": {"registry": registry, "capabilities": {"default_policy": "grant"}}});
    Ok(std::fs::write(folder.path().join("app.yaml"), app.to_string())?)
}

/// Returns a server as a source of the app.
pub(crate) fn source(peer: &Peer) -> Value {
    let environment: serde_json::Map<_, _> =
        peer.environment.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({
        "type": "mcp", "namespace": peer.name, "command": peer.command, "env": environment,
        "startup_timeout_seconds": 60,
    })
}

/// Returns the gateway with its files in this folder.
pub(crate) fn gateway(folder: &Path, words: &[&str]) -> Result<Command, Box<dyn Error>> {
    let program = named("TOOLCRIB_BIN")?.display().to_string();
    let app = folder.join("app.yaml").display().to_string();
    let words = [program.as_str(), "serve", &app].into_iter().chain(words.iter().copied());
    let command = Command::new(words);
    Ok(command.with_env("XDG_CACHE_HOME", folder.join("cache").display().to_string()).with_cwd(folder))
}

/// Returns a client of a program that serves standard input and output.
pub(crate) async fn over_stdio(command: &Command) -> Result<(Client, Child), Box<dyn Error>> {
    let mut child = spawn(command, "peer")?;
    let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
        return Err("no pipes".into());
    };
    let transport = AsyncRwTransport::new_client(output, input);
    Ok((serve_client_with_lifecycle(ClientConfig::default(), transport, newest()).await?, child))
}

/// Returns a client of a program that listens on a free port, which it gets as an argument.
pub(crate) async fn over_http(
    command: impl FnOnce(u16) -> Result<Command, Box<dyn Error>>,
) -> Result<(Client, Child), Box<dyn Error>> {
    let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
    let child = spawn(&command(port)?, "peer")?;
    let end = Instant::now() + PATIENCE;
    while TcpStream::connect(("localhost", port)).await.is_err() {
        if Instant::now() > end {
            return Err("the program does not listen".into());
        }
        tokio::task::yield_now().await;
    }
    let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })?;
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://localhost:{port}/mcp"));
    let transport = StreamableHttpClientTransport::with_client(http.reqwest_client().clone(), config);
    Ok((serve_client_with_lifecycle(ClientConfig::default(), transport, newest()).await?, child))
}

/// Negotiates the newest revision that the other side supports, as the gateway does. Some servers are slower in one
/// revision than in another.
fn newest() -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let legacy_version = Some(ProtocolVersion::LATEST_WITH_INITIALIZE);
    ClientLifecycleMode::Auto { preferred_versions, legacy_version }
}

/// Returns `server-everything` over HTTP on this port.
pub(crate) fn everything_over_http(port: u16) -> Result<Command, Box<dyn Error>> {
    let command = Command::new([peers::npm("mcp-server-everything")?, "streamableHttp".into()]);
    Ok(command.with_env("PORT", port.to_string()))
}
