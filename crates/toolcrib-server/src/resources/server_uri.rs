//! The URIs of resources: as clients know them, and as their servers do.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, Resource, ResourceTemplate};
use rmcp::service::RequestContext;
use toolcrib_app::AppUris;
use toolcrib_app::app_uris::unqualified;
use toolcrib_model::tool::app::APP_SCHEME;

use super::SCHEME;
use super::upstream::{invalid, tool_for};
use crate::calls::execution::Caller;
use crate::server::Shared;
use crate::surface::standing_for;

/// The URI of a resource at its server.
pub(crate) struct ServerUri {
    /// The namespace of the server; `None` for the only server that has resources.
    pub(crate) namespace: Option<String>,
    pub(crate) own: String,
}

impl ServerUri {
    fn new(namespace: &str, own: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.to_owned()), own: own.into() }
    }
}

impl Shared {
    /// Returns the URIs of the user interfaces that the client may read, with those of these resources.
    pub(super) fn app_uris<'a>(
        &self,
        caller: &Caller,
        resources: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> AppUris {
        let mut app_uris = caller.shown(self).map(|shown| shown.app_uris.clone()).unwrap_or_default();
        for (namespace, uri) in resources.filter(|(_, uri)| uri.starts_with(APP_SCHEME)) {
            app_uris.add(uri, namespace);
        }
        app_uris
    }

    /// Finds the server of a URI or of a URI template.
    ///
    /// Hosts read a user interface by the URI that its tool names, so the server is the one with the tool. One that no
    /// tool names is looked for in the lists of the servers.
    pub(crate) async fn server_uri(
        &self,
        uri: &str,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerUri, ErrorData> {
        if let Some((namespace, own)) = uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')) {
            return Ok(ServerUri::new(namespace, own));
        }
        if !uri.starts_with(APP_SCHEME) {
            return Ok(ServerUri { namespace: None, own: uri.to_owned() });
        }
        let declared = self.app_uris(caller, std::iter::empty());
        if let Some(namespace) = only_owner(uri, &declared)? {
            return Ok(ServerUri::new(namespace, uri));
        }
        let (runtime, calls) = (&caller.lease.runtime, caller.context());
        if let Some((namespace, own)) = unqualified(uri)
            && tool_for("resources/read", Some(namespace), runtime, &calls).is_some()
        {
            return Ok(ServerUri::new(namespace, own));
        }
        let readers = runtime.snapshot();
        let readers = standing_for("resources/read", readers.iter().map(|entry| entry.tool.as_ref()));
        if readers.len() > 1 {
            let listed = self.listed_app_uris(uri, caller, context).await;
            if let Some(namespace) = only_owner(uri, &listed)? {
                return Ok(ServerUri::new(namespace, uri));
            }
        }
        Ok(ServerUri { namespace: None, own: uri.to_owned() })
    }

    /// Returns the servers that list a URI, or else a template that it fits.
    async fn listed_app_uris(
        &self,
        uri: &str,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> AppUris {
        let resources: Vec<(String, Resource)> =
            self.listed("resources/list", "resources", caller, context).await;
        let mut owners = AppUris::default();
        for (namespace, _) in resources.iter().filter(|(_, resource)| resource.uri == uri) {
            owners.add(uri, namespace);
        }
        if owners.owners(uri).next().is_none() {
            let templates: Vec<(String, ResourceTemplate)> =
                self.listed("resources/templates/list", "resourceTemplates", caller, context).await;
            for (namespace, _) in templates.iter().filter(|(_, template)| fits(uri, &template.uri_template)) {
                owners.add(uri, namespace);
            }
        }
        owners
    }
}

/// Returns the URI by which clients know a resource of a server.
pub(super) fn public_uri(own: &str, namespace: &str, app_uris: &AppUris) -> String {
    if own.starts_with(APP_SCHEME) {
        app_uris.public(own, namespace).into_owned()
    } else {
        format!("{SCHEME}{namespace}/{own}")
    }
}

/// Returns the namespace of the only server with a URI, or `None` if no server has it.
fn only_owner<'a>(uri: &str, app_uris: &'a AppUris) -> Result<Option<&'a str>, ErrorData> {
    let owners: Vec<&str> = app_uris.owners(uri).collect();
    if let [] | [_] = owners.as_slice() {
        return Ok(owners.first().copied());
    }
    let known: Vec<String> =
        owners.iter().map(|owner| format!("`{}`", app_uris.public(uri, owner))).collect();
    Err(invalid(&format!("several servers have the resource {uri:?}; read {}", known.join(" or "))))
}

/// Returns true if a URI is the template, or begins like it up to its first variable.
fn fits(uri: &str, template: &str) -> bool {
    let literal = template.split('{').next().unwrap_or_default();
    uri == template || (literal.len() > APP_SCHEME.len() && uri.starts_with(literal))
}
