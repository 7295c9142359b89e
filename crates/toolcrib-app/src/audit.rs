//! The audit file of an app.

use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_document::Error as DocumentError;
use toolcrib_exec::audit::{Audit, JsonLines};
use toolcrib_model::Secret;

use crate::{App, Error};

impl App {
    /// Opens the audit file that the app names. Without one, and without an observer, calls have no records.
    pub fn open_audit(&self) -> Result<Audit, Error> {
        let mut audit = kept(self)?;
        if let Some(source) = self.extensions.trace_source {
            audit = audit.with_trace_source(source);
        }
        let observers = self.extensions.observers.iter().cloned();
        Ok(observers.fold(audit, |audit, observer| audit.with_observer(observer, self.secrets().clone())))
    }

    /// Returns the file with the audit records that are sent to the store, if the app has them there.
    pub fn audit_spool(&self) -> Option<PathBuf> {
        let path = self.resolved.audit_path.as_ref()?.as_ref().ok()?;
        let is_stored = self.config.audit.as_ref().is_some_and(|section| section.store);
        is_stored.then(|| self.file.path(path))
    }
}

fn kept(app: &App) -> Result<Audit, Error> {
    let (Some(section), Some(path)) = (&app.config.audit, &app.resolved.audit_path) else {
        return Ok(Audit::default());
    };
    let wrong = |error: &DocumentError| app.file.wrong(error.clone());
    let path = app.file.path(path.as_ref().map_err(wrong)?);
    let opened = if section.store { JsonLines::spool(&path) } else { JsonLines::open(&path) };
    let mut file = opened.map_err(|error| {
        let message =
            format!("cannot write records to `{}`: {error}; its folder has to be there", path.display());
        app.file.wrong(app.file.error_at("/audit/path", message))
    })?;
    if let Some(max_bytes) = section.max_bytes {
        file = file.with_max_bytes(max_bytes.get());
    }
    if section.required {
        file = file.required();
    }
    let mut audit = Audit::new(Arc::new(file)).with_secrets(app.secrets().clone());
    if section.values {
        audit = audit.with_values();
    }
    if section.results {
        audit = audit.with_results();
    }
    match &app.resolved.audit_key {
        Some(key) => Ok(audit.with_key(&Secret::new(key.as_ref().map_err(wrong)?.as_str()))),
        None => Ok(audit),
    }
}
