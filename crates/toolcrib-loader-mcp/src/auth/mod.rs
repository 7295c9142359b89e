//! Authorization of requests over Streamable HTTP, by the tokens of `toolcrib-oauth`.

mod authorized_client;
mod token_redaction;

#[cfg(test)]
#[cfg(feature = "oauth")]
mod tests;

pub(crate) use authorized_client::{AuthorizedClient, carried_error};

use toolcrib_oauth::client::{Authorization, Probe};

use crate::{Error, McpSource, McpTransport};

impl McpSource {
    /// Returns the authorization at the server; `None` if the source has none.
    pub fn authorization(&self) -> Option<Result<Authorization, Error>> {
        let McpTransport::Http { url, allow_private, auth: Some(auth), .. } = &self.transport else {
            return None;
        };
        let request = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        let probe = Probe { accept: "application/json, text/event-stream", body: request.to_string() };
        let settings = (**auth).clone();
        Some(
            Authorization::new(&self.namespace, url, *allow_private, settings, Some(probe))
                .map_err(Error::from),
        )
    }
}
