//! Name resolution that refuses names which lead into the private network.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::{AddressClass, classify};

/// An address that the guard let nobody connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) host: String,
    pub(super) address: IpAddr,
    pub(super) class: AddressClass,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is refused: {} is {}", self.host, self.address, self.class)
    }
}

impl std::error::Error for Refused {}

/// Where names are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Names {
    /// As the system does it.
    System,
    /// As a test says.
    #[cfg(test)]
    Stub(fn(&str) -> Vec<IpAddr>),
}

impl Names {
    /// The addresses of a name. Port 0 stands for the port of the URL.
    async fn look_up(self, name: &str) -> std::io::Result<Vec<SocketAddr>> {
        match self {
            Self::System => Ok(tokio::net::lookup_host((name, 0)).await?.collect()),
            #[cfg(test)]
            Self::Stub(answer) => Ok(answer(name).into_iter().map(|ip| SocketAddr::new(ip, 0)).collect()),
        }
    }
}

/// Resolves names under the guard. The connection is made to the very addresses that were checked, so that a name cannot
/// change its mind in between.
#[derive(Debug)]
pub(super) struct GuardedResolver {
    pub(super) allow_private: bool,
    pub(super) names: Names,
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

/// Refuses the host if any of its addresses is not public: a name that has both kinds means no good.
pub(super) fn admit(host: &str, addresses: &[SocketAddr]) -> Result<(), Refused> {
    let refused =
        addresses.iter().find_map(|address| classify(address.ip()).map(|class| (address.ip(), class)));
    match refused {
        Some((address, class)) => Err(Refused { host: host.to_owned(), address, class }),
        None => Ok(()),
    }
}
