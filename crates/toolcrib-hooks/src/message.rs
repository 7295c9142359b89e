//! The JSON object that a hook receives.

use serde::Serialize;
use toolcrib_model::{ClientContent, JsonObject, Risk, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;

use crate::settings::HookPhase;

/// The call, and its result after the call. Absent values are omitted.
#[derive(Serialize)]
pub(crate) struct Message<'a> {
    when: HookPhase,
    hook: &'a str,
    /// As `namespace.name`.
    tool: String,
    /// The original tools, if the tool is a shape. Their arguments may have secrets of the app file, and are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    originals: Vec<String>,
    source: &'a str,
    risk: Risk,
    side_effects: &'a [String],
    arguments: &'a JsonObject,
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    on_behalf_of: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
    #[serde(flatten)]
    outcome: Option<Outcome<'a>>,
    /// The parts of the result that an MCP server addresses to clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_content: Option<ClientContent>,
}

/// The result of a call, or its error.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome<'a> {
    Result(&'a serde_json::Value),
    Error(&'a ToolError),
}

impl<'a> Message<'a> {
    pub(crate) fn new(
        hook: &'a str,
        call: &'a Call,
        result: Option<&'a ToolResult>,
        context: &'a CallContext,
    ) -> Self {
        let traits = call.tool.traits();
        Self {
            when: if result.is_some() { HookPhase::After } else { HookPhase::Before },
            hook,
            tool: call.tool.name.dotted(),
            originals: call.originals.iter().map(|call| call.tool.name.dotted()).collect(),
            source: &call.source,
            risk: traits.risk,
            side_effects: &traits.side_effects,
            arguments: &call.arguments,
            session: &context.session,
            conversation: context.conversation.as_deref(),
            user: context.user.as_deref(),
            agent: context.agent.as_deref(),
            on_behalf_of: context.on_behalf_of.iter().map(AsRef::as_ref).collect(),
            call_id: call.call_id.as_deref(),
            trace: context.trace.as_deref(),
            outcome: result.map(|result| match &result.error {
                Some(error) => Outcome::Error(error),
                None => Outcome::Result(&result.result),
            }),
            client_content: result.and_then(ToolResult::client_content),
        }
    }
}
