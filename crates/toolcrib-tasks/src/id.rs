//! Unguessable ids.

use std::fmt::Write as _;

use crate::StoreError;

/// Returns a random id with the kind of object as a prefix.
pub(crate) fn random_id(kind: &str) -> Result<String, StoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::NoRandomNumbers { reason: error.to_string() })?;
    let mut id = format!("{kind}_");
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id)
}
