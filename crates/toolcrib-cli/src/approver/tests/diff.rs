//! What an edit changed.

use serde_json::{Value, json};

use super::object;
use crate::approver::diff::{arguments, lines};

fn changes(old: &Value, new: &Value) -> String {
    arguments(&object(old), &object(new))
}

#[test]
fn each_change_of_an_argument_is_told_at_its_place() {
    let old = json!({
        "path": "a.txt", "same": [1, 2], "list": [1, {"deep": true}], "grown": [1], "gone": null,
        "text": "one\ntwo\nthree\nfour\nfive\nsix\nseven", "kind": 1, "esc\n+ path": "\u{1b}[2J",
    });
    let new = json!({
        "path": "b.txt", "same": [1, 2], "list": [1, {"deep": false}], "grown": [1, 2], "new": "x",
        "text": "one\ntwo\nthree\nfour\n5\nsix\nseven\neight", "kind": 1.0, "esc\n+ path": "\u{202e}",
    });
    insta::assert_snapshot!(changes(&old, &new));
    assert_eq!(changes(&old, &old), "");
}

#[test]
fn a_change_far_into_a_long_value_is_in_sight() {
    let long = |end: &str| json!({"text": "x".repeat(5000) + end});
    let shown = changes(&long("old"), &long("new"));
    assert!(shown.contains("xold\"\n") && shown.ends_with("xnew\""), "{shown}");
    assert!(shown.len() < 300, "{shown}");
    let shown = changes(&json!({"text": "é".repeat(5000)}), &json!({"text": "é".repeat(5000) + "!"}));
    assert!(shown.ends_with("é!\""), "{shown}");
}

#[test]
fn lines_that_stay_are_told_from_those_that_go_and_come() {
    let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
    for (new, shown) in [
        (old, "  …"),
        ("a\nb\nc\nd\ne\nf\ng\nh\ni\n", "  …\n    g\n    h\n  + i"),
        ("b\nc\nd\ne\nf\ng\nh\n", "  - a\n    b\n    c\n  …"),
        ("a\nb\nc\nx\ne\nf\ng\nh\n", "  …\n    b\n    c\n  - d\n  + x\n    e\n    f\n  …"),
        ("", "  - a\n  - b\n  - c\n  - d\n  - e\n  - f\n  - g\n  - h"),
    ] {
        assert_eq!(lines(old, new), shown, "{new}");
    }
}

#[test]
fn a_difference_without_end_is_cut() {
    let many = |prefix: &str| (0..5000).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>().join("\n");
    let shown = lines(&many("a"), &many("b"));
    assert!(shown.ends_with("  … and 9800 more lines"), "{}", shown.len());
    let old: Value = (0..5000).map(|n| (n.to_string(), json!(0))).collect();
    assert!(changes(&old, &json!({})).ends_with("  … and 4800 more lines"));
}
