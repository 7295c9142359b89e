//! Fetching of the keys of an authorization server.
//!
//! The operator configures its URL and optionally the URL of its keys. The metadata of the server may name other URLs,
//! which must not lead to a private address unless they stay at the host that the operator configured.

use http::StatusCode;
use serde_json::Value;
use toolcrib_io::http::names_private_address;
use url::Url;

use super::keys::{KeySet, parse_document};
use super::resource_server::ResourceServer;
use crate::MAX_ANSWER_BYTES;
use crate::http::{client, document_request};
use crate::metadata::issuer_metadata_urls;

/// The maximum length of an authorization server's text in the log, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// Fetches the current keys. Returns an error for the log if there are no keys.
pub(super) async fn fetch_keys(server: &ResourceServer) -> Result<KeySet, String> {
    let url = match &server.jwks_url {
        Some(url) => url.clone(),
        None => discover(server).await?,
    };
    let Some(bytes) = document(server, &url).await? else {
        return Err(format!("there are no keys at {url}"));
    };
    KeySet::read(&bytes).map_err(|problem| format!("the keys at {url}: {problem}"))
}

/// Returns the URL of the keys from the metadata of the issuer (RFC 8414, `OpenID` Connect Discovery).
async fn discover(server: &ResourceServer) -> Result<Url, String> {
    let ResourceServer { issuer, issuer_url, .. } = server;
    for url in issuer_metadata_urls(issuer_url) {
        let Some(bytes) = document(server, &url).await? else { continue };
        let metadata = parse_document(&bytes).map_err(|error| format!("{url}: {error}"))?;
        // Another issuer's metadata would bring another issuer's keys.
        if metadata.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err(format!("{url} is not the metadata of `{issuer}`"));
        }
        let keys = metadata.get("jwks_uri").and_then(Value::as_str);
        let Some(keys) = keys.and_then(|text| Url::parse(text).ok()) else {
            return Err(format!("{url} names no `jwks_uri`"));
        };
        let stays = keys.origin() == issuer_url.origin();
        if keys.scheme() != "https" && !(keys.scheme() == "http" && stays) {
            return Err(format!("{url} names keys that are not at an https URL"));
        }
        return Ok(keys);
    }
    let setting = server.jwks_setting;
    Err(format!("`{issuer}` publishes no metadata; say by `{setting}` where its keys are"))
}

/// Fetches a document, or returns `None` if the URL has no document.
async fn document(server: &ResourceServer, url: &Url) -> Result<Option<bytes::Bytes>, String> {
    let is_written = url.host() == server.issuer_url.host() || server.jwks_url.as_ref() == Some(url);
    let client = client(server.allow_private || is_written && names_private_address(url))
        .map_err(|error| error.to_string())?;
    let response = client.send(document_request(url)).await;
    let response =
        response.map_err(|error| error.to_string().chars().take(MAX_SHOWN_CHARS).collect::<String>())?;
    if response.truncated {
        return Err(format!("{url} has more than {MAX_ANSWER_BYTES} bytes"));
    }
    match response.status {
        StatusCode::OK => Ok(Some(response.body)),
        StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
        status => Err(format!("{url} answered {status}")),
    }
}
