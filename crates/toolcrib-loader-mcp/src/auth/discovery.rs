//! Which authorization server issues tokens for a server, and for what name of it.

use url::Url;

use super::challenge::Challenge;
use super::fetch::{Door, shown};
use super::metadata::{
    MAX_URL_BYTES, ResourceMetadata, ServerMetadata, WireServerMetadata, is_same_issuer, refused,
};
use crate::error::Error;

/// The most authorization servers of a resource that are looked at.
const MAX_ISSUERS: usize = 5;

/// What was found out.
#[derive(Debug)]
pub(super) struct Discovered {
    /// The server, by the name that tokens are issued for.
    pub(super) resource: String,
    /// The scopes that it says it has.
    pub(super) scopes: Vec<String>,
    /// Who issues the tokens.
    pub(super) server: ServerMetadata,
    pub(super) binding: Binding,
}

/// Whether tokens are to be bound to a key of ours (RFC 9449).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// Nobody asks for it.
    No,
    /// The server knows such tokens.
    Wanted,
    /// It takes no others.
    Required,
}

/// Looks at what the server and its authorization server publish. `wanted` is the only issuer that may be used.
pub(super) async fn discover(
    door: &Door,
    server: &Url,
    challenge: &Challenge,
    wanted: Option<&str>,
) -> Result<Discovered, Error> {
    let Some((resource, metadata)) = resource(door, server, challenge).await? else {
        return by_convention(door, server, wanted).await;
    };
    let binding = match (metadata.requires_binding(), metadata.knows_binding() || challenge.is_dpop) {
        (true, _) => Binding::Required,
        (false, true) => Binding::Wanted,
        (false, false) => Binding::No,
    };
    let at = shown(server);
    let issuers = metadata.authorization_servers.unwrap_or_default();
    let mut problem = refused(&at, "its metadata names no authorization server");
    for issuer in issuers.iter().take(MAX_ISSUERS) {
        if wanted.is_some_and(|wanted| !is_same_issuer(wanted, issuer)) {
            problem =
                refused(&at, &format!("it wants tokens of `{}`, and `auth.issuer` is another", cut(issuer)));
            continue;
        }
        match server_metadata(door, issuer).await {
            Ok(Some(found)) => {
                let scopes = metadata.scopes_supported.unwrap_or_default();
                return Ok(Discovered { resource, scopes, server: found, binding });
            }
            Ok(None) => problem = refused(issuer, "it publishes no metadata"),
            Err(error) => problem = error,
        }
    }
    Err(problem)
}

/// The metadata of the server. A document for another server is refused, not passed over: it would have us log in for
/// that one.
async fn resource(
    door: &Door,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<(String, ResourceMetadata)>, Error> {
    let advertised = challenge.resource_metadata.as_deref().filter(|text| text.len() <= MAX_URL_BYTES);
    let advertised = advertised.and_then(|text| server.join(text).ok());
    let path = server.path().trim_end_matches('/');
    let mut places: Vec<Url> = Vec::new();
    places.extend(advertised.clone());
    places.extend(well_known(server, "oauth-protected-resource", path));
    places.extend(well_known(server, "oauth-protected-resource", ""));
    places.dedup();
    for place in places {
        let is_advertised = advertised.as_ref() == Some(&place);
        let found = match door.document::<ResourceMetadata>(&place).await {
            Ok(found) => found,
            // A server that names a place that may not be reached means no good.
            Err(error) if is_advertised => return Err(error),
            Err(error) if error.may_pass() => return Err(error),
            Err(_) => None,
        };
        let Some(metadata) = found else { continue };
        let Some(resource) = metadata.resource.clone() else { continue };
        if !covers(&resource, server) {
            let problem =
                format!("its metadata is that of `{}`; tokens for that are not for it", cut(&resource));
            return Err(refused(&shown(server), &problem));
        }
        return Ok(Some((resource, metadata)));
    }
    Ok(None)
}

/// Before there was metadata of resources, a server was its own authorization server.
async fn by_convention(door: &Door, server: &Url, wanted: Option<&str>) -> Result<Discovered, Error> {
    let issuer = server.origin().ascii_serialization();
    if wanted.is_some_and(|wanted| !is_same_issuer(wanted, &issuer)) {
        return Err(refused(&shown(server), "it does not say that its tokens come from `auth.issuer`"));
    }
    let found = match server_metadata(door, &issuer).await? {
        Some(found) => found,
        None => ServerMetadata::by_convention(server)?,
    };
    Ok(Discovered { resource: canonical(server), scopes: Vec::new(), server: found, binding: Binding::No })
}

/// The metadata of an authorization server, at the first of the places where there is some.
pub(super) async fn server_metadata(door: &Door, issuer: &str) -> Result<Option<ServerMetadata>, Error> {
    let url = Url::parse(issuer)
        .ok()
        .filter(|url| issuer.len() <= MAX_URL_BYTES && url.query().is_none() && url.fragment().is_none());
    let Some(url) = url else {
        return Err(refused(&cut(issuer), "it is not the URL of an authorization server"));
    };
    door.check(&url)?;
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        well_known(&url, "oauth-authorization-server", path),
        well_known(&url, "openid-configuration", path),
    ];
    if !path.is_empty() {
        places.push(url.join(&format!("{path}/.well-known/openid-configuration")).ok());
    }
    for place in places.into_iter().flatten() {
        if let Some(wire) = door.document::<WireServerMetadata>(&place).await? {
            return ServerMetadata::new(wire, issuer, door).map(Some);
        }
    }
    Ok(None)
}

fn well_known(url: &Url, name: &str, path: &str) -> Option<Url> {
    let mut place = url.join(&format!("/.well-known/{name}")).ok()?;
    let full = format!("{}{path}", place.path());
    place.set_path(&full);
    place.set_query(None);
    place.set_fragment(None);
    Some(place)
}

/// Whether a name of a resource is one of this server: it has the same origin, and its path is that of the server or
/// one above it.
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

/// The name of a server that publishes none, without what may be a key in its query.
pub(super) fn canonical(server: &Url) -> String {
    shown(server).trim_end_matches('/').to_owned()
}

fn cut(text: &str) -> String {
    crate::text::clean(text, MAX_SHOWN_CHARS)
}

/// The most characters of a server's words that an error repeats.
const MAX_SHOWN_CHARS: usize = 200;
