//! Files of rendered conversations.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Format, NameStyle};
use crate::conversation::Conversation;
use crate::hygiene::DataCard;

/// The error of an output file.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
#[non_exhaustive]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// The files of one run. They appear under their names when [`finish`](Self::finish) succeeds; until then, or after an
/// error, an earlier file of that name stays as it is.
#[derive(Debug)]
pub struct Output {
    format: Format,
    names: NameStyle,
    main: Pending,
    second: Option<Pending>,
    /// The lines of the second file that must not be repeated: the tools of retrieval.
    seen: HashSet<String>,
}

impl Output {
    /// Creates the files next to their final names. The second file of a format has its purpose in its name:
    /// `data.possible_answer.jsonl`, `data.tools.jsonl`.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be created.
    pub fn create(path: &Path, format: Format, names: NameStyle) -> Result<Self, WriteError> {
        let purpose = match format {
            Format::Bfcl => Some("possible_answer"),
            Format::Retrieval => Some("tools"),
            _ => None,
        };
        let second = purpose.map(|purpose| Pending::create(&beside(path, purpose))).transpose()?;
        Ok(Self { format, names, main: Pending::create(path)?, second, seen: HashSet::new() })
    }

    /// Writes a conversation. Returns the number of lines of the main file: 0 if the format cannot hold it.
    ///
    /// # Errors
    ///
    /// Returns an error if a line cannot be written, such as on a full disk.
    pub fn write(&mut self, conversation: &Conversation) -> Result<usize, WriteError> {
        let rows = self.format.rows(conversation, self.names);
        for row in &rows.main {
            self.main.line(row)?;
        }
        if let Some(second) = &mut self.second {
            for row in &rows.second {
                if self.format != Format::Retrieval || self.seen.insert(row.to_string()) {
                    second.line(row)?;
                }
            }
        }
        Ok(rows.main.len())
    }

    /// Gives the files their names, and writes the data card next to them: `data.card.md`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`finish`](Self::finish).
    pub fn finish_with(self, card: &DataCard) -> Result<(), WriteError> {
        let mut written = Pending::create(&self.main.path.with_extension("card.md"))?;
        written.text(&card.to_string())?;
        written.finish()?;
        self.finish()
    }

    /// Gives the files their names.
    ///
    /// # Errors
    ///
    /// Returns an error if the content cannot be stored; the files keep their earlier content then.
    pub fn finish(self) -> Result<(), WriteError> {
        // The second file comes first: a reader that sees the questions finds their answers.
        self.second.map(Pending::finish).transpose()?;
        self.main.finish()
    }
}

/// Returns the path of the second file.
fn beside(path: &Path, purpose: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_else(|| "jsonl".as_ref()).to_string_lossy();
    path.with_file_name(format!("{stem}.{purpose}.{extension}"))
}

/// A file under a temporary name.
#[derive(Debug)]
struct Pending {
    path: PathBuf,
    temporary: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Pending {
    fn create(path: &Path) -> Result<Self, WriteError> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(format!(".{}.new", std::process::id()));
        let temporary = PathBuf::from(temporary);
        let file = File::create(&temporary).map_err(|source| WriteError { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), temporary, file: Some(BufWriter::new(file)) })
    }

    fn line(&mut self, row: &Value) -> Result<(), WriteError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = serde_json::to_writer(&mut *file, row).map_err(io::Error::from);
        written
            .and_then(|()| file.write_all(b"\n"))
            .map_err(|source| WriteError { path: self.path.clone(), source })
    }

    fn text(&mut self, text: &str) -> Result<(), WriteError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = file.write_all(text.as_bytes());
        written.map_err(|source| WriteError { path: self.path.clone(), source })
    }

    fn finish(mut self) -> Result<(), WriteError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let stored = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
            file.sync_all()?;
            fs::rename(&self.temporary, &self.path)
        });
        stored.map_err(|source| {
            // The original error matters more than a failure to remove the temporary file.
            let _ = fs::remove_file(&self.temporary);
            WriteError { path: self.path.clone(), source }
        })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nothing refers to an unfinished file.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
