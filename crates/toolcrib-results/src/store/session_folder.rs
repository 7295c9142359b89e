//! Results of a session that outlive the process: one file for each, named by its handle.
//!
//! The first line of a file is JSON and describes the rest: the owner, the tool, and the format. A requested handle is
//! looked up among the known handles, so that no path is ever made of user input.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_model::result::is_handle;

use crate::limits::{MAX_STORED_RESULT_BYTES, MAX_STORED_SESSION_BYTES, MAX_STORED_SESSION_RESULTS};
use crate::store::{Format, Owner, StoredResult};

/// The maximum length of the first line; names and a media type are shorter.
const MAX_HEAD_BYTES: u64 = 64 * 1024;

/// The maximum number of directory entries that are read: there are fewer unless another program adds files.
const MAX_ENTRIES: usize = 10 * MAX_STORED_SESSION_RESULTS;

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct FileHeader {
    agent: Option<String>,
    user: Option<String>,
    tool: String,
    format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut_from: Option<usize>,
}

/// The results of one session on the disk, the oldest first.
pub(crate) struct SessionFolder {
    path: PathBuf,
    known: VecDeque<StoredFile>,
}

/// The file of a result.
struct StoredFile {
    handle: String,
    owner: Owner,
    tool: String,
    bytes: u64,
}

impl SessionFolder {
    /// Opens the folder with the results of a session, and creates it if it is missing. Other files are ignored.
    pub(crate) fn open(path: &Path, session: &str) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)?;
        let session: Arc<str> = session.into();
        let mut known = Vec::new();
        for entry in fs::read_dir(path)?.take(MAX_ENTRIES) {
            let entry = entry?;
            let Some(handle) = entry.file_name().to_str().filter(|name| is_handle(name)).map(str::to_owned)
            else {
                continue;
            };
            let about = entry.metadata()?;
            // The handle of a file that a crash truncated was never given out.
            let Some(head) = head(&mut BufReader::new(File::open(entry.path())?)) else { continue };
            let (agent, user) = (head.agent.map(Arc::from), head.user.map(Arc::from));
            let owner = Owner { session: Arc::clone(&session), agent, user };
            known
                .push((about.modified()?, StoredFile { handle, owner, tool: head.tool, bytes: about.len() }));
        }
        known.sort_by_key(|(modified, _)| *modified);
        Ok(Self { path: path.to_owned(), known: known.into_iter().map(|(_, known)| known).collect() })
    }

    /// Writes a result to a file. Removes the oldest ones to make room.
    pub(crate) fn insert(&mut self, handle: &str, stored: &StoredResult) -> io::Result<()> {
        let text = |name: &Option<Arc<str>>| name.as_deref().map(str::to_owned);
        let (agent, user) = (text(&stored.owner.agent), text(&stored.owner.user));
        let (tool, format) = (stored.tool.clone(), stored.format.clone());
        let mut head =
            serde_json::to_vec(&FileHeader { agent, user, tool, format, cut_from: stored.cut_from })?;
        head.push(b'\n');
        let bytes = (head.len() + stored.text.len()) as u64;
        let mut sum: u64 = self.known.iter().map(|known| known.bytes).sum();
        while self.known.len() >= MAX_STORED_SESSION_RESULTS || sum + bytes > MAX_STORED_SESSION_BYTES as u64
        {
            let Some(oldest) = self.known.pop_front() else { break };
            sum -= oldest.bytes;
            fs::remove_file(self.path.join(oldest.handle))?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(self.path.join(handle))?;
        file.write_all(&head)?;
        file.write_all(stored.text.as_bytes())?;
        let (owner, tool) = (stored.owner.clone(), stored.tool.clone());
        self.known.push_back(StoredFile { handle: handle.to_owned(), owner, tool, bytes });
        Ok(())
    }

    /// Returns the result of this handle, if it belongs to this owner.
    pub(crate) fn get(&self, handle: &str, owner: &Owner) -> Option<StoredResult> {
        let known = self.known.iter().find(|known| known.handle == handle && known.owner == *owner)?;
        let mut file = BufReader::new(File::open(self.path.join(&known.handle)).ok()?);
        let head = head(&mut file)?;
        let mut text = String::new();
        file.take(MAX_STORED_RESULT_BYTES as u64).read_to_string(&mut text).ok()?;
        let FileHeader { tool, format, cut_from, .. } = head;
        Some(StoredResult::new(owner.clone(), tool, text, format, cut_from))
    }

    /// Returns the handles of one owner and the tools that produced the results, the newest first.
    pub(crate) fn handles(&self, owner: &Owner) -> impl Iterator<Item = (&str, &str)> {
        let own = self.known.iter().rev().filter(move |known| known.owner == *owner);
        own.map(|known| (known.handle.as_str(), known.tool.as_str()))
    }
}

fn head(file: &mut BufReader<File>) -> Option<FileHeader> {
    let mut line = Vec::new();
    file.by_ref().take(MAX_HEAD_BYTES).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}
