//! Every shape that models write, and the one that comes of it.

use serde_json::{Value, json};

use toolcrib_model::tool::Forwarding;
use toolcrib_model::{QualifiedName, Tool};

use super::{clamp_numbers, normalize_deferred, normalize_forwarding};

fn normalize(forwarding: Forwarding, arguments: &Value) -> Result<Value, String> {
    let normal = normalize_forwarding(forwarding, arguments.as_object().unwrap().clone());
    normal.map(Value::Object).map_err(|error| error.message)
}

#[test]
fn all_shapes_of_one_call_become_name_and_params() {
    let expected = json!({"name": "files.read", "params": {"path": "a"}});
    for given in [
        json!({"name": "files.read", "params": {"path": "a"}}),
        json!({"name": "files.read", "arguments": {"path": "a"}}),
        json!({"tool_name": "files.read", "args": {"path": "a"}}),
        json!({"tool": "files.read", "input": {"path": "a"}}),
        json!({"function": "files.read", "parameters": {"path": "a"}}),
        json!({"name": "files.read", "params": "{\"path\": \"a\"}"}),
        json!({"name": "files.read", "path": "a"}),
        json!({"tool_name": "files.read", "path": "a"}),
        json!({"params": {"tool_name": "files.read", "path": "a"}}),
        json!({"params": {"tool_name": "files.read", "params": {"path": "a"}}}),
        json!({"params": {"name": "files.read", "arguments": {"path": "a"}}}),
        json!({"arguments": "{\"name\": \"files.read\", \"arguments\": {\"path\": \"a\"}}"}),
    ] {
        assert_eq!(normalize(Forwarding::Call, &given), Ok(expected.clone()), "{given}");
        assert_eq!(normalize(Forwarding::Call, &expected), Ok(expected.clone()));
    }
}

#[test]
fn a_tool_may_have_an_argument_called_name() {
    for (given, params) in [
        (json!({"tool_name": "hello.greet", "name": "Ada"}), json!({"name": "Ada"})),
        (json!({"name": "hello.greet", "params": {"name": "Ada"}}), json!({"name": "Ada"})),
        (json!({"name": "db.fetch", "params": {"name": "x", "limit": 1}}), json!({"name": "x", "limit": 1})),
        (json!({"name": "hello.greet", "params": null}), json!({})),
        (json!({"name": "hello.greet", "params": " "}), json!({})),
        (json!({"name": "hello.greet"}), json!({})),
    ] {
        assert_eq!(normalize(Forwarding::Call, &given).unwrap()["params"], params, "{given}");
    }
}

#[test]
fn what_could_mean_two_things_is_an_error() {
    for (given, message) in [
        (
            json!({"name": "a.b", "params": {}, "args": {}}),
            "`params` and `args` say the same, and only one of them can be meant",
        ),
        (
            json!({"name": "a.b", "tool_name": "c.d", "params": {}}),
            "the tool is named more than once, by `name` and `tool_name`",
        ),
        (json!({"name": "a.b", "params": [1]}), "`params` must be a JSON object"),
        (json!({"name": "a.b", "params": "[1]"}), "`params` must be a JSON object"),
    ] {
        assert_eq!(normalize(Forwarding::Call, &given).unwrap_err(), message);
    }
    for text in ["{\"a\": 1, \"a\": 2}", "{", "{\"a\": 1e400}", &"[".repeat(10_000)] {
        let error = normalize(Forwarding::Call, &json!({"name": "a.b", "params": text})).unwrap_err();
        assert!(error.starts_with("`params` is a text that is not JSON: "), "{error}");
    }
}

#[test]
fn what_is_no_part_of_a_call_is_left_for_the_schema_to_refuse() {
    for given in [
        json!({"name": "a.b", "params": {}, "_approved": true}),
        json!({"nothing": 1}),
        json!({"params": {"path": "a"}}),
        json!({"name": 7, "params": {}}),
    ] {
        assert_eq!(normalize(Forwarding::Call, &given), Ok(given.clone()));
    }
}

#[test]
fn several_calls_are_normalised_one_by_one() {
    let expected = json!({"calls": [{"name": "a.b", "params": {"x": 1}}]});
    for given in [
        json!({"calls": [{"name": "a.b", "params": {"x": 1}}]}),
        json!({"tools": [{"tool_name": "a.b", "arguments": {"x": 1}}]}),
        json!({"actions": "[{\"name\": \"a.b\", \"x\": 1}]"}),
        json!({"calls": {"name": "a.b", "x": 1}}),
    ] {
        assert_eq!(normalize(Forwarding::Calls, &given), Ok(expected.clone()), "{given}");
    }
    assert!(normalize(Forwarding::Calls, &json!({"calls": [], "tools": []})).is_err());
}

/// A tool of the runtime that says this of itself.
fn own(namespace: &str, key: &str, value: Value) -> Tool {
    Tool::new(QualifiedName::new(namespace, "x").unwrap()).with_metadata(key, value).with_parameters(json!({
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": 1, "maximum": 20}, "text": {"type": "string"}},
    }))
}

#[test]
fn a_call_that_is_made_later_is_read_in_every_shape() {
    let later = own("context_builder", "target", json!({"name": "tool"}));
    let watched = own("context_builder", "target", json!({"name": "name"}));
    let scheduled = own("scheduler", "target", json!({"name": "tool", "within": "action"}));
    for name in ["name", "tool", "tool_name", "function"] {
        for params in ["params", "arguments", "args", "parameters", "input"] {
            for value in [json!({"path": "a"}), json!("{\"path\": \"a\"}")] {
                let call = json!({name: "files.read", params: value});
                for (tool, given, expected) in [
                    (&later, call.clone(), json!({"tool": "files.read", "params": {"path": "a"}})),
                    (&watched, call.clone(), json!({"name": "files.read", "params": {"path": "a"}})),
                    (
                        &scheduled,
                        json!({"when": "in 5m", "action": call}),
                        json!({"when": "in 5m", "action": {"tool": "files.read", "params": {"path": "a"}}}),
                    ),
                    (
                        &scheduled,
                        json!({"action": call.to_string()}),
                        json!({"action": {"tool": "files.read", "params": {"path": "a"}}}),
                    ),
                ] {
                    let target = tool.deferred_call().unwrap();
                    let normal = normalize_deferred(target, given.as_object().unwrap().clone()).unwrap();
                    assert_eq!(Value::Object(normal), expected, "{given}");
                }
            }
        }
    }
    for (tool, given) in [
        (&later, json!({"task_id": "t", "wait": true})),
        (&scheduled, json!({"action": {"message": "Tea!"}})),
        (&scheduled, json!({"action": "Tea!"})),
    ] {
        let normal =
            normalize_deferred(tool.deferred_call().unwrap(), given.as_object().unwrap().clone()).unwrap();
        assert_eq!(Value::Object(normal), given);
    }
    let two = json!({"name": "a.b", "tool": "c.d"});
    assert!(normalize_deferred(later.deferred_call().unwrap(), two.as_object().unwrap().clone()).is_err());
    assert!(own("mcp_evil", "target", json!({"name": "tool"})).deferred_call().is_none());
}

#[test]
fn numbers_beyond_the_bounds_of_a_tool_of_the_runtime_are_brought_within_them() {
    let clamps = own("context_builder", "clamps", json!(true));
    for (given, kept, changes) in
        [(21, 20, 1), (0, 1, 1), (-5, 1, 1), (20, 20, 0), (1, 1, 0), (i64::MAX, 20, 1)]
    {
        let mut arguments = json!({"count": given, "text": "x"}).as_object().unwrap().clone();
        let repairs = clamp_numbers(&clamps, &mut arguments);
        assert_eq!((&arguments["count"], repairs.len()), (&json!(kept), changes), "{given}");
        assert!(repairs.iter().all(|repair| repair.path == "/count" && repair.from == Some(json!(given))));
    }
    for other in [own("mcp_bank", "clamps", json!(true)), own("context_builder", "clamps", json!(false))] {
        let mut arguments = json!({"count": 21}).as_object().unwrap().clone();
        assert!(clamp_numbers(&other, &mut arguments).is_empty() && arguments["count"] == 21);
    }
}
