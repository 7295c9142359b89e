//! The parts that all requests for the tokens of one server share.

use toolcrib_model::Secret;
use url::Url;

use super::dpop::Nonce;
use super::http_client::AuthHttpClient;
use super::registration::OAuthClient;
use super::settings::ClientSettings;
use super::token_request::TokenRequest;

/// The server, the configuration of its authorization, and the client for authorization servers.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) namespace: String,
    pub(super) server: Url,
    pub(super) settings: ClientSettings,
    pub(super) http_client: AuthHttpClient,
    /// The nonce that the issuer requires in proofs.
    pub(super) issuer_nonce: Nonce,
}

impl Context {
    /// Returns a token request to the endpoint of this issuer.
    pub(super) fn token_request<'a>(
        &'a self,
        (issuer, endpoint): (&'a str, &'a Url),
        resource: &'a str,
        client: &'a OAuthClient,
        key: Option<&'a Secret>,
    ) -> TokenRequest<'a> {
        TokenRequest {
            settings: &self.settings,
            http_client: &self.http_client,
            endpoint,
            issuer,
            resource,
            client,
            key,
            nonce: &self.issuer_nonce,
        }
    }
}
