//! Discovery of the authorization server for a server, and of the resource identifier to request tokens for.

use url::Url;

use super::challenge::Challenge;
use super::http_client::{AuthHttpClient, display_url};
use super::metadata::{
    MAX_URL_BYTES, ResourceMetadata, ServerMetadata, WireServerMetadata, authorization_error, is_same_issuer,
};
use crate::error::Error;

/// The largest number of authorization servers of a resource to try.
const MAX_ISSUERS: usize = 5;

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

/// Fetches the metadata of the server and of its authorization server. `wanted` is the only permitted issuer, if set.
pub(super) async fn discover(
    http_client: &AuthHttpClient,
    server: &Url,
    challenge: &Challenge,
    wanted: Option<&str>,
) -> Result<Discovery, Error> {
    let Some((resource, metadata)) = resource_metadata(http_client, server, challenge).await? else {
        return discover_without_metadata(http_client, server, wanted).await;
    };
    let binding = match (metadata.requires_binding(), metadata.knows_binding() || challenge.is_dpop) {
        (true, _) => TokenBinding::Required,
        (false, true) => TokenBinding::Supported,
        (false, false) => TokenBinding::Unsupported,
    };
    let at = display_url(server);
    let issuers = metadata.authorization_servers.unwrap_or_default();
    let mut problem = authorization_error(&at, "its metadata names no authorization server");
    for issuer in issuers.iter().take(MAX_ISSUERS) {
        if wanted.is_some_and(|wanted| !is_same_issuer(wanted, issuer)) {
            problem = authorization_error(
                &at,
                &format!("it wants tokens of `{}`, and `auth.issuer` is another", shortened(issuer)),
            );
            continue;
        }
        match server_metadata(http_client, issuer).await {
            Ok(Some(found)) => {
                let scopes = metadata.scopes_supported.unwrap_or_default();
                return Ok(Discovery { resource, scopes, server: found, binding });
            }
            Ok(None) => problem = authorization_error(issuer, "it publishes no metadata"),
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
    let path = server.path().trim_end_matches('/');
    let mut urls: Vec<Url> = Vec::new();
    urls.extend(advertised.clone());
    urls.extend(well_known_url(server, "oauth-protected-resource", path));
    urls.extend(well_known_url(server, "oauth-protected-resource", ""));
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
            return Err(authorization_error(&display_url(server), &problem));
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
        return Err(authorization_error(
            &display_url(server),
            "it does not say that its tokens come from `auth.issuer`",
        ));
    }
    let found = match server_metadata(http_client, &issuer).await? {
        Some(found) => found,
        None => ServerMetadata::without_metadata(server)?,
    };
    Ok(Discovery {
        resource: canonical(server),
        scopes: Vec::new(),
        server: found,
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
        return Err(authorization_error(&shortened(issuer), "it is not the URL of an authorization server"));
    };
    http_client.check(&url)?;
    let path = url.path().trim_end_matches('/');
    let mut urls = vec![
        well_known_url(&url, "oauth-authorization-server", path),
        well_known_url(&url, "openid-configuration", path),
    ];
    if !path.is_empty() {
        urls.push(url.join(&format!("{path}/.well-known/openid-configuration")).ok());
    }
    for candidate in urls.into_iter().flatten() {
        if let Some(wire) = http_client.document::<WireServerMetadata>(&candidate).await? {
            return ServerMetadata::new(wire, issuer, http_client).map(Some);
        }
    }
    Ok(None)
}

fn well_known_url(url: &Url, name: &str, path: &str) -> Option<Url> {
    let mut well_known = url.join(&format!("/.well-known/{name}")).ok()?;
    let full = format!("{}{path}", well_known.path());
    well_known.set_path(&full);
    well_known.set_query(None);
    well_known.set_fragment(None);
    Some(well_known)
}

/// Returns true if a resource identifier applies to this server: the origins are equal, and its path is that of the
/// server or a parent of it.
pub(super) fn covers(resource: &str, server: &Url) -> bool {
    if resource.len() > MAX_URL_BYTES {
        return false;
    }
    let Ok(url) = Url::parse(resource) else { return false };
    let above = url.path().trim_end_matches('/');
    let path = server.path();
    let is_above = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    url.origin() == server.origin() && url.fragment().is_none() && url.query().is_none() && is_above
}

/// Returns the identifier of a server that publishes none, without a query that may contain a key.
pub(super) fn canonical(server: &Url) -> String {
    display_url(server).trim_end_matches('/').to_owned()
}

fn shortened(text: &str) -> String {
    crate::text::clean(text, MAX_SHOWN_CHARS)
}

/// The largest number of characters of a server's text that an error repeats.
const MAX_SHOWN_CHARS: usize = 200;
