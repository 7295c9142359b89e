//! What the reading of operations promises.

#![expect(clippy::needless_pass_by_value, reason = "the values are literals of the tests")]

mod bodies;
mod dialects;
mod exploded;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{Risk, Tool};
use toolcrib_port::{LoadOutcome, RejectKind};
use url::Url;

use super::{ConversionSettings, ConvertedDocument, ServerSettings, read_document};
use crate::auth::BoundAuth;
use crate::selection::Selection;
use crate::{Error, OperationSelector};

fn read_from(document: &Value, base: ServerSettings<'_>) -> Result<ConvertedDocument, Error> {
    read_with(document, base, &Selection::default())
}

fn read_with(
    document: &Value,
    base: ServerSettings<'_>,
    selection: &Selection,
) -> Result<ConvertedDocument, Error> {
    let setting = ConversionSettings {
        source: "test",
        namespace: "api",
        base,
        auth: &BoundAuth::default(),
        selection,
        has_workspace: false,
    };
    read_document(document, &setting)
}

fn read(paths: Value) -> LoadOutcome {
    let document = json!({"openapi": "3.0.3", "paths": paths, "components": {
        "parameters": {"Id": {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}},
        "requestBodies": {"Pet": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}},
        "responses": {"Pet": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}},
        "pathItems": {"Pets": {"get": {"operationId": "referred"}, "post": {"operationId": "hidden"}}},
        "schemas": {"Pet": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "mother": {"$ref": "#/components/schemas/Pet"},
        }}},
    }});
    read_from(&document, ServerSettings::default()).unwrap().loaded
}

fn names(loaded: &LoadOutcome) -> Vec<&str> {
    loaded.tools.iter().map(|tool| tool.name.name()).collect()
}

/// The argument schema of a `POST` to a path with one parameter.
fn parameters_of(operation: Value) -> Value {
    let loaded = read(json!({"/pets/{id}": {"post": operation}}));
    assert_eq!(loaded.rejected, []);
    loaded.tools[0].parameters.to_value().into_owned()
}

fn json_body(required: bool, schema: Value) -> Value {
    json!({"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}})
}

#[test]
fn every_method_is_a_tool_with_its_risk() {
    let operation = json!({"responses": {}});
    let item: Value = ["get", "put", "post", "delete", "patch", "head", "options", "trace"]
        .into_iter()
        .map(|method| (method.to_owned(), operation.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let loaded = read(json!({"/pets/{petId}": item, "x-note": "not a path"}));
    let risks: Vec<_> =
        loaded.tools.iter().map(|tool| (tool.name.name(), tool.traits().risk.as_str())).collect();
    let expected = [
        ("get_pets_petid", "low"),
        ("put_pets_petid", "medium"),
        ("post_pets_petid", "medium"),
        ("delete_pets_petid", "high"),
        ("patch_pets_petid", "medium"),
        ("head_pets_petid", "low"),
        ("options_pets_petid", "low"),
        ("trace_pets_petid", "low"),
    ];
    assert_eq!(risks, expected);
}

#[test]
fn what_is_known_of_an_operation_stands_in_its_metadata() {
    let loaded = read(json!({"/pets": {"delete": {
        "operationId": "clear", "summary": "Clear.", "description": "Removes all.", "tags": ["pets"], "deprecated": true,
        "externalDocs": {"url": "https://docs.example"}, "security": [{"key": []}],
    }}}));
    let tool: &Tool = &loaded.tools[0];
    assert_eq!(tool.name.dotted(), "api.clear");
    assert_eq!(tool.description, "Clear.\n\nRemoves all.");
    let expected = json!({
        "risk": "high", "source": "test", "method": "DELETE", "path": "/pets", "idempotent": true, "deprecated": true,
        "tags": ["pets"], "externalDocs": {"url": "https://docs.example"}, "security": [{"key": []}],
    });
    assert_eq!(Value::from(tool.metadata().clone()), expected);
}

#[test]
fn names_are_unique_and_do_not_depend_on_the_order_of_the_document() {
    let a = json!({"get": {"operationId": "list"}});
    let b = json!({"get": {"operationId": "list"}});
    let loaded = read(json!({"/b": b.clone(), "/a": a.clone()}));
    assert_eq!(names(&loaded), ["list_get_b", "list"]);
    assert_eq!(loaded.tools[0].metadata()["renamed_from"], "list");
    let note = "another operation is called `list` too, so this one has its method and path in its name";
    assert_eq!(loaded.tools[0].metadata()["notes"], json!([note]));
    assert_eq!(names(&read(json!({"/a": a, "/b": b}))), ["list", "list_get_b"]);
    assert_eq!(
        names(&read(json!({"/a-b": {"get": {}}, "/a_b": {"get": {}}, "/": {"get": {}}}))),
        ["get_a_b", "get_a_b_2", "get_root"]
    );
}

#[test]
fn an_operation_id_is_changed_only_where_a_name_must_be() {
    let long = "x".repeat(300);
    let loaded = read(json!({
        "/a": {"get": {"operationId": "Pets.list all/2"}},
        "/b": {"get": {"operationId": "pets::get"}},
        "/c": {"get": {"operationId": long}},
        "/d": {"get": {"operationId": long}},
        "/e": {"get": {"operationId": " "}},
    }));
    assert_eq!(loaded.rejected, []);
    let names = names(&loaded);
    assert_eq!((names[0], names[1], names[4]), ("Pets.list all/2", "pets_get", "get_e"));
    assert_eq!((names[2].len(), names[3].len()), (256, 256));
    assert!(names[3].ends_with("x_get_d"));
}

#[test]
fn references_are_followed_everywhere() {
    let loaded = read(json!({
        "/pets/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "put": {"requestBody": {"$ref": "#/components/requestBodies/Pet"}, "responses": {"200": {"$ref": "#/components/responses/Pet"}}},
        },
        "/pets": {"$ref": "#/components/pathItems/Pets", "post": {"operationId": "own"}},
    }));
    assert_eq!(loaded.rejected, []);
    assert_eq!(names(&loaded), ["put_pets_id", "own", "referred"]);
    let pet = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "mother": {"$ref": "#/$defs/Pet"},
    }});
    let expected = json!({
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "mother": {"$ref": "#/$defs/Pet"}},
        "required": ["id", "name"],
        "additionalProperties": false,
        "$defs": {"Pet": pet},
    });
    assert_eq!(loaded.tools[0].parameters, expected);
    assert_eq!(loaded.tools[0].output_parameters.definition("Pet"), Some(&pet));
    assert_eq!(loaded.tools[0].output_parameters["properties"], pet["properties"]);
}

#[test]
fn the_tools_of_a_document_share_their_definitions() {
    let body =
        json!({"content": {"application/json": {"schema": {"items": {"$ref": "#/components/schemas/Pet"}}}}});
    let loaded = read(json!({
        "/a": {"post": {"requestBody": body}},
        "/b": {"post": {"requestBody": body, "responses": {"200": {"$ref": "#/components/responses/Pet"}}}},
    }));
    let [one, two] = [0, 1].map(|at| &loaded.tools[at].parameters.definitions()[0]);
    assert!(Arc::ptr_eq(one, two));
    // Nothing in it is read-only or write-only, so that both directions have the same.
    assert!(Arc::ptr_eq(one, &loaded.tools[1].output_parameters.definitions()[0]));
}

#[test]
fn a_reference_out_of_the_document_rejects_its_operation_only() {
    let loaded = read(json!({
        "/a": {"post": {"operationId": "a", "requestBody": {"$ref": "bodies.yaml#/Pet"}}},
        "/b": {"post": {"operationId": "b", "parameters": [{"$ref": "#/components/parameters/None"}]}},
        "/c": {"$ref": "https://evil.example/c.yaml"},
        "/d": {"get": {"operationId": "d", "responses": {"200": {"$ref": "#/components/responses/None"}}}},
    }));
    // What leads nowhere within the document is left open.
    assert_eq!(names(&loaded), ["b", "d"]);
    let note = |at: usize| loaded.tools[at].metadata()["notes"][0].as_str().unwrap();
    assert!(
        note(0).contains("the reference `#/components/parameters/None` points to nothing"),
        "{}",
        note(0)
    );
    assert_eq!(loaded.tools[1].output_parameters, json!({}));
    assert!(note(1).contains("#/components/responses/None"), "{}", note(1));
    let mut kinds: Vec<_> =
        loaded.rejected.iter().map(|reject| (reject.name.as_deref().unwrap(), reject.kind)).collect();
    kinds.sort_by_key(|(name, _)| *name);
    assert_eq!(kinds, [("/c", RejectKind::ExternalRef), ("a", RejectKind::ExternalRef)]);
}

#[test]
fn a_name_in_two_places_becomes_two_documented_arguments() {
    let schema = parameters_of(json!({"parameters": [
        {"name": "id", "in": "query", "schema": {"type": "string"}, "description": "Filter"},
        {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
        {"name": "id", "in": "cookie", "schema": {}},
    ]}));
    let properties = schema["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["id", "id__query", "id__cookie"]);
    assert_eq!(properties["id"]["description"], "The path parameter `id`.");
    assert_eq!(properties["id__query"]["description"], "Filter (The query parameter `id`.)");
    assert_eq!(schema["required"], json!(["id"]));
}

#[test]
fn a_parameter_of_the_operation_goes_before_the_same_of_its_path_whatever_the_case_of_a_header() {
    let parameter = |name: &str, location: &str, kind: &str| json!({"name": name, "in": location, "schema": {"type": kind}});
    let loaded = read(json!({"/a": {
        "parameters": [parameter("X-Id", "header", "string"), parameter("v", "query", "string")],
        "get": {"parameters": [
            parameter("x-id", "header", "integer"), parameter("v", "query", "integer"), parameter("V", "query", "boolean"),
        ]},
    }}));
    let expected = json!({"v": {"type": "integer"}, "V": {"type": "boolean"}, "x-id": {"type": "integer"}});
    assert_eq!(loaded.tools[0].parameters["properties"], expected);
}

#[test]
fn path_parameters_are_exactly_the_places_of_the_path() {
    let loaded = read(
        json!({"/a/{x}": {"get": {"parameters": [{"name": "y", "in": "path", "required": true, "schema": {}}]}}}),
    );
    let tool = &loaded.tools[0];
    assert_eq!(tool.parameter_names().collect::<Vec<_>>(), ["x"]);
    assert_eq!(tool.metadata()["notes"].as_array().unwrap().len(), 2);
}

#[test]
fn of_several_media_types_json_is_sent() {
    let schema = json!({"type": "object", "properties": {"a": {}}});
    let content = json!({
        "application/xml": {"schema": schema}, "application/json-patch+json": {"schema": schema},
        "application/merge-patch+json": {"schema": schema}, "application/strategic-merge-patch+json": {"schema": schema},
    });
    let document =
        json!({"openapi": "3.0.0", "paths": {"/": {"patch": {"requestBody": {"content": content}}}}});
    let reading = read_from(&document, ServerSettings::default()).unwrap();
    assert_eq!(
        reading.operations["patch_root"].body.as_ref().unwrap().media_type,
        "application/merge-patch+json"
    );
}

#[test]
fn a_version_that_is_not_read_is_named() {
    for (document, expected) in [
        (
            json!({"swagger": "1.2"}),
            "Swagger 1.2 is not supported; convert the document to OpenAPI 3.0, 3.1 or 3.2",
        ),
        (
            json!({"openapi": "4.0.0"}),
            "OpenAPI 4.0.0 is not supported; convert the document to OpenAPI 3.0, 3.1 or 3.2",
        ),
        (
            json!({"openapi": "3.01"}),
            "OpenAPI 3.01 is not supported; convert the document to OpenAPI 3.0, 3.1 or 3.2",
        ),
        (json!({"name": "x"}), "expected an `openapi` version at the top; is this an OpenAPI document?"),
        (json!([]), "expected an `openapi` version at the top; is this an OpenAPI document?"),
    ] {
        assert_eq!(read_from(&document, ServerSettings::default()).unwrap_err().to_string(), expected);
    }
    assert!(
        read_from(&json!({"openapi": 3.1, "webhooks": {}}), ServerSettings::default())
            .unwrap()
            .loaded
            .tools
            .is_empty()
    );
}

#[test]
fn the_server_is_the_setting_or_the_innermost_of_the_document() {
    let server = |root: Value, operation: Value, base: ServerSettings<'_>| {
        let document =
            json!({"openapi": "3.0.0", "servers": root, "paths": {"/": {"get": {"servers": operation}}}});
        read_from(&document, base).unwrap().operations["get_root"].server.clone()
    };
    let text = |root, operation, base: ServerSettings<'_>| server(root, operation, base).unwrap().to_string();
    let document = Url::parse("https://docs.example/specs/api.yaml").unwrap();
    let from_web = ServerSettings { document: Some(&document), ..ServerSettings::default() };
    let root = json!([{"url": "{scheme}://{host}/v{n}", "variables": {
        "scheme": {"default": "https"}, "host": {"default": "api.example"}, "n": {"default": 2},
    }}]);
    assert_eq!(text(root.clone(), json!([]), ServerSettings::default()), "https://api.example/v2");
    assert_eq!(
        text(root.clone(), json!([{"url": "https://other.example"}]), ServerSettings::default()),
        "https://other.example/"
    );
    let variables = |value: &str| {
        BTreeMap::from([("n".to_owned(), value.to_owned()), ("other".to_owned(), "x".to_owned())])
    };
    let three = variables("3");
    let set = ServerSettings { variables: Some(&three), ..ServerSettings::default() };
    assert_eq!(text(root.clone(), json!([]), set), "https://api.example/v3");
    let listed =
        json!([{"url": "https://api.example/{n}", "variables": {"n": {"default": "1", "enum": ["1", 2]}}}]);
    assert_eq!(
        server(listed, json!([]), set).unwrap_err().to_string(),
        "the server `https://api.example/{n}` of the document does not allow `3` for its variable `n`, only 1, 2; set `base_url` \
         for this source"
    );
    assert_eq!(text(json!([{"url": "../v1"}]), json!(null), from_web), "https://docs.example/v1");
    assert_eq!(text(json!(null), json!(null), from_web), "https://docs.example/");
    let configured = ServerSettings { configured: Some(&document), ..ServerSettings::default() };
    assert_eq!(text(root, json!([{"url": "https://other.example"}]), configured), document.as_str());
    for broken in
        ["/api", "ftp://x.example", "https://user:pw@x.example", "https://{x}.example", "https://{x"]
    {
        let error = server(json!([{"url": broken}]), json!(null), ServerSettings::default()).unwrap_err();
        assert!(error.to_string().ends_with("; set `base_url` for this source"), "{error}");
    }
}

#[test]
fn a_selection_leaves_operations_out_and_sets_risks_but_changes_no_names() {
    let document = json!({"openapi": "3.0.0", "paths": {
        "/a": {"get": {"operationId": "list", "tags": ["a"]}, "delete": {"operationId": "drop", "tags": ["a"]}},
        "/b": {"get": {"operationId": "list", "tags": ["b"]}},
    }});
    let selector = OperationSelector::default;
    let selection = Selection {
        include: vec![selector().with_operation("list"), selector().with_method("delete")],
        exclude: vec![selector().with_tag("a").with_method("GET")],
        risks: vec![(selector().with_path("/*"), Risk::Low)],
        ..Selection::default()
    };
    let reading = read_with(&document, ServerSettings::default(), &selection).unwrap();
    let tools: Vec<_> =
        reading.loaded.tools.iter().map(|tool| (tool.name.name(), tool.traits().risk)).collect();
    assert_eq!(tools, [("drop", Risk::Low), ("list_get_b", Risk::Low)]);
    let none = Selection { include: vec![selector().with_tag("c")], ..Selection::default() };
    let reading = read_with(&document, ServerSettings::default(), &none).unwrap();
    assert_eq!(reading.loaded.rejected[0].name.as_deref(), Some("include"));
}

#[test]
fn an_operation_may_be_repeated_when_its_method_or_the_operator_says_so() {
    let operation = |name: &str| json!({"operationId": name});
    let document = json!({"openapi": "3.2.0", "paths": {"/a": {
        "get": operation("get"), "query": operation("query"), "delete": operation("delete"),
        "post": operation("post"), "patch": operation("patch"),
    }}});
    let selection = Selection {
        idempotent: vec![OperationSelector::default().with_operation("pa*")],
        ..Selection::default()
    };
    let reading = read_with(&document, ServerSettings::default(), &selection).unwrap();
    let repeated: Vec<_> = reading.loaded.tools.iter().filter(|tool| tool.traits().idempotent).collect();
    let repeated: Vec<_> = repeated.iter().map(|tool| tool.name.name()).collect();
    assert_eq!(repeated, ["get", "query", "delete", "patch"]);
    assert!(reading.operations.iter().all(|(name, operation)| operation.idempotent == (name != "post")));
}

#[test]
fn a_place_in_a_query_that_stands_in_the_path_is_a_parameter_of_the_query() {
    let loaded =
        read(json!({"/find?kind={k}&fixed=1&free={f}": {"get": {"operationId": "find", "parameters": [
            {"name": "k", "in": "path", "required": true, "schema": {"type": "integer"}},
        ]}}}));
    let expected = json!({
        "type": "object",
        "properties": {"kind": {"type": "integer"}, "free": {"type": "string"}},
        "required": ["kind", "free"],
        "additionalProperties": false,
    });
    assert_eq!(loaded.tools[0].parameters, expected);
}

#[test]
fn a_body_with_a_discriminator_stays_whole() {
    let pet = json!({"type": "object", "properties": {"kind": {"type": "string"}}, "discriminator": {"propertyName": "kind"}});
    let schema = parameters_of(json_body(true, pet));
    assert_eq!(schema["properties"]["body"]["properties"]["kind"], json!({"type": "string"}));
}

#[test]
fn the_answer_of_success_is_that_of_the_lowest_status_or_of_the_default() {
    let answer = |kind: &str| json!({"content": {"application/json": {"schema": {"type": kind}}}});
    for (responses, expected) in [
        (
            json!({"201": answer("array"), "200": answer("object"), "default": answer("string")}),
            json!({"type": "object"}),
        ),
        (json!({"2XX": answer("array"), "default": answer("string")}), json!({"type": "array"})),
        (json!({"default": answer("string"), "404": answer("array")}), json!({"type": "string"})),
        (json!({"204": {"description": ""}, "default": answer("string")}), json!({})),
    ] {
        let loaded = read(json!({"/": {"get": {"responses": responses}}}));
        assert_eq!(loaded.tools[0].output_parameters, expected);
    }
}

#[test]
fn a_document_that_grows_without_end_is_refused() {
    let item: serde_json::Map<String, Value> =
        ["get", "put", "post"].into_iter().map(|method| (method.to_owned(), json!({}))).collect();
    let paths: serde_json::Map<String, Value> = (0..10_000)
        .map(|index| (format!("/{index}"), json!({"$ref": "#/components/pathItems/All"})))
        .collect();
    let document = json!({"openapi": "3.1.0", "paths": paths, "components": {"pathItems": {"All": item}}});
    let error = read_from(&document, ServerSettings::default()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn a_style_that_a_place_does_not_have_is_the_usual_one_with_a_note() {
    let loaded = read(json!({"/a/{x}": {"get": {"parameters": [
        {"name": "x", "in": "path", "required": true, "style": "form", "schema": {"type": "string"}},
    ]}}}));
    let expected = "the style `form` of a path parameter is not supported yet; the default style is used";
    assert_eq!(loaded.tools[0].metadata()["notes"], json!([expected]));
}
