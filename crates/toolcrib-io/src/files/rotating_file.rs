//! A file of lines that does not grow without end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::OpenOptions;

use super::locked_update::{MAX_LOCK_WAIT, hold};
use super::mutations::Existing;
use super::path::explain;
use super::root::Root;
use crate::Error;

/// The number of attempts to open a file that other processes keep renaming.
const MAX_OPENED: usize = 10;

impl Root {
    /// Writes a line, with its end, to the end of a file, which is made for its owner alone if it is not there. A file that
    /// would grow beyond `max_bytes` is renamed to the same name with `.1` first, in place of the one before it, so that there
    /// are two at most. Lines of several processes that use this function do not mix, and none is lost: they take turns by a
    /// lock on the file. A line that was torn off by a crash stays by itself.
    pub fn append_line(&self, path: impl AsRef<Path>, line: &[u8], max_bytes: u64) -> Result<(), Error> {
        let path = path.as_ref();
        let failed = |source| explain("write", path, source);
        for _ in 0..MAX_OPENED {
            let mut file = self.open_lines(path)?;
            // It is let go of when the file is closed.
            hold(&file, MAX_LOCK_WAIT).map_err(failed)?;
            if !self.is_at(path, &file).map_err(failed)? {
                continue;
            }
            let written = file.metadata().map_err(failed)?.len();
            if written > 0 && written.saturating_add(line.len() as u64) > max_bytes {
                self.rename(path, older(path), Existing::Replace)?;
                continue;
            }
            if !ends_with_line(&mut file, written).map_err(failed)? {
                file.write_all(b"\n").map_err(failed)?;
            }
            return file.write_all(line).map_err(failed);
        }
        Err(failed(io::Error::new(io::ErrorKind::ResourceBusy, "others rename it again and again")))
    }

    fn open_lines(&self, path: &Path) -> Result<File, Error> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(self.open_file(path, &mut options, "write")?.into_std())
    }

    /// Returns true if the path still leads to this file.
    #[cfg(unix)]
    fn is_at(&self, path: &Path, file: &File) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt as _;
        let ours = file.metadata()?;
        let Ok(relative) = self.below(path) else { return Ok(false) };
        Ok(self.dir().metadata(relative).is_ok_and(|there| {
            use cap_std::fs::MetadataExt as _;
            (there.dev(), there.ino()) == (ours.dev(), ours.ino())
        }))
    }

    #[cfg(not(unix))]
    fn is_at(&self, _path: &Path, _file: &File) -> io::Result<bool> {
        Ok(true)
    }
}

fn older(path: &Path) -> PathBuf {
    let mut older = path.as_os_str().to_owned();
    older.push(".1");
    older.into()
}

fn ends_with_line(file: &mut File, length: u64) -> io::Result<bool> {
    if length == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
