//! Writing the operator's own files.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::path::explain;
use crate::Error;

/// Tells files of this process apart that are being written.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Writes a whole file that the operator named, and the folders above it that are missing. Readers find the old content or
/// the new one, also after a crash or on a full disk; of writers at the same time the last one wins.
///
/// There is no root here: do not use it for a path that a model, a server or a document chose.
pub fn replace(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    let path = path.as_ref();
    let failed = |source| explain("write", path, source);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.{number}.new", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    written.map_err(|error| {
        // What is left of it is of no use; that it cannot be removed either tells nothing more.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}
