//! Files that others have written: catalogues of tools, and `OpenAPI` documents.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};

use crate::support::{TestDir, shared};

/// How many catalogues there are.
const CATALOGUES: usize = 10;

/// The methods that an operation may have.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The tools that loading this file gives. Nothing may be rejected.
async fn load(dir: &TestDir, option: &str, path: &Path) -> Vec<Value> {
    let loaded = dir.run(["load", option, path.to_str().unwrap(), "--json"]).await.expect(0).json();
    assert_eq!(loaded["rejected"], Value::Array(Vec::new()), "{}", path.display());
    loaded["tools"].as_array().unwrap().clone()
}

fn name_and_fingerprint(tool: &Value) -> (String, String) {
    let text = |key: &str| tool[key].as_str().unwrap().to_owned();
    (text("qualified_name"), text("fingerprint"))
}

#[tokio::test]
async fn the_catalogues_load_with_the_names_and_fingerprints_of_their_own_loader() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("data/compat");
    let expected: Value =
        serde_json::from_slice(&fs::read(folder.join("fms_test_data.json")).unwrap()).unwrap();
    let dir = TestDir::new();
    let (mut loaded, mut compared) = (0, 0);
    for entry in fs::read_dir(folder.join("fms_files")).unwrap() {
        let path = entry.unwrap().path();
        let tools = load(&dir, "--file", &path).await;
        assert!(!tools.is_empty(), "{}", path.display());
        loaded += 1;
        let same_file =
            |known: &&Value| Path::new(known["file"].as_str().unwrap()).file_name() == path.file_name();
        if let Some(known) = expected.as_array().unwrap().iter().find(same_file) {
            let known: BTreeSet<_> =
                known["tools"].as_array().unwrap().iter().map(name_and_fingerprint).collect();
            let tools: BTreeSet<_> = tools.iter().map(name_and_fingerprint).collect();
            assert_eq!(tools, known, "{}", path.display());
            compared += 1;
        }
    }
    assert_eq!(loaded, CATALOGUES);
    assert!(compared > 0, "the expectations name none of the files");
}

/// The version of a document, and how many operations it has.
fn version_and_operations(path: &Path) -> (String, usize) {
    let bytes = fs::read(path).unwrap();
    let document = parse(&bytes, Format::detect(path, &bytes), &Limits::default()).unwrap().value;
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|item| item.as_object().unwrap().keys());
    let operations = operations.filter(|key| METHODS.contains(&key.as_str())).count();
    (document["openapi"].as_str().unwrap_or_default().to_owned(), operations)
}

#[tokio::test]
async fn each_operation_of_the_pet_store_documents_is_a_tool() {
    let Some(shared) = shared() else { return };
    let dir = TestDir::new();
    let mut documents = 0;
    for entry in fs::read_dir(shared.join("data/openapi")).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().and_then(OsStr::to_str).unwrap().contains("petstore") {
            continue;
        }
        let (version, operations) = version_and_operations(&path);
        if version.starts_with("3.0.") {
            assert_eq!(load(&dir, "--openapi", &path).await.len(), operations, "{}", path.display());
            documents += 1;
        }
    }
    assert!(documents > 0, "there is no such document");
}
