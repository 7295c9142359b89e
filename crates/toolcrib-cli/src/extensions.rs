//! What app files may name in this process.

use std::sync::OnceLock;

use toolcrib_runtime::Extensions;

use crate::secrets::secrets;

static EXTENSIONS: OnceLock<Extensions> = OnceLock::new();

/// Says it, once, before any command runs.
pub(crate) fn set(extensions: Extensions) {
    // A second time would be a second command in one process.
    let _ = EXTENSIONS.set(extensions.with_secrets(secrets().clone()));
}

/// What app files may name, and the collection of secrets that the log takes out.
pub(crate) fn extensions() -> Extensions {
    EXTENSIONS.get().cloned().unwrap_or_else(|| Extensions::default().with_secrets(secrets().clone()))
}
