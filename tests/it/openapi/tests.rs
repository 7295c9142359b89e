//! The check itself can fail: it reads the examples of the specification, and finds what is wrong in a request.

use std::path::Path;

use serde_json::{Value, json};

use super::binding::bind;
use super::check::Made;
use super::decode::{Coding, Pair, slot, take};
use super::node::Library;
use super::reader::{Layout, Style, operations};
use super::server::Recorded;

const URL: Coding = Coding::Url { reserved: false };

fn styled(style: Style, explode: bool) -> Layout {
    Layout::Styled { style, explode, reserved: false }
}

fn pairs(text: &str) -> Vec<Pair> {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect()
}

/// The table of examples, without what it calls undefined: style, `explode`, one value, a list, an object.
fn examples() -> Vec<(Style, bool, [&'static str; 3])> {
    vec![
        (Style::Matrix, false, [";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"]),
        (Style::Matrix, true, [";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"]),
        (Style::Label, false, [".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
        (Style::Label, true, [".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
        (Style::Simple, false, ["blue", "blue,black,brown", "R,100,G,200,B,150"]),
        (Style::Simple, true, ["blue", "blue,black,brown", "R=100,G=200,B=150"]),
        (Style::Form, false, ["color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        (Style::Form, true, ["color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"]),
        (Style::Space, false, ["", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"]),
        (Style::Pipe, false, ["", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"]),
        (Style::Deep, true, ["", "", "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"]),
    ]
}

fn is_read(style: Style, explode: bool, text: &str, value: &Value) -> bool {
    let layout = styled(style, explode);
    if matches!(style, Style::Matrix | Style::Label | Style::Simple) {
        return slot("color", text, layout, URL, value).is_ok();
    }
    let mut pairs = pairs(text);
    take(&mut pairs, "color", layout, URL, value).is_ok() && pairs.is_empty()
}

#[test]
fn the_examples_of_the_specification_are_read_and_nothing_else_is() {
    let values = [json!("blue"), json!(["blue", "black", "brown"]), json!({"R": 100, "G": 200, "B": 150})];
    for (style, explode, texts) in examples() {
        for (text, value) in texts.iter().zip(&values).filter(|(text, _)| !text.is_empty()) {
            assert!(is_read(style, explode, text, value), "{style:?} {explode} {text}");
            let changed = [
                text.replacen("blue", "blau", 1).replacen("100", "101", 1),
                text.replacen(',', "%2C", 1).replacen('&', "%26", 1).replacen(';', "%3B", 1),
                format!("{text},more"),
            ];
            for wrong in changed.iter().filter(|wrong| wrong != text) {
                assert!(!is_read(style, explode, wrong, value), "{style:?} {explode} {wrong}");
            }
        }
    }
    assert!(!is_read(Style::Form, true, "color=a b", &json!("a b")), "a space is encoded");
    assert!(!is_read(Style::Form, true, "color=a+b", &json!("a+b")), "a plus is encoded");
    assert!(!is_read(Style::Form, true, "color[x]=1", &json!({"x": 1})), "not a form");
    assert!(!is_read(Style::Deep, true, "color[R]=1", &json!({"R": 1})), "brackets are encoded");
}

const DOCUMENT: &str = r##"{"openapi": "3.1.0", "paths": {"/pets/{id}.json": {"post": {
    "parameters": [
        {"name": "id", "in": "path", "required": true, "schema": {"type": "integer", "maximum": 100}},
        {"name": "id", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "X-Kind", "in": "header", "schema": {"enum": ["cat", "dog"]}},
        {"name": "key", "in": "cookie", "schema": {"type": "string"}}
    ],
    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}
}}}, "components": {"schemas": {"Pet": {"properties": {
    "name": {"type": "string", "minLength": 2}, "born": {"type": "string", "readOnly": true}
}}}}}"##;

/// What the check finds in a request that is right, but for this change of request or arguments.
fn found(change: impl FnOnce(&mut Recorded, &mut Value)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pets.json");
    std::fs::write(&path, DOCUMENT).unwrap();
    let library = Library::open(Path::new(&path));
    let all = operations(library.root().unwrap());
    let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let mut request = Recorded {
        method: "POST".into(),
        target: "/d0/pets/7.json?id=a%20b&id=c".into(),
        headers: vec![
            header("x-kind", "cat"),
            header("cookie", "key=%3B"),
            header("content-type", "application/json"),
            header("accept", "*/*"),
        ],
        body: br#"{"name": "Rex"}"#.to_vec(),
    };
    let names = ["id", "id__query", "X-Kind", "key", "name", "born"];
    let properties: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let mut arguments =
        json!({"id": 7, "id__query": ["a b", "c"], "X-Kind": "cat", "key": ";", "name": "Rex"});
    change(&mut request, &mut arguments);
    let binding = bind(&json!({"properties": properties, "required": ["id"]}), &all[0]).unwrap();
    let arguments = arguments.as_object().unwrap();
    Made { operation: &all[0], binding: &binding, arguments, base: "/d0" }.problems(&request)
}

#[test]
fn each_part_of_a_request_that_is_wrong_is_found() {
    assert_eq!(found(|_, _| {}), Vec::<String>::new());
    let target =
        |target: &'static str| move |request: &mut Recorded, _: &mut Value| request.target = target.into();
    let header = |index: usize, text: &'static str| {
        move |request: &mut Recorded, _: &mut Value| request.headers[index].1 = text.into()
    };
    let body = |text: &'static str| move |request: &mut Recorded, _: &mut Value| request.body = text.into();
    let both = |name: &'static str, value: Value, text: &'static str| {
        move |request: &mut Recorded, arguments: &mut Value| {
            arguments[name] = value;
            request.body = text.into();
        }
    };
    let cases: Vec<(&str, Vec<String>)> = vec![
        ("method", found(|request, _| request.method = "PUT".into())),
        ("path", found(target("/d0/pets/8.json?id=a%20b&id=c"))),
        ("path", found(target("/d0/pets/7?id=a%20b&id=c"))),
        ("path", found(target("/d0/pets/7.json/?id=a%20b&id=c"))),
        ("path", found(target("/d1/pets/7.json?id=a%20b&id=c"))),
        ("query", found(target("/d0/pets/7.json?id=a+b&id=c"))),
        ("query", found(target("/d0/pets/7.json?id=a%20b,c"))),
        ("query", found(target("/d0/pets/7.json?id=c&id=a%20b"))),
        ("query", found(target("/d0/pets/7.json?id=a%20b&id=c&x=1"))),
        ("header", found(header(0, "dog"))),
        ("a header", found(|request, _| request.headers.push(("x-evil".into(), b"1".to_vec())))),
        ("cookie", found(header(1, "key=%3B; admin=1"))),
        ("cookie", found(header(1, "key=;"))),
        ("a media type", found(header(2, "text/plain"))),
        ("JSON body", found(body(r#"{"name": "Max"}"#))),
        ("JSON body", found(body(r#"{"name": "Rex", "more": 1}"#))),
        (
            "argument that the document refuses, maximum",
            found(|request, arguments| {
                arguments["id"] = 700.into();
                request.target = "/d0/pets/700.json?id=a%20b&id=c".into();
            }),
        ),
        (
            "argument that the document refuses, enum",
            found(|request, arguments| {
                arguments["X-Kind"] = "cow".into();
                request.headers[0].1 = b"cow".to_vec();
            }),
        ),
        ("body that the document refuses, length", found(both("name", "R".into(), r#"{"name": "R"}"#))),
        (
            "body that the document refuses, readOnly",
            found(both("born", "x".into(), r#"{"name": "Rex", "born": "x"}"#)),
        ),
    ];
    for (number, (class, problems)) in cases.iter().enumerate() {
        assert!(problems.len() == 1 && problems[0].starts_with(class), "{number} {class}: {problems:?}");
    }
}
