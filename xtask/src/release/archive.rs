//! Archives with the same bytes for the same files: sorted, without owners and times.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The modes of programs, and of other files.
const PROGRAM: u32 = 0o755;
const PLAIN: u32 = 0o644;

/// A file of an archive.
pub(super) struct Entry {
    /// Its path in the archive, separated by `/`.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
}

impl Entry {
    pub(super) fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), is_program: false }
    }

    pub(super) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { is_program: true, ..Self::new(path, bytes) }
    }

    pub(super) fn mode(&self) -> u32 {
        if self.is_program { PROGRAM } else { PLAIN }
    }
}

/// Reads the files of a folder, sorted by their paths.
pub(super) fn entries(folder: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    read(folder, "", &mut entries)?;
    entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

fn read(folder: &Path, prefix: &str, entries: &mut Vec<Entry>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &format!("{path}/"), entries)?;
        } else {
            let is_program = matches!(name.as_str(), "toolcrib" | "toolcrib.exe");
            entries.push(Entry { path, bytes: fs::read(entry.path())?, is_program });
        }
    }
    Ok(())
}

/// Returns a compressed tar archive whose files are below a folder; at its root if that is empty.
pub(super) fn tar_gz(entries: &[Entry], folder: &str) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for entry in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(entry.bytes.len() as u64);
        header.set_mode(entry.mode());
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, below(folder, &entry.path), entry.bytes.as_slice())?;
    }
    Ok(archive.into_inner()?.finish()?)
}

/// Returns a zip archive whose files are below a folder; at its root if that is empty.
pub(super) fn zip(entries: &[Entry], folder: &str) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        archive.start_file(below(folder, &entry.path), options.unix_permissions(entry.mode()))?;
        archive.write_all(&entry.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

fn below(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}
