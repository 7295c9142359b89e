//! Random texts that cannot be guessed, and the challenges made of them (RFC 7636).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use toolcrib_model::random::random_bytes;

use crate::Error;

/// The number of random bytes.
const BYTES: usize = 32;

/// Returns a random text in URL-safe Base64.
pub(super) fn random() -> Result<String, Error> {
    let bytes = random_bytes::<BYTES>()
        .map_err(|error| Error::at("this machine", format!("it has no random numbers ({error})")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the SHA-256 digest of a text in URL-safe Base64: the `S256` challenge of a PKCE verifier, the hash of a
/// token in a proof, the thumbprint of a key.
pub(super) fn digest(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
