//! The check and resolution of the addresses of servers.

use std::net::IpAddr;
use std::time::Duration;

use toolcrib_io::http::names_private_address;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::Access;
use url::Url;

use crate::config::{Location, Tls};
use crate::errors::invalid;

/// The maximum number of addresses of one name that are tried.
const MAX_ADDRESSES: usize = 4;

/// The resolved address of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResolvedServer {
    /// The hosts to try, in this order. These are addresses, so that the name cannot mean another server later; or the
    /// name itself, if the certificate proves the identity of the server.
    pub(crate) hosts: Vec<String>,
    pub(crate) tls: Tls,
}

/// Resolves the host of a server, and refuses one that the access rules do not allow.
pub(crate) async fn resolve_server(
    location: &Location,
    access: &Access,
    allow_private: bool,
    limit: Duration,
) -> Result<ResolvedServer, ToolError> {
    let (host, port) = location.server();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if bare.is_empty() || bare.contains(['/', '@', '?', '#', '\\', ' ']) {
        return Err(invalid(format!("`{host}` is not the name or address of a server")));
    }
    if !access.allows_host(host, port) {
        let message = format!(
            "may not connect to `{host}` at port {port}: the configuration does not allow it under `access.network`"
        );
        return Err(ToolError::new(ErrorKind::Denied, message)
            .with_hint("use a host that is allowed, or ask the user"));
    }
    let unknown = |reason: &str| {
        ToolError::new(ErrorKind::Unavailable, format!("the address of `{host}` is not known: {reason}"))
            .with_hint("check the name of the host")
    };
    let found = tokio::time::timeout(limit, tokio::net::lookup_host((bare, port))).await;
    let found =
        found.map_err(|_| unknown("no answer in time"))?.map_err(|error| unknown(&error.to_string()))?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found.map(|found| found.ip()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    let private = addresses.iter().find(|address| is_private_address(**address));
    if let Some(address) = private.filter(|_| !allow_private) {
        let message = format!("refused to connect to `{host}`: {address} is not a public address");
        let hint = "the operator can allow it by `allow_private_addresses`, or put the connection under `connections` \
                    there";
        return Err(ToolError::new(ErrorKind::Denied, message)
            .with_hint(hint)
            .with_setting("allow_private_addresses"));
    }
    let tls = location.tls.unwrap_or(if private.is_some() { Tls::Prefer } else { Tls::Verify });
    let hosts = if tls == Tls::Verify {
        vec![bare.to_owned()]
    } else {
        addresses.iter().take(MAX_ADDRESSES).map(ToString::to_string).collect()
    };
    if hosts.is_empty() { Err(unknown("it has none")) } else { Ok(ResolvedServer { hosts, tls }) }
}

/// Returns true if a host is this machine or an address that is not public, as it is written.
pub(crate) fn is_private_host(host: &str) -> bool {
    let host =
        if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    Url::parse(&format!("http://{host}/")).is_ok_and(|url| names_private_address(&url))
}

fn is_private_address(address: IpAddr) -> bool {
    is_private_host(&address.to_string())
}
