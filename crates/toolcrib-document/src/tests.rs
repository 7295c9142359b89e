//! What the reader promises.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Document, Error, Format, Limits, MAX_BYTES, MAX_VALUES, Position, StrictValue, parse};

fn yaml(text: &str) -> Result<Document, Error> {
    parse(text.as_bytes(), Format::Yaml, &Limits::default())
}

fn value(text: &str) -> Value {
    yaml(text).unwrap().value
}

#[test]
fn scalars_follow_the_core_schema() {
    for (text, expected) in [
        ("yes", json!("yes")),
        ("on", json!("on")),
        ("true", json!(true)),
        ("~", json!(null)),
        ("", json!(null)),
        ("12", json!(12)),
        ("-12", json!(-12)),
        ("+12", json!(12)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("0xzz", json!("0xzz")),
        ("1.5", json!(1.5)),
        ("1e3", json!(1000.0)),
        (".5", json!(0.5)),
        ("1.", json!(1.0)),
        (".", json!(".")),
        ("1_000", json!("1_000")),
        ("2026-01-01", json!("2026-01-01")),
        ("18446744073709551615", json!(u64::MAX)),
        ("'12'", json!("12")),
        ("\"12\"", json!("12")),
        ("!!str 12", json!("12")),
        ("!!int '12'", json!(12)),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn aliases_and_merge_keys_are_filled_in() {
    let text = "base: &base {a: 1, b: 2}\nlist: [*base, *base]\nmerged: {<<: *base, b: 3}\n";
    assert_eq!(
        value(text),
        json!({"base": {"a": 1, "b": 2}, "list": [{"a": 1, "b": 2}, {"a": 1, "b": 2}], "merged": {"b": 3, "a": 1}})
    );
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..9 {
        let item = format!("*a{},", level - 1).repeat(10);
        writeln!(text, "a{level}: &a{level} [{item}]").unwrap();
    }
    assert!(matches!(yaml(&text), Err(Error::TooManyAliases { .. })));
}

#[test]
fn aliases_are_counted_in_bytes_too() {
    let long = "x".repeat(1 << 20);
    let values = format!("a: &a {long}\nb: [{}]\n", "*a,".repeat(20_000));
    let keys = format!("a: &a {long}\nb: [{}]\n", "{*a : 1},".repeat(20_000));
    let inside_keys = format!("a: &a {{{long}: 1}}\nb: [{}]\n", "*a,".repeat(20_000));
    for text in [values, keys, inside_keys] {
        assert!(matches!(yaml(&text), Err(Error::AliasesTooLarge { .. })));
    }
}

#[test]
fn anchors_around_anchors_are_counted() {
    for inside in ["x".repeat(2 << 20), "1,".repeat(1 << 17)] {
        let mut text = String::new();
        for level in 0..120 {
            write!(text, "&a{level} [").unwrap();
        }
        text.push_str(&inside);
        text.push_str(&"]".repeat(120));
        assert!(matches!(yaml(&text), Err(Error::AliasesTooLarge { .. })));
    }
}

#[test]
fn deep_nesting_is_refused_in_both_formats() {
    let nested = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(matches!(yaml(&nested), Err(Error::TooDeep { .. })));
    let json = parse(nested.as_bytes(), Format::Json, &Limits::default());
    assert!(matches!(json, Err(Error::TooDeep { .. })));
}

#[test]
fn too_many_bytes_are_refused_before_they_are_read() {
    let big = vec![b' '; MAX_BYTES + 1];
    assert!(matches!(parse(&big, Format::Yaml, &Limits::default()), Err(Error::TooLarge { .. })));
}

#[test]
fn very_many_values_are_refused_before_they_are_read() {
    let many = MAX_VALUES + 1;
    let read = |text: String, format| parse(text.as_bytes(), format, &Limits::default());
    for (text, format) in [
        (format!("[{}1]", "1,".repeat(many)), Format::Json),
        (format!("[{}1]", "1,".repeat(many)), Format::Yaml),
        (format!("[{}", "[],".repeat(many)), Format::Json),
        ("1\n".repeat(many), Format::JsonLines),
        ("- 1\n".repeat(many), Format::Yaml),
    ] {
        assert_eq!(read(text, format), Err(Error::TooManyValues), "{format:?}");
    }
    let prose = format!("[\"\\\"{}\", 1]", ",[".repeat(many));
    assert_eq!(read(prose, Format::Json).unwrap().value[1], json!(1), "a text is one value");
}

#[test]
fn a_duplicate_key_is_an_error_at_its_place() {
    let expected = Error::DuplicateKey { position: Position { line: 2, column: 1 }, key: "a".into() };
    assert_eq!(yaml("a: 1\na: 2\n"), Err(expected));
    let error = parse(b"{\"a\": 1,\n \"a\": 2}", Format::Json, &Limits::default()).unwrap_err();
    assert!(
        matches!(&error, Error::DuplicateKey { key, position } if key == "a" && position.line == 2),
        "{error:?}"
    );
}

#[test]
fn an_error_shows_the_start_of_what_is_wrong() {
    let long = "k".repeat(400);
    let json = format!("{{\"{long}\": 1, \"{long}\": 2}}");
    let texts =
        [format!("{{{long}: 1, {long}: 2}}"), format!("a: !{long} 1"), format!("{}: 1", "9".repeat(400))];
    let mut errors: Vec<_> = texts.iter().map(|text| yaml(text).unwrap_err()).collect();
    errors.push(parse(json.as_bytes(), Format::Json, &Limits::default()).unwrap_err());
    for error in errors {
        let text = error.to_string();
        assert!(text.contains('…') && text.chars().count() < 200, "{}", text.len());
    }
}

#[test]
fn other_encodings_are_named() {
    for bytes in [&b"\xFF\xFEa\0"[..], b"a\0:\0", b"a: \xFF"] {
        assert!(
            matches!(parse(bytes, Format::Yaml, &Limits::default()), Err(Error::Encoding { .. })),
            "{bytes:?}"
        );
    }
}

#[test]
fn utf_8_may_begin_with_a_byte_order_mark() {
    for (bytes, format) in
        [(&b"\xEF\xBB\xBFa: 1"[..], Format::Yaml), (b"\xEF\xBB\xBF{\"a\": 1}", Format::Json)]
    {
        let document = parse(bytes, format, &Limits::default()).unwrap();
        assert_eq!(document.value, json!({"a": 1}));
        assert_eq!(document.position_of("/a").map(|position| position.line), Some(1));
    }
    assert_eq!(Format::detect(std::path::Path::new("tools"), b"\xEF\xBB\xBF{}"), Format::Json);
}

#[test]
fn a_path_is_written_in_one_way() {
    assert_eq!(crate::path_of("/tools/registry/0/command"), "tools.registry[0].command");
    assert_eq!(crate::path_of("/agents/1"), "agents[1]");
    assert_eq!(crate::path_of("/modules/a~1b"), "modules.a/b");
    assert_eq!(crate::path_of(""), "");
}

#[test]
fn non_string_keys_are_refused_unless_asked_for() {
    for text in ["200: ok", "true: x", "~: x", "[a]: x", "{a: b}: x"] {
        assert!(matches!(yaml(text), Err(Error::NonStringKey { .. })), "{text}");
    }
    for (text, message) in [
        ("a: true\ntrue: x", "the key `true` is not a text; put it in quotes"),
        ("a: {{secret.TOKEN}}", "the key `{…}` is not a text; put a text that begins with `{` in quotes"),
        ("a: {[b]: c}", "the key `[…]` is not a text; put a text that begins with `[` in quotes"),
    ] {
        assert_eq!(yaml(text).unwrap_err().to_string(), message);
    }
    let document = parse(b"200: ok", Format::Yaml, &Limits::default().with_scalar_keys()).unwrap();
    assert_eq!(document.value, json!({"200": "ok"}));
}

#[test]
fn unknown_tags_and_unrepresentable_numbers_are_refused() {
    assert!(matches!(yaml("a: !!python/object x"), Err(Error::Tag { .. })));
    assert!(matches!(yaml("a: !mine {b: 1}"), Err(Error::Tag { .. })));
    assert!(matches!(yaml("a: .nan"), Err(Error::Unrepresentable { .. })));
    assert!(matches!(yaml("a: -.inf"), Err(Error::Unrepresentable { .. })));
    assert!(parse(b"1e400", Format::Json, &Limits::default()).is_err());
}

#[test]
fn broken_text_names_line_and_column() {
    let error = yaml("a: 1\nb: [1, 2\nc: 3\n").unwrap_err();
    assert!(error.position().is_some_and(|position| position.line >= 2), "{error:?}");
    let error = parse(b"{\"a\": 1,\n  oops}", Format::Json, &Limits::default()).unwrap_err();
    assert_eq!(error.position(), Some(Position { line: 2, column: 3 }));
    assert!(error.at("x.json").starts_with("x.json:2:3: not valid JSON: "), "{}", error.at("x.json"));
}

#[test]
fn a_second_document_is_refused() {
    assert!(matches!(yaml("a: 1\n---\nb: 2\n"), Err(Error::SeveralDocuments { .. })));
}

#[test]
fn json_lines_are_an_array_and_keep_their_line_numbers() {
    let lines = |text: &str| parse(text.as_bytes(), Format::JsonLines, &Limits::default());
    let document = lines("{\"a\": 1}\n\n{\"b\": 2}\n").unwrap();
    assert_eq!(document.value, json!([{"a": 1}, {"b": 2}]));
    assert_eq!(document.position_of("/1/b"), Some(Position { line: 3, column: 2 }));
    assert_eq!(lines("{}\n{x\n").unwrap_err().position().map(|position| position.line), Some(2));
}

#[test]
fn every_value_has_its_place() {
    let document = yaml("# top\na:\n  - x\n  - b: 1\n    c: {d: 2}\ne: &e [1]\nf: *e\n").unwrap();
    for (pointer, line, column) in
        [("/a", 2, 1), ("/a/0", 3, 5), ("/a/1/b", 4, 5), ("/a/1/c/d", 5, 9), ("/e/0", 6, 8), ("/f", 7, 1)]
    {
        assert_eq!(document.position_of(pointer), Some(Position { line, column }), "{pointer}");
    }
    assert_eq!(document.position_of("/a/7"), None);
}

#[test]
fn many_places_are_found_in_one_walk() {
    let count = 20_000;
    let text = "- {a/b: [1]}\n".repeat(count);
    let mut pointers: Vec<String> = (0..count).map(|item| format!("/{item}/a~1b/0")).collect();
    pointers.extend(["/0/a~1b/0".into(), "/7/absent".into(), String::new()]);
    let found = yaml(&text).unwrap().positions_of(&pointers);
    for (item, position) in found.iter().take(count).enumerate() {
        assert_eq!(*position, Some(Position { line: item + 1, column: 10 }));
    }
    assert_eq!(found[count], found[0], "one that is asked for twice");
    assert_eq!(found[count + 1..], [None, Some(Position { line: 1, column: 1 })]);

    let lines = parse(b"{\"a\": 1}\n\n{\"b\": 2}\n", Format::JsonLines, &Limits::default()).unwrap();
    let found = lines.positions_of(&["/1/b", "/0"]);
    assert_eq!(found, [Some(Position { line: 3, column: 2 }), Some(Position { line: 1, column: 1 })]);
}

#[test]
fn a_shape_error_names_the_place_the_path_and_the_nearest_key() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct App {
        #[serde(default, rename = "tools")]
        _tools: Vec<Entry>,
    }
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        #[serde(rename = "path")]
        _path: String,
    }
    for (text, expected) in [
        ("tools:\n  - path: x\n    pathh: y\n", "f:3:5: unknown key `pathh`, did you mean `path`?"),
        ("tools:\n  - path: 5\n", "f:2:5: `tools[0].path`: expected a text, found `5`"),
        ("tools:\n  - {}\n", "f:2:5: `tools[0]`: missing field `path`"),
        ("tols: []\n", "f:1:1: unknown key `tols`, did you mean `tools`?"),
        ("xyz: []\n", "f:1:1: unknown key `xyz`; expected one of: tools"),
    ] {
        assert_eq!(yaml(text).unwrap().deserialize::<App>().unwrap_err().at("f"), expected);
    }
}

#[test]
fn integers_beyond_64_bits_are_kept_as_they_were_written() {
    let json = r#"{"a": [1, -123456789012345678901234567890, "9e9 \" -7"], "b/c": 18446744073709551616, "d": 1e22, "e": -0}"#;
    let document = parse(json.as_bytes(), Format::Json, &Limits::default()).unwrap();
    let expected =
        [("/a/1", "-123456789012345678901234567890"), ("/b~1c", "18446744073709551616"), ("/e", "0")];
    let exact = document.exact_integers("");
    assert_eq!(exact.iter().map(|(p, d)| (p.as_str(), d.as_str())).collect::<Vec<_>>(), expected);
    assert_eq!(document.exact_integers("/a").keys().collect::<Vec<_>>(), ["/1"]);

    let text = "base: &b {x: +18446744073709551616}\ncopy: *b\nmerged: {<<: *b, y: 1e22}\nlist: [*b]\n";
    let exact = yaml(text).unwrap().exact_integers("");
    assert_eq!(exact.keys().collect::<Vec<_>>(), ["/base/x", "/copy/x", "/list/0/x", "/merged/x"]);
    assert!(exact.values().all(|digits| digits == "18446744073709551616"));
}

#[test]
fn an_integer_that_would_be_rounded_is_refused_where_no_rounding_is_taken() {
    for text in [
        r#"{"id": 18446744073709551616}"#,
        r#"[{"id": -9223372036854775809}]"#,
        "123456789012345678901234567890",
    ] {
        let error = StrictValue::parse(text).unwrap_err().to_string();
        assert!(error.contains("needs more than 64 bits and would be rounded"), "{text}: {error}");
        let document = parse(text.as_bytes(), Format::Json, &Limits::default()).unwrap();
        assert!(document.refuse_wide_integers().is_err(), "{text}");
    }
    for text in
        ["18446744073709551615", "-9223372036854775808", "1e30", "-0", "1.5", r#""18446744073709551616""#]
    {
        assert!(StrictValue::parse(text).is_ok(), "{text}");
        let document = parse(text.as_bytes(), Format::Json, &Limits::default()).unwrap();
        assert_eq!(document.refuse_wide_integers(), Ok(()), "{text}");
    }
}
