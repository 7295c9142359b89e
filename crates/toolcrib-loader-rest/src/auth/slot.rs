//! Where in a request a credential goes.

use http::header::AUTHORIZATION;

use super::KeyPlace;
use crate::operation::Place;

/// A header, a name in the query, or a cookie.
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

    /// Whether a parameter of this place and name would write into it. Servers differ in whether case counts in a query,
    /// so it does not here; and a `Cookie` header is every cookie.
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
    /// As documents and app files call it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "header" => Some(Self::Header),
            "query" => Some(Self::Query),
            "cookie" => Some(Self::Cookie),
            _ => None,
        }
    }
}
