//! The slot of a credential: its position in a request.

use http::header::AUTHORIZATION;

use super::KeyLocation;
use crate::operation::ParameterLocation;

/// A header, a query parameter, or a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) location: KeyLocation,
    pub(crate) name: String,
}

impl Slot {
    pub(crate) fn new(location: KeyLocation, name: impl Into<String>) -> Self {
        Self { location, name: name.into() }
    }

    pub(crate) fn authorization() -> Self {
        Self::new(KeyLocation::Header, AUTHORIZATION.as_str())
    }

    /// Returns true if a parameter with this location and name would write into the slot. Servers differ in whether
    /// query names are case-sensitive, so case is ignored here. A `Cookie` header contains every cookie.
    pub(crate) fn is_written_by(&self, location: ParameterLocation, name: &str) -> bool {
        match (self.location, location) {
            (KeyLocation::Header, ParameterLocation::Header)
            | (KeyLocation::Query, ParameterLocation::Query) => self.name.eq_ignore_ascii_case(name),
            (KeyLocation::Cookie, ParameterLocation::Cookie) => self.name == name,
            (KeyLocation::Cookie, ParameterLocation::Header) => name.eq_ignore_ascii_case("cookie"),
            _ => false,
        }
    }
}

impl KeyLocation {
    /// Parses the name used in documents and app files.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "header" => Some(Self::Header),
            "query" => Some(Self::Query),
            "cookie" => Some(Self::Cookie),
            _ => None,
        }
    }
}
