//! The extensions that app files may name in this process.

use std::sync::Arc;

use toolcrib_app::{Extensions, Terminal};

use crate::secrets::secrets;
use crate::telemetry;
use crate::ui::output;

/// Adds what this process has: its terminal, the secrets that its log masks, and the ids of its spans.
pub(crate) fn of_process(extensions: Extensions) -> Extensions {
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
