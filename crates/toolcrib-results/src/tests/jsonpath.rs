//! Queries.

use serde_json::{Value, json};

use crate::read_result::cancellable_search::CancelFlag;
use crate::read_result::jsonpath::{MAX_WHOLE_TEXT_BYTES, Query, QueryLimit};

fn select(query: &str, root: &Value) -> Result<Vec<Value>, QueryLimit> {
    let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {}", error.message));
    let cancel = CancelFlag::default();
    query.select(root, &cancel).map(|found| found.into_iter().cloned().collect())
}

#[test]
fn a_query_finds_what_the_rfc_says() {
    let root = json!({
        "items": [{"name": "ab", "price": 5}, {"name": "b", "price": 15, "tags": ["x"]}, {"name": null}],
        "a key": 1, "o'c": 2, "é": {"name": "deep"},
    });
    let table = [
        ("$.items[0].name", json!(["ab"])),
        ("items[1].price", json!([15])),
        ("$.items[-1].name", json!([null])),
        ("$.items[:2].price", json!([5, 15])),
        ("$.items[::-2].name", json!([null, "ab"])),
        ("$.items[?@.price < 10].name", json!(["ab"])),
        ("$.items[?@.price >= 5 && !@.tags].name", json!(["ab"])),
        ("$.items[?@.name == null || @.price == 15].price", json!([15])),
        ("$.items[?match(@.name, 'a')].name", json!([])),
        ("$.items[?match(@.name, 'a.')].name", json!(["ab"])),
        ("$.items[?search(@.name, 'b')].name", json!(["ab", "b"])),
        ("$.items[?length(@.name) == 2].price", json!([5])),
        ("$.items[?count(@.*) == 1].name", json!([null])),
        ("$['a key', \"o'c\"]", json!([1, 2])),
        ("$..name", json!(["ab", "b", null, "deep"])),
        ("$.é.*", json!(["deep"])),
        ("$.nothing[3]", json!([])),
    ];
    for (query, expected) in table {
        assert_eq!(Value::from(select(query, &root).unwrap()), expected, "{query}");
    }
}

#[test]
fn what_is_no_query_is_an_error_with_its_place() {
    for query in [
        "$[",
        "$.items[?",
        "$[?@.a ==]",
        "$.a b",
        "$[01]",
        "$[9007199254740993]",
        "$['\\q']",
        "$[?match(@.a, @.b)]",
    ] {
        assert!(Query::parse(query).is_err(), "{query}");
    }
    let deep = format!("$[?{}@.a{}]", "(".repeat(1_000), ")".repeat(1_000));
    assert!(Query::parse(&deep).is_err());
    let nested = format!("$[?{}@.a{}]", "(".repeat(200), ")".repeat(200));
    assert!(Query::parse(&nested).is_err());
}

#[test]
fn a_query_that_looks_at_the_same_values_over_and_over_is_given_up() {
    let mut root = json!([1]);
    for _ in 0..60 {
        root = json!([root, [1, 2, 3]]);
    }
    let cancel = CancelFlag::default();
    for query in ["$..*..*..*..*..*", "$..[?count($..*) > count($..*[?count($..*) > 1])]"] {
        let found =
            Query::parse(query).unwrap().select_within(&root, 200_000, &cancel).map(|found| found.len());
        assert_eq!(found, Err(QueryLimit::Steps), "{query}");
    }
    let wide = json!(vec![0; 100_001]);
    assert_eq!(select("$[*]", &wide), Err(QueryLimit::Matches));
}

#[test]
fn a_long_text_can_be_searched_and_is_not_matched_as_a_whole() {
    let root = json!([{"text": "b".repeat(MAX_WHOLE_TEXT_BYTES) + "needle"}]);
    assert_eq!(select("$[?search(@.text, 'needle')]", &root).unwrap().len(), 1);
    assert_eq!(select("$[?match(@.text, 'b*needle')]", &root), Err(QueryLimit::Text));
}

#[test]
fn a_query_that_nobody_waits_for_any_more_ends() {
    let cancel = CancelFlag::default();
    drop(cancel.cancel_on_drop());
    let root = json!([1]);
    assert_eq!(Query::parse("$[0]").unwrap().select(&root, &cancel), Err(QueryLimit::Steps));
}
