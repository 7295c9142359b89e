//! The text of an app file, and where it stands.

pub(crate) mod empty_sections;
pub(crate) mod environment;
pub(crate) mod expansion;
pub(crate) mod foreign_keys;
pub(crate) mod former_names;
pub(crate) mod templates;
mod unset_variables;
pub(crate) mod user_template;
pub(crate) mod variables;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use toolcrib_document::{Document, Error as DocumentError, expand};
use toolcrib_results::Secrets;

use self::unset_variables::{setting_name, variables_in_braces};
use self::user_template::USER;
use crate::Error;
use crate::secrets::{SecretOrigin, SecretProviders};

/// The text of an app file, and where it stands: its paths, its variables, and the places of its errors.
#[derive(Clone, Debug)]
pub struct AppFile {
    /// The file, as it was named.
    pub name: String,
    /// The folder that its paths are relative to.
    pub folder: PathBuf,
    pub(crate) document: Document,
    /// True if it was read from a file.
    pub(crate) is_on_disk: bool,
    /// The folder that its tools work in, once its settings are known.
    pub(crate) workspace: Result<PathBuf, DocumentError>,
    pub(crate) secrets: Secrets,
    /// The providers of the secrets that it names.
    pub(crate) providers: SecretProviders,
}

impl AppFile {
    pub(crate) fn new(
        name: String,
        folder: PathBuf,
        document: Document,
        is_on_disk: bool,
        secrets: Secrets,
    ) -> Self {
        let (workspace, providers) = (Ok(folder.clone()), SecretProviders::default());
        Self { name, folder, document, is_on_disk, workspace, secrets, providers }
    }

    /// Returns the provider of each secret that the file names, and of the variables that are read from a file. Reads the
    /// secrets that nothing has read yet. No value is in the result.
    pub fn secret_origins(&self) -> Vec<SecretOrigin> {
        let origins = RefCell::new(BTreeMap::new());
        let note = |name: &str, pointer: &str, provider: &dyn Fn() -> Result<String, String>| {
            origins.borrow_mut().entry(name.to_owned()).or_insert_with(|| SecretOrigin {
                name: name.to_owned(),
                setting: setting_name(pointer),
                provider: provider(),
            });
        };
        for (pointer, text) in self.texts() {
            // The secrets of users are read when they call.
            let names = templates::secrets_in(&text).into_iter().filter(|name| !name.contains(USER));
            for name in names {
                note(name, &pointer, &|| self.providers.read(name).map(|found| found.provider));
            }
            let note_variable = |name: &str| {
                if environment::environment(name).is_none()
                    && let Some(path) = self.providers.file_with(name)
                {
                    note(name, &pointer, &|| Ok(path.clone()));
                }
            };
            variables_in_braces(&pointer, &text).into_iter().for_each(note_variable);
            // A variable that is not set is reported by the section.
            let _ = expand(&text, &|name: &str| {
                note_variable(name);
                Some(String::new())
            });
        }
        origins.into_inner().into_values().collect()
    }

    /// Returns true if it was read from a file.
    pub fn is_on_disk(&self) -> bool {
        self.is_on_disk
    }

    /// Returns the app file as it was read.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the values of the file's variables that are secrets.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns a path of the app file, relative to its folder.
    pub fn path(&self, path: &str) -> PathBuf {
        // Without the `./` that it may begin with: the folder may be `.` itself.
        let parts = Path::new(path).components().filter(|part| *part != Component::CurDir);
        let mut path = self.folder.clone();
        path.extend(parts);
        path
    }

    /// Returns the folder that file tools work in.
    pub fn workspace(&self) -> Result<PathBuf, DocumentError> {
        self.workspace.clone()
    }

    /// Returns an error at the place of a value.
    pub fn error_at(&self, pointer: &str, message: impl Into<String>) -> DocumentError {
        self.document.error_at(pointer, message)
    }

    /// Returns an error of the value at a pointer as it can be shown: without the secrets that a wrong value holds, and
    /// at the nearest place that is there, where the value is not.
    pub fn readable(&self, mut error: DocumentError, pointer: &str) -> DocumentError {
        if let DocumentError::Shape { position, message, .. } = &mut error {
            *message = self.secrets.redactor().redact(message).into_owned();
            let mut pointer = pointer;
            while position.is_none() {
                *position = self.document.position_of(pointer);
                let Some((parent, _)) = pointer.rsplit_once('/') else { break };
                pointer = parent;
            }
        }
        error
    }

    /// Returns an error of this file as an [`Error`].
    pub fn wrong(&self, error: DocumentError) -> Error {
        self.all_wrong(vec![error])
    }

    pub(crate) fn all_wrong(&self, errors: Vec<DocumentError>) -> Error {
        Error::App { file: self.name.clone(), errors }
    }
}
