//! Name resolution that refuses names of private addresses.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::{AddressClass, classify};

/// An address that the guard refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RefusedAddress {
    pub(super) host: String,
    pub(super) address: IpAddr,
    pub(super) class: AddressClass,
}

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is refused: {} is {}", self.host, self.address, self.class)
    }
}

impl std::error::Error for RefusedAddress {}

/// The source of name resolution.
#[derive(Clone, Copy, Debug)]
pub(super) enum NameService {
    /// The resolver of the system.
    System,
    /// A function of a test.
    #[cfg(test)]
    Stub(fn(&str) -> Vec<IpAddr>),
}

impl NameService {
    /// Resolves a name. Port 0 means the port of the URL.
    async fn look_up(self, name: &str) -> std::io::Result<Vec<SocketAddr>> {
        match self {
            Self::System => Ok(tokio::net::lookup_host((name, 0)).await?.collect()),
            #[cfg(test)]
            Self::Stub(answer) => Ok(answer(name).into_iter().map(|ip| SocketAddr::new(ip, 0)).collect()),
        }
    }
}

/// A resolver that refuses private addresses. The connection uses exactly the checked addresses, so a name cannot resolve
/// differently in between.
#[derive(Debug)]
pub(super) struct GuardedResolver {
    pub(super) allow_private: bool,
    pub(super) names: NameService,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { allow_private, names } = *self;
        Box::pin(async move {
            let addresses = names.look_up(name.as_str()).await?;
            if !allow_private {
                admit(name.as_str(), &addresses)?;
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Refuses a host if any of its addresses is not public. A name with both kinds is suspicious.
pub(super) fn admit(host: &str, addresses: &[SocketAddr]) -> Result<(), RefusedAddress> {
    let refused =
        addresses.iter().find_map(|address| classify(address.ip()).map(|class| (address.ip(), class)));
    match refused {
        Some((address, class)) => Err(RefusedAddress { host: host.to_owned(), address, class }),
        None => Ok(()),
    }
}
