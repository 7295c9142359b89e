//! Completions of arguments of prompts and resource templates, from the servers that offer them.

use rmcp::RoleServer;
use rmcp::model::{CompleteRequestParams, CompleteResult, ErrorData, Reference};
use rmcp::service::RequestContext;
use serde::Deserialize as _;
use toolcrib_model::{Tool, ToolCall};
use toolcrib_policy::Effect;

use crate::calls::execution::Caller;
use crate::resources::{SCHEME, done, invalid, object};
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
            Reference::Prompt(prompt) => split(&prompt.name, '.'),
            Reference::Resource(template) => {
                split(template.uri.strip_prefix(SCHEME).unwrap_or_default(), '/')
            }
            _ => return Err(invalid("the reference is neither `ref/prompt` nor `ref/resource`")),
        };
        let Some(tool) = tools.get(namespace) else { return Ok(CompleteResult::default()) };
        let own = own.to_owned();
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

/// Splits the namespace of a server from a name.
fn split(name: &str, separator: char) -> (&str, &str) {
    name.split_once(separator).unwrap_or(("", name))
}
