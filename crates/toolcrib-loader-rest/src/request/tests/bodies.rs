//! Bodies, and the files in them.

use std::path::Path;

use http::HeaderMap;
use serde_json::{Value, json};
use toolcrib_policy::Access;

use super::{operation_of, request, request_from};
use crate::Error;
use crate::auth::BoundAuth;
use crate::request::prepare;
use crate::upload::{Files, MAX_UPLOAD_BYTES};

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
        ("application/json-patch+json", json!({"type": "array"}), json!({"body": []}), "[]"),
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
fn a_file_is_sent_as_what_it_is_where_the_document_leaves_that_open() {
    let (png, gif) = ("iVBORw0KGgo=", "data:image/gif;base64,R0lG");
    for (media_type, content, expected) in [
        ("image/*", png, "image/png"),
        ("image/*", gif, "image/gif"),
        ("image/*", "aGk=", "application/octet-stream"),
        ("image/jpeg", png, "image/jpeg"),
        ("application/octet-stream", png, "application/octet-stream"),
    ] {
        let (content_type, _) = sent(json!({media_type: {}}), json!({"body": content}));
        assert_eq!(content_type, expected, "{media_type} {content}");
        let form = json!({"multipart/form-data": {
            "schema": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}},
            "encoding": {"file": {"contentType": media_type}},
        }});
        let (_, body) = sent(form, json!({"file": content}));
        assert!(
            body.contains(&format!("\r\nContent-Type: {expected}\r\n")),
            "{media_type} {content}: {body}"
        );
    }
}

#[test]
fn a_sequence_of_json_texts_is_written_from_a_list() {
    let request = |version: &str, media_type: &str, media: Value| {
        let document = json!({
            "openapi": version,
            "servers": [{"url": "https://api.example"}],
            "paths": {"/": {"post": {"requestBody": {"required": true, "content": {media_type: media}}}}},
        });
        let (operation, properties) = operation_of(&document, &BoundAuth::default());
        let arguments = json!({"body": [{"a": "x\ny"}, 2]});
        let access = Access::unlimited();
        let request = prepare(
            &operation,
            arguments.as_object().unwrap(),
            &HeaderMap::new(),
            &mut Files::new(None, &access),
        );
        let body = request.ok().map(|request| String::from_utf8(request.body.unwrap().to_vec()).unwrap());
        (properties["body"].clone(), body)
    };
    let items = json!({"itemSchema": {"type": ["object", "integer"]}});
    let lines = "{\"a\":\"x\\ny\"}\n2\n";
    let list = json!({"type": "array", "items": {"type": ["object", "integer"]}});
    for (media_type, expected) in [
        ("application/jsonl", lines.to_owned()),
        ("application/x-ndjson; charset=utf-8", lines.to_owned()),
        ("application/json-seq", "\u{1e}{\"a\":\"x\\ny\"}\n\u{1e}2\n".to_owned()),
        ("application/geo+json-seq", "\u{1e}{\"a\":\"x\\ny\"}\n\u{1e}2\n".to_owned()),
    ] {
        assert_eq!(
            request("3.2.0", media_type, items.clone()),
            (list.clone(), Some(expected)),
            "{media_type}"
        );
    }
    assert_eq!(
        request("3.1.0", "application/jsonl", json!({"schema": list})),
        (list, Some(lines.to_owned()))
    );
    // Before 3.2 there is no such keyword, and without it the body is a text.
    assert_eq!(request("3.1.0", "application/jsonl", items).0["type"], "string");
}

#[test]
fn an_argument_that_has_another_name_than_its_property_is_what_an_error_names() {
    let operation = json!({
        "parameters": [{"name": "v", "in": "query", "schema": {}}],
        "requestBody": {"required": true, "content": {"multipart/form-data": {"schema": {
            "type": "object", "properties": {"v": {"type": "string", "format": "binary"}},
        }}}},
    });
    let error = request("/p", operation.clone(), json!({"v": "q", "v__body": "no base64"})).unwrap_err();
    assert!(matches!(&error, Error::Argument { argument, .. } if argument == "v__body"), "{error}");
    let request = request("/p", operation, json!({"v": "q", "v__body": "aGk="})).unwrap();
    assert_eq!(request.url.query(), Some("v=q"));
    let body = String::from_utf8(request.body.unwrap().to_vec()).unwrap();
    assert!(body.contains("name=\"v\"; filename=\"v\"") && body.contains("\r\n\r\nhi\r\n"), "{body}");
}

#[test]
fn lists_of_swagger_are_joined_in_the_parts_of_a_form_as_they_are_in_its_pairs() {
    for (format, expected) in [
        (json!(null), vec!["a,b"]),
        (json!("csv"), vec!["a,b"]),
        (json!("ssv"), vec!["a b"]),
        (json!("tsv"), vec!["a\tb"]),
        (json!("pipes"), vec!["a|b"]),
        (json!("multi"), vec!["a", "b"]),
    ] {
        let mut list = json!({"name": "v", "in": "formData", "type": "array", "items": {"type": "string"}});
        if format.is_string() {
            list["collectionFormat"] = format.clone();
        }
        let document = json!({
            "swagger": "2.0", "host": "api.example", "consumes": ["multipart/form-data"],
            "paths": {"/": {"post": {"parameters": [list, {"name": "f", "in": "formData", "type": "file"}]}}},
        });
        let (operation, _) = operation_of(&document, &BoundAuth::default());
        let arguments = json!({"v": ["a", "b"], "f": "aGk="});
        let access = Access::unlimited();
        let mut files = Files::new(None, &access);
        let request =
            prepare(&operation, arguments.as_object().unwrap(), &HeaderMap::new(), &mut files).unwrap();
        let body = String::from_utf8(request.body.unwrap().to_vec()).unwrap();
        let parts = body.split("name=\"v\"\r\n\r\n").skip(1);
        let parts: Vec<_> = parts.map(|part| part.split("\r\n").next().unwrap()).collect();
        assert_eq!(parts, expected, "{format}");
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
fn what_a_part_is_called_stays_in_its_line_and_its_content_is_as_its_media_type_says() {
    let content = json!({"multipart/mixed; boundary=fixed": {
        "schema": {"type": "object", "properties": {"note": {}}, "additionalProperties": {}},
        "encoding": {"note": {"contentType": "application/json; charset=utf-8"}},
    }});
    let (content_type, body) =
        sent(content, json!({"body": {"note": "n", "a\r\nX: 1": [1, [2]], "gone": null}}));
    let boundary = content_type.strip_prefix("multipart/mixed; boundary=").unwrap();
    assert!(boundary != "fixed" && boundary.len() <= 70);
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"note\"\r\n\
         Content-Type: application/json; charset=utf-8\r\n\r\n\"n\"\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"a%0D%0AX: 1\"\r\n\r\n1\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"a%0D%0AX: 1\"\r\n\
         Content-Type: application/json\r\n\r\n[2]\r\n--{boundary}--\r\n"
    );
    assert_eq!(body, expected);
}

#[test]
fn parts_follow_the_style_that_their_encoding_says() {
    let parts = |style: Value, value: Value| {
        let document = json!({
            "openapi": "3.1.0",
            "servers": [{"url": "https://api.example"}],
            "paths": {"/": {"post": {"requestBody": {"required": true, "content": {"multipart/form-data": {
                "schema": {"type": "object", "properties": {"v": {"type": ["object", "array"]}}},
                "encoding": {"v": style},
            }}}}}},
        });
        let (operation, _) = operation_of(&document, &BoundAuth::default());
        let access = Access::unlimited();
        let arguments = json!({"v": value});
        let mut files = Files::new(None, &access);
        let request = prepare(&operation, arguments.as_object().unwrap(), &HeaderMap::new(), &mut files)?;
        let body = String::from_utf8(request.body.unwrap().to_vec()).unwrap();
        let named = body.split("name=\"").skip(1).map(|part| {
            let (name, rest) = part.split_once("\"\r\n\r\n").unwrap();
            format!("{name}={}", rest.split("\r\n").next().unwrap())
        });
        Ok::<_, Error>(named.collect::<Vec<_>>().join("&"))
    };
    let (list, object) = (json!(["a", "b"]), json!({"x": 1, "y": {"z": 2}}));
    for (style, value, expected) in [
        (json!({"style": "form"}), &list, "v=a&v=b"),
        (json!({"style": "form"}), &object, "x=1&y={\"z\":2}"),
        (json!({"style": "form", "explode": false}), &list, "v=a,b"),
        (json!({"style": "pipeDelimited"}), &list, "v=a|b"),
        (json!({"style": "deepObject"}), &object, "v[x]=1&v[y][z]=2"),
        (json!({"style": "deepObject"}), &list, "v=a&v=b"),
    ] {
        assert_eq!(parts(style.clone(), value.clone()).unwrap(), expected, "{style}");
    }
    let error = parts(json!({"style": "pipeDelimited"}), json!(["a|b"])).unwrap_err();
    assert!(matches!(&error, Error::Argument { argument, .. } if argument == "v"), "{error}");
}

#[test]
fn a_file_of_the_workspace_is_uploaded_and_none_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("workspace");
    std::fs::create_dir_all(workspace.join("in")).unwrap();
    std::fs::write(folder.path().join("secret"), "outside").unwrap();
    std::fs::write(workspace.join("in/a\".txt"), "inside").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("secret"), workspace.join("link")).unwrap();
    let form = json!({"requestBody": {"content": {"multipart/form-data": {"schema": {
        "type": "object", "properties": {"file": {"type": "string", "format": "binary"}},
    }}}}});
    let image = json!({"requestBody": {"content": {"image/png": {}}}});
    let upload = |workspace: Option<&Path>, file: &str| {
        request_from("/p", form.clone(), json!({"file": file}), workspace)
            .map(|request| String::from_utf8(request.body.unwrap().to_vec()).unwrap())
    };
    let body = upload(Some(&workspace), "file:in/a\".txt").unwrap();
    assert!(body.contains("filename=\"a%22.txt\"") && body.contains("\r\n\r\ninside\r\n"), "{body}");
    let whole = request_from("/p", image, json!({"body": "file: in/a\".txt"}), Some(&workspace)).unwrap();
    assert_eq!(whole.body.unwrap(), "inside");
    assert!(upload(None, "data:text/plain;base64,aGk=").unwrap().contains("\r\n\r\nhi\r\n"));
    for path in ["file:../secret", "file:/etc/passwd", "file:link", "file:in", "file:", "file:none"] {
        let error = upload(Some(&workspace), path).unwrap_err();
        assert!(matches!(&error, Error::Argument { argument, .. } if argument == "file"), "{path}: {error}");
    }
    let error = upload(None, "file:in/a.txt").unwrap_err();
    assert!(error.to_string().contains("this source has no workspace"), "{error}");
}

#[test]
fn files_keep_to_the_access_rules_and_the_bound_on_uploads() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("open.txt"), "open").unwrap();
    std::fs::write(folder.path().join("closed.txt"), "closed").unwrap();
    let large = std::fs::File::create(folder.path().join("large.txt")).unwrap();
    large.set_len(MAX_UPLOAD_BYTES as u64 + 1).unwrap();
    let rules =
        json!({"filesystem": [{"path": "open.txt", "mode": "read"}, {"path": "large.txt", "mode": "read"}]});
    let access = Access::new(&serde_json::from_value(rules).unwrap()).unwrap();
    let mut files = Files::new(Some(folder.path()), &access);
    assert_eq!(files.content("file", "file:open.txt").unwrap().bytes, b"open");
    for (path, expected) in [
        ("file:closed.txt", "does not allow it under `access.filesystem`"),
        ("file:large.txt", "is too large: one call uploads at most 33554432 bytes"),
    ] {
        let error = files.content("file", path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_body_that_is_not_base64_is_an_invalid_argument() {
    let operation = json!({"requestBody": {"content": {"image/png": {}}}});
    let error = request("/p", operation.clone(), json!({"body": "not base64!"})).unwrap_err();
    assert!(matches!(error, Error::Argument { .. }), "{error}");
    assert!(request("/p", operation, json!({})).unwrap().body.is_none(), "an optional body may be left out");
}

#[test]
fn a_member_of_an_exploded_field_does_not_take_the_place_of_another_field() {
    for media_type in ["application/x-www-form-urlencoded", "multipart/form-data"] {
        let content = json!({media_type: {
            "schema": {"type": "object", "properties": {"admin": {"type": "string"}, "meta": {"type": "object"}}},
            "encoding": {"meta": {"style": "form", "explode": true}},
        }});
        let document = json!({
            "openapi": "3.1.0",
            "servers": [{"url": "https://api.example"}],
            "paths": {"/": {"post": {"requestBody": {"content": content}}}},
        });
        let (operation, _) = operation_of(&document, &BoundAuth::default());
        let access = Access::unlimited();
        let arguments = json!({"meta": {"admin": "yes"}});
        let error = prepare(
            &operation,
            arguments.as_object().unwrap(),
            &HeaderMap::new(),
            &mut Files::new(None, &access),
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains("`meta` must not have the member `admin`"), "{media_type}: {error}");
    }
}
