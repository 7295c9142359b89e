//! What conditions mean, read widely and narrowly.

use serde_json::{Value, json};

use super::{Arguments, CompiledCondition, Condition, Reading};
use crate::{PolicyError, SettingLocation};

fn compile(condition: &Value, reading: Reading) -> Result<CompiledCondition, PolicyError> {
    let condition: Condition = serde_json::from_value(condition.clone()).unwrap();
    CompiledCondition::new(&SettingLocation::default().key("rule"), &condition, reading)
}

fn holds(condition: &Value, reading: Reading, arguments: &Value) -> bool {
    compile(condition, reading).unwrap().holds(Arguments::new(arguments.as_object().unwrap(), None))
}

/// Condition, arguments, whether it holds in a deny, and whether in a grant.
#[test]
fn a_condition_is_read_widely_where_it_takes_and_narrowly_where_it_gives() {
    let cases = [
        // The value itself.
        (json!({"path": "/a", "equals": "x"}), json!({"a": "x"}), true, true),
        (json!({"path": "/a", "equals": "x"}), json!({"a": "X"}), false, false),
        (json!({"path": "/a", "equals": null}), json!({"a": null}), true, true),
        (json!({"path": "/a", "in": ["x", 2]}), json!({"a": 2}), true, true),
        (json!({"path": "/a", "in": ["x", 2]}), json!({"a": 3}), false, false),
        (json!({"path": "/a/b", "equals": 1}), json!({"a": {"b": 1}}), true, true),
        (json!({"path": "/a~1b~0c", "equals": 1}), json!({"a/b~c": 1}), true, true),
        (json!({"path": "/", "equals": 1}), json!({"": 1}), true, true),
        // What is not there fulfils nothing.
        (json!({"path": "/a", "equals": null}), json!({}), false, false),
        (json!({"path": "/a/b", "equals": 1}), json!({"a": 1}), false, false),
        (json!({"path": "/a", "matches": ".*"}), json!({"b": "x"}), false, false),
        (json!({"path": "/a/*", "equals": 1}), json!({"a": []}), false, false),
        (json!({"path": "/a/*", "equals": 1}), json!({"a": {}}), false, false),
        // Numbers are what they are, not how they are written.
        (json!({"path": "/a", "equals": 1}), json!({"a": 1.0}), true, true),
        (json!({"path": "/a", "equals": 1}), json!({"a": 1.5}), false, false),
        (json!({"path": "/a", "equals": 0}), json!({"a": -0.0}), true, true),
        (
            json!({"path": "/a", "equals": 9_007_199_254_740_993_u64}),
            json!({"a": 9_007_199_254_740_992_u64}),
            false,
            false,
        ),
        (
            json!({"path": "/a", "equals": 9_007_199_254_740_993_u64}),
            json!({"a": 9_007_199_254_740_992.0}),
            false,
            false,
        ),
        (json!({"path": "/a", "equals": 18_446_744_073_709_551_615_u64}), json!({"a": -1}), false, false),
        (
            json!({"path": "/a", "equals": {"x": [1, 2], "y": 3}}),
            json!({"a": {"y": 3.0, "x": [1, 2]}}),
            true,
            true,
        ),
        // The same thing said in another type.
        (json!({"path": "/a", "equals": 22}), json!({"a": "22"}), true, false),
        (json!({"path": "/a", "equals": 22}), json!({"a": " 22.0"}), true, false),
        (json!({"path": "/a", "equals": 22}), json!({"a": "+22"}), true, false),
        (json!({"path": "/a", "equals": 22}), json!({"a": "022"}), true, false),
        (json!({"path": "/a", "equals": -0.5}), json!({"a": "-.5"}), true, false),
        (json!({"path": "/a", "equals": 22}), json!({"a": "221"}), false, false),
        (json!({"path": "/a", "equals": "22"}), json!({"a": 22}), true, false),
        (json!({"path": "/a", "equals": true}), json!({"a": "True"}), true, false),
        (json!({"path": "/a", "equals": "true"}), json!({"a": true}), true, false),
        (json!({"path": "/a", "equals": null}), json!({"a": "null"}), true, false),
        (json!({"path": "/a", "equals": true}), json!({"a": 1}), false, false),
        // A list or a map where a value is expected.
        (json!({"path": "/a", "equals": "x"}), json!({"a": ["y", ["x"]]}), true, false),
        (json!({"path": "/a", "equals": "x"}), json!({"a": ["x"]}), true, false),
        (json!({"path": "/a", "equals": "x"}), json!({"a": {"v": {"w": "x"}}}), true, false),
        (json!({"path": "/a", "equals": "x"}), json!({"a": {"x": 1}}), true, false),
        (json!({"path": "/a", "equals": ["x", "y"]}), json!({"a": ["x", "y"]}), true, true),
        (json!({"path": "/a", "equals": ["x", "y"]}), json!({"a": ["y", "x"]}), false, false),
        // An object or a list as text, which some servers parse.
        (json!({"path": "/a/b", "equals": true}), json!({"a": r#"{"b": true}"#}), true, false),
        (json!({"path": "/a/b", "equals": true}), json!({"a": r#"{"b": false}"#}), false, false),
        (json!({"path": "/a/b", "equals": true}), json!({"a": r#"{"x": NaN, "b": true}"#}), true, false),
        (json!({"path": "/a/b", "equals": true}), json!({"a": "{b: true}"}), true, false),
        (json!({"path": "/a/b", "equals": true}), json!({"a": "b: true"}), false, false),
        (json!({"path": "/a/*/b", "equals": 1}), json!({"a": r#"[{"b": 1}]"#}), true, false),
        (json!({"path": "/a/b", "equals": 1}), json!({"a": {"b": r#"["1"]"#}}), true, false),
        (json!({"path": "/a", "equals": "x"}), json!({"a": r#"["x"]"#}), true, false),
        (json!({"path": "/a", "equals": "x"}), json!({"a": "[x] and [y]"}), false, false),
        // A list on the way.
        (json!({"path": "/a/b", "equals": 1}), json!({"a": [{"b": 2}, {"b": 1}]}), true, false),
        (json!({"path": "/a/b", "equals": 1}), json!({"a": [[{"b": 1}]]}), true, false),
        (json!({"path": "/a/1/b", "equals": 1}), json!({"a": [{"b": 2}, {"b": 1}]}), true, true),
        (json!({"path": "/a/0/b", "equals": 1}), json!({"a": [{"b": 2}, {"b": 1}]}), false, false),
        (json!({"path": "/a/01", "equals": 1}), json!({"a": [2, 1]}), false, false),
        (json!({"path": "/a/*/b", "equals": 1}), json!({"a": [{"b": 2}, {"b": 1}]}), true, false),
        (json!({"path": "/a/*/b", "equals": 1}), json!({"a": [{"b": 1}, {"b": 1}]}), true, true),
        (json!({"path": "/a/*/b", "equals": 1}), json!({"a": [{"b": 1}, {}]}), true, false),
        (json!({"path": "/a/*/b", "equals": 1}), json!({"a": {"x": {"b": 1}}}), true, true),
        // And no list where one is expected.
        (json!({"path": "/a/*/b", "equals": 1}), json!({"a": {"b": 1}}), true, false),
        (json!({"path": "/a/*", "equals": 1}), json!({"a": 1}), true, false),
        (json!({"path": "/a/0", "equals": 1}), json!({"a": 1}), true, false),
        // Names that a careless reader takes for another.
        (json!({"path": "/path", "equals": 1}), json!({"PATH": 1}), true, false),
        (json!({"path": "/path", "equals": 1}), json!({"pa\u{200b}th\0": 1}), true, false),
        (json!({"path": "/disk", "equals": 1}), json!({"di\u{17f}\u{212a}": 1}), true, false),
        (json!({"path": "/path", "equals": 1}), json!({"path": 2, "Path": 1}), true, false),
        (json!({"path": "/path", "equals": 1}), json!({"path": 1, "Path": 2}), true, false),
        (json!({"path": "/path", "equals": 1}), json!({"path": 1, "paths": 2}), true, true),
        (json!({"path": "/*", "equals": 1}), json!({"a": 1, "b": 2}), true, false),
        // Regular expressions.
        (json!({"path": "/a", "matches": "b+"}), json!({"a": "abbc"}), true, false),
        (json!({"path": "/a", "matches": "b+"}), json!({"a": "bb"}), true, true),
        (json!({"path": "/a", "matches": "b+"}), json!({"a": "bb\n"}), true, false),
        (json!({"path": "/a", "matches": "(?m)^b$"}), json!({"a": "a\nb"}), true, false),
        (json!({"path": "/a", "matches": "a|b"}), json!({"a": "ab"}), true, false),
        (json!({"path": "/a", "matches": "^22$"}), json!({"a": 22}), true, false),
        (json!({"path": "/a", "matches": "^22$"}), json!({"a": 22.0}), true, false),
        (json!({"path": "/a", "matches": "^22$"}), json!({"a": "22"}), true, true),
        (json!({"path": "/a", "matches": "true"}), json!({"a": true}), true, false),
        (json!({"path": "/a", "matches": "^/etc/"}), json!({"a": ["/tmp", "/etc/passwd"]}), true, false),
        (json!({"path": "/a/*", "matches": "/tmp/.*"}), json!({"a": ["/tmp/a", "/tmp/b"]}), true, true),
        (json!({"path": "/a/*", "matches": "/tmp/.*"}), json!({"a": ["/tmp/a", "/etc/b"]}), true, false),
        (json!({"path": "/a", "matches": "^/etc/"}), json!({"a": {"/etc/passwd": 1}}), true, false),
    ];
    for (condition, arguments, wide, narrow) in cases {
        assert_eq!(holds(&condition, Reading::Wide, &arguments), wide, "deny {condition} of {arguments}");
        assert_eq!(
            holds(&condition, Reading::Narrow, &arguments),
            narrow,
            "grant {condition} of {arguments}"
        );
    }
}

#[test]
fn what_lies_too_deep_to_be_looked_at_is_denied_and_not_granted() {
    let deep = (0..1000).fold(json!("x"), |inner, _| json!([inner]));
    let condition = json!({"path": "/a", "equals": "y"});
    assert!(holds(&condition, Reading::Wide, &json!({"a": deep.clone()})));
    assert!(!holds(&condition, Reading::Narrow, &json!({"a": deep})));
}

#[test]
fn a_condition_that_is_none_says_what_to_write() {
    let cases = [
        json!({"path": "/a"}),
        json!({"path": "/a", "equals": 1, "matches": "1"}),
        json!({"path": "a", "equals": 1}),
        json!({"path": "", "equals": 1}),
        json!({"path": "/a~2", "equals": 1}),
        json!({"path": "/*/*/*/*/*/*/*/*/*", "equals": 1}),
        json!({"path": "/a", "in": []}),
        json!({"path": "/a", "matches": "(a"}),
        json!({"path": "/a", "matches": "a)|(?:b"}),
        json!({"path": "/a", "matches": "(?=a)"}),
        json!({"path": "/a", "matches": r"\w{1000}"}),
        json!({"path": "/a", "matches": "a".repeat(5000)}),
    ];
    let errors = cases.map(|condition| {
        let error = compile(&condition, Reading::Narrow).unwrap_err();
        format!("{} {error}", error.place().pointer())
    });
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_path_with_a_key_twice_or_unknown_is_no_condition() {
    for wrong in [
        json!({"path": "/a", "equal": 1}),
        json!({"path": "/a", "matches": null}),
        json!({"equals": 1}),
        json!({"path": "/a", "in": "x"}),
    ] {
        assert!(serde_json::from_value::<Condition>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn a_hostile_text_takes_linear_time() {
    // With a backtracking engine this ends long after the test is given up.
    let text = "a".repeat(50_000) + "!";
    assert!(!holds(&json!({"path": "/a", "matches": "(a+)+$"}), Reading::Narrow, &json!({"a": text})));
}
