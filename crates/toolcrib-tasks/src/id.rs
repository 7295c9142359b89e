//! Unguessable ids.

use toolcrib_model::random::{hex, random_bytes};

use crate::store::StoreError;

/// The number of random bytes of an id.
const ID_BYTES: usize = 8;

/// Returns a random id with the kind of object as a prefix.
pub(crate) fn random_id(kind: &str) -> Result<String, StoreError> {
    let bytes = random_bytes::<ID_BYTES>()
        .map_err(|error| StoreError::NoRandomNumbers { reason: error.to_string() })?;
    Ok(format!("{kind}_{}", hex(&bytes)))
}
