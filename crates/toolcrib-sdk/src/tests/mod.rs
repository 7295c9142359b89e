//! What a module promises.

mod macros;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_model::{ErrorKind, Risk, Tool, ToolError, ToolResult};
use toolcrib_policy::{Call, Capabilities, Policy, Verdict};
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};

use crate::{FunctionTool, Lifecycle, Module, Tools};

#[derive(Deserialize, JsonSchema)]
struct Divide {
    /// What is divided.
    dividend: i64,
    /// By what; 2 when absent.
    divisor: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
struct NoArguments {}

fn module() -> Module {
    let divide = |divide: Divide, _: CallContext| async move {
        dividend_over(divide.dividend, divide.divisor.unwrap_or(2))
    };
    Module::new("math", "Arithmetic.").with_tool(
        FunctionTool::new("divide", "Divides.", divide).with_risk(Risk::Low).with_aliases(["diviser"]),
    )
}

fn dividend_over(dividend: i64, divisor: i64) -> Result<i64, ToolError> {
    dividend.checked_div(divisor).ok_or_else(|| ToolError::new(ErrorKind::ToolFailed, "division by zero"))
}

async fn call(arguments: serde_json::Value) -> ToolResult {
    call_in(&module(), "divide", arguments, &CallContext::new("test")).await
}

async fn call_in(
    module: &Module,
    name: &str,
    arguments: serde_json::Value,
    context: &CallContext,
) -> ToolResult {
    let tools = module.load().await.tools;
    let tool: Tool = tools.into_iter().find(|tool| tool.name.name() == name).unwrap();
    let mut call = Call::new(Arc::new(tool), module.source().into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    // By name, so that one that wants confirmation is granted too.
    let grant = json!({"grant": [{"module": module.id(), "actions": [name]}]});
    let capabilities: Capabilities = serde_json::from_value(grant).unwrap();
    let policy = Policy::new(&capabilities, []).unwrap();
    let Verdict::Granted(call) = policy.authorize(call, "test") else { panic!("not granted") };
    module.invoke(&call, context).await
}

#[tokio::test]
async fn the_type_of_the_arguments_is_the_schema() {
    let tool = module().load().await.tools.remove(0);
    assert_eq!(tool.name.to_string(), "math::divide");
    assert_eq!(tool.traits().risk, Risk::Low);
    assert_eq!(tool.aliases().collect::<Vec<_>>(), ["diviser"]);
    assert_eq!(
        tool.parameters,
        json!({
            "type": "object",
            "properties": {
                "dividend": {"type": "integer", "description": "What is divided."},
                "divisor": {"type": "integer", "description": "By what; 2 when absent."},
            },
            "required": ["dividend"],
        })
    );
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Documented {
    /// What `$` means: the first line
    /// of a paragraph and its second.
    ///
    /// Another paragraph:
    /// - an item
    /// - and one more
    text: String,
}

#[test]
fn the_line_breaks_of_doc_comments_are_folded() {
    let schema = crate::schema_of::<Documented>();
    let expected = "What `$` means: the first line of a paragraph and its second.\n\nAnother paragraph:\n- an item\n- and one more";
    assert_eq!(schema["properties"]["text"]["description"], expected);
}

#[derive(Serialize, JsonSchema)]
struct Report {
    lines: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[test]
fn the_declared_output_of_a_tool_requires_only_what_is_always_written() {
    let report = |_: NoArguments, _: CallContext| async { Ok(Report { lines: 3, note: None }) };
    let tool = FunctionTool::new("report", "Reports.", report).with_output::<Report>();
    let tool = tool.definition("math").unwrap();
    assert_eq!(tool.output_parameters["required"], json!(["lines"]));
}

#[tokio::test]
async fn a_value_is_a_result_and_a_failure_an_error() {
    assert_eq!(call(json!({"dividend": 8})).await.result, json!(4));
    let failed = call(json!({"dividend": 8, "divisor": 0})).await;
    assert_eq!(failed.error.map(|error| error.message).as_deref(), Some("division by zero"));
    let wrong = call(json!({"dividend": "x"})).await;
    assert_eq!(wrong.error.map(|error| error.kind), Some(ErrorKind::InvalidArgs));
}

#[tokio::test]
async fn an_error_names_a_setting_of_the_module_by_its_location() {
    let refused = |_: NoArguments, _: CallContext| async {
        let error = ToolError::new(ErrorKind::Denied, "`writes` are off").with_hint("set `writes: true`");
        Err::<(), _>(error.with_setting("writes"))
    };
    let module = Module::new("notes", "Notes.").with_tool(FunctionTool::new("add", "Adds.", refused));
    let hint_of = async |module: &Module| {
        let result = call_in(module, "add", json!({}), &CallContext::new("test")).await;
        result.error.and_then(|error| error.hint).unwrap()
    };
    assert_eq!(hint_of(&module).await, "set `writes: true`");
    let module = module.with_config_location("modules.notes.config");
    assert_eq!(hint_of(&module).await, "set `modules.notes.config.writes: true`");
}

/// Counts what has ended.
#[derive(Default)]
struct Ends {
    sessions: Mutex<Vec<String>>,
    closed: AtomicUsize,
}

#[async_trait]
impl Lifecycle for Ends {
    async fn end_session(&self, session: &str) {
        self.sessions.lock().push(session.to_owned());
    }

    async fn close(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_module_is_closed_by_what_it_says_and_says_whether_it_reaches_out() {
    assert!(module().is_in_process());
    module().close().await;
    let ends = Arc::new(Ends::default());
    let module = module().reaching_out().with_lifecycle(ends.clone());
    assert!(!module.is_in_process());
    module.close().await;
    assert_eq!(ends.closed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_module_is_told_of_the_end_of_a_session() {
    let ends = Arc::new(Ends::default());
    let module = module().with_lifecycle(ends.clone());
    module.end_session("s").await;
    assert_eq!(*ends.sessions.lock(), ["s"]);
}

#[tokio::test]
async fn without_an_entrance_there_are_no_tools_and_that_is_said() {
    let tools = Tools::new(&CallContext::new("s"));
    assert!(tools.list_tools("math", false).is_empty());
    assert_eq!(tools.get_tool("math.divide").unwrap_err().kind, ErrorKind::Unavailable);
    assert_eq!(tools.run_tool("math.divide", json!({})).await.unwrap_err().kind, ErrorKind::Unavailable);
    let list = tools.run_tool("math.divide", json!([1])).await.unwrap_err();
    assert_eq!(list.message, "the arguments of `math.divide` have to be an object, not [1]");
}
