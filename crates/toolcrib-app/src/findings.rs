//! The errors of an app, and warnings of probable mistakes.

use toolcrib_document::Error as DocumentError;

/// The errors of an app, and warnings of probable mistakes. Each section adds its own.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<DocumentError>,
    pub(crate) warnings: Vec<String>,
}

impl Findings {
    /// Returns a part that could be built, or adds its error.
    pub(crate) fn built<T>(&mut self, part: Result<T, DocumentError>) -> Option<T> {
        part.map_err(|error| self.errors.push(error)).ok()
    }
}
