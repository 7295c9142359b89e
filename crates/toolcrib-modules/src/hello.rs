//! A module that greets: the smallest one that does something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool, Module};

/// The namespace of the tools.
pub const ID: &str = "hello";

/// How many people one call of `greet_many` greets at most, so that its result stays readable.
pub const MAX_NAMES: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SayHello {
    /// Who is greeted.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GreetMany {
    /// Who is greeted, in this order.
    #[schemars(length(max = MAX_NAMES))]
    names: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Serialize, JsonSchema)]
struct Status {
    /// `ok`.
    status: &'static str,
    /// The version of the module.
    version: &'static str,
}

/// The module `hello`: `say_hello`, `greet_many`, `status`.
pub fn module() -> Module {
    Module::new(ID, "Greets people; a first module to try calls with.")
        .with_tool(
            FunctionTool::new(
                "say_hello",
                "Greets one person by name.",
                |say: SayHello, _: CallContext| async move { Ok(greeting(&say.name)) },
            )
            .with_risk(Risk::Low)
            .with_output::<String>()
            .with_aliases(["greet", "greeting", "bonjour", "dire bonjour", "saluer"]),
        )
        .with_tool(
            FunctionTool::new(
                "greet_many",
                "Greets several people at once.",
                |greet: GreetMany, _: CallContext| async move { greet_many(&greet.names) },
            )
            .with_risk(Risk::Low)
            .with_output::<Vec<String>>()
            .with_aliases([
                "greet everyone",
                "saluer plusieurs personnes",
                "dire bonjour à tous",
            ]),
        )
        .with_tool(
            FunctionTool::new(
                "status",
                "Says whether the module works.",
                |_: NoArguments, _: CallContext| async move {
                    Ok::<_, ToolError>(Status { status: "ok", version: env!("CARGO_PKG_VERSION") })
                },
            )
            .with_risk(Risk::Low)
            .with_output::<Status>()
            .with_aliases(["health", "état", "statut", "vérifier l'état"]),
        )
}

fn greeting(name: &str) -> String {
    format!("Hello, {name}!")
}

fn greet_many(names: &[String]) -> Result<Vec<String>, ToolError> {
    if names.len() > MAX_NAMES {
        let message =
            format!("`names` has {} entries, at most {MAX_NAMES} are greeted in one call", names.len());
        return Err(ToolError::new(ErrorKind::InvalidArgs, message).with_hint("make several calls"));
    }
    Ok(names.iter().map(|name| greeting(name)).collect())
}
