//! Calls against a real server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolcrib_model::{ErrorKind, Secret, ToolError};
use toolcrib_policy::{Access, Call};
use toolcrib_port::{CallContext, ToolEngine as _, ToolLoader};

use super::server::{DOCUMENT, PetStore};
use super::{Fixture, invoke};
use crate::RestSource;

/// The pet store, loaded from its own URL.
async fn store() -> (PetStore, Fixture) {
    let store = PetStore::start().await;
    let source = RestSource::new(&format!("{}/openapi.yaml", store.origin), "pets").with_private_allowed();
    let fixture = Fixture::open(source).await;
    assert_eq!(fixture.loaded.rejected, []);
    (store, fixture)
}

/// The document in a file, with calls to this server.
async fn from_file(configure: impl FnOnce(RestSource) -> RestSource) -> (tempfile::TempDir, Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pets.yaml");
    std::fs::write(&path, DOCUMENT).unwrap();
    let fixture = Fixture::open(configure(RestSource::new(path.to_str().unwrap(), "pets"))).await;
    (folder, fixture)
}

impl Fixture {
    async fn ok(&self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments).await;
        assert_eq!(result.error, None);
        result.result
    }

    async fn error(&self, name: &str, arguments: Value) -> ToolError {
        self.call(name, arguments).await.error.unwrap()
    }
}

#[tokio::test]
async fn a_pet_store_is_driven_through_all_its_operations() {
    let (_store, pets) = store().await;
    assert_eq!(pets.loaded.tools.len(), 8);
    assert_eq!(pets.tool("addPet").parameter_names().collect::<Vec<_>>(), ["name", "parent"]);
    let added = pets.call("addPet", json!({"name": "Rex", "parent": {"name": "Mia"}})).await;
    assert_eq!(added.result, json!({"id": 1, "name": "Rex", "parent": {"name": "Mia"}}));
    assert_eq!(added.metadata["status"], 201);
    assert_eq!(added.metadata["content_type"], "application/json");
    assert!(added.metadata["elapsed_ms"].is_u64());
    assert_eq!(pets.ok("listPets", json!({"tag": ["a", "b"]})).await[0]["id"], 1);
    assert_eq!(pets.ok("getPet", json!({"petId": "1"})).await["name"], "Rex");
    let there = pets.ok("hasPet", json!({"petId": "1"})).await;
    assert_eq!(
        (&there["status"], &there["headers"]["content-type"]),
        (&json!(200), &json!("application/json"))
    );
    let gone = pets.call("deletePet", json!({"petId": "1"})).await;
    assert_eq!((gone.result, &gone.metadata["status"]), (Value::Null, &json!(204)));
    let missing = pets.call("getPet", json!({"petId": "1"})).await;
    assert_eq!(missing.metadata["status"], 404);
    let error = missing.error.unwrap();
    assert_eq!(error.kind, ErrorKind::ToolFailed);
    assert_eq!(error.message, r#"GET /api/pets/1 was answered with 404 Not Found: {"problem":"no pet 1"}"#);
}

#[tokio::test]
async fn every_argument_arrives_in_its_slot() {
    let (_store, pets) = store().await;
    let arguments = json!({
        "slot": "../../etc/passwd?x=1#f", "q": "a&b=c", "X-Trace": "t 1", "session": "1; admin=1", "note": "é",
    });
    let seen = pets.ok("echo", arguments).await;
    assert_eq!(seen["method"], "PUT");
    assert_eq!(seen["uri"], "/api/echo/..%2F..%2Fetc%2Fpasswd%3Fx%3D1%23f?q=a%26b%3Dc");
    assert_eq!(seen["headers"]["x-trace"], "t 1");
    assert_eq!(seen["headers"]["cookie"], "session=1%3B%20admin%3D1");
    assert_eq!(seen["headers"]["content-type"], "application/json");
    assert_eq!(seen["body"], r#"{"note":"é"}"#);
    let seen = pets.ok("echo", json!({"slot": "x"})).await;
    assert_eq!((&seen["body"], seen["headers"].get("content-type")), (&json!(""), None));
    let error = pets.error("echo", json!({"slot": ".."})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    assert!(error.message.contains("`slot`"), "{error}");
}

#[tokio::test]
async fn an_answer_is_read_as_what_it_is() {
    let (_store, pets) = store().await;
    for (kind, expected) in [
        ("text", json!("hello")),
        ("xml", json!("<a/>")),
        ("image", json!({"mimeType": "image/png", "bytes": 5, "blob": "iVBOR/8="})),
        ("vendor", json!({"a": 1})),
        ("liar", json!("<html>")),
        ("latin", json!("caf\u{e9}")),
        ("none", json!(null)),
        ("moved", json!("stolen")),
    ] {
        assert_eq!(pets.ok("answer", json!({"kind": kind})).await, expected, "{kind}");
    }
    let liar = pets.call("answer", json!({"kind": "liar"})).await;
    assert!(liar.metadata["warning"].as_str().unwrap().contains("declares the body as JSON, but it is not"));
    let binary = pets.call("answer", json!({"kind": "binary-text"})).await;
    assert_eq!(binary.result, json!({"mimeType": "text/plain", "bytes": 3, "blob": "AP8B"}));
    assert!(
        binary.metadata["warning"].as_str().unwrap().contains("declares the body as text, but it is not")
    );
}

#[tokio::test]
async fn a_failure_tells_status_and_the_beginning_of_the_body() {
    let (_store, pets) = store().await;
    let error = pets.error("answer", json!({"kind": "error"})).await;
    let expected =
        format!("GET /api/answer/error was answered with 500 Internal Server Error: {}…", "é".repeat(1024));
    assert_eq!((error.message, error.retryable), (expected, false));
    let error = pets.error("answer", json!({"kind": "busy"})).await;
    assert!(error.retryable && error.hint.unwrap().contains("after 7 s"));
    assert!(error.message.ends_with("429 Too Many Requests: slow down"));
}

#[tokio::test]
async fn a_redirect_is_not_followed_to_another_origin_nor_by_a_call_that_changes_something() {
    let (_store, pets) = store().await;
    let error = pets.error("answer", json!({"kind": "elsewhere"})).await;
    assert!(error.message.contains("307 Temporary Redirect, to http://192.0.2.1/"), "{error}");
    let error = pets.error("postAnswer", json!({"kind": "moved"})).await;
    assert!(error.message.contains("307 Temporary Redirect, to /stolen"), "{error}");
}

#[tokio::test]
async fn headers_of_the_source_go_with_every_call_to_its_base_url() {
    let store = PetStore::start().await;
    let base_url = format!("{}/api/", store.origin);
    let (_folder, pets) = from_file(|source| {
        source
            .with_base_url(base_url)
            .with_private_allowed()
            .with_header("X-Trace", Secret::new("from the operator"))
    })
    .await;
    assert_eq!(pets.tool("echo").parameter_names().collect::<Vec<_>>(), ["slot", "q", "session", "note"]);
    let seen = pets.ok("echo", json!({"slot": "x", "X-Trace": "from the model"})).await;
    assert_eq!(seen["headers"]["x-trace"], "from the operator");
    assert_eq!(seen["uri"], "/api/echo/x");
}

#[tokio::test]
async fn a_long_answer_is_cut_off_at_the_limit() {
    let store = PetStore::start().await;
    let base_url = format!("{}/api", store.origin);
    let (_folder, pets) = from_file(|source| {
        source.with_base_url(base_url).with_private_allowed().with_max_response_bytes(1000)
    })
    .await;
    let long = pets.call("answer", json!({"kind": "long"})).await;
    assert_eq!((long.result.as_str().unwrap().len(), &long.metadata["truncated"]), (1000, &json!(true)));
}

#[tokio::test]
async fn a_document_from_a_file_without_a_server_loads_and_its_calls_say_what_to_set() {
    let (_folder, pets) = from_file(|source| source).await;
    assert_eq!(pets.loaded.tools.len(), 8);
    let error = pets.error("listPets", json!({})).await;
    assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, false));
    assert!(
        error.message.contains("`/api`") && error.message.ends_with("set `base_url` for this source"),
        "{error}"
    );
}

#[tokio::test]
async fn a_host_that_is_down_is_named_with_what_to_do() {
    // The port was free a moment ago, and nobody listens on it.
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let base_url = format!("http://127.0.0.1:{port}");
    let (_folder, pets) = from_file(|source| source.with_base_url(&base_url).with_private_allowed()).await;
    for (name, arguments) in [("listPets", json!({})), ("addPet", json!({"name": "Rex"}))] {
        let error = pets.error(name, arguments).await;
        assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, true));
        assert!(error.message.contains(&format!("127.0.0.1:{port}")), "{error}");
        assert!(error.hint.unwrap().contains("base_url"));
    }
}

#[tokio::test]
async fn a_private_address_is_refused_unless_the_operator_wrote_it_or_allows_it() {
    let store = PetStore::start().await;
    // The document chooses the server here, so its address is no leave to go there.
    let document =
        DOCUMENT.replacen("servers: [{url: /api}]", &format!("servers: [{{url: '{}'}}]", store.origin), 1);
    assert_ne!(document, DOCUMENT);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("openapi.yaml");
    std::fs::write(&path, document).unwrap();
    let pets = Fixture::open(RestSource::new(path.to_str().unwrap(), "pets")).await;
    let error = pets.error("listPets", json!({})).await;
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.hint.unwrap().contains("allow_private: true"));
    // The operator is told before any call, and no person is asked about a call that is refused.
    let (loader, engine) = RestSource::new(path.to_str().unwrap(), "pets").open().unwrap();
    let tool = loader.load().await.tools.into_iter().find(|tool| tool.name.name() == "listPets").unwrap();
    let [warning] = loader.warnings().try_into().unwrap();
    assert!(warning.contains(&format!("set `base_url: {}/` if it is meant", store.origin)), "{warning}");
    let call = Call::new(Arc::new(tool), loader.source().into(), 1);
    assert_eq!(engine.check(&call, &CallContext::new("s")).await.unwrap_err().kind, ErrorKind::Denied);

    let (_folder, pets) = from_file(|source| source.with_base_url(format!("{}/api", store.origin))).await;
    assert!(pets.call("listPets", json!({})).await.is_ok());
}

#[tokio::test]
async fn a_host_that_access_does_not_name_is_not_asked() {
    let store = PetStore::start().await;
    let to_store = |source: RestSource| source.with_base_url(format!("{}/api", store.origin));
    let only = |host: &str| {
        let rules = serde_json::from_value(json!({"network": [host]})).unwrap();
        Access::new(&rules).unwrap()
    };
    let address = store.origin.strip_prefix("http://").unwrap();
    let (_folder, pets) = from_file(|source| to_store(source).with_access(only(address))).await;
    pets.ok("addPet", json!({"body": {"name": "Rex"}})).await;
    let (_folder, others) = from_file(|source| to_store(source).with_access(only("*.example.com"))).await;
    let error = others.error("addPet", json!({"body": {"name": "Tom"}})).await;
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.message.starts_with("may not connect to `127.0.0.1` at port "), "{error}");
    assert!(error.hint.unwrap().contains("`access.network`"));
    let all = pets.ok("listPets", json!({})).await;
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    // The document itself is fetched under the same rule.
    let spec = RestSource::new(&format!("{}/openapi.yaml", store.origin), "pets").with_access(only("[::1]"));
    assert_eq!(Fixture::open(spec.with_private_allowed()).await.loaded.tools.len(), 0);
}

#[tokio::test]
async fn a_call_that_may_have_arrived_is_not_said_to_have_failed() {
    // A server that hangs up once it has been asked.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.readable().await.unwrap();
        }
    });
    let (_folder, pets) = from_file(|source| source.with_base_url(base_url).with_private_allowed()).await;
    assert_eq!(pets.error("addPet", json!({"name": "Rex"})).await.kind, ErrorKind::OutcomeUnknown);
    assert_eq!(pets.error("deletePet", json!({"petId": "1"})).await.kind, ErrorKind::Unavailable);
    server.abort();
}

#[tokio::test]
async fn a_server_that_does_not_answer_runs_into_the_timeout() {
    // Connections are made by the system and never taken up.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let timeout = Duration::from_millis(50);
    let (_folder, pets) =
        from_file(|source| source.with_base_url(base_url).with_private_allowed().with_timeout(timeout)).await;
    assert_eq!(pets.error("listPets", json!({})).await.kind, ErrorKind::Timeout);
    assert_eq!(pets.error("addPet", json!({"name": "Rex"})).await.kind, ErrorKind::OutcomeUnknown);
}

#[tokio::test]
async fn a_call_of_a_tool_that_the_document_no_longer_has_fails_as_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pets.yaml");
    std::fs::write(&path, DOCUMENT).unwrap();
    let (loader, engine) = RestSource::new(path.to_str().unwrap(), "pets").open().unwrap();
    let old = loader.load().await;
    let tool = |name: &str| old.tools.iter().find(|tool| tool.name.name() == name).unwrap().clone();
    // `deletePet` goes, and the argument of `getPet` is called otherwise.
    std::fs::write(&path, DOCUMENT.replace("delete:", "x-delete:").replace("petId", "id")).unwrap();
    assert_eq!(loader.load().await.tools.len(), 7);
    for name in ["deletePet", "getPet"] {
        let error = invoke(&engine, tool(name), json!({"petId": "1", "id": "1"})).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::ToolChanged, "{name}");
    }
    // A document that cannot be read takes nothing away.
    std::fs::write(&path, "openapi: [").unwrap();
    assert!(loader.load().await.tools.is_empty());
    let error = invoke(&engine, tool("listPets"), json!({})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Unavailable);
}
