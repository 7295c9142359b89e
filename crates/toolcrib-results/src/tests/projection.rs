//! What a projection leaves of a result.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, QualifiedName, Secret, Tool, ToolError, ToolResult};
use toolcrib_port::CallContext;

use crate::read_result::ReadResult;
use crate::{Projections, ResultLimits, Results, Secrets, check_expression};

fn orders() -> Value {
    let row =
        |n: u32| json!({"id": n, "customer": format!("c-{n}"), "total": n * 10, "notes": "long ".repeat(20)});
    json!({"orders": (0..50).map(row).collect::<Vec<_>>()})
}

async fn projected(results: &Results, value: Value, expression: &str) -> ToolResult {
    let projections = Projections { of_caller: Some(expression), ..Projections::default() };
    let result = ToolResult::ok(None, "shop::orders", value);
    results.project(result, projections, None, &CallContext::new("s")).await
}

#[tokio::test]
async fn jsonpath_and_jq_leave_what_they_select_and_count_the_tokens() {
    let results = Results::default();
    let result = projected(&results, orders(), "$.orders[:2].id").await;
    assert_eq!(result.result, json!([0, 1]));
    let (before, after) = result.projected().unwrap();
    assert!(before > 1_000 && after < 10, "{before} {after}");
    assert_eq!(result.saved_tokens(), Some(before - after));
    let result = projected(&results, orders(), ".orders | map(.total) | add").await;
    assert_eq!(result.result, json!(12_250));
    let result = projected(&results, json!(orders().to_string()), "$.orders[0].customer").await;
    assert_eq!(result.result, "c-0", "JSON in a text is read");
    let result = projected(&results, json!("id,name\n1,a\n2,b\n3,c"), "map(.name)").await;
    assert_eq!(result.result, json!(["a", "b", "c"]), "a table in a text is read");
}

#[tokio::test]
async fn a_wrong_expression_gives_the_structure_a_hint_and_the_handle() {
    let results = Results::default();
    for expression in
        ["$.order[*].id", "$.orders[", ".order", ".orders | map(.idd", ".orders | lenght", "empty"]
    {
        let result = projected(&results, orders(), expression).await;
        assert!(result.is_ok(), "{expression}: {:?}", result.error);
        let structure = result.result["structure"].as_str().unwrap();
        assert!(
            structure.contains("orders") && structure.contains("customer: str"),
            "{expression}: {structure}"
        );
        assert!(result.result["problem"].as_str().unwrap().starts_with("the call ran"), "{expression}");
        assert!(!result.result["hint"].as_str().unwrap().is_empty(), "{expression}");
        let handle = result.handle().unwrap().to_owned();
        let request = ReadResult { handle, jsonpath: Some("$.orders[1].id".into()), ..ReadResult::default() };
        let read = results.read(request, &CallContext::new("s")).await.unwrap();
        assert_eq!(read["values"], json!([1]), "{expression}");
    }
    let result = projected(&results, orders(), ".orders | lenght").await;
    insta::assert_snapshot!(result.result["problem"].as_str().unwrap(), @"the call ran, and `project` did not fit its result: `jq` has no filter `lenght` here, did you mean `length`?");
}

#[tokio::test]
async fn an_expression_that_explodes_ends_within_its_limits() {
    let results = Results::default();
    for expression in [
        "[range(1e9)]",
        "def f: f; f",
        "def f: 1 + f; f",
        "\"x\" * 1000000000",
        "limit(200000; repeat(1))",
        "$..*..*..*..*..*..*..*",
    ] {
        let result = projected(&results, orders(), expression).await;
        assert!(result.result["structure"].is_string(), "{expression}");
    }
}

#[tokio::test]
async fn no_expression_takes_a_secret_apart() {
    let secrets = Secrets::default();
    assert!(secrets.add("KEY", Secret::new("correct-horse-battery")));
    let results = Results::default().with_secrets(secrets);
    let value = json!({"key": "correct-horse-battery"});
    for expression in [".key | explode", ".key[0:7]", ".key | @base64", "$.key"] {
        let result = projected(&results, value.clone(), expression).await;
        let shown = result.result.to_string();
        let spelled: Vec<u8> = result
            .result
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_u64)
            .filter_map(|n| u8::try_from(n).ok())
            .collect();
        let spelled = String::from_utf8_lossy(&spelled).into_owned();
        for text in [shown, spelled] {
            assert!(!text.contains("correct") && !text.contains("Y29ycmVjd"), "{expression}: {text}");
        }
    }
}

#[tokio::test]
async fn a_projection_of_a_shape_that_fails_shows_nothing_of_the_result() {
    let results = Results::default();
    let result = ToolResult::ok(None, "shop::orders", orders());
    let projections = Projections { of_shape: Some("$.order[*].id"), of_caller: Some("$") };
    let result = results.project(result, projections, None, &CallContext::new("s")).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!((error.kind, result.handle()), (ErrorKind::ToolFailed, None));
    assert!(!result.result.to_string().contains("customer"), "{}", result.result);
}

#[tokio::test]
async fn the_expression_of_a_caller_sees_only_what_a_shape_leaves() {
    let results = Results::default();
    let result = ToolResult::ok(None, "shop::orders", orders());
    let projections = Projections { of_shape: Some("$.orders[*].id"), of_caller: Some("$..customer") };
    let result = results.project(result, projections, None, &CallContext::new("s")).await;
    assert!(!result.result.to_string().contains("customer: str"), "{}", result.result);
}

#[tokio::test]
async fn a_failed_call_keeps_its_error() {
    let error = ToolError::new(ErrorKind::ToolFailed, "no");
    let result = ToolResult::failed(None, "shop::orders", error.clone());
    let projections = Projections { of_caller: Some("$.x"), ..Projections::default() };
    let result = Results::default().project(result, projections, None, &CallContext::new("s")).await;
    assert_eq!(result.error, Some(error));
}

#[tokio::test]
async fn tables_are_compact_for_models_where_the_settings_say_so() {
    let results = Results::new(ResultLimits { compact: true, ..ResultLimits::default() });
    let rows: Vec<_> = (0..10).map(|n| json!({"identifier": n, "quantity": 2 * n})).collect();
    let project = async |tool: Option<Tool>, context: CallContext| {
        let result = ToolResult::ok(None, "shop::rows", json!(rows));
        results.project(result, Projections::default(), tool.map(Arc::new).as_ref(), &context).await
    };
    let result = project(None, CallContext::new("s")).await;
    assert!(result.result.as_str().unwrap().starts_with("identifier,quantity\n0,0\n"), "{}", result.result);
    assert!(result.saved_tokens().unwrap() > 0);
    let result = project(None, CallContext::new("s").with_full_results()).await;
    assert!(result.result.is_array(), "a program gets JSON");
    let tool = Tool::new(QualifiedName::new("shop", "rows").unwrap());
    let result =
        project(Some(tool.with_output_parameters(json!({"type": "array"}))), CallContext::new("s")).await;
    assert!(result.result.is_array(), "a tool with a schema for its result gives what the schema says");
}

#[cfg(feature = "html")]
#[tokio::test]
async fn pages_are_markdown_for_models_where_that_is_shorter_and_their_html_has_a_handle() {
    let results = Results::new(ResultLimits { compact: true, ..ResultLimits::default() });
    let script = "<script>track('a visit')</script>".repeat(40);
    let page = format!("<!doctype html><title>Orders</title>{script}<h1>Open orders</h1><p>Order 7 waits.");
    let project = async |text: &str, context: CallContext| {
        let result = ToolResult::ok(None, "shop::page", json!(text));
        results.project(result, Projections::default(), None, &context).await
    };
    let result = project(&page, CallContext::new("s")).await;
    let text = result.result.as_str().unwrap();
    assert!(text.starts_with("# Orders\n\n# Open orders\n\nOrder 7 waits.\n\n(The readable part"), "{text}");
    assert!(result.saved_tokens().unwrap() > 0);
    let handle = text.split('"').nth(1).unwrap();
    let whole = super::reading(&results, handle, json!({}), &CallContext::new("s")).await.unwrap();
    assert!(whole.to_string().contains("a visit"), "{whole}");
    let result = project(&page, CallContext::new("s").with_full_results()).await;
    assert_eq!(result.result, json!(page), "a program gets HTML");
    for text in ["<html>", "<p>one</p>", "a text"] {
        assert_eq!(project(text, CallContext::new("s")).await.result, json!(text));
    }
}

#[test]
fn the_syntax_of_an_expression_is_checked_before_any_result() {
    for expression in ["$.items[*].name", ".items | map(.name)", "$", "length", "error(\"x\")", "def f: f; f"]
    {
        assert_eq!(check_expression(expression), Ok(()), "{expression}");
    }
    for expression in ["$.items[", ".items |", "lenght", ""] {
        assert!(check_expression(expression).is_err(), "{expression}");
    }
}
