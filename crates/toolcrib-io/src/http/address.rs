//! Classification of addresses that are not public.
//!
//! After the special-purpose registries of IANA (RFC 6890 and its updates). The metadata services of clouds have
//! link-local, shared or unique local addresses, and are among them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The class of an address that is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressClass {
    /// `0.0.0.0/8`, `::`: this machine, or none.
    Unspecified,
    /// `127.0.0.0/8`, `::1`.
    Loopback,
    /// `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `fc00::/7`, `fec0::/10`, `64:ff9b:1::/48`.
    Private,
    /// `169.254.0.0/16`, `fe80::/10`.
    LinkLocal,
    /// `100.64.0.0/10`, behind a provider's address translation.
    Shared,
    /// `224.0.0.0/4`, `ff00::/8`.
    Multicast,
    /// Set aside for protocols, tests, documentation or the future; and `168.63.129.16`, at which a cloud serves its
    /// virtual machines alone.
    Reserved,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "the unspecified address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Shared => "a shared address of a provider",
            Self::Multicast => "a multicast address",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Returns the class of an address, or `None` if it is public.
pub(super) fn classify(address: IpAddr) -> Option<AddressClass> {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

/// Returns true if the host of a URL is `localhost` or an address that is not public. An operator who writes such a URL
/// permits requests to it; a name that merely resolves to such an address does not.
///
/// ```
/// use toolcrib_io::http::names_private_address;
///
/// assert!(names_private_address(&"http://127.0.0.1:8080/api".parse()?));
/// assert!(names_private_address(&"http://localhost/".parse()?));
/// assert!(!names_private_address(&"https://192.0.3.1/".parse()?));
/// assert!(!names_private_address(&"https://example.com/".parse()?));
/// # Ok::<(), url::ParseError>(())
/// ```
pub fn names_private_address(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => classify_v4(address).is_some(),
        Some(Host::Ipv6(address)) => classify_v6(address).is_some(),
        None => false,
    }
}

/// Returns true if a text is a URL whose host is a private address, or a name of this machine.
pub fn is_private_url(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| names_private_address(&url))
}

fn classify_v4(address: Ipv4Addr) -> Option<AddressClass> {
    match address.octets() {
        [0, ..] => Some(AddressClass::Unspecified),
        [127, ..] => Some(AddressClass::Loopback),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(AddressClass::Private),
        [169, 254, ..] => Some(AddressClass::LinkLocal),
        [100, 64..=127, ..] => Some(AddressClass::Shared),
        [224..=239, ..] => Some(AddressClass::Multicast),
        // Protocol assignments, documentation, 6to4 relays, benchmarks, the future.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Some(AddressClass::Reserved)
        }
        [240..=255, ..] | [168, 63, 129, 16] => Some(AddressClass::Reserved),
        _ => None,
    }
}

fn classify_v6(address: Ipv6Addr) -> Option<AddressClass> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some(AddressClass::Unspecified),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(AddressClass::Loopback),
        // Mapped, compatible and translated addresses are as public as the IPv4 address in them.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x0064, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => classify_v4(embedded(high, low)),
        [0x0064, 0xff9b, 1, ..] | [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Some(AddressClass::Private),
        [0xfe80..=0xfebf, ..] => Some(AddressClass::LinkLocal),
        [0xff00..=0xffff, ..] => Some(AddressClass::Multicast),
        // Protocol assignments with Teredo, documentation, discard-only. Beyond 2000::/3 nothing is assigned.
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some(AddressClass::Reserved),
        [0x2000..=0x3fff, ..] => None,
        _ => Some(AddressClass::Reserved),
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}
