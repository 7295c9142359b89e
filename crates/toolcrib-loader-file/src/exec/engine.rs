//! The engine of program folders: starts the program of a call, and reads its result.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;
use toolcrib_io::process::{Command, follow};
use toolcrib_model::{ErrorKind, Tool, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

use super::program_output::Output;
use super::{CONTEXT_VARIABLES, ExecModule, MANIFEST};
use crate::ProgramSandbox;

impl ExecModule {
    async fn run(&self, call: &Call, context: &CallContext) -> Result<Value, ToolError> {
        let command = self.command(call, context)?;
        let arguments = serde_json::to_vec(&call.arguments)
            .map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))?;
        let mut output = Output::new(call.tool.name.dotted(), context.progress.clone());
        let take = |pipe, bytes: &[u8]| output.take(pipe, bytes);
        // Dropping this future ends the program.
        let never = std::future::pending();
        let ended = follow(&command, Some(Bytes::from(arguments)), take, never, Duration::ZERO).await;
        let ended = ended.map_err(|error| {
            let kind = match error {
                toolcrib_io::Error::ProgramNotAllowed { .. } => ErrorKind::Denied,
                _ => ErrorKind::Unavailable,
            };
            ToolError::new(kind, error.to_string()).with_retryable(false)
        })?;
        output.result(command.program(), &ended)
    }

    /// Returns the command of a call, with the context of the call in its environment.
    fn command(&self, call: &Call, context: &CallContext) -> Result<Command, ToolError> {
        let tool = call.tool.name.name();
        let current = self.current.read();
        let program = current.programs.get(tool).cloned().ok_or_else(|| {
            ToolError::new(ErrorKind::Unavailable, format!("`{tool}` is no longer in {MANIFEST}"))
                .with_retryable(false)
        })?;
        drop(current);
        let argv = program
            .argv
            .fill(tool, &call.arguments)
            .map_err(|error| ToolError::new(ErrorKind::InvalidArgs, error.to_string()))?;
        let mut command = Command::new(argv)
            .with_cwd(&self.folder)
            .with_guard(context.narrow(&self.settings.access).program_guard())
            .with_sandbox(ProgramSandbox::of_call(self.settings.sandbox.as_ref(), &call.tool)?);
        for (name, value) in &program.env {
            command = command.with_env(name, value);
        }
        for (name, value) in &self.settings.env {
            command = command.with_env(name, value.expose());
        }
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        let values = [
            Some(tool.to_owned()),
            self.settings.workspace_text(),
            Some(context.session.as_ref().to_owned()),
            text(&context.conversation),
            text(&context.user),
            text(&context.message),
            text(&context.thread),
            (!context.scope.is_empty()).then(|| serde_json::to_string(&context.scope).unwrap_or_default()),
            text(&context.agent),
            text(&context.run_key),
            text(&context.trace),
        ];
        for (name, value) in CONTEXT_VARIABLES.into_iter().zip(values) {
            if let Some(value) = value {
                command = command.with_env(name, value);
            }
        }
        Ok(command)
    }
}

#[async_trait]
impl ToolEngine for ExecModule {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        call.outcome(self.run(call, context).await)
    }

    fn reports_progress(&self) -> bool {
        true
    }

    fn warning(&self, tool: &Tool) -> Option<String> {
        ProgramSandbox::warning(self.settings.sandbox.as_ref(), tool)
    }
}
