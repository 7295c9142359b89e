//! Folders with a file for each secret, such as those of Docker and Kubernetes.

use std::path::{Component, Path, PathBuf};

use toolcrib_io::files::read_bounded;
use toolcrib_model::Secret;

use super::MAX_SECRET_BYTES;

/// A folder with a file for each secret.
#[derive(Debug)]
pub(super) struct SecretFolder(PathBuf);

impl SecretFolder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn absence(&self, key: &str) -> String {
        format!("no file {}", self.0.join(key).display())
    }

    /// Reads a file below the folder, without the line break at its end.
    pub(super) fn read(&self, key: &str) -> Result<Option<Secret>, String> {
        let key = Path::new(key);
        if !key.components().all(|part| matches!(part, Component::Normal(_))) || key.as_os_str().is_empty() {
            return Err("expected the path of a file below the folder, without `..`".to_owned());
        }
        let path = self.0.join(key);
        // Kubernetes mounts each secret as a link within the folder, so links are followed.
        match read_bounded(&path, MAX_SECRET_BYTES as u64) {
            Ok(bytes) => text(bytes).map(Some).map_err(|problem| format!("{} {problem}", path.display())),
            Err(toolcrib_io::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns the secret that a file holds. An error continues a sentence whose subject is the file.
pub(super) fn text(bytes: Vec<u8>) -> Result<Secret, &'static str> {
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8; expected a text")?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
    if text.is_empty() { Err("is empty; expected a secret") } else { Ok(Secret::new(text)) }
}
