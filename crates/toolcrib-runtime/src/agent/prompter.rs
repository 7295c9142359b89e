//! Prompts that are put before agents when their time has come.

use std::sync::Weak;

use async_trait::async_trait;
use toolcrib_agent::Conversation;
use toolcrib_agent::pool::SpawnedAgent;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_port::CallContext;
use toolcrib_tasks::Prompter;

use crate::services::AppServices;

/// Runs the agents of an app while it runs.
pub(crate) struct Prompts(pub(crate) Weak<AppServices>);

#[async_trait]
impl Prompter for Prompts {
    async fn prompt(&self, prompt: &str, context: &CallContext) -> Result<String, ToolError> {
        let failed = |message: String| ToolError::new(ErrorKind::Unavailable, message);
        let services = self.0.upgrade().ok_or_else(|| failed("the app is closing".to_owned()))?;
        let app = &services.parts.app;
        let Some((position, agent)) = app.config.agent(context.agent.as_deref()) else {
            let id = context.agent.as_deref().unwrap_or_default();
            return Err(failed(format!("there is no agent `{id}` any more that could be given the prompt")));
        };
        let context = context.clone().with_agent(agent.id.as_str());
        services.setups.ask_server_profiles(app).await;
        let spawned = services.spawned(Some((position, agent)), &context);
        let SpawnedAgent { agent, model } = spawned.map_err(|error| failed(error.to_string()))?;
        let entrance = services.executor.tool_caller();
        let mut conversation = Conversation::new();
        let report =
            agent.run(prompt, &mut conversation, model.as_ref(), entrance.as_ref(), &context, &mut ()).await;
        report.into_answer()
    }
}
