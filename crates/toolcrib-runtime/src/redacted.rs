//! A source whose tools and failures name no secret.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_exec::Secrets;
use toolcrib_port::{Loaded, ToolLoader};

/// Takes the secrets of an app out of what a loader brings, before anybody searches it, shows it or sends it to a model. A
/// server can put what it was given into a description, or into its last words.
pub(crate) struct Redacted {
    loader: Arc<dyn ToolLoader>,
    secrets: Secrets,
}

impl Redacted {
    pub(crate) fn new(loader: Arc<dyn ToolLoader>, secrets: Secrets) -> Self {
        Self { loader, secrets }
    }
}

#[async_trait]
impl ToolLoader for Redacted {
    fn source(&self) -> &str {
        self.loader.source()
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        self.loader.exclusive_namespace()
    }

    async fn load(&self) -> Loaded {
        let mut loaded = self.loader.load().await;
        let redactor = self.secrets.redactor();
        for tool in &mut loaded.tools {
            tool.description = redactor.redact(&tool.description).into_owned();
            redactor.redact_value(&mut tool.parameters);
            redactor.redact_value(&mut tool.output_parameters);
            redactor.redact_object(&mut tool.metadata);
        }
        for reject in &mut loaded.rejected {
            reject.reason = redactor.redact(&reject.reason).into_owned();
        }
        loaded
    }
}
