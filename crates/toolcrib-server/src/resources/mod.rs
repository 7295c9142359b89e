//! Resources: those of upstream servers under their namespaces, and stored results.
//!
//! The MCP loader supplies tools for the resources and prompts of a server. Reading goes through these tools and
//! the policy: a client cannot read a resource that it may not call.

mod contents;
mod server_uri;
mod updates;
mod upstream;

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, MetaObject, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceTemplate,
};
use rmcp::service::RequestContext;
use serde_json::json;
use toolcrib_model::ToolCall;
use toolcrib_policy::{Principal, RUNTIME_NAMESPACE};
use toolcrib_results::READ_RESULT;

use self::contents::contents;
pub(crate) use self::server_uri::ServerUri;
use self::server_uri::public_uri;
pub(crate) use self::updates::{MAX_SUBSCRIBED, ResourceUpdates};
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
struct ReadTarget {
    call: ToolCall,
    own: String,
}

impl Shared {
    /// Lists the resources of upstream servers.
    pub(crate) async fn resources(
        &self,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Vec<Resource> {
        let mut listed: Vec<(String, Resource)> =
            self.listed("resources/list", "resources", caller, context).await;
        let own = listed.iter().map(|(namespace, resource)| (namespace.as_str(), resource.uri.as_str()));
        let app_uris = self.app_uris(caller, own);
        for (namespace, resource) in &mut listed {
            resource.uri = public_uri(&resource.uri, namespace, &app_uris);
        }
        listed.into_iter().map(|(_, resource)| resource).collect()
    }

    /// Lists the resource templates of upstream servers, and that of stored results.
    pub(crate) async fn resource_templates(
        &self,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Vec<ResourceTemplate> {
        let mut listed: Vec<(String, ResourceTemplate)> =
            self.listed("resources/templates/list", "resourceTemplates", caller, context).await;
        let own =
            listed.iter().map(|(namespace, template)| (namespace.as_str(), template.uri_template.as_str()));
        let app_uris = self.app_uris(caller, own);
        for (namespace, template) in &mut listed {
            template.uri_template = public_uri(&template.uri_template, namespace, &app_uris);
        }
        let kept = ResourceTemplate::new(format!("{}{{?page}}", result_uri("{handle}")), "kept result")
            .with_description(
                "A page of a result that was too large to be shown whole, by the handle that it names.",
            );
        std::iter::once(kept).chain(listed.into_iter().map(|(_, template)| template)).collect()
    }

    /// Returns true if there may be resources: an upstream server has some, or stored results can be read.
    pub(crate) fn has_resources(&self) -> bool {
        let runtime = self.runtime();
        let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy());
        let keeps_results = snapshot.iter().any(|entry| {
            let is_reader = entry.tool.name.is_of_runtime() && entry.tool.name.name() == READ_RESULT;
            is_reader && policy.is_visible(&entry.tool, Principal::new(&self.local.name))
        });
        let behind = || standing_for("resources/read", snapshot.iter().map(|entry| entry.tool.as_ref()));
        keeps_results || !behind().is_empty()
    }

    /// Returns true if an upstream server announces changes of single resources.
    pub(crate) fn has_resource_updates(&self) -> bool {
        self.runtime().snapshot().iter().any(|entry| entry.tool.is_watchable())
    }

    /// Returns true if a tool has a user interface (MCP Apps).
    pub(crate) fn has_apps(&self) -> bool {
        self.runtime().snapshot().iter().any(|entry| entry.tool.app_uri().is_some())
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
        let target = self.target(&uri, caller, context).await.map_err(|error| about(error, &uri))?;
        let setup = CallSetup::new(caller, context).with_full_results();
        let state = (request.request_state.as_deref(), request.input_responses);
        match self.read(&key, state, (setup, target.call), caller, context).await? {
            CallOutcome::Asks(asks) => Ok(asks.into()),
            CallOutcome::Done(ended) => {
                let client_content = ended.result.client_content().unwrap_or_default();
                let value = done(ended.result, context).map_err(|error| about(error, &uri))?;
                let contents = contents(value, &target.own, &uri, client_content.content.first());
                let mut read = ReadResourceResult::new(contents);
                if !client_content.meta.is_empty() {
                    read.meta = Some(MetaObject(client_content.meta));
                }
                Ok(read.into())
            }
        }
    }

    /// Resolves a URI.
    async fn target(
        &self,
        uri: &str,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadTarget, ErrorData> {
        if let Some(rest) = handle_of(uri) {
            let (handle, page) = rest.split_once("?page=").unwrap_or((rest, "1"));
            let page: u32 = page.parse().map_err(|_| invalid("the page is a number, from 1"))?;
            let name = format!("{RUNTIME_NAMESPACE}::{READ_RESULT}");
            let call = ToolCall::new(name, object(json!({"handle": handle, "page": page})));
            return Ok(ReadTarget { call, own: uri.to_owned() });
        }
        let ServerUri { namespace, own } = self.server_uri(uri, caller, context).await?;
        let name = tool_for("resources/read", namespace.as_deref(), &caller.lease.runtime, &caller.context());
        let name = name.ok_or_else(|| no_resource(uri, context))?;
        Ok(ReadTarget { call: ToolCall::new(name, object(json!({"uri": own}))), own })
    }
}

fn no_resource(uri: &str, context: &RequestContext<RoleServer>) -> ErrorData {
    not_found(format!("there is no resource {uri:?}; see `resources/list`"), context)
}
