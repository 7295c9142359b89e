//! What was called, by whom, who allowed it and what came of it: one [`Record`] for each call, and one span.
//!
//! [`Audit::begin`] makes a [`Pending`] where a call enters. It writes its record when it is finished, and when it is
//! dropped without that, so that there is exactly one on every way: also for calls that are denied, unknown, invalid,
//! late, cancelled, or whose future is dropped. Where records are required, a call that runs has one more, written before
//! it does, with the outcome [`Outcome::Begun`]. An [`AuditSink`] takes the records; [`JsonLines`] writes them to a file.
//!
//! # Values
//!
//! A record holds no values of arguments, unless [`Audit::with_values`] asks for them: only their [shape](Record) and
//! their digest. The digest is an HMAC with SHA-256 over the canonical JSON of the arguments, so that equal arguments are
//! found again. A plain digest would tell a value that is easily guessed, such as a PIN, to whoever tries all of them;
//! hence the key. It is made up for each process, so that digests of two processes say nothing of each other. With
//! [`Audit::with_key`] they do, and the key has to be kept as a secret for as long as the records are.
//!
//! # Traces
//!
//! The span follows the conventions of OpenTelemetry for generative AI and MCP, whose attributes stand in [`span`]. It is
//! an ordinary span of `tracing`, so that any subscriber exports it. What knows the ids of spans says so by
//! [`set_trace_source`]; engines then find the `traceparent` of their call in the context, and pass it on.

mod digest;
mod file;
mod pending;
mod record;
mod shape;
mod sink;
mod span;
mod text;
mod time;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use toolcrib_model::{ErrorKind, Secret, ToolCall, ToolError};
use toolcrib_port::CallContext;

use crate::Secrets;

pub use file::{DEFAULT_MAX_AUDIT_BYTES, JsonLines, MIN_AUDIT_BYTES};
pub use pending::Pending;
pub use record::{Outcome, Record, SCHEMA_VERSION};
pub use sink::{AuditSink, Kept};
pub use span::{set_trace_source, span};

use digest::Key;
use sink::Observed;

/// The most bytes of arguments, as JSON, that a record has when it may have them.
pub const MAX_VALUES_BYTES: usize = 64 * 1024;

/// Makes the records of calls. A clone is the same. Without a sink it makes none, and only spans.
#[derive(Clone, Default)]
pub struct Audit {
    settings: Option<Arc<Settings>>,
}

#[derive(Clone)]
struct Settings {
    sink: Arc<dyn AuditSink>,
    key: Option<Key>,
    secrets: Secrets,
    has_values: bool,
}

impl Audit {
    /// Records go to this sink.
    pub fn new(sink: Arc<dyn AuditSink>) -> Self {
        let settings = Settings { sink, key: Key::random(), secrets: Secrets::new(), has_values: false };
        Self { settings: Some(Arc::new(settings)) }
    }

    /// Sets the secrets that are taken out of records.
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        self.changed(|settings| settings.secrets = secrets)
    }

    /// Says that records have the values of arguments too, without the secrets, up to [`MAX_VALUES_BYTES`].
    pub fn with_values(self) -> Self {
        self.changed(|settings| settings.has_values = true)
    }

    /// Sets the key of the digests of arguments, so that those of several processes can be compared.
    pub fn with_key(self, key: &Secret) -> Self {
        self.changed(|settings| settings.key = Some(Key::new(key.expose().as_bytes())))
    }

    /// Shows each record to one sink more. It has no say in whether calls run.
    pub fn with_observer(mut self, observer: Arc<dyn AuditSink>, secrets: Secrets) -> Self {
        if let Some(settings) = &mut self.settings {
            let settings = Arc::make_mut(settings);
            settings.sink = Arc::new(Observed { sink: Arc::clone(&settings.sink), observer });
        } else {
            // Nothing is compared, so there is no key.
            let settings = Settings { sink: observer, key: None, secrets, has_values: false };
            self.settings = Some(Arc::new(settings));
        }
        self
    }

    /// A call enters. What is returned stays with it to its end.
    pub fn begin(&self, call: &ToolCall, context: &CallContext) -> Pending {
        Pending::new(self.settings.clone(), call, context)
    }

    /// Whether calls may run: not while records cannot be written and the sink says that nothing may run without one.
    pub fn check(&self) -> Result<(), ToolError> {
        let Some(settings) = &self.settings else { return Ok(()) };
        settings.sink.check().map_err(|problem| no_record(&problem))
    }

    /// Returns why records are missing, if some could not be written.
    pub fn problem(&self) -> Option<String> {
        self.settings.as_ref()?.sink.problem()
    }

    fn changed(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        if let Some(settings) = &mut self.settings {
            change(Arc::make_mut(settings));
        }
        self
    }
}

/// The error of a call that would have no record.
fn no_record(problem: &str) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, format!("no call runs without a record of it, and {problem}"))
        .with_hint("tell the operator; calling again does not help")
        .with_retryable(false)
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.settings.as_ref().map(|settings| settings.has_values);
        f.debug_struct("Audit").field("values", &values).finish_non_exhaustive()
    }
}
