//! What the module promises, against servers on this machine.

mod credentials;
mod declared;
mod download;
mod hostile;
mod hostile_pages;
mod page;
mod patience;
mod redirects;
mod verbs;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_model::{ToolError, ToolResult};
use toolcrib_policy::Access;
use toolcrib_policy::access::AccessRules;
use toolcrib_sdk::Module;

use super::{HttpConfig, module};
use crate::{Error, ModuleContext};

/// A workspace, and the module over it.
struct Place {
    folder: TempDir,
    module: Module,
}

impl Place {
    /// One whose module may ask these origins of this machine.
    fn with(origins: &[String]) -> Self {
        Self::of(json!({"private_origins": origins}))
    }

    fn of(config: Value) -> Self {
        Self::make(config, None).unwrap()
    }

    fn make(config: Value, access: Option<Value>) -> Result<Self, Error> {
        let folder = tempfile::tempdir().unwrap();
        let config: HttpConfig = serde_json::from_value(config).unwrap();
        let rules: Option<AccessRules> = access.map(|rules| serde_json::from_value(rules).unwrap());
        let access = rules.as_ref().map_or_else(Access::unlimited, |rules| Access::new(rules).unwrap());
        let module = module(config, &ModuleContext::new(folder.path()).with_access(access))?;
        Ok(Self { folder, module })
    }

    async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        crate::tests::call(&self.module, name, arguments).await
    }

    /// The result of a call that succeeds.
    async fn ok(&self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments).await;
        assert_eq!(result.error, None);
        result.result
    }

    /// The error of a call that fails.
    async fn error(&self, name: &str, arguments: Value) -> ToolError {
        self.call(name, arguments).await.error.unwrap()
    }
}
