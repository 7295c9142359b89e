//! The audit section of an app file.

use std::sync::Arc;

use toolcrib_document::Error;
use toolcrib_exec::audit::{Audit, JsonLines, MIN_AUDIT_BYTES};
use toolcrib_model::Secret;

use crate::{App, AuditSection, config::variables};

/// Checks the section. Opens nothing.
pub(crate) fn check(app: &App, errors: &mut Vec<Error>) {
    let Some(section) = &app.config.audit else { return };
    let wrong = |key: &str, message: String| app.document.error_at(&format!("/audit/{key}"), message);
    match path(app, section) {
        Ok(path) if path.trim().is_empty() => {
            errors.push(wrong("path", "`path` is empty; name the file that records are written to".into()));
        }
        Ok(path) => {
            let path = app.path(&path);
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|folder| app.is_in_file() && !folder.is_dir()) {
                let message = format!("the folder `{}` is not there; make it", folder.display());
                errors.push(wrong("path", message));
            }
        }
        Err(error) => errors.push(error),
    }
    if let Some(given) = section.max_bytes.filter(|given| given.get() < MIN_AUDIT_BYTES) {
        errors.push(wrong("max_bytes", format!("`max_bytes` is at least {MIN_AUDIT_BYTES}, not {given}")));
    }
    match key(app, section) {
        Some(Ok(key)) if key.trim().is_empty() => {
            errors.push(wrong("key", "`key` is empty; leave it out, or make one up".into()));
        }
        Some(Err(error)) => errors.push(error),
        Some(Ok(_)) | None => {}
    }
}

/// Opens the file that the app names. Without one, and without an observer, calls have no records.
pub(crate) fn open(app: &App) -> Result<Audit, crate::Error> {
    let audit = kept(app)?;
    Ok(match &app.extensions.observer {
        Some(observer) => audit.with_observer(Arc::clone(observer), app.secrets().clone()),
        None => audit,
    })
}

fn kept(app: &App) -> Result<Audit, crate::Error> {
    let Some(section) = &app.config.audit else { return Ok(Audit::default()) };
    let path = app.path(&path(app, section).map_err(|error| app.wrong(error))?);
    let mut file = JsonLines::open(&path).map_err(|error| {
        let message =
            format!("cannot write records to `{}`: {error}; its folder has to be there", path.display());
        app.error_at("/audit/path", message)
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
    match key(app, section) {
        Some(key) => Ok(audit.with_key(&Secret::new(key.map_err(|error| app.wrong(error))?))),
        None => Ok(audit),
    }
}

fn path(app: &App, section: &AuditSection) -> Result<String, Error> {
    variables::expanded(app, &section.path, "/audit/path", true)
}

fn key(app: &App, section: &AuditSection) -> Option<Result<String, Error>> {
    section.key.as_ref().map(|key| variables::expanded(app, key, "/audit/key", false))
}
