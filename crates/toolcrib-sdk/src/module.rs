//! A namespace of functions.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolError, ToolResult};
use toolcrib_policy::{Access, Authorized, Call};
use toolcrib_port::{CallContext, LoadOutcome, Reject, RejectKind, ToolEngine, ToolLoader};

use crate::{FunctionTool, Inputs};

/// A namespace of tools that are Rust functions.
#[derive(Clone)]
pub struct Module {
    id: String,
    source: String,
    title: Option<String>,
    description: String,
    config: Arc<JsonObject>,
    config_location: Option<String>,
    tools: Vec<FunctionTool>,
    reaches_out: bool,
    reports_progress: bool,
    /// The tools that are turned off.
    off: Vec<String>,
    setup_refusal: Option<String>,
    check: Option<Check>,
    lifecycle: Option<Arc<dyn Lifecycle>>,
}

/// The work of a module outside of its calls, such as that for connections and child processes.
#[async_trait]
pub trait Lifecycle: Send + Sync {
    /// Ends the work for a session that has ended.
    async fn end_session(&self, _session: &str) {}

    /// Ends all work. It is called once, at shutdown.
    async fn close(&self) {}
}

/// A function that refuses calls before anybody is asked about them.
type Check = Arc<dyn Fn(&str, &JsonObject, &CallContext) -> Result<(), ToolError> + Send + Sync>;

impl Module {
    /// Creates an empty module. The id is the namespace of its tools.
    pub fn new(id: impl Into<String>, description: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            source: format!("module {id}"),
            id,
            title: None,
            description: description.into(),
            config: Arc::default(),
            config_location: None,
            tools: Vec::new(),
            reaches_out: false,
            reports_progress: false,
            off: Vec::new(),
            setup_refusal: None,
            check: None,
            lifecycle: None,
        }
    }

    /// Sets a name for people.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets what the module is for, in place of what its declaration says.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the configuration, from which hidden values of its tools come.
    pub fn with_config(mut self, config: JsonObject) -> Self {
        self.config = Arc::new(config);
        self
    }

    /// Sets the location of the configuration, such as `modules.http.config`. Errors add it to the settings that they
    /// name.
    pub fn with_config_location(mut self, location: impl Into<String>) -> Self {
        self.config_location = Some(location.into());
        self
    }

    /// Adds a tool.
    pub fn with_tool(mut self, tool: FunctionTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Declares that calls depend on something outside of this process that can be slow or down, such as a server. Calls are
    /// then limited in number, and refused while it is known to be down.
    pub fn reaching_out(mut self) -> Self {
        self.reaches_out = true;
        self
    }

    /// Declares that calls report progress to the listener of the context. Each report extends the deadline of the call, up to
    /// a maximum.
    pub fn reporting_progress(mut self) -> Self {
        self.reports_progress = true;
        self
    }

    /// Sets what refuses a call that its tool would refuse, before anybody is asked about it: it is given the bare name of
    /// the tool, the final arguments and the context. It changes nothing, and waits for nothing but the disk.
    pub fn with_check(
        mut self,
        check: impl Fn(&str, &JsonObject, &CallContext) -> Result<(), ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// Leaves a tool out of what is loaded, where a configuration turns it off. App files may name it all the same.
    pub fn without_tool(mut self, name: impl Into<String>) -> Self {
        self.off.push(name.into());
        self
    }

    /// Declares that the actions are of no use in the `setup` of an app file, and what to write there instead. Such a file is
    /// refused.
    pub fn refusing_setup(mut self, reason: impl Into<String>) -> Self {
        self.setup_refusal = Some(reason.into());
        self
    }

    /// Sets the work outside of calls.
    pub fn with_lifecycle(mut self, lifecycle: Arc<dyn Lifecycle>) -> Self {
        self.lifecycle = Some(lifecycle);
        self
    }

    /// Returns why the actions are of no use in the `setup` of an app file, if they are not.
    pub fn setup_refusal(&self) -> Option<&str> {
        self.setup_refusal.as_deref()
    }

    /// Returns the namespace of its tools.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name for people, or the id without one.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.id)
    }

    /// Returns the purpose of the module.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its tools as they are declared, those among them that are turned off; those whose names cannot be are left out.
    pub fn definitions(&self) -> impl Iterator<Item = Tool> {
        self.tools.iter().filter_map(|function| function.definition(&self.id).ok())
    }

    /// Returns an error of its tools that names settings by their location.
    fn located(&self, error: ToolError) -> ToolError {
        match &self.config_location {
            Some(location) => error.locate_setting(location),
            None => error,
        }
    }

    /// Returns the tools that are not turned off.
    fn offered(&self) -> impl Iterator<Item = &FunctionTool> {
        self.tools.iter().filter(|function| self.off.iter().all(|off| off != function.name()))
    }

    /// Returns the bare names of its tools, those among them that are turned off.
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

    async fn load(&self) -> LoadOutcome {
        let mut loaded = LoadOutcome::default();
        for function in self.offered() {
            let defined = function.definition(&self.id).map_err(|error| error.to_string());
            let checked = defined.and_then(|tool| match Access::of_tool(&tool) {
                Ok(_) => Ok(tool),
                Err(error) => Err(error.to_string()),
            });
            match checked {
                Ok(tool) => loaded.tools.push(tool),
                Err(reason) => {
                    let kind = RejectKind::InvalidTool;
                    loaded.rejected.push(Reject::tool(&self.source, function.name(), kind, reason));
                }
            }
        }
        loaded
    }
}

#[async_trait]
impl ToolEngine for Module {
    fn is_in_process(&self) -> bool {
        !self.reaches_out
    }

    fn reports_progress(&self) -> bool {
        self.reports_progress
    }

    async fn end_session(&self, session: &str) {
        if let Some(lifecycle) = &self.lifecycle {
            lifecycle.end_session(session).await;
        }
    }

    async fn close(&self) {
        if let Some(lifecycle) = &self.lifecycle {
            lifecycle.close().await;
        }
    }

    async fn check(&self, call: &Call, context: &CallContext) -> Result<(), ToolError> {
        match &self.check {
            Some(check) => {
                check(call.tool.name.name(), &call.arguments, context).map_err(|error| self.located(error))
            }
            None => Ok(()),
        }
    }

    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        match self.offered().find(|function| function.name() == call.tool.name.name()) {
            Some(function) => {
                let inputs = Inputs::new(context.clone(), Arc::clone(&self.config));
                let mut result = (function.handler)(call, inputs).await;
                result.error = result.error.map(|error| self.located(error));
                result
            }
            None => call
                .error(ErrorKind::ToolChanged, format!("`{}` is no longer there", call.tool.name.dotted())),
        }
    }
}
