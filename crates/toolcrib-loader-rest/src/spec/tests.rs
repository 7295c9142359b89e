//! What the files of a document promise.

use serde_json::{Value, json};
use toolcrib_io::files::Root;

use super::{Dialect, Documents, Spec};
use crate::Error;

/// A folder with these files, and the document `api/main.json` in it.
fn read(files: &[(&str, Value)]) -> (tempfile::TempDir, Documents) {
    let folder = tempfile::tempdir().unwrap();
    for (path, value) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    }
    let main = &files[0].1;
    let root = Root::open(folder.path().join("api")).unwrap();
    let documents = Documents::read(&root, "main.json", main.clone());
    (folder, documents)
}

fn main_with(schemas: &Value) -> Value {
    json!({"openapi": "3.0.0", "components": {"schemas": schemas}})
}

#[test]
fn files_below_the_folder_are_found_from_wherever_they_are_named_and_cycles_end() {
    let (_folder, documents) = read(&[
        ("api/main.json", main_with(&json!({"A": {"$ref": "schemas/pet%20one.json#/definitions/Pet"}}))),
        (
            "api/schemas/pet one.json",
            json!({"definitions": {"Pet": {"items": {"$ref": "./common.json"}, "not": {"$ref": "#/definitions/Pet"}}}}),
        ),
        ("api/schemas/common.json", json!({"$ref": "../main.json#/components/schemas/A"})),
    ]);
    let spec = Spec::new(&documents).unwrap();
    let (key, pet) = spec.target(0, "schemas/pet%20one.json#/definitions/Pet").unwrap();
    assert_eq!((key.file, key.pointer.as_str()), (1, "/definitions/Pet"));
    let common = spec.target(pet.file, "./common.json").unwrap().1;
    assert_eq!(spec.resolve(common).unwrap().value, pet.value);
    assert_eq!(spec.target(pet.file, "#/definitions/Pet").unwrap().0, key);
    assert_eq!(spec.stem(1), Some("pet one"));
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let secret = json!({"secret": true});
    let (folder, _) = read(&[("api/main.json", json!({})), ("outside.json", secret.clone())]);
    let api = folder.path().join("api");
    std::os::unix::fs::symlink("../outside.json", api.join("link.json")).unwrap();
    std::os::unix::fs::symlink("..", api.join("up")).unwrap();
    let outside = folder.path().join("outside.json").display().to_string();
    let references = [
        "../outside.json",
        &outside,
        "link.json",
        "up/outside.json",
        "a/../../outside.json",
        "%2e%2e/outside.json",
    ];
    let list: Vec<Value> = references.iter().map(|reference| json!({"$ref": reference})).collect();
    let documents =
        Documents::read(&Root::open(&api).unwrap(), "main.json", json!({"openapi": "3.0.0", "x": list}));
    let spec = Spec::new(&documents).unwrap();
    for reference in references {
        let error = spec.target(0, reference).unwrap_err();
        assert!(
            matches!(error, Error::ExternalReference { .. } | Error::UnreadableReference { .. }),
            "{reference}: {error}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_what_is_wrong() {
    let (folder, _) = read(&[("api/main.json", json!({}))]);
    let api = folder.path().join("api");
    std::fs::write(api.join("broken.yaml"), "a: [\n").unwrap();
    let list =
        json!([{"$ref": "broken.yaml#/a"}, {"$ref": "none.yaml"}, {"$ref": "https://x.example/a.yaml"}]);
    let documents =
        Documents::read(&Root::open(&api).unwrap(), "main.json", json!({"swagger": 2.0, "x": list}));
    let spec = Spec::new(&documents).unwrap();
    assert_eq!(spec.dialect, Dialect::Swagger20);
    for (reference, expected) in [
        ("broken.yaml#/a", "the file that the reference `broken.yaml#/a` names cannot be read: broken.yaml:"),
        ("none.yaml", "the file that the reference `none.yaml` names cannot be read: "),
        (
            "https://x.example/a.yaml",
            "the reference `https://x.example/a.yaml` leaves the folder of the document",
        ),
    ] {
        let error = spec.target(0, reference).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn files_that_lead_on_without_end_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    // Each path through the link is another one, with the same file behind it.
    std::os::unix::fs::symlink(".", folder.path().join("d")).unwrap();
    std::fs::write(folder.path().join("a.json"), r#"{"$ref": "d/a.json"}"#).unwrap();
    let root = Root::open(folder.path()).unwrap();
    let documents = Documents::read(&root, "main.json", json!({"openapi": "3.0.0", "$ref": "a.json"}));
    let spec = Spec::new(&documents).unwrap();
    assert!(matches!(spec.resolve(spec.root()), Err(Error::ReferenceLoop { .. })));
}

#[test]
fn escapes_of_pointers_are_undone() {
    let value = main_with(&json!({"a/b": {"x~y": 1}, "p%q": 2, "é": 3}));
    let documents = Documents::single(value);
    let spec = Spec::new(&documents).unwrap();
    for (pointer, expected) in [("a~1b/x~0y", 1), ("a%7E1b/x%7e0y", 1), ("p%25q", 2), ("%C3%A9", 3), ("é", 3)]
    {
        let (_, node) = spec.target(0, &format!("#/components/schemas/{pointer}")).unwrap();
        assert_eq!(node.value, expected, "{pointer}");
    }
}

#[test]
fn security_schemes_of_swagger_are_those_of_openapi() {
    let documents = Documents::single(json!({"swagger": "2.0", "securityDefinitions": {
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "in": "query", "name": "k"},
        "token": {"type": "oauth2", "flow": "accessCode", "authorizationUrl": "https://a", "tokenUrl": "https://t", "scopes": {"s": ""}},
    }}));
    let schemes = Spec::new(&documents).unwrap().security_schemes();
    let expected = json!({
        "basic": {"type": "http", "scheme": "basic", "description": ""},
        "key": {"type": "apiKey", "in": "query", "name": "k"},
        "token": {"type": "oauth2", "description": "", "flows": {"authorizationCode": {
            "authorizationUrl": "https://a", "tokenUrl": "https://t", "scopes": {"s": ""},
        }}},
    });
    assert_eq!(Value::from(schemes), expected);
}
