//! The identity of an overload.

use serde::{Deserialize, Serialize};
use toolcrib_model::{Fingerprint, QualifiedName};

use crate::Entry;

/// The identity of one overload of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolKey {
    /// The name.
    pub name: QualifiedName,
    /// The digest of its argument schema.
    pub fingerprint: Fingerprint,
}

impl ToolKey {
    /// Returns the key of an entry.
    pub fn of(entry: &Entry) -> Self {
        Self { name: entry.tool.name.clone(), fingerprint: entry.fingerprint }
    }
}
