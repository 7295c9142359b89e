//! Calls that are checked now and made later, and arguments that come under former names.

use toolcrib_policy::RUNTIME_NAMESPACE;

use super::*;

/// The tools of the runtime that forward calls, and one whose argument had another name, beside tools that they call.
fn runtime() -> Fixture {
    let own = |name| Tool::new(QualifiedName::new(RUNTIME_NAMESPACE, name).unwrap());
    let tool = |name| Tool::new(QualifiedName::new("t", name).unwrap());
    let limit = || json!({"type": "object", "properties": {"limit": {"type": "integer"}}});
    let former_arguments = json!({"last_n": "limit"});
    let tools = [
        own("execute_tool")
            .with_parameters(json!({"type": "object", "properties": {"name": {}, "params": {}}}))
            .with_metadata("forwards", "call"),
        own("run_parallel")
            .with_parameters(json!({"type": "object", "properties": {"calls": {"type": "array"}}}))
            .with_metadata("forwards", "calls"),
        own("history").with_parameters(limit()).with_metadata("former_arguments", former_arguments.clone()),
        tool("history").with_parameters(limit()).with_metadata("former_arguments", former_arguments),
        tool("secret"),
    ];
    let registry = ToolRegistry::from_tools("test", tools).unwrap();
    let rules = json!({"default_policy": "approve", "deny": [{"actions": ["secret"]}]});
    let policy = Policy::new(&serde_json::from_value(rules).unwrap(), []).unwrap();
    let engine = Arc::new(Engine::default());
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
    Fixture { engine: engine.clone(), executor: Arc::new(executor.with_engine("test", engine)) }
}

fn checked(fixture: &Fixture, name: &str, arguments: &Value) -> Result<(), ErrorKind> {
    let call = ToolCall::new(name, arguments.as_object().unwrap().clone());
    let entrance = fixture.executor.tool_caller();
    entrance.catalogue().check_call(&call, &CallContext::new("s")).map_err(|error| error.kind)
}

#[test]
fn a_call_that_is_made_later_is_checked_without_asking_or_running() {
    let fixture = runtime();
    let inside = |name: &str, params: Value| json!({"name": name, "params": params});
    let both = |second: Value| json!({"calls": [inside("t.history", json!({"limit": 1})), second]});
    for (name, arguments, expected) in [
        ("t.history", json!({"limit": 1}), Ok(())),
        ("t.history", json!({"limit": "one"}), Err(ErrorKind::InvalidArgs)),
        ("t.hystery", json!({}), Err(ErrorKind::UnknownTool)),
        ("t.secret", json!({}), Err(ErrorKind::Denied)),
        ("execute_tool", inside("t.history", json!({})), Ok(())),
        ("execute_tool", inside("t.history", json!({"limt": 1})), Err(ErrorKind::InvalidArgs)),
        ("execute_tool", inside("t.secret", json!({})), Err(ErrorKind::Denied)),
        ("run_parallel", both(inside("t.history", json!({}))), Ok(())),
        ("run_parallel", both(inside("t.secret", json!({}))), Err(ErrorKind::Denied)),
        (
            "run_parallel",
            both(json!({"name": "run_parallel", "params": both(json!({}))})),
            Err(ErrorKind::InvalidArgs),
        ),
    ] {
        assert_eq!(checked(&fixture, name, &arguments), expected, "{name} {arguments}");
    }
    assert_eq!(fixture.calls(), 0);
}

#[tokio::test]
async fn a_former_name_of_an_argument_is_accepted_and_the_result_names_the_new_one() {
    let fixture = runtime();
    let name = format!("{RUNTIME_NAMESPACE}.history");
    let result = fixture.call(&name, json!({"last_n": "5"})).await;
    assert_eq!(result.result, json!({"limit": 5}));
    let repairs = json!([
        {"path": "/limit", "change": "renamed", "from": "last_n", "to": "limit"},
        {"path": "/limit", "change": "string_to_integer", "from": "5", "to": 5},
    ]);
    assert_eq!(result.metadata["repairs"], repairs);
    // Of two that say the same, neither is taken for the other.
    let error = fixture.error(&name, json!({"last_n": 5, "limit": 6})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
}

#[test]
fn only_tools_of_the_runtime_rename_arguments() {
    assert_eq!(checked(&runtime(), "t.history", &json!({"last_n": 5})), Err(ErrorKind::InvalidArgs));
}
