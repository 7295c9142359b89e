//! The export of spans in a program that is built without it: the flag is an error, and the variables are a warning.

use std::sync::Arc;

use toolcrib_exec::audit::AuditSink;
use tracing::{Metadata, Span};
use tracing_subscriber::layer::Identity;

/// The absent export. It has no values, so nothing is prepared, started, or finished.
pub(crate) enum NoExport {}

pub(crate) use NoExport as Settings;

impl NoExport {
    /// Returns an error that names the missing feature, if the flag or a variable says that spans are sent.
    pub(crate) fn read(
        flag: Option<&str>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let variables = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
        let is_unset = |name: &str| lookup(name).is_none_or(|url| url.trim().is_empty());
        if flag.is_none() && variables.into_iter().all(is_unset) {
            return Ok(None);
        }
        Err("this program is built without the cargo feature `otlp`, which sends spans; build it with that feature".into())
    }

    pub(crate) fn start(self) -> Result<Self, toolcrib_io::Error> {
        match self {}
    }

    #[expect(clippy::unused_async, reason = "the signature is that of the export")]
    pub(crate) async fn finish(self) -> Option<String> {
        match self {}
    }
}

pub(crate) fn prepare(settings: NoExport) -> (Identity, NoExport) {
    match settings {}
}

pub(crate) fn audit_log(queue: &NoExport) -> Option<Arc<dyn AuditSink>> {
    match *queue {}
}

pub(crate) fn is_ours(_metadata: &Metadata<'_>) -> bool {
    false
}

pub(crate) fn traceparent(_span: &Span) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn a_program_without_the_export_names_the_missing_feature() {
        assert!(Settings::read(None, |_| None).is_ok_and(|settings| settings.is_none()));
        let by_flag = Settings::read(Some(""), |_| None).err().unwrap();
        let by_variable =
            Settings::read(None, |name| name.ends_with("OTLP_ENDPOINT").then(|| "http://c".into()));
        for error in [by_flag, by_variable.err().unwrap()] {
            assert!(error.contains("cargo feature `otlp`"), "{error}");
        }
    }
}
