//! Documents of several files that lead round in circles, or on without end.

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_port::{LoadOutcome, RejectKind};
use toolcrib_schema::CompiledSchema;

use super::Fixture;
use crate::RestSource;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

async fn load(folder: &TempDir) -> LoadOutcome {
    let path = folder.path().join("a.yaml");
    Fixture::open(RestSource::new(path.to_str().unwrap(), "api")).await.loaded
}

#[tokio::test]
async fn files_that_name_one_another_in_a_circle_make_recursive_schemas() {
    let folder = folder(&[
        (
            "a.yaml",
            "openapi: 3.1.0\n\
             paths: {/a: {post: {operationId: a, requestBody: {required: true, content: {application/json: {schema: {type: array, items: {$ref: 'b.yaml#/B'}}}}}}}}\n\
             A: {type: object, properties: {b: {$ref: 'b.yaml#/B'}, self: {$ref: 'a.yaml#/A'}, here: {$ref: '#/A'}}}\n",
        ),
        ("b.yaml", "B: {type: object, properties: {a: {$ref: 'a.yaml#/A'}, b: {$ref: './b.yaml#/B'}}}\n"),
    ]);
    let loaded = load(&folder).await;
    let [tool] = loaded.tools.as_slice() else { panic!("{loaded:?}") };
    let schema = CompiledSchema::compile(&tool.parameters.to_value()).unwrap();
    let nested = |wrong: Value| json!({"body": [{"a": {"b": {"a": {"self": {"here": {"b": wrong}}}}}}]});
    assert!(schema.validate(&nested(json!({}))).is_ok());
    assert!(schema.validate(&nested(json!(7))).is_err());
    assert_eq!(tool.parameters.definitions().len(), 2);
}

#[tokio::test]
async fn references_that_only_lead_to_one_another_reject_what_needs_them_and_nothing_else() {
    let chain: Vec<String> =
        (0..50).map(|index| format!("  c{index}: {{$ref: 'b.yaml#/chain/c{}'}}\n", index + 1)).collect();
    let operations: Vec<String> = [
        ("path", "{$ref: 'b.yaml#/path'}"),
        ("parameter", "{get: {operationId: parameter, parameters: [{$ref: 'b.yaml#/loop'}]}}"),
        ("body", "{post: {operationId: body, requestBody: {$ref: 'b.yaml#/loop'}}}"),
        ("schema", "{get: {operationId: schema, parameters: [{name: x, in: query, schema: {$ref: 'b.yaml#/loop'}}]}}"),
        ("file", "{get: {operationId: file, parameters: [{name: x, in: query, schema: {$ref: 'c.yaml'}}]}}"),
        ("through", "{get: {operationId: through, parameters: [{name: x, in: query, schema: {$ref: 'b.yaml#/loop/x/y'}}]}}"),
        ("chain", "{get: {operationId: chain, parameters: [{name: x, in: query, schema: {$ref: 'b.yaml#/chain/c0'}}]}}"),
        ("fine", "{get: {operationId: fine, responses: {'200': {$ref: 'b.yaml#/loop'}}}}"),
    ]
    .iter()
    .map(|(name, item)| format!("  /{name}: {item}\n"))
    .collect();
    let (chain, operations) = (chain.concat(), operations.concat());
    let folder = folder(&[
        ("a.yaml", &format!("openapi: 3.0.0\npaths:\n{operations}back: {{$ref: 'b.yaml#/loop'}}\n")),
        (
            "b.yaml",
            &format!(
                "loop: {{$ref: 'a.yaml#/back'}}\npath: {{$ref: 'a.yaml#/paths/~1path'}}\nchain:\n{chain}  c50: {{}}\n"
            ),
        ),
        ("c.yaml", "$ref: c.yaml\n"),
    ]);
    let loaded = load(&folder).await;
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.name.name()).collect();
    assert_eq!(names, ["fine"], "{:?}", loaded.rejected);
    assert_eq!(loaded.rejected.len(), 7);
    for reject in &loaded.rejected {
        assert_eq!(reject.kind, RejectKind::InvalidSchema, "{}", reject.reason);
        assert!(reject.reason.contains("is circular, or its chain is too long"), "{}", reject.reason);
    }
}

#[tokio::test]
async fn of_more_files_than_there_may_be_the_rest_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<String> =
        (0..1_100).map(|index| format!("  /p{index}: {{$ref: '{index}.yaml'}}\n")).collect();
    for index in 0..paths.len() {
        std::fs::write(folder.path().join(format!("{index}.yaml")), "get: {}\n").unwrap();
    }
    std::fs::write(folder.path().join("a.yaml"), format!("openapi: 3.0.0\npaths:\n{}", paths.concat()))
        .unwrap();
    let loaded = load(&folder).await;
    // The document itself is one of the thousand.
    assert!((999..=1_000).contains(&loaded.tools.len()), "{}", loaded.tools.len());
    assert_eq!(loaded.tools.len() + loaded.rejected.len(), 1_100);
    let reject = &loaded.rejected[0];
    assert_eq!(reject.kind, RejectKind::ExternalRef);
    assert!(reject.reason.contains("1000"), "{}", reject.reason);
}
