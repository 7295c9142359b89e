//! The server: reads a request, records it, and answers according to the script.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::script::{FaultScript, ScriptedAnswer};
use super::wire;
use crate::model::format::ModelFormat;
use crate::model::server::ModelRequest;

/// The most bytes of a request that are read.
const MAX_REQUEST_BYTES: u64 = 64 * 1024 * 1024;

/// A server of models that answers according to a [`FaultScript`], until it is dropped. The path of a request says in which
/// [`ModelFormat`].
///
/// Requests that the real API would refuse are refused too, with status 400, and [recorded](Self::problems). A request for
/// a description of models is answered with status 404, and not recorded.
#[derive(Debug)]
pub struct FaultyModel {
    address: SocketAddr,
    state: Arc<Mutex<FaultyModelState>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct FaultyModelState {
    requests: Vec<ModelRequest>,
    problems: Vec<String>,
}

impl FaultyModel {
    /// Serves on a local port; 0 for a free one.
    pub async fn start(script: FaultScript, port: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.context("the port is not free")?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(FaultyModelState::default()));
        let seen = Arc::clone(&state);
        let script = Arc::new(script);
        let task = tokio::spawn(async move {
            // They end with the server.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                connections.spawn(async move { drop(serve(stream, &script, &seen, address.port()).await) });
            }
        });
        Ok(Self { address, state, task })
    }

    /// Returns the base URL of the API: `http://127.0.0.1:port/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests so far, in order, including those to other paths than that of the API.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state.lock().requests.clone()
    }

    /// Returns the problems of requests.
    pub fn problems(&self) -> Vec<String> {
        self.state.lock().problems.clone()
    }
}

impl Drop for FaultyModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    stream: TcpStream,
    script: &FaultScript,
    seen: &Mutex<FaultyModelState>,
    port: u16,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (stream, request) = receive(stream).await?;
    let Some(request) = request else {
        // It describes no models. A client that asks for them is not at its script yet.
        wire::send(stream, &not_found(), ModelFormat::default(), port).await;
        return Ok(());
    };
    let format = ModelFormat::of_path(&request.path);
    let answer = {
        let mut seen = seen.lock();
        let number = seen.requests.len();
        let request_problem = request_problem(&request);
        seen.requests.push(request);
        match (request_problem, script.answer(number)) {
            (Some(problem), _) => {
                seen.problems.push(problem.clone());
                refused(&problem)
            }
            (None, Some(answer)) => Some(answer.clone()),
            (None, None) => refused(&format!("the script has no answer {}", number + 1)),
        }
    };
    if let Some(answer) = answer {
        wire::send(stream, &answer, format.unwrap_or_default(), port).await;
    }
    Ok(())
}

/// Returns the reason why the real API would refuse a request.
fn request_problem(request: &ModelRequest) -> Option<String> {
    let Some(format) = ModelFormat::of_path(&request.path) else {
        return Some(format!("there is nothing at {}", request.path));
    };
    match serde_json::from_slice::<Value>(&request.body) {
        Ok(body) => format.problem(&body),
        Err(_) => Some("the body is no JSON".to_owned()),
    }
}

fn not_found() -> ScriptedAnswer {
    ScriptedAnswer { status: 404, ..ScriptedAnswer::default() }
}

fn refused(problem: &str) -> Option<ScriptedAnswer> {
    let error = json!({"error": {"message": problem, "type": "invalid_request_error"}});
    serde_json::from_value(json!({"status": 400, "body": [{"json": error}]})).ok()
}

/// Reads a request, and returns the connection with it; `None` for one without a body.
async fn receive(stream: TcpStream) -> io::Result<(TcpStream, Option<ModelRequest>)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    (&mut reader).take(MAX_REQUEST_BYTES).read_line(&mut line).await?;
    let is_post = line.starts_with("POST ");
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let key_header = ModelFormat::of_path(&path).map(ModelFormat::key_header);
    let (mut authorization, mut length) = (String::new(), 0_u64);
    loop {
        line.clear();
        (&mut reader).take(MAX_REQUEST_BYTES).read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            name if Some(name) == key_header => value.clone_into(&mut authorization),
            "content-length" => length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    let mut body = Vec::new();
    (&mut reader).take(length.min(MAX_REQUEST_BYTES)).read_to_end(&mut body).await?;
    let request = is_post.then(|| ModelRequest { path, authorization, body: Bytes::from(body) });
    Ok((reader.into_inner(), request))
}
