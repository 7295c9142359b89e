//! The audit section of an app file.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error;
use toolcrib_exec::audit::MIN_AUDIT_BYTES;
use toolcrib_tasks::StoreLocation;

use crate::AppFile;
use crate::resolved::ResolvedSettings;

/// `audit`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping with a `path`")]
#[expect(clippy::struct_excessive_bools, reason = "the settings are independent of each other")]
#[non_exhaustive]
pub struct AuditSection {
    /// The file that records are appended to, relative to the app file. Its folder must exist.
    pub path: String,
    /// True if records are sent to the table `toolcrib_audit` of the app's store in PostgreSQL. The file has those that
    /// were not sent yet.
    #[serde(default)]
    pub store: bool,
    /// True if records contain the values of arguments, without secrets. Otherwise they contain types and a digest.
    #[serde(default)]
    pub values: bool,
    /// True if records contain the results of calls that ran, without secrets, up to 64 KiB each. With `values` too, the
    /// engine `recorded` can replay them.
    #[serde(default)]
    pub results: bool,
    /// The size in bytes at which the file is renamed to `.1`, replacing the previous one. With `store`, the size that the
    /// file may have; records are missing beyond it. The default is 64 MiB, the minimum 1 MiB.
    pub max_bytes: Option<NonZeroU64>,
    /// True if a call runs only after its record was written. Otherwise calls continue without records, for example
    /// on a full disk.
    #[serde(default)]
    pub required: bool,
    /// The key of the digests, as `${NAME}`, which makes digests of several runs comparable. By default a random one
    /// for each process.
    pub key: Option<String>,
}

/// Checks the section. Opens nothing.
pub(crate) fn check(
    section: Option<&AuditSection>,
    settings: &ResolvedSettings,
    file: &AppFile,
    errors: &mut Vec<Error>,
) {
    let wrong = |key: &str, message: String| file.error_at(&format!("/audit/{key}"), message);
    match &settings.audit_path {
        Some(Ok(path)) if path.trim().is_empty() => {
            errors.push(wrong("path", "`path` is empty; name the file that records are written to".into()));
        }
        Some(Ok(path)) => {
            let path = file.path(path);
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|folder| file.is_on_disk && !folder.is_dir()) {
                let message = format!("the folder `{}` is not there; make it", folder.display());
                errors.push(wrong("path", message));
            }
        }
        Some(Err(error)) => errors.push(error.clone()),
        None => {}
    }
    if let Some(given) =
        section.and_then(|section| section.max_bytes).filter(|given| given.get() < MIN_AUDIT_BYTES)
    {
        errors.push(wrong("max_bytes", format!("`max_bytes` is at least {MIN_AUDIT_BYTES}, not {given}")));
    }
    let found = match &settings.task_store {
        None => Some("none"),
        Some(Ok(StoreLocation::File(_))) => Some("a file"),
        Some(Ok(StoreLocation::Postgres(_)) | Err(_)) => None,
    };
    if let Some(found) = found.filter(|_| section.is_some_and(|section| section.store)) {
        let message = format!(
            "Expected a store of PostgreSQL for the records, found {found}; set `store` of the app to a URL of a database"
        );
        errors.push(wrong("store", message));
    }
    match &settings.audit_key {
        Some(Ok(key)) if key.trim().is_empty() => {
            errors.push(wrong("key", "`key` is empty; leave it out, or make one up".into()));
        }
        Some(Err(error)) => errors.push(error.clone()),
        Some(Ok(_)) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::Blueprint;

    #[test]
    fn records_are_sent_to_a_store_in_postgres_only() {
        let error = |store: &str| {
            let app = format!("{store}audit: {{path: audit.spool, store: true}}\n");
            Blueprint::from_text("app.yaml", &app).err().map(|error| error.to_string())
        };
        for (store, found) in [("", "none"), ("store: tasks.db\n", "a file")] {
            let error = error(store).unwrap();
            assert!(error.contains(&format!("of PostgreSQL for the records, found {found}")), "{error}");
        }
        assert_eq!(error("store: postgres://localhost/tasks\n"), None);
    }
}
