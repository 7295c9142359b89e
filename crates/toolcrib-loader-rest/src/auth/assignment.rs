//! The assignment of credentials to the security schemes of a document.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use serde_json::Value;
use toolcrib_model::JsonObject;

use super::{KeyLocation, Slot};
use crate::operation::ParameterLocation;

/// The properties of a credential that decide which operations it is for.
#[derive(Clone, Debug)]
pub(super) struct CredentialProfile {
    pub(super) scheme: Option<String>,
    pub(super) method: AuthMethod,
    /// The slot of the credential, unless the document has to declare it.
    pub(super) slot: Option<Slot>,
}

/// The kind of authentication that a scheme requires or a credential provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthMethod {
    /// A bearer token, regardless of its origin.
    Token,
    Basic,
    Key,
}

/// A security scheme of a document.
#[derive(Clone, Debug)]
enum SecurityScheme {
    Authorization(AuthMethod),
    Key(Slot),
    Unknown,
}

/// The credentials of a source, matched with the security schemes of its document.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundAuth {
    profiles: Vec<CredentialProfile>,
    schemes: HashMap<String, SecurityScheme>,
    owned: Arc<[Slot]>,
}

/// The credentials for the calls of one operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    /// The credentials to send, each with its slot.
    pub(super) assignments: Vec<Assignment>,
    /// The slots of all credentials of the source. Nothing else may be written into them.
    pub(crate) owned: Arc<[Slot]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) credential: usize,
    pub(super) slot: Slot,
}

impl BoundAuth {
    /// Matches credentials with the security schemes of a document, in the form of OpenAPI 3. `own` are the slots of
    /// the headers that the source sets.
    pub(super) fn new(profiles: Vec<CredentialProfile>, schemes: &JsonObject, own: &[Slot]) -> Self {
        let schemes: HashMap<String, SecurityScheme> =
            schemes.iter().map(|(name, scheme)| (name.clone(), SecurityScheme::read(scheme))).collect();
        let mut owned = own.to_vec();
        for profile in &profiles {
            match (&profile.slot, &profile.scheme) {
                (Some(slot), _) => owned.push(slot.clone()),
                (None, Some(name)) => owned.extend(schemes.get(name).and_then(SecurityScheme::slot)),
                (None, None) => owned.extend(schemes.values().filter_map(SecurityScheme::slot)),
            }
        }
        Self { profiles, schemes, owned: owned.into() }
    }

    /// Returns true if a parameter with this location and name would write into the slot of a credential.
    pub(crate) fn owns(&self, location: ParameterLocation, name: &str) -> bool {
        self.owned.iter().any(|slot| slot.is_written_by(location, name))
    }

    /// Selects the credentials for an operation with this `security`.
    ///
    /// They are those for its first alternative whose schemes all have a credential. If there is no such alternative,
    /// they are all credentials that are not bound to a scheme, since documents are often wrong here. No credentials
    /// are sent if the operation requires none, or if the server echoes the request (`TRACE`).
    pub(crate) fn credentials(&self, security: Option<&Value>, method: &Method) -> Credentials {
        let alternatives = security.and_then(Value::as_array);
        let assignments = match alternatives {
            _ if *method == Method::TRACE => Vec::new(),
            Some(alternatives) if alternatives.is_empty() => Vec::new(),
            Some(alternatives) => alternatives
                .iter()
                .find_map(|alternative| self.answer(alternative))
                .unwrap_or_else(|| self.general()),
            None => self.general(),
        };
        Credentials { assignments, owned: Arc::clone(&self.owned) }
    }

    /// Returns the credentials for all schemes of an alternative, or `None` if one is missing.
    fn answer(&self, alternative: &Value) -> Option<Vec<Assignment>> {
        let schemes = alternative.as_object().filter(|schemes| !schemes.is_empty())?;
        let mut assignments = Vec::new();
        for name in schemes.keys() {
            let scheme = self.schemes.get(name).unwrap_or(&SecurityScheme::Unknown);
            let by_name = self.profiles.iter().position(|profile| profile.scheme.as_ref() == Some(name));
            let by_kind =
                || self.profiles.iter().position(|profile| profile.scheme.is_none() && profile.fits(scheme));
            let credential = by_name.or_else(by_kind)?;
            let slot = self.profiles.get(credential)?.slot.clone().or_else(|| scheme.slot())?;
            plan(&mut assignments, credential, slot);
        }
        Some(assignments)
    }

    /// Returns all credentials that are not bound to a scheme and whose slot is known.
    fn general(&self) -> Vec<Assignment> {
        let mut keys = self.schemes.values().filter_map(SecurityScheme::slot);
        let only_key = keys.next().filter(|_| keys.next().is_none());
        let mut assignments = Vec::new();
        for (credential, profile) in
            self.profiles.iter().enumerate().filter(|(_, profile)| profile.scheme.is_none())
        {
            if let Some(slot) = profile.slot.clone().or_else(|| only_key.clone()) {
                plan(&mut assignments, credential, slot);
            }
        }
        assignments
    }
}

/// Adds a credential unless its slot is taken.
fn plan(assignments: &mut Vec<Assignment>, credential: usize, slot: Slot) {
    if !assignments.iter().any(|other| other.slot == slot) {
        assignments.push(Assignment { credential, slot });
    }
}

impl CredentialProfile {
    fn fits(&self, scheme: &SecurityScheme) -> bool {
        match scheme {
            SecurityScheme::Authorization(method) => self.method == *method,
            // Documents of versions without bearer tokens declare them as a key in this header.
            SecurityScheme::Key(slot) if *slot == Slot::authorization() => {
                self.slot.as_ref().is_none_or(|own| own == slot)
            }
            SecurityScheme::Key(slot) => {
                self.method == AuthMethod::Key && self.slot.as_ref().is_none_or(|own| own == slot)
            }
            SecurityScheme::Unknown => false,
        }
    }
}

impl SecurityScheme {
    fn slot(&self) -> Option<Slot> {
        match self {
            Self::Key(slot) => Some(slot.clone()),
            _ => None,
        }
    }

    fn read(scheme: &Value) -> Self {
        let text = |key| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "oauth2" | "openIdConnect" => Self::Authorization(AuthMethod::Token),
            "http" if text("scheme").eq_ignore_ascii_case("basic") => Self::Authorization(AuthMethod::Basic),
            "http" if text("scheme").eq_ignore_ascii_case("bearer") => Self::Authorization(AuthMethod::Token),
            "apiKey" => match KeyLocation::parse(text("in")) {
                Some(KeyLocation::Header) if may_hold_key(text("name")) => {
                    Self::Key(Slot::new(KeyLocation::Header, text("name").to_ascii_lowercase()))
                }
                Some(location @ (KeyLocation::Query | KeyLocation::Cookie)) if !text("name").is_empty() => {
                    Self::Key(Slot::new(location, text("name")))
                }
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }
}

/// Returns true if a key may be sent in a header of this name. The headers that the client sets are excluded, since a
/// document must not overwrite them.
pub(super) fn may_hold_key(name: &str) -> bool {
    let is_ours = ["connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"]
        .iter()
        .any(|header| header.eq_ignore_ascii_case(name));
    !is_ours && http::HeaderName::from_bytes(name.as_bytes()).is_ok()
}
