//! The audit log: one [`Record`] and one span for each call, with the caller, the tool, the decision and the outcome.
//!
//! [`Audit::begin`] creates a [`CallRecorder`] when a call arrives. It writes its record when it is finished or dropped, so
//! that there is exactly one record in every case: also for calls that are denied, unknown, invalid, late, cancelled,
//! or whose future is dropped. If records are required, a call that runs has a second record, written before it runs,
//! with the outcome [`Outcome::Begun`]. An [`AuditSink`] receives the records; [`JsonLines`] writes them to a file,
//! from which a [`SpoolReader`] can send them elsewhere.
//!
//! # Values
//!
//! A record holds no values of arguments, unless [`Audit::with_values`] asks for them: only their [shape](Record) and
//! their digest. It holds no result, unless [`Audit::with_results`] asks for it. The digest is an HMAC with SHA-256 over the canonical JSON of the arguments, so that equal arguments
//! can be found. A plain digest would reveal a value that is easily guessed, such as a PIN, to anyone who tries all
//! values; hence the key. It is random for each process, so that digests of two processes cannot be compared. With
//! [`Audit::with_key`] they can, and the key has to be kept secret for as long as the records are kept.
//!
//! # Traces
//!
//! The span follows the conventions of OpenTelemetry for generative AI and MCP; [`span`] lists its attributes. It is an
//! ordinary span of `tracing`, so that any subscriber exports it. A subscriber that knows the ids of spans provides
//! them by [`Audit::with_trace_source`]; engines then find the `traceparent` of their call in the context, and
//! propagate it.

mod argument_digest;
mod argument_shape;
mod bounded_text;
mod call_recorder;
mod json_lines;
mod log_file;
mod record;
mod rfc3339;
mod sink;
mod span;
mod spool;
mod spool_sender;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use toolcrib_model::{ErrorKind, Secret, ToolCall, ToolError};
use toolcrib_port::CallContext;
use toolcrib_results::Secrets;

pub use call_recorder::CallRecorder;
pub use json_lines::{DEFAULT_MAX_AUDIT_BYTES, JsonLines, MIN_AUDIT_BYTES};
pub use record::{HookRecord, Outcome, Record, SCHEMA_VERSION};
pub use sink::{AuditSink, MemorySink};
pub use span::{TraceSource, span};
pub use spool::{SpoolReader, SpooledRecord};
pub use spool_sender::{SpoolDestination, SpoolSender};

use argument_digest::DigestKey;
use sink::ObservedSink;

/// The maximum size as JSON of the arguments and of the result in a record that has them.
pub const MAX_VALUES_BYTES: usize = 64 * 1024;

/// The audit log, which creates the records of calls. Clones share the settings. Without a sink it creates only spans.
#[derive(Clone, Default)]
pub struct Audit {
    settings: Option<Arc<Settings>>,
    trace_source: Option<TraceSource>,
}

#[derive(Clone)]
struct Settings {
    sink: Arc<dyn AuditSink>,
    key: Option<DigestKey>,
    secrets: Secrets,
    has_values: bool,
    has_results: bool,
}

impl Settings {
    fn of(sink: Arc<dyn AuditSink>, secrets: Secrets) -> Self {
        Self { sink, key: None, secrets, has_values: false, has_results: false }
    }
}

impl Audit {
    /// Creates an audit log that sends records to this sink.
    pub fn new(sink: Arc<dyn AuditSink>) -> Self {
        let settings = Settings { key: DigestKey::random(), ..Settings::of(sink, Secrets::new()) };
        Self { settings: Some(Arc::new(settings)), trace_source: None }
    }

    /// Sets the secrets that are redacted in records.
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        self.changed(|settings| settings.secrets = secrets)
    }

    /// Includes the values of arguments in records, without the secrets, up to [`MAX_VALUES_BYTES`].
    pub fn with_values(self) -> Self {
        self.changed(|settings| settings.has_values = true)
    }

    /// Includes the results and errors of engines in records, without the secrets, up to [`MAX_VALUES_BYTES`].
    pub fn with_results(self) -> Self {
        self.changed(|settings| settings.has_results = true)
    }

    /// Sets the key of the digests of arguments, so that those of several processes can be compared.
    pub fn with_key(self, key: &Secret) -> Self {
        self.changed(|settings| settings.key = Some(DigestKey::new(key.expose().as_bytes())))
    }

    /// Adds a sink that also receives each record. It has no influence on calls.
    pub fn with_observer(mut self, observer: Arc<dyn AuditSink>, secrets: Secrets) -> Self {
        if let Some(settings) = &mut self.settings {
            let settings = Arc::make_mut(settings);
            settings.sink = Arc::new(ObservedSink { sink: Arc::clone(&settings.sink), observer });
        } else {
            // An observer compares no digests, so there is no key.
            self.settings = Some(Arc::new(Settings::of(observer, secrets)));
        }
        self
    }

    /// Sets the function that returns the `traceparent` of spans. Without it, calls propagate that of their caller.
    pub fn with_trace_source(mut self, source: TraceSource) -> Self {
        self.trace_source = Some(source);
        self
    }

    /// Begins the record of a call. The caller keeps the returned value until the call ends.
    pub fn begin(&self, call: &ToolCall, context: &CallContext) -> CallRecorder {
        let span = span(call, context);
        let source = self.trace_source.filter(|_| !span.is_disabled());
        let trace = source.and_then(|source| source(&span)).map(Arc::from).or_else(|| context.trace.clone());
        CallRecorder::new(self.settings.clone(), span, trace, call, context)
    }

    /// Returns an error if no call may run: the sink requires records and cannot write them.
    pub fn check(&self) -> Result<(), ToolError> {
        let Some(settings) = &self.settings else { return Ok(()) };
        settings.sink.check().map_err(|problem| no_record(&problem))
    }

    /// Returns the reason why records are missing, if some could not be written.
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

/// Returns the error of a call that would have no record.
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
