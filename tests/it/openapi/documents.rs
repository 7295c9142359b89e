//! Documents with what the collections seldom have: every style in every place, every kind of body, and the odd corners of
//! Swagger 2.0, `OpenAPI` 3.1 and 3.2.

use serde_json::{Map, Value, json};

/// Name and content of all files; the documents come first, and the others are what they refer to.
pub(super) fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("styles.json", styles()),
        ("bodies.json", bodies("3.0.4")),
        ("bodies31.json", bodies("3.1.2")),
        ("corners.json", corners()),
        ("two.json", swagger()),
        ("newest.json", newest()),
        ("files.json", files()),
    ]
}

/// Documents whose own servers are at this origin, each under the first segment `dN` of its place in the list.
pub(super) fn served(origin: &str) -> Vec<(&'static str, Value)> {
    let get =
        json!({"parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}], "responses": {}});
    let variables = json!({"version": {"default": "v2", "enum": ["v1", "v2"]}, "land": {"default": "eu"}});
    let root = json!([
        {"url": format!("{origin}/d0/{{land}}/{{version}}/"), "variables": variables},
        {"url": "https://not.example/"},
    ]);
    let server = |path: &str| json!([{"url": format!("{origin}/d0/{path}")}]);
    let mut own = get.clone();
    own["servers"] = server("operation");
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    vec![
        (
            "servers.json",
            json!({"openapi": "3.0.4", "info": {"title": "T", "version": "1"}, "servers": root, "paths": {
                "/plain": {"get": get},
                "/": {"get": get},
                "/item": {"servers": server("item/"), "get": get, "put": own},
            }}),
        ),
        (
            "old.json",
            json!({"swagger": "2.0", "info": {"title": "T", "version": "1"}, "host": host, "schemes": ["http"],
            "basePath": "/d1/base", "paths": {"/plain": {"get": {"responses": {}}}}}),
        ),
    ]
}

/// Files that `files.json` refers to.
pub(super) fn parts() -> Vec<(&'static str, Value)> {
    let pet = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"},
        "id": {"type": "integer", "readOnly": true},
        "mother": {"$ref": "#/schemas/Pet"},
        "tag": {"$ref": "tag.json"},
    }});
    let limit = json!({"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 9}});
    let item = json!({"put": {
        "operationId": "far",
        "parameters": [{"$ref": "#/limit"}, {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/schemas/Pet"}}}},
        "responses": {},
    }});
    vec![
        ("parts/pets.json", json!({"schemas": {"Pet": pet}, "limit": limit, "item": item})),
        ("parts/tag.json", json!({"type": "string", "enum": ["cat", "dog"]})),
    ]
}

fn document(version: &str, paths: &Map<String, Value>) -> Value {
    json!({"openapi": version, "info": {"title": "T", "version": "1"}, "paths": paths})
}

/// The kinds of values that styles tell apart.
fn kinds() -> Vec<(&'static str, Value)> {
    let members = json!({"r": {"type": "integer"}, "g": {"type": "string"}, "b c": {"type": "boolean"}});
    vec![
        ("string", json!({"type": "string"})),
        ("number", json!({"type": "number"})),
        ("flag", json!({"type": "boolean"})),
        ("strings", json!({"type": "array", "items": {"type": "string"}})),
        ("numbers", json!({"type": "array", "items": {"type": "integer"}, "minItems": 1})),
        ("object", json!({"type": "object", "properties": members})),
        ("map", json!({"type": "object", "additionalProperties": {"type": "string"}})),
        ("choice", json!({"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]})),
    ]
}

fn styles() -> Value {
    const STYLES: [(&str, &str); 9] = [
        ("path", "simple"),
        ("path", "label"),
        ("path", "matrix"),
        ("query", "form"),
        ("query", "spaceDelimited"),
        ("query", "pipeDelimited"),
        ("query", "deepObject"),
        ("header", "simple"),
        ("cookie", "form"),
    ];
    let mut paths = Map::new();
    for (place, style) in STYLES {
        for explode in [false, true] {
            for (kind, schema) in kinds() {
                let is_list = !matches!(kind, "string" | "number" | "flag" | "choice");
                let is_defined = match style {
                    "spaceDelimited" | "pipeDelimited" => is_list && !explode,
                    "deepObject" => explode && matches!(kind, "object" | "map"),
                    _ => true,
                };
                if !is_defined {
                    continue;
                }
                let name = format!("X-{kind}");
                let slot = if place == "path" { format!("/{{{name}}}") } else { String::new() };
                let path = format!("/{place}/{style}/{explode}/{kind}{slot}");
                let parameter = json!({"name": name, "in": place, "required": place == "path", "style": style,
                    "explode": explode, "schema": schema});
                paths.insert(path, json!({"get": {"parameters": [parameter], "responses": {}}}));
            }
        }
    }
    for (kind, schema) in kinds() {
        let reserved = json!({"name": "r", "in": "query", "allowReserved": true, "schema": schema});
        paths
            .insert(format!("/reserved/{kind}"), json!({"get": {"parameters": [reserved], "responses": {}}}));
        let written: Vec<Value> = ["path", "query", "header", "cookie"]
            .iter()
            .map(|place| {
                let content = json!({"application/json": {"schema": schema}});
                json!({"name": format!("in-{place}"), "in": place, "required": *place == "path", "content": content})
            })
            .collect();
        paths.insert(
            format!("/content/{kind}/{{in-path}}"),
            json!({"get": {"parameters": written, "responses": {}}}),
        );
    }
    document("3.1.2", &paths)
}

fn bodies(version: &str) -> Value {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    let form = json!({"type": "object", "required": ["text"], "properties": {
        "text": {"type": "string"}, "number": {"type": "number"}, "flag": {"type": "boolean"},
        "list": list, "object": object, "objects": {"type": "array", "items": object},
        "id": {"type": "string", "readOnly": true},
    }});
    let upload = json!({"type": "object", "required": ["file"], "properties": {
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "note": {"type": "string"}, "count": {"type": "integer"}, "list": list, "object": object,
        "odd \"name\"": {"type": "string"},
    }});
    let style = |style: &str, explode: bool| json!({"style": style, "explode": explode});
    let styled = |list: &Value| {
        json!({
            "list": list, "object": list, "text": {"contentType": "text/plain"},
        })
    };
    let all_of = json!({"allOf": [form, {"type": "object", "required": ["more"], "properties": {"more": {"type": "string"}}}]});
    let mut cases: Vec<(String, Value)> = Vec::new();
    for media_type in
        ["application/json", "application/vnd.api+json", "application/json; charset=utf-8", "*/*"]
    {
        for (name, schema) in [("form", &form), ("list", &list), ("all", &all_of), ("any", &json!({}))] {
            cases.push((format!("{name}/{}", cases.len()), json!({media_type: {"schema": schema}})));
        }
    }
    for media_type in ["text/plain", "application/octet-stream", "image/*", "image/png", "application/xml"] {
        cases.push((format!("raw/{}", cases.len()), json!({media_type: {"schema": {"type": "string"}}})));
    }
    for media_type in ["application/x-www-form-urlencoded", "multipart/form-data"] {
        let schema = if media_type.starts_with("multipart") { &upload } else { &form };
        cases.push((format!("form/{}", cases.len()), json!({media_type: {"schema": schema}})));
        for (name, explode) in [
            ("form", true),
            ("form", false),
            ("spaceDelimited", false),
            ("pipeDelimited", false),
            ("deepObject", true),
        ] {
            // Of a list, this style says nothing.
            let mut encoding = styled(&style(name, explode));
            if name == "deepObject" {
                encoding["list"] = style("form", true);
            }
            cases.push((
                format!("form/{}", cases.len()),
                json!({media_type: {"schema": schema, "encoding": encoding}}),
            ));
        }
    }
    let typed = json!({"file": {"contentType": "image/png"}, "object": {"contentType": "application/json"}});
    cases.push(("typed".into(), json!({"multipart/form-data": {"schema": upload, "encoding": typed}})));
    cases.push((
        "several".into(),
        json!({
            "application/xml": {"schema": form}, "application/json": {"schema": form}, "text/plain": {},
        }),
    ));
    let mut paths = Map::new();
    for (name, content) in cases {
        for required in [true, false] {
            let operation =
                json!({"requestBody": {"required": required, "content": content}, "responses": {}});
            paths.insert(format!("/{name}/{required}"), json!({"post": operation}));
        }
    }
    document(version, &paths)
}

fn corners() -> Value {
    let text = |name: &str, place: &str| json!({"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}});
    let everywhere: Vec<Value> =
        ["cookie", "header", "query", "path"].iter().map(|place| text("id", place)).collect();
    let with_id = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "x": {"type": "integer"}}});
    let body =
        |schema: &Value| json!({"required": true, "content": {"application/json": {"schema": schema}}});
    let names = ["filter[name]", "a b", "ключ", "$filter", "a.b", "x&y=z", "100%", "body", "id__query", "+"];
    let mut odd: Vec<Value> = names.iter().map(|name| text(name, "query")).collect();
    odd.extend([
        text("X-Mixed-Case", "header"),
        text("a b;c", "cookie"),
        text("X-Trace", "header"),
        text("Accept", "header"),
    ]);
    let tree = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
        "left": {"$ref": "#/components/schemas/Tree"}, "made": {"type": "string", "readOnly": true},
        "secret": {"type": "string", "writeOnly": true},
    }});
    let old = json!({"type": "object", "required": ["least"], "properties": {
        "least": {"type": "integer", "minimum": 1, "exclusiveMinimum": true},
        "most": {"type": "number", "maximum": -1, "exclusiveMaximum": true},
        "maybe": {"type": "string", "nullable": true}, "one": {"type": "string", "nullable": true, "enum": ["a", null]},
    }});
    let letters = ["a", "b", "c", "d"].map(|name| text(name, "path"));
    let paths = json!({
        "/all/{id}": {"parameters": everywhere, "put": {"requestBody": body(&with_id), "responses": {}}},
        "/names": {"get": {"parameters": odd, "responses": {}}},
        "/two/{a}.{b}/{c}:act/pre{d}post": {"get": {"parameters":
            letters, "responses": {}}},
        "/twice/{a}/{a}/": {"delete": {"parameters": [text("a", "path")], "responses": {}}},
        "/not declared/{a}/größe/%7Eb": {"get": {"responses": {}}},
        "/fixed?kind=a%20b&x=": {"get": {"parameters": [text("q", "query")], "responses": {}}},
        "/fragment#one": {"get": {"parameters": [text("q", "query")], "responses": {}}},
        "/over/{a}": {"parameters": [text("a", "path"), text("q", "query")], "get": {"responses": {},
            "parameters": [{"name": "q", "in": "query", "schema": {"type": "array", "items": {"type": "integer"}}}]}},
        "/tree": {"post": {"requestBody": {"$ref": "#/components/requestBodies/Tree"}, "responses": {}}},
        "/old": {"patch": {"requestBody": body(&old), "responses": {}}},
        "/escaped": {"$ref": "#/components/x-items/a~1b%20c"},
        "/": {"head": {"responses": {}}, "options": {"responses": {}}, "trace": {"responses": {}}},
    });
    let item = json!({"get": {"parameters": [{"$ref": "#/components/parameters/Limit"}], "responses": {}}});
    json!({"openapi": "3.0.4", "info": {"title": "T", "version": "1"}, "paths": paths, "components": {
        "schemas": {"Tree": tree}, "x-items": {"a/b c": item},
        "parameters": {"Limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 3}}},
        "requestBodies": {"Tree": body(&json!({"$ref": "#/components/schemas/Tree"}))},
    }})
}

fn swagger() -> Value {
    let mut paths = Map::new();
    let list = |name: &str, place: &str, format: &str| {
        json!({"name": name, "in": place, "required": place == "path", "type": "array", "items": {"type": "string"},
            "collectionFormat": format})
    };
    for place in ["path", "query", "header", "formData"] {
        for format in ["csv", "ssv", "tsv", "pipes", "multi"] {
            if format == "multi" && !matches!(place, "query" | "formData") {
                continue;
            }
            let slot = if place == "path" { "/{list}" } else { "" };
            let parameters = [
                list("list", place, format),
                json!({"name": "n", "in": "query", "type": "integer", "minimum": 2}),
            ];
            paths.insert(
                format!("/{place}/{format}{slot}"),
                json!({"post": {"parameters": parameters, "responses": {}}}),
            );
        }
    }
    let pet = json!({"name": "pet", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Pet"}});
    let field =
        |name: &str, kind: &str| json!({"name": name, "in": "formData", "type": kind, "required": true});
    let file = [field("file", "file"), field("note", "string"), field("many", "integer")];
    let multipart = ["multipart/form-data"];
    let more = json!({
        "/body": {"post": {"parameters": [pet], "responses": {}}},
        "/body/any": {"put": {"parameters": [{"$ref": "#/parameters/Text"}], "responses": {}, "consumes": ["text/plain"]}},
        "/body/vendor": {"post": {"parameters": [pet], "responses": {}, "consumes": ["application/vnd.pets+json"]}},
        "/file": {"post": {"parameters": file, "responses": {}, "consumes": multipart}},
        "/file/unsaid": {"post": {"parameters": file, "responses": {}}},
        "/parts": {"post": {"parameters": [field("a", "string"), field("b", "boolean")], "responses": {}, "consumes": multipart}},
    });
    paths.extend(more.as_object().cloned().unwrap_or_default());
    json!({"swagger": "2.0", "info": {"title": "T", "version": "1"}, "basePath": "/v1", "paths": paths,
    "parameters": {"Text": {"name": "text", "in": "body", "schema": {"type": "string"}}},
    "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "id": {"type": "integer", "readOnly": true},
        "mother": {"$ref": "#/definitions/Pet"},
    }}}})
}

fn newest() -> Value {
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let object =
        json!({"type": "object", "properties": {"r": {"type": "integer"}, "g": {"type": "integer"}}});
    let cookie = |name: &str, explode: bool, schema: &Value| json!({"name": name, "in": "cookie", "style": "cookie", "explode": explode, "schema": schema});
    let cookies = [cookie("a", true, &list), cookie("b", false, &list), cookie("c", true, &object)];
    let body = json!({"content": {"application/json": {"schema": {"type": "object", "properties": {"q": {"type": "string"}}}}}});
    let filter = json!({"name": "filter", "in": "querystring", "content": {
    "application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}},
    }}}}});
    json!({"openapi": "3.2.0", "info": {"title": "T", "version": "1"}, "paths": {
        "/cookies": {"get": {"parameters": cookies, "responses": {}}},
        "/query": {"query": {"requestBody": body, "responses": {}}},
        "/copy": {"additionalOperations": {"COPY": {"requestBody": body, "responses": {}}}},
        "/string": {"get": {"parameters": [filter], "responses": {}}},
    }})
}

fn files() -> Value {
    let body = json!({"required": true, "content": {"application/json": {"schema": {"$ref": "./parts/pets.json#/schemas/Pet"}}}});
    json!({"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {
        "/near": {"post": {"parameters": [{"$ref": "parts/pets.json#/limit"}], "requestBody": body, "responses": {}}},
        "/far/{id}": {"$ref": "parts/pets.json#/item"},
    }})
}
