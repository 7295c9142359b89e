//! Completions of arguments of prompts and resource templates, from the servers that offer them.

use rmcp::RoleServer;
use rmcp::model::{CompleteRequestParams, CompleteResult, ErrorData, Reference};
use rmcp::service::RequestContext;
use serde::Deserialize as _;
use toolcrib_model::{Tool, ToolCall};
use toolcrib_policy::Effect;

use crate::calls::execution::Caller;
use crate::resources::{ServerUri, done, invalid, object};
use crate::server::Shared;
use crate::surface::standing_for;

/// The completion method of MCP.
const METHOD: &str = "completion/complete";

impl Shared {
    /// Forwards a request to the server that it refers to. Returns no completions if the server offers none or if they
    /// would need an approval.
    pub(crate) async fn complete(
        &self,
        mut request: CompleteRequestParams,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let runtime = &caller.lease.runtime;
        let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy());
        let calls = caller.context().with_cancel(context.ct.child_token()).with_full_results();
        let is_granted = |tool: &&Tool| policy.decide(tool, calls.principal()).effect == Effect::Grant;
        let tools = standing_for(METHOD, snapshot.iter().map(|entry| entry.tool.as_ref()).filter(is_granted));
        let (namespace, own) = match &request.r#ref {
            Reference::Prompt(prompt) => match prompt.name.split_once('.') {
                Some((namespace, own)) => (Some(namespace.to_owned()), own.to_owned()),
                None => (None, prompt.name.clone()),
            },
            Reference::Resource(template) => {
                let ServerUri { namespace, own } = self.server_uri(&template.uri, caller, context).await?;
                (namespace, own)
            }
            _ => return Err(invalid("the reference is neither `ref/prompt` nor `ref/resource`")),
        };
        let tool = match namespace {
            Some(namespace) => tools.get(namespace.as_str()),
            None => tools.values().next().filter(|_| tools.len() == 1),
        };
        let is_skill = matches!(&request.r#ref, Reference::Prompt(prompt) if runtime.view(&caller.session).skills().any(|skill| skill.name == prompt.name));
        let Some(tool) = tool.filter(|_| !is_skill) else { return Ok(CompleteResult::default()) };
        match &mut request.r#ref {
            Reference::Prompt(prompt) => prompt.name = own,
            Reference::Resource(template) => template.uri = own,
            _ => {}
        }
        let mut arguments = object(serde_json::to_value(&request).unwrap_or_default());
        arguments.shift_remove("_meta");
        let result = runtime.executor().call(ToolCall::new(tool.name.to_string(), arguments), &calls).await;
        CompleteResult::deserialize(done(result, context)?).map_err(|error| {
            ErrorData::internal_error(format!("the completion cannot be passed on: {error}"), None)
        })
    }

    /// Returns true if an upstream server completes arguments.
    pub(crate) fn has_completions(&self) -> bool {
        let snapshot = self.runtime().snapshot();
        !standing_for(METHOD, snapshot.iter().map(|entry| entry.tool.as_ref())).is_empty()
    }
}
