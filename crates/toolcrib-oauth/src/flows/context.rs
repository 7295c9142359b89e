//! The parts that all requests for the tokens of one server share.

use url::Url;

use super::dpop::Nonce;
use super::http_client::AuthHttpClient;
use crate::client::ClientSettings;

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
