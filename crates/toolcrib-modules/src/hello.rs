//! A module that greets: the smallest useful one.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::{Module, module};

/// The namespace of the tools.
pub const ID: &str = "hello";

/// The maximum number of people that one call of `greet_many` greets, so that its result stays readable.
pub(crate) const MAX_NAMES: usize = 100;

#[derive(Serialize, JsonSchema)]
struct ModuleStatus {
    /// `ok`.
    status: &'static str,
    /// The version of the module.
    version: &'static str,
}

/// Returns the module `hello`: `say_hello`, `greet_many`, `status`.
pub fn module() -> Module {
    Module::from(Hello)
}

struct Hello;

/// Greets people; a first module to try calls with.
#[module(id = "hello")]
impl Hello {
    /// Greets one person by name.
    #[tool(risk = "low", aliases = ["greet", "greeting", "bonjour", "dire bonjour", "saluer"])]
    fn say_hello(
        &self,
        /// The person to greet.
        name: String,
    ) -> String {
        format!("Hello, {name}!")
    }

    /// Greets several people at once.
    #[tool(risk = "low", aliases = ["greet everyone", "saluer plusieurs personnes", "dire bonjour à tous"])]
    fn greet_many(
        &self,
        /// The people to greet, in this order.
        #[schemars(length(max = MAX_NAMES))]
        names: Vec<String>,
    ) -> Result<Vec<String>, ToolError> {
        if names.len() > MAX_NAMES {
            let message =
                format!("`names` has {} entries, at most {MAX_NAMES} are greeted in one call", names.len());
            return Err(ToolError::new(ErrorKind::InvalidArgs, message).with_hint("make several calls"));
        }
        Ok(names.into_iter().map(|name| self.say_hello(name)).collect())
    }

    /// Says whether the module works.
    #[tool(risk = "low", aliases = ["health", "état", "statut", "vérifier l'état"])]
    fn status(&self) -> ModuleStatus {
        ModuleStatus { status: "ok", version: env!("CARGO_PKG_VERSION") }
    }
}
