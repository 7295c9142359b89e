//! The sessions of an app as they are stored: listed, read and removed.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolcrib_agent::journal::Entry;
use toolcrib_agent::{Conversation, Message};
use toolcrib_tasks::store::LazyStore;

use super::format::{COPIES, EXTENSION, Head, MAX_SESSION_BYTES, check, folder_of, results_of};
use super::list_entry::{MAX_LISTED, MAX_PROMPT_BYTES, StoredSession};
use super::shared;
use crate::app_start::app_word;
use crate::exit::Failure;
use crate::trace::TimedEntry;
use crate::ui::printable::{Layout, cut, excerpt};

/// The number of bytes that are read of a file to describe its session.
const MAX_PEEKED_BYTES: u64 = 16 * 1024;

/// The most exchanges of a continued session that are shown, the last ones.
const MAX_RECALLED_EXCHANGES: usize = 3;

/// The maximum length of each side of an exchange of a continued session, in bytes.
const MAX_RECALLED_BYTES: usize = 400;

/// The most lines of each side of it.
const MAX_RECALLED_LINES: usize = 4;

/// A session with its conversation.
pub(crate) struct StoredConversation {
    pub(crate) id: String,
    pub(crate) agent: String,
    pub(crate) conversation: Conversation,
}

/// Lists the sessions of an app, the newest first, and says how many there are in all.
pub(crate) async fn list(
    app: &Path,
    store: Option<&Arc<LazyStore>>,
) -> Result<(Vec<StoredSession>, usize), Failure> {
    match store {
        Some(store) => shared::list(store).await,
        None => list_in(&folder_of(app)?),
    }
}

/// Reads a session of an app. A run may be at work with it.
pub(crate) async fn read(
    app: &Path,
    store: Option<&Arc<LazyStore>>,
    id: &str,
) -> Result<StoredConversation, Failure> {
    match store {
        Some(store) => Ok(conversation(id, read_shared(store, id).await?)),
        None => read_in(&folder_of(app)?, id),
    }
}

/// Reads the entries of a session of an app. A run may be at work with it.
pub(crate) async fn read_entries(
    app: &Path,
    store: Option<&Arc<LazyStore>>,
    id: &str,
) -> Result<Vec<TimedEntry>, Failure> {
    match store {
        Some(store) => Ok(read_shared(store, id).await?.1),
        None => Ok(read_file(&folder_of(app)?, id)?.1),
    }
}

/// Removes a session of an app with its results, unless a run is at work with it.
pub(crate) async fn remove(app: &Path, store: Option<&Arc<LazyStore>>, id: &str) -> Result<(), Failure> {
    let folder = folder_of(app)?;
    let Some(store) = store else { return remove_in(&folder, id) };
    check(id)?;
    let mut is_known = shared::remove(store, id).await?;
    // The copy of this machine, and a session that the store has not taken over.
    for folder in [folder.join(COPIES), folder] {
        if folder.join(format!("{id}.{EXTENSION}")).exists() {
            remove_in(&folder, id)?;
            is_known = true;
        }
    }
    if is_known { Ok(()) } else { Err(unknown(id)) }
}

/// Reads the agent and the entries of a session in the store.
async fn read_shared(store: &LazyStore, id: &str) -> Result<(String, Vec<TimedEntry>), Failure> {
    check(id)?;
    let text = shared::text(store, id).await?.ok_or_else(|| unknown(id))?;
    parse(text.into_bytes(), &format!("session `{id}`"))
}

pub(super) fn list_in(folder: &Path) -> Result<(Vec<StoredSession>, usize), Failure> {
    let unreadable = |error: io::Error| Failure::bad_input(format!("{}: {error}", folder.display()));
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        entries => entries.map_err(unreadable)?,
    };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
        .filter_map(|path| {
            let metadata = path.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), path))
        })
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    let count = files.len();
    let sessions = files.into_iter().take(MAX_LISTED).filter_map(|(changed, bytes, path)| {
        let id = path.file_stem()?.to_str()?.to_owned();
        let (agent, prompt) = peek(&path).unwrap_or_default();
        let changed = changed.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Some(StoredSession { id, agent, prompt, bytes, changed })
    });
    Ok((sessions.collect(), count))
}

/// Reads the agent and the first prompt at the beginning of a file.
fn peek(path: &Path) -> io::Result<(Option<String>, Option<String>)> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_PEEKED_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let head = lines.next().and_then(|line| serde_json::from_str::<Head>(line).ok());
    let prompt = lines.find_map(|line| match serde_json::from_str(line) {
        Ok(Entry::Began { prompt }) => Some(excerpt(prompt.trim(), MAX_PROMPT_BYTES)),
        _ => None,
    });
    Ok((head.map(|head| head.agent), prompt))
}

pub(super) fn read_in(folder: &Path, id: &str) -> Result<StoredConversation, Failure> {
    Ok(conversation(id, read_file(folder, id)?))
}

fn conversation(id: &str, (agent, entries): (String, Vec<TimedEntry>)) -> StoredConversation {
    let conversation = Conversation::restore(entries.into_iter().map(|timed| timed.entry));
    StoredConversation { id: id.to_owned(), agent, conversation }
}

/// Reads the agent and the entries of a session.
fn read_file(folder: &Path, id: &str) -> Result<(String, Vec<TimedEntry>), Failure> {
    let (path, file) = find(folder, id)?;
    let place = path.display().to_string();
    let mut bytes = Vec::new();
    file.take(MAX_SESSION_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::bad_input(format!("{place}: the session cannot be read: {error}")))?;
    parse(bytes, &place)
}

/// Returns the agent and the entries in the text of a session.
fn parse(mut bytes: Vec<u8>, place: &str) -> Result<(String, Vec<TimedEntry>), Failure> {
    let unreadable = |reason: &dyn std::fmt::Display| {
        Failure::bad_input(format!("{place}: the session cannot be read: {reason}"))
    };
    if bytes.len() as u64 > MAX_SESSION_BYTES {
        return Err(unreadable(&format!("it has more than {MAX_SESSION_BYTES} bytes")));
    }
    // A run may be writing the last line, or have been killed while it was.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(whole);
    let text = String::from_utf8(bytes).map_err(|error| unreadable(&error))?;
    let mut lines = text.lines();
    let head = lines.next().ok_or_else(|| unreadable(&"it is empty"))?;
    let head: Head = serde_json::from_str(head).map_err(|error| unreadable(&error))?;
    let entries = lines.map(serde_json::from_str::<TimedEntry>).collect::<Result<Vec<_>, _>>();
    Ok((head.agent, entries.map_err(|error| unreadable(&error))?))
}

pub(super) fn remove_in(folder: &Path, id: &str) -> Result<(), Failure> {
    let (path, file) = find(folder, id)?;
    let failed = |error: io::Error| {
        Failure::bad_input(format!("{}: the session cannot be removed: {error}", path.display()))
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let message =
                format!("a run works with the session `{id}`; nothing was removed, try again after its end");
            return Err(Failure::bad_input(message));
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    match fs::remove_dir_all(results_of(&path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::remove_file(&path).map_err(failed)
}

/// Opens the file of a session.
fn find(folder: &Path, id: &str) -> Result<(PathBuf, File), Failure> {
    check(id)?;
    let path = folder.join(format!("{id}.{EXTENSION}"));
    match File::open(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(unknown(id)),
        Err(error) => Err(Failure::bad_input(format!("{}: {error}", path.display()))),
    }
}

fn unknown(id: &str) -> Failure {
    Failure::bad_input(format!("there is no session `{id}`; `toolcrib sessions {}` lists all", app_word()))
}

/// Returns the last exchanges of a continued conversation, each side in a few lines. `None` if it is empty.
pub(crate) fn recalled(id: &str, conversation: &Conversation) -> Option<String> {
    let is_prompt = |message: &Message| matches!(message, Message::User { .. });
    let exchanges: Vec<&[Message]> = conversation
        .messages()
        .chunk_by(|_, next| !is_prompt(next))
        .filter(|part| part.iter().any(is_prompt))
        .collect();
    let left_out = exchanges.len().saturating_sub(MAX_RECALLED_EXCHANGES);
    let shown = exchanges.get(left_out..).filter(|shown| !shown.is_empty())?;
    let plural = if exchanges.len() == 1 { "" } else { "s" };
    let which = if left_out > 0 { format!("; the last {MAX_RECALLED_EXCHANGES}") } else { String::new() };
    let mut text = format!("session `{id}`, {} prompt{plural} so far{which}:\n", exchanges.len());
    for exchange in shown {
        text.extend(
            exchange
                .iter()
                .filter(|message| is_prompt(message))
                .map(|prompt| beginning("> ", prompt.content())),
        );
        let answer = exchange.iter().rev().find_map(|message| match message {
            Message::Assistant { content, .. } if !content.trim().is_empty() => Some(content),
            _ => None,
        });
        text.extend(answer.map(|answer| beginning("  ", answer)));
    }
    Some(text)
}

/// Returns the beginning of a text, each line behind this mark.
fn beginning(mark: &str, text: &str) -> String {
    let shown = cut(text.trim(), Layout::Lines, MAX_RECALLED_BYTES);
    let mut lines: Vec<&str> = shown.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.len() > MAX_RECALLED_LINES {
        lines.truncate(MAX_RECALLED_LINES);
        lines.push("…");
    }
    lines.into_iter().flat_map(|line| [mark, line, "\n"]).collect()
}

/// Says how long ago something was, in the largest unit that fits.
pub(crate) fn age(changed: u64) -> String {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(changed);
    let seconds = SystemTime::now().duration_since(then).map_or(0, |passed| passed.as_secs());
    let units = [(86_400, "days"), (3_600, "h"), (60, "min")];
    match units.into_iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => format!("{} {name} ago", seconds / unit),
        None => format!("{seconds} s ago"),
    }
}
