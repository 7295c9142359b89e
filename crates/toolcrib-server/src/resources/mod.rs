//! Resources: those of upstream servers under their namespaces, and stored results.
//!
//! The MCP loader supplies tools for the resources and prompts of a server. Reading goes through these tools and
//! the policy: a client cannot read a resource that it may not call.

mod contents;
mod upstream;

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceTemplate,
};
use rmcp::service::RequestContext;
use serde_json::json;
use toolcrib_model::ToolCall;
use toolcrib_policy::{Principal, RUNTIME_NAMESPACE};
use toolcrib_port::CallContext;
use toolcrib_results::READ_RESULT;
use toolcrib_runtime::Runtime;

use self::contents::contents;
use self::upstream::{about, not_found};
pub(crate) use self::upstream::{done, invalid, object, tool_for};
use crate::approval::RequestKey;
use crate::calls::content::{handle_of, result_uri};
use crate::calls::execution::{CallOutcome, CallSetup, Caller};
use crate::server::Shared;
use crate::surface::standing_for;

/// The URI scheme of resources of upstream servers. The namespace and the server's URI follow.
pub(crate) const SCHEME: &str = "toolcrib://";

/// A resource to read, with the URI under which its server has it.
struct ReadTarget<'a> {
    call: ToolCall,
    own: &'a str,
}

impl Shared {
    /// Lists the resources of upstream servers.
    pub(crate) async fn resources(
        &self,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Vec<Resource> {
        let named = |namespace: &str, mut resource: Resource| {
            resource.uri = format!("{SCHEME}{namespace}/{}", resource.uri);
            resource
        };
        self.listed("resources/list", "resources", caller, context, named).await
    }

    /// Lists the resource templates of upstream servers, and that of stored results.
    pub(crate) async fn resource_templates(
        &self,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Vec<ResourceTemplate> {
        let named = |namespace: &str, mut template: ResourceTemplate| {
            template.uri_template = format!("{SCHEME}{namespace}/{}", template.uri_template);
            template
        };
        let kept = ResourceTemplate::new(format!("{}{{?page}}", result_uri("{handle}")), "kept result")
            .with_description(
                "A page of a result that was too large to be shown whole, by the handle that it names.",
            );
        let mut templates = vec![kept];
        templates.extend(
            self.listed("resources/templates/list", "resourceTemplates", caller, context, named).await,
        );
        templates
    }

    /// Returns true if there may be resources: an upstream server has some, or stored results can be read.
    pub(crate) fn has_resources(&self) -> bool {
        let runtime = self.runtime();
        let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy());
        let keeps_results = snapshot.iter().any(|entry| {
            let is_reader = entry.tool.name.is_of_runtime() && entry.tool.name.name() == READ_RESULT;
            is_reader && policy.is_visible(&entry.tool, Principal::new(&self.local.name))
        });
        let behind = || standing_for("resources/list", snapshot.iter().map(|entry| entry.tool.as_ref()));
        keeps_results || !behind().is_empty()
    }

    /// Reads a stored result or a resource of a server. Asks the user if an approval is required.
    pub(crate) async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let key =
            RequestKey::new(&caller.client, &caller.session, "resources/read", &uri, &object(json!({})));
        let setup = CallSetup::new(caller, context).with_full_results();
        let target = target(&uri, &setup.lease.runtime, &setup.context)
            .ok_or_else(|| not_found(format!("there is no resource {uri:?}; see `resources/list`"), context))
            .and_then(|target| target)
            .map_err(|error| about(error, &uri))?;
        let state = (request.request_state.as_deref(), request.input_responses);
        match self.read(&key, state, (setup, target.call), caller, context).await? {
            CallOutcome::Asks(asks) => Ok(asks.into()),
            CallOutcome::Done(ended) => {
                let value = done(ended.result, context).map_err(|error| about(error, &uri))?;
                Ok(ReadResourceResult::new(contents(value, target.own, &uri)).into())
            }
        }
    }
}

/// Resolves a URI, or returns `None` if it belongs to no server.
fn target<'a>(
    uri: &'a str,
    runtime: &Runtime,
    context: &CallContext,
) -> Option<Result<ReadTarget<'a>, ErrorData>> {
    if let Some(rest) = handle_of(uri) {
        let (handle, page) = rest.split_once("?page=").unwrap_or((rest, "1"));
        let Ok(page) = page.parse::<u32>() else {
            return Some(Err(invalid("the page is a number, from 1")));
        };
        let name = format!("{RUNTIME_NAMESPACE}::{READ_RESULT}");
        let call = ToolCall::new(name, object(json!({"handle": handle, "page": page})));
        return Some(Ok(ReadTarget { call, own: uri }));
    }
    let (namespace, own) = match uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')) {
        Some((namespace, own)) => (Some(namespace), own),
        None => (None, uri),
    };
    let name = tool_for("resources/read", namespace, runtime, context)?;
    Some(Ok(ReadTarget { call: ToolCall::new(name, object(json!({"uri": own}))), own }))
}
