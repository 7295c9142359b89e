//! The login at an MCP server or an API of an app.

use std::io;

use toolcrib_document::Error as DocumentError;
use toolcrib_loader_mcp::McpSource;
use toolcrib_loader_mcp::entry as mcp;
use toolcrib_loader_rest::entry as rest;
use toolcrib_oauth::client::Authorization;

use crate::extensions::entry::{AppContext, EntryContext};
use crate::resolved::ResolvedEntry;
use crate::sources::{BuiltSource, settings_of_source};
use crate::{Blueprint, Error};

impl Blueprint {
    /// Returns the authorization at the MCP server or API of this namespace, for a login: of a user, where each has one.
    pub fn authorization(&self, namespace: &str, user: Option<&str>) -> Result<Authorization, Error> {
        let failed = |message: String| Error::Part { part: self.app.file.name.clone(), message };
        let is_named = |built: &&BuiltSource| built.source.loader.source() == format!("mcp {namespace}");
        if let Some(reason) = self.sources.iter().filter(is_named).find_map(|built| built.unusable.clone()) {
            return Err(failed(reason));
        }
        let entry = self.login_entry(namespace).map_err(failed)?;
        let shared = || {
            failed(format!(
                "all users share the login at `{namespace}`; leave the user out, or set `per_user: true` in its `auth`"
            ))
        };
        let context = self.context();
        if entry.kind.as_deref() == Some("rest") {
            let login = api(&context, entry, user).map_err(|error| self.app.file.wrong(error))?;
            return match login.authorization {
                Some(_) if user.is_some() && !login.per_user => Err(shared()),
                // An API is listed without a login, so one of no user would be used for nothing.
                Some(_) if user.is_none() && login.per_user => Err(failed(format!(
                    "each user logs in at `{namespace}`; name the user: `toolcrib login {} {namespace} --as USER`",
                    self.app.file.name
                ))),
                Some(authorization) => Ok(authorization),
                None => Err(failed(format!(
                    "`{namespace}` needs no login: its `auth` has no `grant: authorization_code`"
                ))),
            };
        }
        let server = server(&context, entry).map_err(|error| self.app.file.wrong(error))?;
        let server = match user {
            Some(_) if !server.per_user => return Err(shared()),
            Some(user) => server.for_user(user),
            None => server,
        };
        match server.authorization() {
            Some(authorization) => authorization.map_err(|error| failed(error.to_string())),
            None => Err(failed(format!(
                "`{namespace}` needs no login: it is a command, or its `headers` hold the credentials"
            ))),
        }
    }
}

impl Blueprint {
    /// Removes the known list of tools of a server, which may list other tools after a login. Does nothing for an API.
    ///
    /// # Errors
    ///
    /// Returns an error if the list cannot be removed.
    pub async fn forget_tools(&self, namespace: &str) -> io::Result<()> {
        let entry = self.login_entry(namespace).map_err(io::Error::other)?;
        if entry.kind.as_deref() != Some("mcp") {
            return Ok(());
        }
        let server = server(&self.context(), entry).map_err(io::Error::other)?;
        server.forget_tools().await
    }

    /// Returns the entry of the MCP server or API of this namespace.
    fn login_entry(&self, namespace: &str) -> Result<&ResolvedEntry, String> {
        let entries = self.app.resolved.registry.iter().zip(&self.sources);
        let servers: Vec<_> = entries
            .filter(|(entry, built)| {
                matches!(entry.kind.as_deref(), Some("mcp" | "rest")) && built.unusable.is_none()
            })
            .filter_map(|(entry, built)| Some((entry, built.source.loader.exclusive_namespace()?)))
            .collect();
        if let Some((entry, _)) = servers.iter().find(|(_, known)| *known == namespace) {
            return Ok(entry);
        }
        let known: Vec<_> = servers.iter().map(|(_, known)| format!("`{known}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(format!("there is no MCP server or API of the namespace `{namespace}`; there is: {known}"))
    }
}

fn server(app: &AppContext<'_>, entry: &ResolvedEntry) -> Result<McpSource, DocumentError> {
    let settings = settings_of_source(entry).settings;
    let place = EntryContext { app, pointer: &entry.pointer, settings: &settings, access: None };
    mcp::server(place.typed()?, &place).map(|(server, _)| server).map_err(|message| place.error(message))
}

fn api(
    app: &AppContext<'_>,
    entry: &ResolvedEntry,
    user: Option<&str>,
) -> Result<rest::ApiLogin, DocumentError> {
    let settings = settings_of_source(entry).settings;
    let place = EntryContext { app, pointer: &entry.pointer, settings: &settings, access: None };
    rest::login(place.typed()?, &place, user).map_err(|message| place.error(message))
}

#[cfg(test)]
mod tests {
    use crate::Blueprint;

    #[test]
    fn a_login_at_an_api_names_the_user_exactly_if_each_user_has_one() {
        let refused = |is_per_user: bool, user: Option<&str>| {
            let text = format!(
                "tools: {{registry: [{{type: rest, namespace: tickets, spec: tickets.yaml, base_url: \"https://tickets.example\", \
                 auth: {{type: oauth2, grant: authorization_code, issuer: \"https://login.example\", per_user: {is_per_user}}}}}]}}"
            );
            let blueprint = Blueprint::from_text("app.yaml", &text).unwrap();
            blueprint.authorization("tickets", user).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!((refused(true, Some("ann")), refused(false, None)), Default::default());
        let error = refused(true, None);
        assert!(error.contains("name the user: `toolcrib login app.yaml tickets --as USER`"), "{error}");
        let error = refused(false, Some("ann"));
        assert!(error.contains("all users share the login"), "{error}");
    }
}
