//! The slot of a credential: its position in a request.

use http::header::AUTHORIZATION;

use super::KeyPlace;
use crate::operation::Place;

/// A header, a query parameter, or a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) place: KeyPlace,
    pub(crate) name: String,
}

impl Slot {
    pub(crate) fn new(place: KeyPlace, name: impl Into<String>) -> Self {
        Self { place, name: name.into() }
    }

    pub(crate) fn authorization() -> Self {
        Self::new(KeyPlace::Header, AUTHORIZATION.as_str())
    }

    /// Returns true if a parameter with this location and name would write into the slot. Servers differ in whether
    /// query names are case-sensitive, so case is ignored here. A `Cookie` header contains every cookie.
    pub(crate) fn is_written_by(&self, place: Place, name: &str) -> bool {
        match (self.place, place) {
            (KeyPlace::Header, Place::Header) | (KeyPlace::Query, Place::Query) => {
                self.name.eq_ignore_ascii_case(name)
            }
            (KeyPlace::Cookie, Place::Cookie) => self.name == name,
            (KeyPlace::Cookie, Place::Header) => name.eq_ignore_ascii_case("cookie"),
            _ => false,
        }
    }
}

impl KeyPlace {
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
