//! Credentials and the security schemes of a document.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use serde_json::Value;
use toolcrib_model::JsonObject;

use super::{KeyPlace, Slot};
use crate::operation::Place;

/// What is to be known of a credential to find the operations that it is for.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    pub(super) scheme: Option<String>,
    pub(super) family: Family,
    /// Where it goes, where the document need not say it.
    pub(super) slot: Option<Slot>,
}

/// What a scheme asks for, and what a credential is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// A bearer token, however it was come by.
    Token,
    Basic,
    Key,
}

/// A security scheme of a document.
#[derive(Clone, Debug)]
enum Scheme {
    Authorization(Family),
    Key(Slot),
    Unknown,
}

/// The credentials of a source beside the security schemes of its document.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundAuth {
    sketches: Vec<Sketch>,
    schemes: HashMap<String, Scheme>,
    owned: Arc<[Slot]>,
}

/// The credentials of the calls of one operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    /// Which of the source's go where.
    pub(super) planned: Vec<Planned>,
    /// The slots of all credentials of the source, which nothing else is written into.
    pub(crate) owned: Arc<[Slot]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) credential: usize,
    pub(super) slot: Slot,
}

impl BoundAuth {
    /// Beside the security schemes of a document, as OpenAPI 3 writes them. `own` are the slots of the source's own
    /// headers.
    pub(super) fn new(sketches: Vec<Sketch>, schemes: &JsonObject, own: &[Slot]) -> Self {
        let schemes: HashMap<String, Scheme> =
            schemes.iter().map(|(name, scheme)| (name.clone(), Scheme::read(scheme))).collect();
        let mut owned = own.to_vec();
        for sketch in &sketches {
            match (&sketch.slot, &sketch.scheme) {
                (Some(slot), _) => owned.push(slot.clone()),
                (None, Some(name)) => owned.extend(schemes.get(name).and_then(Scheme::slot)),
                (None, None) => owned.extend(schemes.values().filter_map(Scheme::slot)),
            }
        }
        Self { sketches, schemes, owned: owned.into() }
    }

    /// Whether a parameter of this place and name would write into the slot of a credential.
    pub(crate) fn owns(&self, place: Place, name: &str) -> bool {
        self.owned.iter().any(|slot| slot.is_written_by(place, name))
    }

    /// What the calls of an operation with this `security` are sent with: what the first of its alternatives asks for of
    /// which all is there; else everything that is for no scheme in particular, since documents are often wrong here.
    /// Nothing goes with a call that says it needs none, or one that servers send back as they got it.
    pub(crate) fn credentials(&self, security: Option<&Value>, method: &Method) -> Credentials {
        let alternatives = security.and_then(Value::as_array);
        let planned = match alternatives {
            _ if *method == Method::TRACE => Vec::new(),
            Some(alternatives) if alternatives.is_empty() => Vec::new(),
            Some(alternatives) => alternatives
                .iter()
                .find_map(|alternative| self.answer(alternative))
                .unwrap_or_else(|| self.general()),
            None => self.general(),
        };
        Credentials { planned, owned: Arc::clone(&self.owned) }
    }

    /// What answers all schemes of an alternative.
    fn answer(&self, alternative: &Value) -> Option<Vec<Planned>> {
        let schemes = alternative.as_object().filter(|schemes| !schemes.is_empty())?;
        let mut planned = Vec::new();
        for name in schemes.keys() {
            let scheme = self.schemes.get(name).unwrap_or(&Scheme::Unknown);
            let by_name = self.sketches.iter().position(|sketch| sketch.scheme.as_ref() == Some(name));
            let by_kind =
                || self.sketches.iter().position(|sketch| sketch.scheme.is_none() && sketch.fits(scheme));
            let credential = by_name.or_else(by_kind)?;
            let slot = self.sketches.get(credential)?.slot.clone().or_else(|| scheme.slot())?;
            plan(&mut planned, credential, slot);
        }
        Some(planned)
    }

    /// Everything that is for no scheme in particular and whose slot is known.
    fn general(&self) -> Vec<Planned> {
        let mut keys = self.schemes.values().filter_map(Scheme::slot);
        let only_key = keys.next().filter(|_| keys.next().is_none());
        let mut planned = Vec::new();
        for (credential, sketch) in
            self.sketches.iter().enumerate().filter(|(_, sketch)| sketch.scheme.is_none())
        {
            if let Some(slot) = sketch.slot.clone().or_else(|| only_key.clone()) {
                plan(&mut planned, credential, slot);
            }
        }
        planned
    }
}

/// One credential for each slot.
fn plan(planned: &mut Vec<Planned>, credential: usize, slot: Slot) {
    if !planned.iter().any(|other| other.slot == slot) {
        planned.push(Planned { credential, slot });
    }
}

impl Sketch {
    fn fits(&self, scheme: &Scheme) -> bool {
        match scheme {
            Scheme::Authorization(family) => self.family == *family,
            // Documents that know no bearer tokens write them as a key in this header.
            Scheme::Key(slot) if *slot == Slot::authorization() => {
                self.slot.as_ref().is_none_or(|own| own == slot)
            }
            Scheme::Key(slot) => {
                self.family == Family::Key && self.slot.as_ref().is_none_or(|own| own == slot)
            }
            Scheme::Unknown => false,
        }
    }
}

impl Scheme {
    fn slot(&self) -> Option<Slot> {
        match self {
            Self::Key(slot) => Some(slot.clone()),
            _ => None,
        }
    }

    fn read(scheme: &Value) -> Self {
        let text = |key| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "oauth2" | "openIdConnect" => Self::Authorization(Family::Token),
            "http" if text("scheme").eq_ignore_ascii_case("basic") => Self::Authorization(Family::Basic),
            "http" if text("scheme").eq_ignore_ascii_case("bearer") => Self::Authorization(Family::Token),
            "apiKey" => match KeyPlace::parse(text("in")) {
                Some(KeyPlace::Header) if may_hold_key(text("name")) => {
                    Self::Key(Slot::new(KeyPlace::Header, text("name").to_ascii_lowercase()))
                }
                Some(place @ (KeyPlace::Query | KeyPlace::Cookie)) if !text("name").is_empty() => {
                    Self::Key(Slot::new(place, text("name")))
                }
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }
}

/// Whether a key may go into a header of this name: a document must not have one written where the client writes.
pub(super) fn may_hold_key(name: &str) -> bool {
    let is_ours = ["connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"]
        .iter()
        .any(|header| header.eq_ignore_ascii_case(name));
    !is_ours && http::HeaderName::from_bytes(name.as_bytes()).is_ok()
}
