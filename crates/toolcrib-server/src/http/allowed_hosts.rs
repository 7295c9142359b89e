//! The checks of the `Host` and `Origin` headers.
//!
//! A web page of another site can make a browser send requests to this machine, and can even make its domain resolve to
//! this machine (DNS rebinding). So the host name of a request must be one of this server, and its origin must be
//! permitted.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use http::uri::{Authority, Uri};

/// The host names of this server, and the origins that may send requests.
pub(super) struct AllowedHosts {
    hosts: Vec<HostName>,
    origins: Vec<Origin>,
}

/// A host name, with a port if only one is permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostName {
    name: String,
    port: Option<u16>,
}

/// The scheme, host and port of a web page. Without a port, any port is permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: HostName,
}

impl AllowedHosts {
    pub(super) fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let own = |name: &str| HostName { name: name.to_owned(), port: None };
        let mut names = vec![own("localhost"), own("127.0.0.1"), own("::1")];
        if !address.ip().is_unspecified() {
            names.push(own(&ip(address.ip())));
        }
        names.extend(hosts.iter().filter_map(|host| host_of(host)));
        Self { hosts: names, origins: origins.iter().filter_map(|origin| allowed(origin)).collect() }
    }

    /// Returns the reason why a request is rejected, if it is.
    pub(super) fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let host = match headers.get(HOST) {
            Some(host) => host.to_str().ok().and_then(host_of),
            None => uri.authority().map(of_authority),
        };
        let Some(host) = host.filter(|_| headers.get_all(HOST).iter().count() <= 1) else {
            return Some("the `Host` header cannot be read");
        };
        let fits = |own: &HostName| own.name == host.name && (own.port.is_none() || own.port == host.port);
        if !self.hosts.iter().any(fits) {
            return Some("the `Host` header is not a name of this server; add it to `serve.allowed_hosts`");
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = origins.next()?;
        let origin = origin.to_str().ok().filter(|_| origins.next().is_none()).and_then(origin_of);
        let Some(origin) = origin else { return Some("the `Origin` header names no web page") };
        // The page was served by this server.
        if origin.host.name == host.name && origin.port() == host.port.or(Some(80)) && origin.scheme == "http"
        {
            return None;
        }
        let fits = |own: &Origin| {
            own.scheme == origin.scheme
                && own.host.name == origin.host.name
                && (own.host.port.is_none() || own.host.port == origin.port())
        };
        let is_allowed = self.origins.iter().any(fits);
        (!is_allowed).then_some(
            "the `Origin` header names a page that is not permitted; add it to `serve.allowed_origins`",
        )
    }

    /// Returns true if the request comes from a page that this server did not serve under the host name of the request.
    /// The scheme is ignored, since a proxy may use another one.
    pub(super) fn is_foreign(headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(ORIGIN) else { return false };
        let origin = origin.to_str().ok().and_then(origin_of);
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).and_then(host_of);
        let (Some(origin), Some(host)) = (origin, host) else { return true };
        let is_default = |port: Option<u16>| port.is_none_or(|port| port == 80 || port == 443);
        origin.host.name != host.name
            || (origin.host.port != host.port && !(is_default(origin.host.port) && is_default(host.port)))
    }
}

impl Origin {
    /// Returns the port, or the default port of the scheme.
    fn port(&self) -> Option<u16> {
        self.host.port.or(match self.scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        })
    }
}

fn ip(address: IpAddr) -> String {
    address.to_string()
}

fn host_of(text: &str) -> Option<HostName> {
    let text = text.trim();
    // An IPv6 address without brackets is not a valid authority, but people write it as a host name.
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(HostName { name: ip(address), port: None });
    }
    let authority = Authority::try_from(text).ok()?;
    (!text.contains('@')).then(|| of_authority(&authority))
}

fn of_authority(authority: &Authority) -> HostName {
    let name = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    HostName { name, port: authority.port_u16() }
}

fn origin_of(text: &str) -> Option<Origin> {
    let uri = Uri::try_from(text.trim()).ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    Some(Origin { scheme, host: of_authority(uri.authority()?) })
}

/// Parses a permitted origin. Without a port it has the default one of its scheme, and `:*` permits any.
fn allowed(text: &str) -> Option<Origin> {
    if let Some(base) = text.trim().strip_suffix(":*") {
        return origin_of(base);
    }
    let mut origin = origin_of(text)?;
    origin.host.port = origin.port();
    Some(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(headers: &[(&str, &str)]) -> Option<&'static str> {
        let names = AllowedHosts::new(
            "127.0.0.1:8080".parse().unwrap(),
            &["tools.example".to_owned(), "only.example:8443".to_owned()],
            &["https://app.example".to_owned(), "http://dev.example:*".to_owned()],
        );
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        names.refusal(&Uri::from_static("/mcp"), &map)
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "tools.example", "only.example:8443"]
        {
            assert_eq!(refusal(&[("host", host)]), None, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.nip.example",
            "only.example",
            "only.example:80",
            "evil@localhost",
            "",
            "0.0.0.0:8080",
            "127.1",
        ] {
            assert!(refusal(&[("host", host)]).is_some(), "{host}");
        }
        assert!(refusal(&[]).is_some());
        assert!(refusal(&[("host", "localhost"), ("host", "evil.example")]).is_some());
    }

    #[test]
    fn only_pages_that_may_are_answered() {
        let from = |origin: &'static str| refusal(&[("host", "localhost:8080"), ("origin", origin)]);
        for origin in [
            "http://localhost:8080",
            "https://app.example",
            "https://app.example:443",
            "http://dev.example:3000",
        ] {
            assert_eq!(from(origin), None, "{origin}");
        }
        for origin in [
            "null",
            "https://evil.example",
            "http://localhost:3000",
            "https://localhost:8080",
            "https://app.example:8443",
            "http://app.example",
            "file://",
            "",
        ] {
            assert!(from(origin).is_some(), "{origin}");
        }
    }
}
