//! Reading the operator's own files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::path::explain;
use crate::Error;

/// Reads a whole file that the operator named, as a configuration file, if it has no more than `max_bytes`.
///
/// There is no root here: do not use it for a path that a model, a server or a document chose.
pub fn read_bounded(path: impl AsRef<Path>, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let path = path.as_ref();
    let failed = |source| explain("read", path, source);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|read| read > max_bytes) {
        return Err(Error::TooLarge { path: path.display().to_string(), limit: max_bytes });
    }
    Ok(bytes)
}
