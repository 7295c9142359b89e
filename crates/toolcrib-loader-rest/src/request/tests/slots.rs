//! Paths, queries, headers and cookies.

use http::HeaderMap;
use serde_json::{Value, json};
use toolcrib_model::JsonObject;
use toolcrib_policy::Access;

use super::{operation_of, parameter, request, url};
use crate::Error;
use crate::auth::{Auth, BoundAuth, KeyLocation, Slot};
use crate::request::prepare;
use crate::upload::Files;

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
        (json!({"content": {"text/plain": {"schema": {}}}}), json!("a\"b"), "v=a%22b"),
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
fn a_value_stays_in_its_slot_whatever_it_is() {
    let hostile = [
        ".",
        "..",
        "%2e",
        "%2E%2e",
        "../..",
        "/",
        "//evil.example/",
        "?",
        "#",
        "&v=2",
        "a\r\nX: 1",
        "\0",
        "\\..\\",
    ];
    for value in hostile {
        for (location, extra) in [
            ("path", json!({})),
            ("path", json!({"style": "label"})),
            ("path", json!({"style": "matrix"})),
            ("query", json!({})),
            ("query", json!({"allowReserved": true})),
            ("query", json!({"style": "deepObject"})),
            ("header", json!({})),
            ("cookie", json!({})),
        ] {
            let path = if location == "path" { "/a/{v}/b" } else { "/a/b" };
            match request(path, parameter(location, extra.clone()), json!({"v": value})) {
                Err(error) => {
                    assert!(matches!(&error, Error::Argument { argument, .. } if argument == "v"), "{error}");
                }
                Ok(request) => {
                    assert_eq!(request.url.origin().ascii_serialization(), "https://api.example");
                    let segments: Vec<_> = request.url.path_segments().unwrap().collect();
                    let expected = if location == "path" { 4 } else { 3 };
                    assert_eq!(
                        (segments.len(), segments[0]),
                        (expected, "v1"),
                        "{location} {value:?} {segments:?}"
                    );
                    assert_eq!(segments.last(), Some(&"b"), "{location} {value:?}");
                    assert_eq!(
                        request.url.query_pairs().count(),
                        usize::from(location == "query"),
                        "{value:?}"
                    );
                    assert_eq!(request.url.fragment(), None);
                    assert!(request.headers.len() <= 2);
                }
            }
        }
    }
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
fn a_list_of_which_an_item_would_arrive_as_two_is_refused() {
    let many = |location: &str, style: Option<&str>, explode: bool, value: Value| {
        let mut extra = json!({"explode": explode});
        if let Some(style) = style {
            extra["style"] = style.into();
        }
        let path = if location == "path" { "/{v}" } else { "/p" };
        request(path, parameter(location, extra), json!({"v": value}))
    };
    for (location, style, explode, value, is_sent) in [
        ("header", None, false, json!(["a,b"]), false),
        ("header", None, false, json!("a,b"), true),
        ("header", None, false, json!({"a": "b=c"}), true),
        ("header", None, true, json!({"a": "b=c"}), false),
        ("header", None, false, json!(" a"), false),
        ("header", None, false, json!("a\u{a0}"), false),
        ("query", Some("form"), false, json!(["a,b"]), true),
        ("query", Some("spaceDelimited"), false, json!(["a b"]), false),
        ("query", Some("spaceDelimited"), true, json!(["a b"]), true),
        ("query", Some("pipeDelimited"), false, json!({"a|b": 1}), false),
        ("query", Some("pipeDelimited"), false, json!("a|b"), true),
        ("path", Some("label"), true, json!(["a.b"]), false),
        ("path", Some("label"), false, json!(["a.b"]), true),
        ("path", Some("matrix"), true, json!(["a;b"]), true),
        ("path", None, false, json!(["a,b"]), true),
    ] {
        let sent = many(location, style, explode, value.clone());
        assert_eq!(sent.is_ok(), is_sent, "{location} {style:?} {value}: {sent:?}");
        if let Err(error) = sent {
            assert!(matches!(&error, Error::Argument { argument, .. } if argument == "v"), "{error}");
        }
    }
}

#[test]
fn an_argument_that_makes_the_url_too_long_is_named() {
    let operation = json!({"parameters": [
        {"name": "a", "in": "query", "schema": {}}, {"name": "b", "in": "query", "schema": {}},
    ]});
    let error = request("/p", operation.clone(), json!({"a": "x", "b": "é".repeat(8000)})).unwrap_err();
    assert_eq!(error.to_string(), "the argument `b` makes the URL longer than 32768 bytes");
    assert!(request("/p", operation, json!({"a": "x", "b": "y".repeat(8000)})).is_ok());
}

#[test]
fn a_cookie_that_is_not_encoded_holds_what_a_cookie_can() {
    let cookie = |explode: bool, value: Value| {
        let extra = json!({"style": "cookie", "explode": explode});
        request("/p", parameter("cookie", extra), json!({"v": value}))
            .map(|request| request.headers["cookie"].clone())
    };
    assert_eq!(cookie(true, json!("a/b=%20")).unwrap(), "v=a/b=%20");
    assert_eq!(cookie(true, json!(["a", "b"])).unwrap(), "v=a; v=b");
    assert_eq!(cookie(true, json!({"a": 1, "b": 2})).unwrap(), "a=1; b=2");
    assert_eq!(cookie(false, json!(["a", "b"])).unwrap(), "v=a,b");
    for value in ["a; admin=1", "a,b", "a b", "\"a\"", "a\r\nX: 1", "é", "a\\b"] {
        assert!(matches!(cookie(true, value.into()), Err(Error::Argument { .. })), "{value}");
    }
    assert!(cookie(false, json!(["a,b"])).is_err());
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
    let own = [Slot::new(KeyLocation::Header, "x-key")];
    let auth = Auth::default().bind(&JsonObject::new(), &own);
    for name in [
        "Authorization",
        "Host",
        "Content-Length",
        "transfer-encoding",
        "Content-Type",
        "Connection",
        "Proxy-Connection",
        "TE",
        "Upgrade",
        "X-Key",
    ] {
        let document = json!({
            "openapi": "3.0.0",
            "servers": [{"url": "https://api.example"}],
            "paths": {"/": {"get": {"parameters": [
                {"name": name, "in": "header", "required": true, "schema": {"type": "string"}},
            ]}}},
        });
        let (operation, properties) = operation_of(&document, &auth);
        assert_eq!(properties, json!({}), "{name}");
        let mut headers = HeaderMap::new();
        headers.insert("x-key", "real".parse().unwrap());
        let arguments = json!({name: "forged"});
        let access = Access::unlimited();
        let request =
            prepare(&operation, arguments.as_object().unwrap(), &headers, &mut Files::new(None, &access))
                .unwrap();
        assert_eq!(request.headers["x-key"], "real");
        assert!(request.headers.values().all(|value| value != "forged"), "{name}");
    }
}

#[test]
fn no_argument_reaches_the_slot_of_a_credential() {
    let slots = [
        Slot::new(KeyLocation::Query, "api key"),
        Slot::new(KeyLocation::Cookie, "session"),
        Slot::new(KeyLocation::Header, "x-key"),
    ];
    let auth = Auth::default().bind(&JsonObject::new(), &slots);
    let parameter = |location: &str, name: &str| json!({"name": name, "in": location, "schema": {}});
    let document = json!({
        "openapi": "3.0.0",
        // What the document itself writes there goes, too.
        "servers": [{"url": "https://api.example?api%20key=document&page=1"}],
        "paths": {"/": {"get": {"parameters": [
            parameter("query", "API KEY"), parameter("cookie", "session"), parameter("header", "Cookie"),
            parameter("header", "X-KEY"), parameter("query", "filter"), parameter("cookie", "others"),
        ]}}},
    });
    let (operation, properties) = operation_of(&document, &auth);
    assert_eq!(properties.as_object().unwrap().keys().collect::<Vec<_>>(), ["filter", "others"]);
    let send = |arguments: Value| {
        let access = Access::unlimited();
        prepare(&operation, arguments.as_object().unwrap(), &HeaderMap::new(), &mut Files::new(None, &access))
    };
    // An exploded object brings names of its own.
    for arguments in [
        json!({"filter": {"api key": "forged"}}),
        json!({"filter": {"Api Key": "forged"}}),
        json!({"others": {"session": "forged"}}),
    ] {
        let error = send(arguments).unwrap_err();
        assert!(error.to_string().contains("which is the slot of a credential of this source"), "{error}");
    }
    let request =
        send(json!({"filter": {"a": 1}, "others": {"b": 2}, "API KEY": "x", "session": "x"})).unwrap();
    assert_eq!(request.url.as_str(), "https://api.example/?page=1&a=1");
    assert_eq!(request.headers["cookie"], "b=2");
}

#[test]
fn a_member_of_an_exploded_object_does_not_take_the_place_of_another_argument() {
    let document = json!({
        "openapi": "3.0.0",
        "servers": [{"url": "https://api.example?fixed=1"}],
        "paths": {"/": {"get": {"parameters": [
            {"name": "admin", "in": "query", "schema": {}},
            {"name": "tags[]", "in": "query", "schema": {}},
            {"name": "filter", "in": "query", "schema": {"type": "object"}},
            {"name": "more", "in": "query", "schema": {"type": "object"}},
            {"name": "deep", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
            {"name": "session", "in": "cookie", "schema": {}},
            {"name": "others", "in": "cookie", "schema": {"type": "object"}},
        ]}}},
    });
    let (operation, _) = operation_of(&document, &BoundAuth::default());
    let send = |arguments: Value| {
        let access = Access::unlimited();
        prepare(&operation, arguments.as_object().unwrap(), &HeaderMap::new(), &mut Files::new(None, &access))
    };
    for (arguments, member) in [
        (json!({"filter": {"admin": true}}), "admin"),
        (json!({"filter": {"Admin": true}}), "Admin"),
        (json!({"filter": {"admin[]": true}}), "admin[]"),
        (json!({"filter": {"tags": "x"}}), "tags"),
        (json!({"filter": {"fixed": 2}}), "fixed"),
        (json!({"filter": {"x": 1}, "more": {"x": 2}}), "x"),
        (json!({"others": {"session": "forged"}}), "session"),
    ] {
        let error = send(arguments.clone()).unwrap_err().to_string();
        assert!(error.contains(&format!("must not have the member `{member}`")), "{arguments}: {error}");
    }
    let url = send(json!({"filter": {"a": 1, "filter": 2}, "deep": {"admin": 3}, "others": {"admin": 4}}));
    assert_eq!(url.unwrap().url.query(), Some("fixed=1&a=1&filter=2&deep%5Badmin%5D=3"));
}
