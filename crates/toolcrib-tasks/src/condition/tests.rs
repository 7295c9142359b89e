//! What conditions say, and what is said of those that are none.

use serde_json::{Value, json};

use super::*;

fn holds(text: &str, result: &Value, before: Option<&Value>) -> bool {
    Condition::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).holds(result, before)
}

#[test]
fn a_test_holds_for_what_is_there_and_fits() {
    let result = json!({
        "status": "up", "load": 0.75, "count": 3, "none": null, "ok": true, "date": "2026-03-01",
        "tags": ["a", 2], "nested": {"a b": [{"x": 1}]}, "limit": 2,
    });
    let cases = [
        ("$.status == 'up'", true),
        ("$.status == \"up\"", true),
        ("$.status != 'up'", false),
        ("$.status < 'v'", true),
        ("$.load > 0.7", true),
        ("$.load >= 0.75 and $.load <= 0.75", true),
        ("$.count == 3.0", true),
        ("$.count > -1e3", true),
        ("$.count > $.limit", true),
        ("$.count < '4'", false),
        ("$.none == null", true),
        ("$.none exists", true),
        ("$.missing == null", false),
        ("$.missing != 1", false),
        ("not $.missing exists", true),
        ("$.ok == true", true),
        ("$.date >= '2026-02-28'", true),
        ("$.tags contains 'a'", true),
        ("$.tags contains 2.0", true),
        ("$.status contains 'u'", true),
        ("$.nested contains 'a b'", true),
        ("$.count contains 3", false),
        ("$.nested['a b'][0].x == 1", true),
        ("$.tags[9] exists", false),
        ("$.status == 'down' or $.load > 0.5 and $.ok == true", true),
        ("($.status == 'down' or $.load > 0.5) and $.ok == false", false),
        ("NOT ($.ok == false AND $.count == 3)", true),
        ("$ contains 'status'", true),
    ];
    for (text, expected) in cases {
        assert_eq!(holds(text, &result, None), expected, "{text}");
    }
}

#[test]
fn a_change_is_one_from_the_result_before() {
    let before = json!({"price": 100, "name": "a", "gone": 1, "list": [1]});
    let now = json!({"price": 94.0, "name": "a", "list": [1, 2], "new": 1});
    let cases = [
        ("$.price changed", true),
        ("$.price changed by more than 5", true),
        ("$.price changed by more than 6", false),
        ("$.price changed by more than 5 %", true),
        ("$.price changed by more than 6%", false),
        ("$.name changed", false),
        ("$.gone changed", true),
        ("$.new changed", true),
        ("$.gone changed by more than 0", false),
        ("$.name changed by more than 0", false),
        ("$.list changed", true),
        ("$ changed", true),
        ("$.never changed", false),
    ];
    for (text, expected) in cases {
        assert_eq!(holds(text, &now, Some(&before)), expected, "{text}");
        assert!(!holds(text, &now, None), "{text}: there is nothing to compare with");
        assert!(!holds(text, &before, Some(&before)), "{text}: nothing changed");
    }
}

#[test]
fn it_is_known_whether_a_condition_compares_two_results() {
    for (text, expected) in [
        ("$.a == 1 or not ($.b exists and $.c contains 1)", false),
        ("$.a == 1 or not ($.b exists and $.c changed)", true),
        ("$.a changed by more than 1", true),
        ("$.a changed by more than 1 %", true),
    ] {
        assert_eq!(Condition::parse(text).unwrap().compares(), expected, "{text}");
    }
}

#[test]
fn a_mistake_is_said_at_its_place() {
    let (deep, long) = ("(".repeat(MAX_CONDITION_DEPTH + 1), "x".repeat(MAX_CONDITION_CHARS + 1));
    let wrong = [
        "",
        "status == 1",
        "$.a",
        "$.a = 1",
        "$.a == up",
        "$.a == ",
        "$.a > true",
        "$.a == 1 $.b == 2",
        "($.a == 1",
        "$.a changed by 5",
        "$.a changed by more than -5",
        "$.a changed by more than x",
        "$. == 1",
        "$[x] == 1",
        "$[1.5] == 1",
        "$[0 == 1",
        "$.a == 'x",
        "$.a == 1e999",
        "$.a & 1",
        "$.é == 'ü' ü",
        &deep,
        &long,
    ];
    let said = wrong.map(|text| {
        let quoted: String = text.chars().take(40).collect();
        format!("{quoted}\n  {}", Condition::parse(text).unwrap_err())
    });
    insta::assert_snapshot!(said.join("\n"));
}
