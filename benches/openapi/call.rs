//! The overhead of the engine for a request: arguments, encoding, guard, and reading the answer.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_io::http::{HttpClient, HttpPolicy};
use toolcrib_loader_rest::{Credential, CredentialKind, RestSource};
use toolcrib_model::{Secret, Tool};
use toolcrib_policy::{Authorized, Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};

const CALLS: usize = 2_000;
const ROUNDS: usize = 5;

/// The maximum overhead of the engine over a request that is sent by hand.
const BOUND: Duration = Duration::from_micros(50);

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let origin = format!("http://{}", listener.local_addr()?);
    let body = answer();
    // Ends with the program.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = body.clone();
            std::thread::spawn(move || serve(&stream, &body));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for method in ["get", "post"] {
        title(&format!("a {} with ten arguments, and 2 KiB of JSON back", method.to_uppercase()));
        runtime.block_on(part(method, &origin))?;
    }
    Ok(())
}

async fn part(method: &str, origin: &str) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("openapi.json");
    std::fs::write(&path, document(method).to_string())?;
    let token = CredentialKind::Bearer { token: Secret::new("token") };
    let source = RestSource::new(&path.to_string_lossy(), "api")
        .with_base_url(origin)
        .with_credential(Credential::new(token));
    let (loader, engine) = source.open()?;
    let loaded = loader.load().await;
    let tool = loaded.tools.into_iter().next().ok_or("nothing was loaded")?;
    let call = granted(tool)?;
    let context = CallContext::new("bench");
    let client = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() })?;
    let (mut whole, mut bare) = (Timings::default(), Timings::default());
    // Alternate, so that disturbances affect both. The first round opens the connections.
    for round in 0..=ROUNDS {
        for _ in 0..CALLS {
            let start = Instant::now();
            let result = black_box(engine.invoke(&call, &context).await);
            let taken = start.elapsed();
            if !result.is_ok() {
                return Err(format!("the call failed: {:?}", result.error).into());
            }
            let start = Instant::now();
            let value = black_box(by_hand(&client, method, origin).await?);
            let by_hand = start.elapsed();
            if value != result.result {
                return Err("the two got different answers".into());
            }
            if round > 0 {
                whole.add(taken);
                bare.add(by_hand);
            }
        }
    }
    let added = whole.median().saturating_sub(bare.median());
    Row::new("what the engine adds, p50", added).at_most(BOUND).print();
    Row::new("a call, p50", whole.median()).print();
    Row::new("a call, p99", whole.percentile(99.0)).print();
    Row::new("the same by reqwest alone, p50", bare.median()).print();
    Row::new("the same by reqwest alone, p99", bare.percentile(99.0)).print();
    Ok(())
}

/// Sends the same request with the underlying HTTP client only.
async fn by_hand(client: &HttpClient, method: &str, origin: &str) -> Result<Value, Box<dyn Error>> {
    let query = "limit=10&sort=name&tags=a&tags=b&filter%5Bstate%5D=open&note=a%20b";
    let url = format!("{origin}/stores/main/pets/7?{query}");
    let client = client.reqwest_client();
    let request = if method == "get" {
        client.get(url)
    } else {
        client
            .post(url)
            .header("content-type", "application/json")
            .body(r#"{"name":"Rex","age":3,"good":true}"#)
    };
    let request = request.header("x-trace", "1").header("accept", "application/json, */*;q=0.5");
    let answer = request.header("authorization", "Bearer token").send().await?;
    Ok(serde_json::from_slice(&answer.bytes().await?)?)
}

fn granted(tool: Tool) -> Result<Authorized<Call>, Box<dyn Error>> {
    let capabilities = Capabilities { default_policy: Effect::Grant, ..Capabilities::default() };
    let policy = Policy::new(&capabilities, [])?;
    let mut call = Call::new(Arc::new(tool), "bench".into(), 1);
    let arguments = json!({
        "store": "main", "petId": 7, "limit": 10, "sort": "name", "tags": ["a", "b"], "filter": {"state": "open"},
        "note": "a b", "X-Trace": "1", "name": "Rex", "age": 3, "good": true,
    });
    call.arguments = arguments.as_object().cloned().unwrap_or_default();
    match policy.authorize(call, "bench") {
        Verdict::Granted(call) => Ok(call),
        _ => Err("the call is not granted".into()),
    }
}

fn document(method: &str) -> Value {
    let parameter = |place: &str, name: &str, schema: Value| json!({"name": name, "in": place, "required": true, "schema": schema});
    let mut filter = parameter("query", "filter", json!({"type": "object"}));
    if let Some(filter) = filter.as_object_mut() {
        filter.insert("style".into(), "deepObject".into());
    }
    let mut operation = json!({
        "operationId": "call",
        "parameters": [
            parameter("path", "store", json!({"type": "string"})),
            parameter("path", "petId", json!({"type": "integer"})),
            parameter("query", "limit", json!({"type": "integer"})),
            parameter("query", "sort", json!({"type": "string"})),
            parameter("query", "tags", json!({"type": "array", "items": {"type": "string"}})),
            filter,
            parameter("query", "note", json!({"type": "string"})),
            parameter("header", "X-Trace", json!({"type": "string"})),
        ],
        "responses": {"200": {"description": "A pet.", "content": {"application/json": {"schema": {"type": "object"}}}}},
    });
    if let (true, Some(operation)) = (method == "post", operation.as_object_mut()) {
        let pet = json!({"type": "object", "properties": {"name": {}, "age": {}, "good": {}}});
        let body = json!({"required": true, "content": {"application/json": {"schema": pet}}});
        operation.insert("requestBody".into(), body);
    }
    json!({"openapi": "3.0.3", "paths": {"/stores/{store}/pets/{petId}": {method: operation}}})
}

/// Returns an answer of about 2 KiB.
fn answer() -> String {
    let pets: Vec<Value> = (0..20)
        .map(|id| json!({"id": id, "name": format!("Pet {id}"), "tags": ["a", "b"], "state": "open", "weight": 1.5}))
        .collect();
    json!({"pets": pets, "next": null}).to_string()
}

/// Answers all requests on the connection alike.
fn serve(stream: &TcpStream, body: &str) {
    let mut reader = BufReader::new(stream);
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    loop {
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            if !matches!(reader.read_line(&mut line), Ok(1..)) {
                return;
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap_or(0);
            }
        }
        let mut content = vec![0; length];
        if std::io::Read::read_exact(&mut reader, &mut content).is_err() {
            return;
        }
        let mut stream = stream;
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
