//! Sessions that outlive the process: `toolcrib run --session ID`.
//!
//! Each has one file in the folder for program state, `toolcrib/sessions/APP/ID.jsonl`, which only its owner may read. Each
//! line is an entry, written as soon as its event has happened. The file is locked while a run uses it, and an incomplete last
//! line after a crash is removed. Results with handles in the conversation are stored next to it, in `ID.results/`. With a
//! store that several machines share, all of these are copies.

mod format;
mod list_entry;
mod results;
mod shared;
mod stored;

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::Serialize;
use toolcrib_agent::journal::Entry;
use toolcrib_agent::{Conversation, Journal};
use toolcrib_tasks::store::LazyStore;

use crate::exit::Failure;
use crate::trace::{TimedEntry, now_ms};
use shared::SharedSession;

use format::{COPIES, EXTENSION, Head, MAX_SESSION_BYTES, VERSION, check, folder_of, results_of};

pub(crate) use stored::{StoredConversation, age, list, read, read_entries, recalled, remove};

/// A session that this process has for itself.
#[derive(Clone)]
pub(crate) struct SessionFile {
    path: PathBuf,
    file: Arc<Mutex<OpenFile>>,
    /// The session in the store, of which the file is a copy.
    shared: Option<Arc<SharedSession>>,
}

/// The open file, and how much of it there is.
struct OpenFile {
    file: File,
    bytes: u64,
}

impl SessionFile {
    /// Opens the session of an app, or begins it, and says where its conversation was. With a store, the file is a copy of
    /// what the store has. A session that is in a file only is taken over.
    pub(crate) async fn open(
        app: &Path,
        store: Option<&Arc<LazyStore>>,
        id: &str,
        agent: &str,
    ) -> Result<(Self, Conversation), Failure> {
        let folder = folder_of(app)?;
        let Some(store) = store else { return Self::open_in(&folder, id, agent) };
        check(id)?;
        let (shared, text) = SharedSession::open(store, id).await?;
        let opened = copy(&folder, id, &text).and_then(|copies| Self::open_in(&copies, id, agent));
        let (mut session, conversation) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                shared.close().await;
                return Err(failure);
            }
        };
        let copied = async {
            if !text.is_empty() {
                return shared.load_results(&session.results()).await;
            }
            shared.replace(session.text()?.as_bytes()).await?;
            shared.save_results(&session.results()).await
        };
        copied.await.map_err(|error: io::Error| {
            Failure::bad_input(format!("the session `{id}` cannot be kept in the store: {error}"))
        })?;
        session.shared = Some(Arc::new(shared));
        Ok((session, conversation))
    }

    /// Lets another run continue the session.
    pub(crate) async fn close(&self) {
        if let Some(shared) = &self.shared {
            shared.close().await;
        }
    }

    /// Returns the text of the file.
    fn text(&self) -> io::Result<String> {
        let mut open = self.file.lock();
        let mut text = String::new();
        open.file.rewind()?;
        (&mut open.file).take(MAX_SESSION_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }

    fn open_in(folder: &Path, id: &str, agent: &str) -> Result<(Self, Conversation), Failure> {
        check(id)?;
        let path = folder.join(format!("{id}.{EXTENSION}"));
        let unusable = |error: io::Error| {
            Failure::bad_input(format!("{}: the session cannot be kept there: {error}", path.display()))
        };
        let (mut file, text) = prepare(folder, &path).map_err(unusable)?.ok_or_else(|| {
            Failure::bad_input(format!(
                "another run works with the session `{id}`; wait for its end, or take another id"
            ))
        })?;
        // What a crash cut off never happened: nothing follows from an entry that was not written.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let lines = text.get(..whole).unwrap_or_default();
        let bytes = u64::try_from(whole).unwrap_or(u64::MAX);
        file.set_len(bytes).and_then(|()| file.seek(SeekFrom::End(0))).map_err(unusable)?;
        let file = Arc::new(Mutex::new(OpenFile { file, bytes }));
        let session = Self { file, path: path.clone(), shared: None };
        let mut lines = lines.lines().enumerate();
        let broken = |number: usize, error: &dyn std::fmt::Display| {
            Failure::bad_input(format!(
                "{}:{}: this is no entry of a session: {error}; take another id, or mend the line",
                path.display(),
                number + 1
            ))
        };
        let Some((_, first)) = lines.next() else {
            let head = Head { session: id.to_owned(), version: VERSION, agent: agent.to_owned() };
            session.append(&line(&head).map_err(unusable)?, true).map_err(unusable)?;
            return Ok((session, Conversation::new()));
        };
        let head: Head = serde_json::from_str(first).map_err(|error| broken(0, &error))?;
        if head.version != VERSION {
            return Err(broken(0, &format!("it is of version {}, and this reads {VERSION}", head.version)));
        }
        if head.agent != agent {
            let message = format!("the session `{id}` is one of the agent `{}`; add --agent {0}", head.agent);
            return Err(Failure::bad_input(message));
        }
        let mut entries = Vec::new();
        for (number, line) in lines {
            entries.push(serde_json::from_str::<Entry>(line).map_err(|error| broken(number, &error))?);
        }
        Ok((session, Conversation::restore(entries)))
    }

    /// Removes the last prompt, and all that followed from it, and returns the conversation before it. `None` if there is
    /// no prompt.
    pub(crate) async fn undo(&self) -> io::Result<Option<Conversation>> {
        let session = self.clone();
        let undone = tokio::task::spawn_blocking(move || session.undo_in_file());
        let undone = undone.await.unwrap_or_else(|error| Err(io::Error::other(error)))?;
        if let Some(shared) = self.shared.as_ref().filter(|_| undone.is_some()) {
            shared.replace(self.text()?.as_bytes()).await?;
        }
        Ok(undone)
    }

    fn undo_in_file(&self) -> io::Result<Option<Conversation>> {
        let mut open = self.file.lock();
        let mut text = String::new();
        open.file.rewind()?;
        (&mut open.file).take(MAX_SESSION_BYTES).read_to_string(&mut text)?;
        let mut entries = Vec::new();
        let (mut at, mut before_prompt) = (0, None);
        for (number, line) in text.split_inclusive('\n').enumerate() {
            // The first line is the head.
            if number > 0 {
                let entry: Entry = serde_json::from_str(line)?;
                if matches!(entry, Entry::Began { .. }) {
                    before_prompt = Some((at, entries.len()));
                }
                entries.push(entry);
            }
            at += line.len();
        }
        let Some((bytes, count)) = before_prompt else { return Ok(None) };
        entries.truncate(count);
        open.bytes = bytes as u64;
        open.file.set_len(open.bytes)?;
        open.file.sync_data()?;
        Ok(Some(Conversation::restore(entries)))
    }

    /// Returns the folder for results that the conversation refers to.
    pub(crate) fn results(&self) -> PathBuf {
        results_of(&self.path)
    }

    fn append(&self, lines: &[u8], lasts: bool) -> io::Result<()> {
        let mut open = self.file.lock();
        let bytes = open.bytes.saturating_add(lines.len() as u64);
        if bytes > MAX_SESSION_BYTES {
            let message = format!(
                "{} has no room for more than {MAX_SESSION_BYTES} bytes; go on in another session",
                self.path.display()
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        open.file.write_all(lines)?;
        open.bytes = bytes;
        if lasts { open.file.sync_data() } else { Ok(()) }
    }
}

#[async_trait]
impl Journal for SessionFile {
    /// Writes on a blocking thread, so that the disk delays no other task.
    async fn write(&self, entries: &[Entry], lasts: bool) -> io::Result<()> {
        let mut lines = Vec::new();
        for entry in entries {
            lines.append(&mut line(&TimedEntry { at: Some(now_ms()), entry })?);
        }
        let session = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            session.append(&lines, lasts)?;
            Ok(lines)
        });
        let lines = written.await.unwrap_or_else(|error| Err(io::Error::other(error)))?;
        match &self.shared {
            Some(shared) => {
                // First, so that no entry refers to a result that another machine cannot read.
                shared.save_results(&self.results()).await?;
                shared.append(&lines).await
            }
            None => Ok(()),
        }
    }
}

/// Something as a line of the file.
fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Copies the text of a session in the store to a file, and returns its folder. For a session that the store does not have,
/// moves the file of before, if there is one.
fn copy(folder: &Path, id: &str, text: &str) -> Result<PathBuf, Failure> {
    let copies = folder.join(COPIES);
    let path = copies.join(format!("{id}.{EXTENSION}"));
    let copied = || {
        let (mut file, _) =
            prepare(&copies, &path)?.ok_or_else(|| io::Error::other("another run works with it"))?;
        file.set_len(0)?;
        if !text.is_empty() {
            return file.write_all(text.as_bytes());
        }
        // What is left of a session that was removed.
        let results = results_of(&path);
        if results.exists() {
            fs::remove_dir_all(&results)?;
        }
        let before = folder.join(format!("{id}.{EXTENSION}"));
        if before.exists() {
            fs::rename(&before, &path)?;
        }
        if results_of(&before).exists() {
            fs::rename(results_of(&before), results)?;
        }
        Ok(())
    };
    copied().map_err(|error| {
        Failure::bad_input(format!("{}: the session cannot be kept there: {error}", path.display()))
    })?;
    Ok(copies)
}

/// Returns the locked file and its text. `None` if another process has locked it.
fn prepare(folder: &Path, path: &Path) -> io::Result<Option<(File, String)>> {
    let mut folders = fs::DirBuilder::new();
    folders.recursive(true);
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        folders.mode(0o700);
        options.mode(0o600);
    }
    folders.create(folder)?;
    let mut file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut bytes = Vec::new();
    (&mut file).take(MAX_SESSION_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_SESSION_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_SESSION_BYTES} bytes")));
    }
    // A crash may cut a character in two.
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).map_err(io::Error::other)?
        }
        Err(error) => return Err(io::Error::other(error)),
    };
    // So that the file itself is still there after a failure of the power.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(Some((file, text)))
}
