//! Serialization of secrets for the credentials file, in plain text.

use serde::{Serialize as _, Serializer};
use toolcrib_model::Secret;

/// Serializes a secret.
pub(super) fn exposed<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

/// Like [`exposed`], for a secret that may be absent.
#[expect(clippy::ref_option, reason = "serde calls it so")]
pub(super) fn exposed_optional<S: Serializer>(
    secret: &Option<Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::expose).serialize(serializer)
}
