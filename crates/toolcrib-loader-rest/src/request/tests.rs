//! What the building of requests promises.

#![expect(clippy::needless_pass_by_value, reason = "the values are literals of the tests")]

use http::HeaderMap;
use serde_json::{Value, json};
use toolcrib_io::http::Request;
use toolcrib_model::Secret;

use crate::Error;
use crate::operation::{Base, Setting, read_document};
use crate::request::prepare;

/// The only operation of a document with this path and operation.
fn request(path: &str, operation: Value, arguments: Value) -> Result<Request, Error> {
    let document = json!({
        "openapi": "3.0.3",
        "servers": [{"url": "https://api.example/v1/"}],
        "paths": {path: {"post": operation}},
    });
    let setting = Setting { source: "test", namespace: "api", base: Base::default(), own_headers: &[] };
    let reading = read_document(&document, &setting).unwrap();
    let operation =
        reading.operations.values().next().unwrap_or_else(|| panic!("{:?}", reading.loaded.rejected));
    prepare(operation, arguments.as_object().unwrap(), &HeaderMap::new())
}

fn parameter(place: &str, extra: Value) -> Value {
    let mut parameter = json!({"name": "v", "in": place, "required": true, "schema": {}});
    parameter.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"parameters": [parameter]})
}

fn url(path: &str, operation: Value, value: Value) -> String {
    request(path, operation, json!({"v": value})).unwrap().url.to_string()
}

#[test]
fn a_path_value_never_leaves_its_segment() {
    for (value, expected) in [
        ("../../etc/passwd?x=1#f", "..%2F..%2Fetc%2Fpasswd%3Fx%3D1%23f"),
        ("%2e%2e", "%252e%252e"),
        ("a b", "a%20b"),
        ("a\\b", "a%5Cb"),
        ("é\r\n\0", "%C3%A9%0D%0A%00"),
        ("...", "..."),
        (";@:&=+$,", "%3B%40%3A%26%3D%2B%24%2C"),
    ] {
        let url = url("/pets/{v}/toys", parameter("path", json!({})), value.into());
        assert_eq!(url, format!("https://api.example/v1/pets/{expected}/toys"));
    }
}

#[test]
fn a_path_value_that_would_change_the_path_is_refused() {
    for (path, value) in [
        ("/pets/{v}", json!(".")),
        ("/pets/{v}", json!("..")),
        ("/pets/.{v}", json!(".")),
        ("/pets/%2e{v}", json!(".")),
        ("/pets/{v}", json!("")),
        ("/pets/{v}", json!([])),
        ("/pets/{v}", json!(null)),
    ] {
        let error = request(path, parameter("path", json!({})), json!({"v": value})).unwrap_err();
        assert!(
            matches!(&error, Error::Argument { argument, .. } if argument == "v"),
            "{path} {value}: {error}"
        );
    }
}

#[test]
fn styles_of_path_parameters_are_those_of_rfc_6570() {
    let (text, list, object) = (json!("blue"), json!(["blue", "black"]), json!({"R": 100, "G": 200}));
    for (style, explode, expected) in [
        ("simple", false, ["blue", "blue,black", "R,100,G,200"]),
        ("simple", true, ["blue", "blue,black", "R=100,G=200"]),
        ("label", false, [".blue", ".blue,black", ".R,100,G,200"]),
        ("label", true, [".blue", ".blue.black", ".R=100.G=200"]),
        ("matrix", false, [";v=blue", ";v=blue,black", ";v=R,100,G,200"]),
        ("matrix", true, [";v=blue", ";v=blue;v=black", ";R=100;G=200"]),
    ] {
        for (value, expected) in [&text, &list, &object].into_iter().zip(expected) {
            let operation = parameter("path", json!({"style": style, "explode": explode}));
            assert_eq!(url("/{v}", operation, value.clone()), format!("https://api.example/v1/{expected}"));
        }
    }
}

#[test]
fn styles_of_query_parameters_keep_each_value_in_its_pair() {
    let list = json!(["a,b", "c&d=e"]);
    let object = json!({"k": "x y", "#": true});
    for (extra, value, expected) in [
        (json!({}), json!("a&b=c#d+e"), "v=a%26b%3Dc%23d%2Be"),
        (json!({}), list.clone(), "v=a%2Cb&v=c%26d%3De"),
        (json!({"explode": false}), list.clone(), "v=a%2Cb,c%26d%3De"),
        (json!({}), object.clone(), "k=x%20y&%23=true"),
        (json!({"explode": false}), object.clone(), "v=k,x%20y,%23,true"),
        (json!({"style": "spaceDelimited"}), json!([1, 2]), "v=1%202"),
        (json!({"style": "pipeDelimited"}), json!([1, 2]), "v=1%7C2"),
        (
            json!({"style": "deepObject"}),
            json!({"a": {"b": [1, 2]}, "c": "d"}),
            "v%5Ba%5D%5Bb%5D%5B0%5D=1&v%5Ba%5D%5Bb%5D%5B1%5D=2&v%5Bc%5D=d",
        ),
        (json!({"allowReserved": true}), json!("http://x/?a#b&c"), "v=http://x/?a%23b%26c"),
        (
            json!({"content": {"application/json": {"schema": {}}}}),
            json!({"a": [1]}),
            "v=%7B%22a%22%3A%5B1%5D%7D",
        ),
    ] {
        assert_eq!(
            url("/p", parameter("query", extra), value),
            format!("https://api.example/v1/p?{expected}")
        );
    }
    assert_eq!(url("/p", parameter("query", json!({})), json!([])), "https://api.example/v1/p");
}

#[test]
fn what_the_document_writes_into_a_path_is_kept() {
    let url = url("/a%20b/{v}.json?fixed=1#Only", parameter("path", json!({})), json!(7));
    assert_eq!(url, "https://api.example/v1/a%20b/7.json?fixed=1");
}

#[test]
fn headers_hold_values_as_they_are_and_no_line_breaks() {
    let header = |value: Value| request("/p", parameter("header", json!({})), json!({"v": value}));
    assert_eq!(header(json!(["a", "b c"])).unwrap().headers["v"], "a,b c");
    assert_eq!(header(json!("é")).unwrap().headers["v"].as_bytes(), "é".as_bytes());
    for value in ["a\r\nX-Evil: 1", "a\nb", "a\0b"] {
        assert!(matches!(header(value.into()), Err(Error::Argument { .. })), "{value:?}");
    }
}

#[test]
fn cookies_are_joined_and_encoded() {
    let operation = json!({"parameters": [
        {"name": "a", "in": "cookie", "schema": {}}, {"name": "b c", "in": "cookie", "schema": {}},
    ]});
    let request = request("/p", operation, json!({"a": "1; admin=true", "b c": [1, 2]})).unwrap();
    assert_eq!(request.headers["cookie"], "a=1%3B%20admin%3Dtrue; b%20c=1; b%20c=2");
}

#[test]
fn arguments_cannot_set_the_headers_that_decide_where_a_request_ends_or_who_sends_it() {
    for name in ["Authorization", "Host", "Content-Length", "transfer-encoding", "Content-Type", "X-Key"] {
        let document = json!({
            "openapi": "3.0.0",
            "servers": [{"url": "https://api.example"}],
            "paths": {"/": {"get": {"parameters": [{"name": name, "in": "header", "schema": {"type": "string"}}]}}},
        });
        let own = ["x-key".to_owned()];
        let setting = Setting { source: "test", namespace: "api", base: Base::default(), own_headers: &own };
        let reading = read_document(&document, &setting).unwrap();
        assert_eq!(reading.loaded.tools[0].parameters["properties"], json!({}), "{name}");
        let mut headers = HeaderMap::new();
        headers.insert("x-key", Secret::new("real").expose().parse().unwrap());
        let arguments = json!({name: "forged"});
        let request =
            prepare(&reading.operations["get_root"], arguments.as_object().unwrap(), &headers).unwrap();
        assert_eq!(request.headers["x-key"], "real");
        assert!(request.headers.values().all(|value| value != "forged"), "{name}");
    }
}

fn sent(content: Value, arguments: Value) -> (String, String) {
    let request =
        request("/p", json!({"requestBody": {"required": true, "content": content}}), arguments).unwrap();
    let content_type = request.headers["content-type"].to_str().unwrap().to_owned();
    (content_type, String::from_utf8_lossy(&request.body.unwrap()).into_owned())
}

#[test]
fn bodies_are_written_as_their_media_type_says() {
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}});
    for (media_type, schema, arguments, expected) in [
        ("application/json", object.clone(), json!({"a": "x", "b": null}), r#"{"a":"x","b":null}"#),
        ("application/json", json!({"type": "array"}), json!({"body": [1]}), "[1]"),
        ("application/vnd.api+json; v=1", object.clone(), json!({}), "{}"),
        ("text/csv", json!({"type": "string"}), json!({"body": "a,b\n"}), "a,b\n"),
        ("image/png", json!({"type": "string", "format": "binary"}), json!({"body": "aGk"}), "hi"),
        (
            "application/x-www-form-urlencoded",
            object,
            json!({"a": "x&y=z", "b": [1, {"c": 2}]}),
            "a=x%26y%3Dz&b=1&b=%7B%22c%22%3A2%7D",
        ),
    ] {
        let (content_type, body) = sent(json!({media_type: {"schema": schema}}), arguments);
        assert_eq!((content_type.as_str(), body.as_str()), (media_type, expected));
    }
}

#[test]
fn form_fields_follow_their_encoding() {
    let content = json!({"application/x-www-form-urlencoded": {
        "schema": {"type": "object", "properties": {"meta": {"type": "object"}, "tags": {"type": "array"}}},
        "encoding": {"meta": {"style": "deepObject", "explode": true}, "tags": {"style": "form", "explode": false}},
    }});
    let (_, body) = sent(content, json!({"meta": {"k": "v"}, "tags": ["a", "b"]}));
    assert_eq!(body, "meta%5Bk%5D=v&tags=a,b");
}

#[test]
fn a_file_is_a_part_of_its_own_in_a_multipart_body() {
    let content = json!({"multipart/form-data": {
        "schema": {"type": "object", "properties": {
            "file": {"type": "string", "format": "binary"},
            "na\"me": {"type": "string"},
            "info": {"type": "object"},
        }},
        "encoding": {"file": {"contentType": "image/png, image/jpeg"}},
    }});
    let (content_type, body) = sent(content, json!({"file": "AP8=", "na\"me": "n", "info": {"a": 1}}));
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\nContent-Type: image/png\r\n\r\n\0\u{fffd}\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"na%22me\"\r\n\r\nn\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"info\"\r\nContent-Type: application/json\r\n\r\n{{\"a\":1}}\r\n\
         --{boundary}--\r\n"
    );
    assert_eq!(body, expected);
}

#[test]
fn a_body_that_is_not_base64_is_an_invalid_argument() {
    let operation = json!({"requestBody": {"content": {"image/png": {}}}});
    let error = request("/p", operation.clone(), json!({"body": "not base64!"})).unwrap_err();
    assert!(matches!(error, Error::Argument { .. }), "{error}");
    assert!(request("/p", operation, json!({})).unwrap().body.is_none(), "an optional body may be left out");
}
