//! The extensions that app files may name in this process.

use std::sync::{Arc, OnceLock};

use toolcrib_app::{Extensions, Terminal};

use crate::secrets::secrets;
use crate::telemetry;
use crate::ui::output;

static EXTENSIONS: OnceLock<Extensions> = OnceLock::new();

/// Says it, once, before any command runs.
pub(crate) fn set(extensions: Extensions) {
    // A second time would be a second command in one process.
    let _ = EXTENSIONS.set(with_ours(extensions));
}

/// Returns the extensions that app files may name, with the secrets that the log masks.
pub(crate) fn extensions() -> Extensions {
    EXTENSIONS.get().cloned().unwrap_or_else(|| with_ours(Extensions::default()))
}

fn with_ours(extensions: Extensions) -> Extensions {
    extensions
        .with_secrets(secrets().clone())
        .with_terminal(Arc::new(StandardError))
        .with_trace_source(telemetry::traceparent)
}

/// The output of channels of `type: terminal`, since results go to standard output.
struct StandardError;

impl Terminal for StandardError {
    fn line(&self, line: &str) {
        output::tell(line);
    }
}
