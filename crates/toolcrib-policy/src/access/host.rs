//! Hosts.

use std::net::IpAddr;

use url::Host;

/// The hosts that one entry matches.
#[derive(Debug)]
pub(super) struct HostRule {
    hosts: Hosts,
    /// Any when absent.
    port: Option<u16>,
}

#[derive(Debug)]
enum Hosts {
    All,
    /// Every name below this domain, but not the domain itself.
    Below(String),
    One(Name),
}

/// A host in the one spelling that it is compared in: lower case, names in Punycode and without a dot at the end,
/// addresses as numbers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Name {
    Domain(String),
    Address(IpAddr),
}

/// The error for an invalid entry.
const NO_HOST: &str = "is no host; write `api.example.com`, `*.example.com`, `127.0.0.1` or `[::1]`, with `:443` behind \
                       it for one port";

impl HostRule {
    pub(super) fn parse(entry: &str) -> Result<Self, &'static str> {
        let (host, port) = split(entry)?;
        let hosts = match host.strip_prefix("*.") {
            _ if host == "*" => Hosts::All,
            Some(domain) => match normalised(domain) {
                Some(Name::Domain(domain)) if !domain.contains('*') => Hosts::Below(domain),
                _ => return Err(NO_HOST),
            },
            None => match normalised(host) {
                Some(Name::Domain(domain)) if domain.contains('*') => return Err(NO_HOST),
                Some(name) => Hosts::One(name),
                None => return Err(NO_HOST),
            },
        };
        Ok(Self { hosts, port })
    }

    pub(super) fn allows(&self, host: &Name, port: u16) -> bool {
        if self.port.is_some_and(|own| own != port) {
            return false;
        }
        match (&self.hosts, host) {
            (Hosts::All, _) => true,
            (Hosts::One(own), host) => own == host,
            (Hosts::Below(domain), Name::Domain(host)) => {
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (Hosts::Below(_), Name::Address(_)) => false,
        }
    }
}

/// Takes the port off, if there is one.
fn split(entry: &str) -> Result<(&str, Option<u16>), &'static str> {
    // The colons of an address in version 6 stand in brackets.
    let after = entry.rfind(']').map_or(0, |end| end + 1);
    match entry.get(after..).and_then(|tail| tail.find(':')).map(|at| entry.split_at(after + at)) {
        None => Ok((entry, None)),
        Some((host, port)) => {
            let digits = port.strip_prefix(':').filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
            match digits.and_then(|port| port.parse().ok()).filter(|port| *port > 0) {
                Some(port) => Ok((host, Some(port))),
                None => Err(NO_HOST),
            }
        }
    }
}

/// Returns the port of an entry, if it has one.
pub(super) fn port(entry: &str) -> Option<u16> {
    split(entry).ok()?.1
}

/// Returns the canonical spelling of a host, or `None` for an invalid host.
pub(super) fn normalised(host: &str) -> Option<Name> {
    let bracketed;
    let host = if host.contains(':') && !host.starts_with('[') {
        bracketed = format!("[{host}]");
        &bracketed
    } else {
        host
    };
    match Host::parse(host).ok()? {
        Host::Ipv4(address) => Some(Name::Address(address.into())),
        // An address of version 4 in the clothes of version 6 is the former.
        Host::Ipv6(address) => Some(Name::Address(address.to_canonical())),
        Host::Domain(domain) => {
            let domain = domain.strip_suffix('.').unwrap_or(&domain);
            let is_whole = !domain.is_empty() && domain.split('.').all(|label| !label.is_empty());
            is_whole.then(|| Name::Domain(domain.to_owned()))
        }
    }
}
