//! Entries of an app file that are not opened.

use toolcrib_document::Error as DocumentError;

/// The reason why an entry is not opened.
pub(super) enum NotOpened {
    /// It cannot be used here, and the app runs without it.
    Unusable(DocumentError),
    /// It is wrong.
    Wrong(DocumentError),
}

impl From<DocumentError> for NotOpened {
    fn from(error: DocumentError) -> Self {
        Self::Wrong(error)
    }
}
