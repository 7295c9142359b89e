//! Documents of several files, and documents that are kept.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolcrib_io::table::{MemoryTable, SharedGeneration};
use toolcrib_port::{LoadOutcome, RejectKind, ToolLoader};

use crate::{DocumentCache, RestLoader, RestSource};

#[tokio::test]
async fn a_document_of_several_files_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "openapi.yaml",
        "openapi: 3.0.3\npaths:\n  /pets/{id}: {$ref: 'paths/pet.yaml'}\n  /gone: {$ref: 'paths/gone.yaml'}\n",
    );
    write(
        "paths/pet.yaml",
        "parameters: [{$ref: '../shared.json#/id'}]\n\
         put:\n  operationId: put\n  requestBody: {$ref: '#/bodies/pet'}\n  responses: {200: {$ref: '../shared.json#/pets'}}\n\
         bodies: {pet: {required: true, content: {application/json: {schema: {$ref: '../schemas/Pet.yaml'}}}}}\n",
    );
    let shared = json!({
        "id": {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
        "pets": {"content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "schemas/Pet.yaml"}}}}},
    });
    write("shared.json", &shared.to_string());
    write(
        "schemas/Pet.yaml",
        "type: object\nproperties: {name: {type: string}, mother: {$ref: 'Pet.yaml'}}\n",
    );
    let path = folder.path().join("openapi.yaml");
    let (source, _) = RestSource::new(path.to_str().unwrap(), "pets").open().unwrap();
    let loaded = source.load().await;
    let [put] = loaded.tools.as_slice() else { panic!("{loaded:?}") };
    let expected = json!({
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "mother": {"$ref": "#/$defs/Pet"}},
        "required": ["id"],
        "additionalProperties": false,
        "$defs": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}, "mother": {"$ref": "#/$defs/Pet"}}}},
    });
    assert_eq!(put.parameters, expected);
    assert_eq!(put.output_parameters["items"], json!({"$ref": "#/$defs/Pet"}));
    let [reject] = loaded.rejected.as_slice() else { panic!("{loaded:?}") };
    assert_eq!((reject.name.as_deref(), reject.kind), (Some("/gone"), RejectKind::ExternalRef));
    assert!(reject.reason.contains("paths/gone.yaml"), "{}", reject.reason);
}

/// What a server does with the document.
#[derive(Clone, Default)]
struct Served {
    status: StatusCode,
    body: String,
    etag: Option<&'static str>,
    /// The status of each answer.
    answered: Vec<u16>,
}

struct Server {
    url: String,
    served: Arc<Mutex<Served>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start() -> Self {
        async fn answer(State(served): State<Arc<Mutex<Served>>>, headers: HeaderMap) -> Response {
            let mut served = served.lock();
            let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
            let status = match served.etag {
                Some(etag) if known == Some(etag) && served.status.is_success() => StatusCode::NOT_MODIFIED,
                _ => served.status,
            };
            served.answered.push(status.as_u16());
            let body = if status.is_success() { served.body.clone() } else { String::new() };
            let mut response = (status, body).into_response();
            if let Some(etag) = served.etag {
                response.headers_mut().insert(header::ETAG, etag.parse().unwrap());
            }
            response
        }
        let served = Arc::new(Mutex::new(Served::default()));
        let app = Router::new().route("/openapi.yaml", get(answer)).with_state(Arc::clone(&served));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/openapi.yaml", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, served, task }
    }

    fn serve(&self, operation: &str, etag: &'static str) {
        let mut served = self.served.lock();
        served.status = StatusCode::OK;
        served.etag = Some(etag);
        served.body = format!("openapi: 3.0.3\npaths: {{/a: {{get: {{operationId: {operation}}}}}}}\n");
    }

    fn answered(&self) -> Vec<u16> {
        std::mem::take(&mut self.served.lock().answered)
    }
}

fn names(loaded: &LoadOutcome) -> Vec<&str> {
    loaded.tools.iter().map(|tool| tool.name.name()).collect()
}

fn loader(server: &Server, cache: Option<DocumentCache>) -> RestLoader {
    let mut source = RestSource::new(&server.url, "api").with_private_allowed();
    source.cache = cache;
    source.open().unwrap().0
}

#[tokio::test]
async fn a_document_that_has_not_changed_is_not_sent_again_and_one_that_has_is() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let cache = DocumentCache::new(folder.path().join("made/when/needed"));
    server.serve("one", "\"1\"");
    for expected in [200, 304] {
        // Another loader knows what the first has kept.
        let loaded = loader(&server, Some(cache.clone())).load().await;
        assert_eq!((names(&loaded), loaded.rejected.len()), (vec!["one"], 0));
        assert_eq!(server.answered(), [expected]);
    }
    server.serve("two", "\"2\"");
    assert_eq!(names(&loader(&server, Some(cache)).load().await), ["two"]);
    assert_eq!(server.answered(), [200]);
}

#[tokio::test]
async fn what_was_kept_stands_in_for_a_document_that_cannot_be_had_with_a_warning() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let cache = DocumentCache::new(folder.path());
    server.serve("kept", "\"1\"");
    let loader = loader(&server, Some(cache.clone()));
    loader.load().await;
    let warned = |loaded: LoadOutcome, expected: &str| {
        assert_eq!(names(&loaded), ["kept"]);
        let [warning] = loaded.rejected.as_slice() else { panic!("{loaded:?}") };
        assert_eq!((warning.kind, &warning.name), (RejectKind::Unavailable, &None));
        assert!(
            warning.reason.contains(expected) && warning.reason.ends_with("the cached copy is used"),
            "{}",
            warning.reason
        );
    };
    server.served.lock().status = StatusCode::INTERNAL_SERVER_ERROR;
    warned(loader.load().await, "500 Internal Server Error");
    *server.served.lock() =
        Served { status: StatusCode::OK, body: "<html>".into(), etag: Some("\"3\""), ..Served::default() };
    warned(loader.load().await, "");
    server.task.abort();
    while tokio::net::TcpStream::connect(server.url["http://".len()..].trim_end_matches("/openapi.yaml"))
        .await
        .is_ok()
    {
        tokio::task::yield_now().await;
    }
    warned(loader.load().await, "cannot connect to");
}

#[tokio::test]
async fn a_document_that_may_not_be_fetched_is_not_had_from_what_was_kept_either() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let cache = DocumentCache::new(folder.path());
    server.serve("kept", "\"1\"");
    assert_eq!(names(&loader(&server, Some(cache.clone())).load().await), ["kept"]);
    let rules = serde_json::from_value(json!({"network": ["*.example.com"]})).unwrap();
    let access = toolcrib_policy::Access::new(&rules).unwrap();
    let source = RestSource::new(&server.url, "api").with_private_allowed().with_cache(cache);
    let loaded = source.with_access(access).open().unwrap().0.load().await;
    assert_eq!((names(&loaded), loaded.rejected.len()), (vec![], 1));
}

#[tokio::test]
async fn a_copy_that_was_cut_off_is_not_used() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    server.serve("one", "\"1\"");
    let loader = loader(&server, Some(DocumentCache::new(folder.path())));
    loader.load().await;
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 3]).unwrap();
    assert_eq!(names(&loader.load().await), ["one"]);
    assert_eq!(server.answered(), [200, 200]);
}

#[test]
fn a_cache_keeps_to_its_bound_and_drops_what_is_oldest() {
    use crate::document_cache::{CachedDocument, Validators};
    let folder = tempfile::tempdir().unwrap();
    let cache = DocumentCache::new(folder.path()).with_max_bytes(3000);
    let url = |index: usize| url::Url::parse(&format!("https://x.example/{index}?key=secret")).unwrap();
    let kept = |bytes: usize| CachedDocument { validators: Validators::default(), bytes: vec![b'x'; bytes] };
    std::fs::write(folder.path().join("mine.txt"), [b'x'; 5000]).unwrap();
    for index in 0..5 {
        cache.store(&url(index), &kept(1000)).unwrap();
        // The clock of the file system may be coarse.
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000 + index as u64);
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let file = std::fs::File::options().write(true).open(entry.unwrap().path()).unwrap();
            if file.metadata().unwrap().modified().unwrap()
                > std::time::UNIX_EPOCH + std::time::Duration::from_secs(5000)
            {
                file.set_modified(time).unwrap();
            }
        }
    }
    let there: Vec<_> = (0..5).filter(|index| cache.load(&url(*index)).is_some()).collect();
    assert_eq!(there, [3, 4]);
    cache.store(&url(9), &kept(4000)).unwrap();
    assert_eq!(cache.load(&url(9)), None);
    let names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.contains(&"mine.txt".to_owned()) && names.iter().all(|name| !name.contains("secret")),
        "{names:?}"
    );
}

#[tokio::test]
async fn one_process_fetches_a_document_and_the_others_take_it() {
    let (server, table) = (Server::start().await, Arc::new(MemoryTable::default()));
    let replica = |owner: &str| {
        let mut source = RestSource::new(&server.url, "api").with_private_allowed();
        let generation = SharedGeneration::new(Arc::clone(&table) as _, "rest api", owner);
        source.generation = Some(Arc::new(generation));
        source.open().unwrap().0
    };
    server.serve("one", "\"1\"");
    let (first, second) = (replica("first"), replica("second"));
    for replica in [&first, &second, &second] {
        assert_eq!(names(&replica.load().await), ["one"]);
    }
    assert_eq!(server.answered(), [200]);
    server.serve("two", "\"2\"");
    assert_eq!(names(&second.load().await), ["one"], "it is not the one that fetches");
    assert_eq!(names(&first.load().await), ["two"]);
    assert_eq!(names(&second.load().await), ["two"]);
    assert_eq!(server.answered(), [200]);
    server.served.lock().status = StatusCode::SERVICE_UNAVAILABLE;
    let loaded = first.load().await;
    assert_eq!((names(&loaded), loaded.rejected[0].kind), (vec!["two"], RejectKind::Unavailable));
}
