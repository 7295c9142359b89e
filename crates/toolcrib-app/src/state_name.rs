//! The names under which programs keep the state of apps.

use std::path::Path;

use sha2::{Digest, Sha256};

/// The number of characters of a folder's name in [`state_name`].
const NAME_CHARS: usize = 40;

/// Returns the name under which things of the app in this file are kept: that of the folder it stands in, and a number
/// that tells it apart from others.
pub fn state_name(app: &Path) -> String {
    let app = app.canonicalize().unwrap_or_else(|_| app.to_owned());
    let folder = app.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let plain: String =
        folder.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(NAME_CHARS).collect();
    let digest = Sha256::digest(app.as_os_str().as_encoded_bytes());
    let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{plain}-{number:016x}")
}
