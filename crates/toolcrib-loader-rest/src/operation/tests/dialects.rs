//! What each version of OpenAPI writes in its own way.

use serde_json::{Value, json};

use super::{read, read_from};
use crate::operation::{Encoding, ParameterLocation, Serialization, ServerSettings, Style};

#[test]
fn swagger_2_0_is_read_as_it_is_written() {
    let document = json!({
        "swagger": "2.0", "host": "api.example", "basePath": "/v1", "schemes": ["http", "https"],
        "consumes": ["application/json"], "produces": ["application/json"],
        "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "id": {"type": "integer", "readOnly": true}, "nick": {"type": "string", "x-nullable": true},
        }}},
        "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer", "format": "int32", "maximum": 10, "exclusiveMaximum": true}},
        "paths": {
            "/pets/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": true, "type": "integer"}],
                "put": {
                    "operationId": "put",
                    "parameters": [
                        {"$ref": "#/parameters/limit"},
                        {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "multi"},
                        {"name": "kinds", "in": "query", "type": "array", "items": {"type": "string"}},
                        {"name": "pet", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Pet"}},
                    ],
                    "responses": {"200": {"description": "", "schema": {"$ref": "#/definitions/Pet"}}},
                },
                "post": {
                    "operationId": "upload", "consumes": ["multipart/form-data"], "schemes": ["http"],
                    "parameters": [
                        {"name": "file", "in": "formData", "type": "file", "required": true, "description": "A picture"},
                        {"name": "labels", "in": "formData", "type": "array", "items": {"type": "string"}},
                    ],
                    "responses": {"200": {"description": "", "schema": {"type": "file"}}},
                },
            },
        },
    });
    let reading = read_from(&document, ServerSettings::default()).unwrap();
    assert_eq!(reading.loaded.rejected, []);
    let [put, upload] = reading.loaded.tools.as_slice() else { panic!("{:?}", reading.loaded.tools) };
    let expected = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "limit": {"type": "integer", "format": "int32", "exclusiveMaximum": 10},
            "tags": {"type": "array", "items": {"type": "string"}},
            "kinds": {"type": "array", "items": {"type": "string"}},
            "name": {"type": "string"},
            "nick": {"type": ["string", "null"]},
        },
        "required": ["id", "name"],
        "additionalProperties": false,
    });
    assert_eq!(put.parameters, expected);
    assert_eq!(put.output_parameters["properties"]["id"], json!({"type": "integer"}));
    let written = |name: &str| {
        let parameters = &reading.operations["put"].parameters;
        parameters.iter().find(|bound| bound.argument == name).unwrap().parameter.serialization
    };
    let form = |explode| Serialization::Styled { style: Style::Form, explode, allow_reserved: false };
    assert_eq!((written("tags"), written("kinds")), (form(true), form(false)));
    assert_eq!(reading.operations["put"].server.as_ref().unwrap().as_str(), "https://api.example/v1");
    assert_eq!(reading.operations["upload"].server.as_ref().unwrap().as_str(), "http://api.example/v1");
    assert_eq!(upload.parameters["properties"]["file"]["description"], "A picture (A file, as base64.)");
    assert_eq!(upload.output_parameters, json!({}));
    let body = reading.operations["upload"].body.as_ref().unwrap();
    let Encoding::Multipart(parts) = &body.encoding else { panic!("{body:?}") };
    assert!(parts["file"].binary && parts["labels"].serialization == Some(form(false)));
}

#[test]
fn openapi_3_2_has_any_method_and_the_query_as_a_whole() {
    let item = json!({
        "query": {"operationId": "search", "requestBody": {"content": {"application/json": {"schema": {"type": "array"}}}}},
        "additionalOperations": {"COPY": {"parameters": [{"name": "all", "in": "querystring", "content": {
            "application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        }}]}},
    });
    let document = |version: &str| json!({"openapi": version, "paths": {"/pets": item}});
    let reading = read_from(&document("3.2.0"), ServerSettings::default()).unwrap();
    assert_eq!(reading.loaded.rejected, []);
    let [search, copy] = reading.loaded.tools.as_slice() else { panic!("{:?}", reading.loaded.tools) };
    assert_eq!((search.name.name(), search.traits().risk.as_str()), ("search", "low"));
    assert_eq!((copy.name.name(), copy.traits().risk.as_str()), ("copy_pets", "medium"));
    assert_eq!(reading.operations["copy_pets"].method.as_str(), "COPY");
    let all = &reading.operations["copy_pets"].parameters[0].parameter;
    assert_eq!((all.location, all.serialization), (ParameterLocation::QueryString, Serialization::Form));
    assert!(read_from(&document("3.1.0"), ServerSettings::default()).unwrap().loaded.tools.is_empty());
}

#[test]
fn what_a_multipart_body_has_files_in_is_found_in_every_form() {
    let content = |media: Value| {
        let body = json!({"required": true, "content": {"multipart/form-data": media}});
        let document = json!({"openapi": "3.1.0", "paths": {"/": {"post": {"requestBody": body}}}});
        let reading = read_from(&document, ServerSettings::default()).unwrap();
        assert_eq!(reading.loaded.rejected, []);
        let Some(Encoding::Multipart(parts)) =
            reading.operations["post_root"].body.as_ref().map(|body| body.encoding.clone())
        else {
            panic!("{reading:?}")
        };
        let mut files: Vec<_> =
            parts.iter().filter(|(_, part)| part.binary).map(|(name, _)| name.clone()).collect();
        files.sort();
        (
            files,
            reading.loaded.tools[0].parameters["properties"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>(),
        )
    };
    let (files, arguments) = content(json!({
        "schema": {"type": "object", "properties": {
            "old": {"type": "string", "format": "binary"}, "new": {"contentMediaType": "image/png"}, "bare": {},
            "list": {"type": "array", "items": {"type": "string", "format": "binary"}}, "text": {"type": "string"},
            "encoded": {"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"},
        }},
        "encoding": {"bare": {"contentType": "image/png"}},
    }));
    assert_eq!(files, ["bare", "list", "new", "old"]);
    assert_eq!(arguments.len(), 6);
    let (files, arguments) =
        content(json!({"schema": {"allOf": [{"properties": {"file": {"format": "binary"}}}]}}));
    assert_eq!((files, arguments), (vec!["file".to_owned()], vec!["file".to_owned()]));
    assert_eq!(content(json!({})), (vec![], vec!["body".to_owned()]));
}

#[test]
fn html_in_descriptions_becomes_plain_text() {
    let schema = json!({"type": "object", "properties": {
        "deep": {"type": "object", "properties": {"a": {"type": "string", "description": "A <b>name</b> of &lt;3"}}},
    }});
    let loaded = read(json!({"/pets": {"post": {
        "summary": "Adds a <i>pet</i>",
        "description": "<p>Adds a <code>pet</code>.</p><p>See <a href='/x'>here</a>, or &amp; not; the <value> stays.</p>",
        "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}, "description": "one<br>two"}],
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {},
    }}}));
    let tool = &loaded.tools[0];
    assert_eq!(tool.description, "Adds a pet\nAdds a `pet`.\nSee here, or & not; the <value> stays.");
    let properties = &tool.parameters["properties"];
    assert_eq!(properties["q"]["description"], "one\ntwo");
    assert!(tool.parameters.to_string().contains("A name of <3"), "{}", tool.parameters);
}
