//! A namespace of functions.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, JsonObject, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, Loaded, Reject, RejectKind, ToolEngine, ToolLoader};

use crate::{FunctionTool, Inputs};

/// A namespace of tools that are Rust functions.
#[derive(Clone)]
pub struct Module {
    id: String,
    source: String,
    title: Option<String>,
    description: String,
    config: Arc<JsonObject>,
    tools: Vec<FunctionTool>,
}

impl Module {
    /// An empty module. The id is the namespace of its tools.
    pub fn new(id: impl Into<String>, description: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            source: format!("module {id}"),
            id,
            title: None,
            description: description.into(),
            config: Arc::default(),
            tools: Vec::new(),
        }
    }

    /// Sets a name for people.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the configuration, from which hidden values of its tools come.
    pub fn with_config(mut self, config: JsonObject) -> Self {
        self.config = Arc::new(config);
        self
    }

    /// Adds a tool.
    pub fn with_tool(mut self, tool: FunctionTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// The namespace of its tools.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A name for people; the id where there is none.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.id)
    }

    /// What the module is for.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The bare names of its tools.
    pub fn actions(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(FunctionTool::name)
    }
}

#[async_trait]
impl ToolLoader for Module {
    fn source(&self) -> &str {
        &self.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some(&self.id)
    }

    async fn load(&self) -> Loaded {
        let mut loaded = Loaded::default();
        for function in &self.tools {
            match function.definition(&self.id) {
                Ok(tool) => loaded.tools.push(tool),
                Err(error) => loaded.rejected.push(Reject::tool(
                    &self.source,
                    function.name(),
                    RejectKind::InvalidTool,
                    error.to_string(),
                )),
            }
        }
        loaded
    }
}

#[async_trait]
impl ToolEngine for Module {
    fn is_in_process(&self) -> bool {
        true
    }

    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        match self.tools.iter().find(|function| function.name() == call.tool.name.name()) {
            Some(function) => {
                let inputs = Inputs::new(context.clone(), Arc::clone(&self.config));
                (function.handler)(call, inputs).await
            }
            None => call
                .error(ErrorKind::ToolChanged, format!("`{}` is no longer there", call.tool.name.dotted())),
        }
    }
}
