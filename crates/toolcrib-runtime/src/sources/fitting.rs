//! A source whose tools the engine can run.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use toolcrib_port::{Loaded, Reject, RejectKind, ToolEngine, ToolLoader};

/// The most tools of one source of which something is told.
const MAX_WARNED_TOOLS: usize = 20;

/// Rejects the tools of a loader that the engine of their source cannot run, before any call of them fails.
pub(super) struct Fitting {
    loader: Arc<dyn ToolLoader>,
    engine: Option<Arc<dyn ToolEngine>>,
    /// What the engine says of the tools that were loaded last.
    warnings: Mutex<Vec<String>>,
}

impl Fitting {
    pub(super) fn new(loader: Arc<dyn ToolLoader>, engine: Option<Arc<dyn ToolEngine>>) -> Self {
        Self { loader, engine, warnings: Mutex::default() }
    }
}

#[async_trait]
impl ToolLoader for Fitting {
    fn source(&self) -> &str {
        self.loader.source()
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        self.loader.exclusive_namespace()
    }

    async fn load(&self) -> Loaded {
        let mut loaded = self.loader.load().await;
        let warnings = match &self.engine {
            Some(engine) => {
                let rejected = &mut loaded.rejected;
                loaded.tools.retain(|tool| {
                    let Some(reason) = engine.misfit(tool) else { return true };
                    let name = tool.name.to_string();
                    rejected.push(Reject::tool(self.source(), name, RejectKind::InvalidTool, reason));
                    false
                });
                loaded.tools.iter().filter_map(|tool| engine.warning(tool)).take(MAX_WARNED_TOOLS).collect()
            }
            None if loaded.tools.is_empty() => Vec::new(),
            None => vec![format!(
                "{} has no `engine`: its tools are found, and no call of them runs; name one of `tools.engines`",
                self.source()
            )],
        };
        *self.warnings.lock().unwrap_or_else(PoisonError::into_inner) = warnings;
        loaded
    }

    fn warnings(&self) -> Vec<String> {
        let own = self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.loader.warnings().into_iter().chain(own).collect()
    }

    fn saved(&self) {
        self.loader.saved();
    }

    fn instructions(&self) -> Option<String> {
        self.loader.instructions()
    }

    fn health(&self) -> Option<Result<&'static str, String>> {
        self.loader.health()
    }

    async fn changed(&self) {
        self.loader.changed().await;
    }
}
