//! Discovery of the authorization server for a server, and of the resource identifier to request tokens for.

use toolcrib_model::text::clean_text;
use url::Url;

use super::challenge::Challenge;
use super::credentials::covers;
use super::http_client::AuthHttpClient;
use super::server_metadata::{ServerMetadata, WireServerMetadata};
use super::signing_key::ALGORITHM;
use super::token_response::MAX_REPORTED_CHARS;
use crate::Error;
use crate::metadata::{
    MAX_URL_BYTES, PROTECTED_RESOURCE, ResourceMetadata, at_path, display_url, is_same_issuer,
    issuer_metadata_urls, well_known_url,
};

/// The largest number of authorization servers of a resource to try.
const MAX_ISSUERS: usize = 5;

/// The problem of an issuer without a metadata document.
pub(super) const NO_METADATA: &str = "it publishes no metadata";

/// The result of a discovery.
#[derive(Debug)]
pub(super) struct Discovery {
    /// The resource identifier of the server, for which tokens are issued.
    pub(super) resource: String,
    /// The scopes that the server declares.
    pub(super) scopes: Vec<String>,
    /// The issuer of the tokens.
    pub(super) server: ServerMetadata,
    pub(super) binding: TokenBinding,
}

/// The need to bind tokens to a key (RFC 9449).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenBinding {
    /// Not supported by the server.
    Unsupported,
    /// Supported by the server.
    Supported,
    /// Required by the server.
    Required,
}

/// Fetches the metadata of the server and of its authorization server. `wanted` is the only permitted issuer, if set, and
/// `is_trusted` says that it is the issuer of a server without metadata.
pub(super) async fn discover(
    http_client: &AuthHttpClient,
    server: &Url,
    challenge: &Challenge,
    (wanted, is_trusted): (Option<&str>, bool),
) -> Result<Discovery, Error> {
    let Some((resource, metadata)) = resource_metadata(http_client, server, challenge).await? else {
        if let Some(issuer) = wanted.filter(|_| is_trusted) {
            let found = server_metadata(http_client, issuer).await?;
            return Ok(Discovery {
                resource: display_url(server).trim_end_matches('/').to_owned(),
                scopes: Vec::new(),
                server: found.ok_or_else(|| Error::at(issuer, NO_METADATA))?,
                binding: TokenBinding::Unsupported,
            });
        }
        return discover_without_metadata(http_client, server, wanted).await;
    };
    let algorithms = metadata.dpop_signing_alg_values_supported.as_ref();
    let binding = if metadata.dpop_bound_access_tokens_required == Some(true) {
        TokenBinding::Required
    } else if challenge.is_dpop || algorithms.is_some_and(|all| all.iter().any(|one| one == ALGORITHM)) {
        TokenBinding::Supported
    } else {
        TokenBinding::Unsupported
    };
    let issuers = metadata.authorization_servers.unwrap_or_default();
    let mut problem = Error::at_url(server, "its metadata names no authorization server");
    for issuer in issuers.iter().take(MAX_ISSUERS) {
        if wanted.is_some_and(|wanted| !is_same_issuer(wanted, issuer)) {
            let issuer = shortened(issuer);
            let text = format!("it wants tokens of `{issuer}`, and `issuer` is another");
            problem = Error::at_url(server, text);
            continue;
        }
        match server_metadata(http_client, issuer).await {
            Ok(Some(found)) => {
                let scopes = metadata.scopes_supported.unwrap_or_default();
                return Ok(Discovery { resource, scopes, server: found, binding });
            }
            Ok(None) => problem = Error::at(issuer, NO_METADATA),
            Err(error) => problem = error,
        }
    }
    Err(problem)
}

/// Returns the metadata of the server. A document for another server is an error and not skipped: it would make the
/// user log in for that server.
async fn resource_metadata(
    http_client: &AuthHttpClient,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<(String, ResourceMetadata)>, Error> {
    let advertised = challenge.resource_metadata.as_deref().filter(|text| text.len() <= MAX_URL_BYTES);
    let advertised = advertised.and_then(|text| server.join(text).ok());
    let mut urls: Vec<Url> = advertised.iter().cloned().collect();
    urls.push(well_known_url(server, PROTECTED_RESOURCE));
    urls.push(at_path(server, PROTECTED_RESOURCE));
    urls.dedup();
    for candidate in urls {
        let is_advertised = advertised.as_ref() == Some(&candidate);
        let found = match http_client.document::<ResourceMetadata>(&candidate).await {
            Ok(found) => found,
            // A server that names an unreachable or forbidden URL is not trusted.
            Err(error) if is_advertised => return Err(error),
            Err(error) if error.may_pass() => return Err(error),
            Err(_) => None,
        };
        let Some(metadata) = found else { continue };
        let Some(resource) = metadata.resource.clone() else { continue };
        if !covers(&resource, server) {
            let problem =
                format!("its metadata is that of `{}`; tokens for that are not for it", shortened(&resource));
            return Err(Error::at_url(server, problem));
        }
        return Ok(Some((resource, metadata)));
    }
    Ok(None)
}

/// Discovers a server without resource metadata: such servers are their own authorization servers.
async fn discover_without_metadata(
    http_client: &AuthHttpClient,
    server: &Url,
    wanted: Option<&str>,
) -> Result<Discovery, Error> {
    let issuer = server.origin().ascii_serialization();
    if wanted.is_some_and(|wanted| !is_same_issuer(wanted, &issuer)) {
        let problem = "it does not say that its tokens come from `issuer`";
        return Err(Error::at_url(server, problem));
    }
    let found = server_metadata(http_client, &issuer).await?;
    Ok(Discovery {
        // Without a query, which may contain a key.
        resource: display_url(server).trim_end_matches('/').to_owned(),
        scopes: Vec::new(),
        server: found.unwrap_or_else(|| ServerMetadata::without_metadata(server)),
        binding: TokenBinding::Unsupported,
    })
}

/// Returns the metadata of an authorization server, from the first well-known URL that has some.
pub(super) async fn server_metadata(
    http_client: &AuthHttpClient,
    issuer: &str,
) -> Result<Option<ServerMetadata>, Error> {
    let url = Url::parse(issuer)
        .ok()
        .filter(|url| issuer.len() <= MAX_URL_BYTES && url.query().is_none() && url.fragment().is_none());
    let Some(url) = url else {
        return Err(Error::at(&shortened(issuer), "it is not the URL of an authorization server"));
    };
    http_client.check(&url)?;
    for candidate in issuer_metadata_urls(&url) {
        if let Some(wire) = http_client.document::<WireServerMetadata>(&candidate).await? {
            return ServerMetadata::new(wire, issuer, http_client).map(Some);
        }
    }
    Ok(None)
}

fn shortened(text: &str) -> String {
    clean_text(text, MAX_REPORTED_CHARS)
}
