//! What `#[module]` and `#[tool]` promise.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, Risk, Tool, ToolError};
use toolcrib_port::{CallContext, CallScope, ToolLoader};

use super::call_in;
use crate::{ErrorCode, Module, module, tool};

struct Reports {
    titles: Vec<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct Report {
    id: usize,
    title: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// Words of the title.
    words: Vec<String>,
}

/// Reads reports.
#[module(id = "reports", title = "Reports")]
impl Reports {
    /// Load one report
    /// owned by this module.
    ///
    /// It is there at once.
    #[tool(
        name = "get-report",
        title = "Get report",
        risk = "low",
        aliases = ["lire un rapport"],
        tags = ["documents"],
        side_effects = ["counts a view"],
        examples = [{"report_id": 1}],
        access = {"network": ["reports.example"]},
        cacheable = {"ttl_seconds": 30},
        timeout = 2.5,
        confirmation_required,
        user_selectable = false,
        idempotent,
        operational = true
    )]
    fn get_report(
        &self,
        /// Which one.
        #[schemars(range(min = 0))]
        report_id: usize,
    ) -> Result<Report, ErrorCode> {
        let title = self.titles.get(report_id).ok_or(ErrorCode::new("not_found"))?;
        Ok(Report { id: report_id, title: (*title).to_owned() })
    }

    #[tool(description = "Finds reports.")]
    async fn find(&self, #[arguments] query: Query) -> Result<Vec<usize>, ToolError> {
        tokio::task::yield_now().await;
        if query.words.is_empty() {
            return Err(ToolError::new(ErrorKind::InvalidArgs, "there are no words"));
        }
        let fits = |title: &str| query.words.iter().any(|word| title.contains(word));
        Ok(self.titles.iter().enumerate().filter(|(_, title)| fits(title)).map(|(id, _)| id).collect())
    }

    #[tool(description = "Says who calls from where.")]
    async fn whoami(
        &self,
        context: &CallContext,
        #[hidden(context = "user")] user: Option<String>,
        #[hidden(context = "conversation")] conversation: String,
        #[hidden(config = "region")] region: String,
        /// How it is said.
        #[serde(default)]
        loud: bool,
    ) -> String {
        tokio::task::yield_now().await;
        let text = format!("{} {user:?} {conversation} {region}", context.session);
        if loud { text.to_uppercase() } else { text }
    }

    fn unused(&self) -> usize {
        self.titles.len()
    }
}

/// Doubles a number.
#[tool(aliases = ["doubler"])]
fn double(number: i32) -> Result<i32, ToolError> {
    number.checked_mul(2).ok_or_else(|| ToolError::new(ErrorKind::ToolFailed, "too large"))
}

/// Says where a ticket comes from.
#[tool]
fn ticket(
    #[hidden(context = "message")] message: String,
    #[hidden(context = "thread")] thread: Option<String>,
    #[hidden(context = "scope.tenant")] tenant: String,
    #[hidden(context = "scope.locale")] locale: Option<String>,
    #[hidden(context = "scope")] scope: BTreeMap<String, String>,
) -> String {
    format!("{message} {} {tenant} {locale:?} {}", thread.unwrap_or_default(), scope.len())
}

fn reports() -> Module {
    let reports = Reports { titles: vec!["May", "June"] };
    assert_eq!(reports.unused(), 2);
    Module::from(reports)
}

async fn definition(module: &Module, name: &str) -> Tool {
    let loaded = module.load().await;
    assert_eq!(loaded.rejected, []);
    loaded.tools.into_iter().find(|tool| tool.name.name() == name).unwrap()
}

#[tokio::test]
async fn the_declaration_of_a_method_is_its_tool() {
    let module = reports();
    assert_eq!((module.id(), module.title(), module.description()), ("reports", "Reports", "Reads reports."));
    assert_eq!(module.actions().collect::<Vec<_>>(), ["get-report", "find", "whoami"]);
    let tool = definition(&module, "get-report").await;
    insta::assert_json_snapshot!(tool);
    assert_eq!(
        (tool.traits().risk, tool.traits().confirmation_required, tool.traits().unlisted),
        (Risk::Low, true, true)
    );
}

#[tokio::test]
async fn what_a_function_gives_is_the_result_in_the_shape_that_its_type_says() {
    let module = reports();
    for (name, arguments, result) in [
        ("get-report", json!({"report_id": 1}), json!({"status": "ok", "id": 1, "title": "June"})),
        ("get-report", json!({"report_id": 7}), json!({"status": "error", "error": "not_found"})),
        ("find", json!({"words": ["J"]}), json!([1])),
    ] {
        let given = call_in(&module, name, arguments, &CallContext::new("s")).await;
        assert_eq!((given.error, given.result), (None, result), "{name}");
    }
    let failed = call_in(&module, "find", json!({"words": []}), &CallContext::new("s")).await;
    assert_eq!(failed.error.unwrap().message, "there are no words");
}

#[tokio::test]
async fn hidden_values_are_filled_in_are_in_no_schema_and_are_not_taken_from_a_model() {
    let module = reports().with_config(json!({"region": "eu"}).as_object().unwrap().clone());
    let tool = definition(&module, "whoami").await;
    assert_eq!(tool.parameter_names().collect::<Vec<_>>(), ["loud"]);
    assert_eq!(tool.parameters["additionalProperties"], false);
    let here = CallContext::new("s").with_conversation("c").with_user("ada");
    let said = call_in(&module, "whoami", json!({"loud": true}), &here).await;
    assert_eq!(said.result, "S SOME(\"ADA\") C EU");
    let forged = call_in(&module, "whoami", json!({"user": "bob"}), &here).await.error.unwrap();
    assert_eq!(forged.kind, ErrorKind::InvalidArgs);
    let nowhere = call_in(&module, "whoami", json!({}), &CallContext::new("s")).await.error.unwrap();
    assert_eq!(
        nowhere.message,
        "the conversation of this call is not known, and the tool does not work without"
    );
    let unset = call_in(&reports(), "whoami", json!({}), &here).await.error.unwrap();
    assert!(
        unset.message.starts_with("the configuration of this module does not fit under `region`"),
        "{unset:?}"
    );
}

#[tokio::test]
async fn what_an_embedder_says_of_a_caller_is_filled_in() {
    let scope = CallScope::default().with("tenant", "acme").unwrap();
    let here = CallContext::new("s").with_message("3").with_thread("t").with_scope(scope);
    let module = Module::new("tickets", "Tickets.").with_tool(ticket::tool());
    let said = call_in(&module, "ticket", json!({}), &here).await;
    assert_eq!(said.result, json!("3 t acme None 1"), "{said:?}");
    let nowhere = call_in(&module, "ticket", json!({}), &CallContext::new("s")).await.error.unwrap();
    assert!(nowhere.message.starts_with("the message of this call is not known"), "{nowhere}");
}

#[tokio::test]
async fn a_free_function_is_a_tool_and_stays_a_function() {
    assert_eq!(double(2).unwrap(), 4);
    let module = Module::new("math", "Arithmetic.").with_tool(double::tool());
    let tool = definition(&module, "double").await;
    assert_eq!(
        (tool.description.as_str(), tool.aliases().collect::<Vec<_>>()),
        ("Doubles a number.", vec!["doubler"])
    );
    let given = call_in(&module, "double", json!({"number": 21}), &CallContext::new("s")).await;
    assert_eq!(given.result, Value::from(42));
}

#[test]
fn a_wrong_declaration_is_a_compile_error_at_its_place() {
    trybuild::TestCases::new().compile_fail("src/tests/wrong/*.rs");
}
