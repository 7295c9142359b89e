//! The extensions that app files may name in this process.

use std::sync::Arc;

use toolcrib_app::{Extensions, Terminal};
use toolcrib_script::JavaScriptEngine;

use crate::secrets::secrets;
use crate::telemetry;
use crate::ui::output;

/// Adds what this process has: its terminal, `.env` next to an app file, the workers of scripts, the secrets that its log masks, and the ids of its spans.
pub(crate) fn of_process(extensions: Extensions) -> Extensions {
    let extensions = match JavaScriptEngine::of_current_program() {
        Ok(engine) if extensions.script_engine.is_none() => extensions.with_script_engine(Arc::new(engine)),
        Ok(_) => extensions,
        Err(error) => {
            tracing::warn!(%error, "no scripts run in this process");
            extensions
        }
    };
    extensions
        .with_secrets(secrets().clone())
        .with_dotenv(true)
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
