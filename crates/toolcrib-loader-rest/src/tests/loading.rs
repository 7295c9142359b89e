//! Sources that are set up wrongly, or whose documents cannot be had.

use serde_json::json;
use toolcrib_model::{Risk, Secret};
use toolcrib_port::{RejectKind, ToolLoader};

use super::server::PetStore;
use crate::{OperationSelector, RestSource, SpecLocation};

async fn reject(source: RestSource) -> (RejectKind, String) {
    let (source, _) = source.open().unwrap();
    let loaded = source.load().await;
    assert!(loaded.tools.is_empty());
    let [reject] = loaded.rejected.as_slice() else { panic!("{:?}", loaded.rejected) };
    assert_eq!(reject.source, source.source());
    (reject.kind, reject.reason.clone())
}

async fn reject_of(name: &str, text: &str) -> (RejectKind, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let (kind, reason) = reject(RestSource::new(path.to_str().unwrap(), "api")).await;
    (kind, reason.replace(&folder.path().display().to_string(), ""))
}

#[test]
fn a_location_is_a_url_only_when_it_says_http() {
    let location = |text: &str| text.parse::<SpecLocation>().unwrap();
    assert_eq!(location("https://user:key@x.example/a.json?token=1").to_string(), "https://x.example/a.json");
    assert_eq!(location("./specs/a.json"), SpecLocation::File("./specs/a.json".into()));
    assert_eq!(location("c:/a.json"), SpecLocation::File("c:/a.json".into()));
}

#[test]
fn a_setting_that_cannot_be_used_is_named() {
    let source = || RestSource::new("pets.yaml", "pets");
    let header = |name: &str, value: &str| {
        source().with_base_url("https://x.example").with_header(name, Secret::new(value)).open()
    };
    for (opened, expected) in [
        (
            source().with_base_url("/api").open(),
            "`base_url` of the OpenAPI source rest pets.yaml: `/api` is not a URL",
        ),
        (source().with_base_url("ftp://x").open(), "`ftp://x` is neither http nor https"),
        (source().with_header("X-Key", Secret::new("k")).open(), "they are sent to `base_url` only; set it"),
        (header("X Key", "k"), "`X Key` cannot be the name of a header"),
        (header("X-Key", "hunter2\r\n"), "the value of `X-Key` contains control characters"),
        (RestSource::new("pets.yaml", "a::b").open(), "`namespace` of the OpenAPI source"),
    ] {
        let Err(error) = opened else { panic!("{expected}") };
        assert!(error.to_string().contains(expected) && !error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn a_document_that_cannot_be_read_says_where_and_why() {
    let (kind, reason) = reject(RestSource::new("no/such.yaml", "api")).await;
    assert_eq!((kind, reason.contains("no/such.yaml")), (RejectKind::Unreadable, true), "{reason}");
    let (kind, reason) = reject_of("broken.json", "{\n  \"openapi\": \"3.0.0\",,\n}").await;
    assert_eq!((kind, reason.starts_with("/broken.json:2:")), (RejectKind::Syntax, true), "{reason}");
    let (kind, reason) = reject_of("broken.yaml", "openapi: 3.0.0\npaths: [\n").await;
    assert_eq!((kind, reason.starts_with("/broken.yaml:")), (RejectKind::Syntax, true), "{reason}");
    let (kind, reason) = reject_of("old.yaml", "swagger: '1.2'\n").await;
    assert_eq!((kind, reason.contains("Swagger 1.2")), (RejectKind::Unsupported, true), "{reason}");
    let (kind, reason) = reject_of("app.yaml", "app: {id: x}\n").await;
    assert_eq!(
        (kind, reason.contains("expected an `openapi` version")),
        (RejectKind::InvalidTool, true),
        "{reason}"
    );
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let (kind, reason) = reject_of("deep.json", &deep).await;
    assert_eq!(kind, RejectKind::TooLarge, "{reason}");
}

#[tokio::test]
async fn a_document_on_a_server_is_fetched_under_the_guard() {
    let store = PetStore::start().await;
    let url = format!("{}/openapi.yaml", store.origin);
    let (kind, reason) = reject(RestSource::new(&format!("{url}.none"), "pets").with_private_allowed()).await;
    assert_eq!((kind, reason.contains("404 Not Found")), (RejectKind::Unavailable, true), "{reason}");
    let small = RestSource::new(&url, "pets").with_private_allowed().with_max_response_bytes(100);
    assert_eq!(reject(small).await.0, RejectKind::TooLarge);
}

#[tokio::test]
async fn words_of_destruction_raise_the_risk_of_an_operation() {
    let operation = |id: &str| json!({"operationId": id, "responses": {}});
    let document = json!({"openapi": "3.0.0", "servers": [{"url": "https://api.example"}], "paths": {
        "/chat.delete": {"post": operation("chat_delete")},
        "/admin.users.remove": {"post": operation("dismiss")},
        "/admin/users": {"post": operation("invite"), "get": operation("listUsers")},
        "/purge": {"get": operation("run")},
        "/pets/{delete}": {"post": operation("greet")},
        "/pets": {"delete": operation("clear")},
        "/files.remove": {"post": operation("tame")},
    }});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.json");
    std::fs::write(&path, document.to_string()).unwrap();
    let selector = OperationSelector::default().with_operation("tame");
    let mut source = RestSource::new(path.to_str().unwrap(), "api");
    source.risks.push((selector, Risk::Low));
    let (source, _) = source.open().unwrap();
    let loaded = source.load().await;
    let mut told: Vec<_> = loaded
        .tools
        .iter()
        .map(|tool| {
            let reason =
                tool.metadata().get("risk_reason").and_then(serde_json::Value::as_str).unwrap_or("-");
            format!("{} {} {reason}", tool.name.name(), tool.traits().risk)
        })
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            "chat_delete high the word `delete` in its name or path",
            "clear high -",
            "dismiss high the word `remove` in its name or path",
            "greet medium -",
            "invite high the word `admin` in its name or path",
            "listUsers low -",
            "run medium the word `purge` in its name or path",
            "tame low -",
        ]
    );
}
