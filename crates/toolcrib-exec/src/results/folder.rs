//! Results of a session that outlive the process: one file for each, named by its handle.
//!
//! The first line of a file is JSON and says what is behind it: whose the result is, the tool, and what kind of text. What
//! a reader asks for is looked up among the handles that are known, so that no path is ever made of it.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::limits::{MAX_KEPT_RESULT_BYTES, MAX_KEPT_SESSION_BYTES, MAX_KEPT_SESSION_RESULTS};
use super::store::{Format, Kept, Owner, is_handle};

/// The longest first line: names and a media type are shorter.
const MAX_HEAD_BYTES: u64 = 64 * 1024;

/// The most entries of a folder that are looked at: there are no more than these unless somebody else puts files there.
const MAX_ENTRIES: usize = 10 * MAX_KEPT_SESSION_RESULTS;

/// What stands in the first line.
#[derive(Serialize, Deserialize)]
struct Head {
    agent: Option<String>,
    user: Option<String>,
    tool: String,
    format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut_from: Option<usize>,
}

/// The results of one session on the disk, the oldest first.
pub(super) struct Folder {
    path: PathBuf,
    known: VecDeque<Known>,
}

/// A file.
struct Known {
    handle: String,
    owner: Owner,
    tool: String,
    bytes: u64,
}

impl Folder {
    /// The results of this session that are in a folder, which is made where it is missing. Files that are none of ours are
    /// left alone.
    pub(super) fn open(path: &Path, session: &str) -> io::Result<Self> {
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
            // Of a file that a crash cut short nothing was told to anybody.
            let Some(head) = head(&mut BufReader::new(File::open(entry.path())?)) else { continue };
            let (agent, user) = (head.agent.map(Arc::from), head.user.map(Arc::from));
            let owner = Owner { session: Arc::clone(&session), agent, user };
            known.push((about.modified()?, Known { handle, owner, tool: head.tool, bytes: about.len() }));
        }
        known.sort_by_key(|(modified, _)| *modified);
        Ok(Self { path: path.to_owned(), known: known.into_iter().map(|(_, known)| known).collect() })
    }

    /// Writes a result down. The oldest go where there is no room.
    pub(super) fn insert(&mut self, handle: &str, kept: &Kept) -> io::Result<()> {
        let text = |name: &Option<Arc<str>>| name.as_deref().map(str::to_owned);
        let (agent, user) = (text(&kept.owner.agent), text(&kept.owner.user));
        let (tool, format) = (kept.tool.clone(), kept.format.clone());
        let mut head = serde_json::to_vec(&Head { agent, user, tool, format, cut_from: kept.cut_from })?;
        head.push(b'\n');
        let bytes = (head.len() + kept.text.len()) as u64;
        let mut sum: u64 = self.known.iter().map(|known| known.bytes).sum();
        while self.known.len() >= MAX_KEPT_SESSION_RESULTS || sum + bytes > MAX_KEPT_SESSION_BYTES as u64 {
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
        file.write_all(kept.text.as_bytes())?;
        let (owner, tool) = (kept.owner.clone(), kept.tool.clone());
        self.known.push_back(Known { handle: handle.to_owned(), owner, tool, bytes });
        Ok(())
    }

    /// The result of this handle. Somebody else's is not there.
    pub(super) fn get(&self, handle: &str, owner: &Owner) -> Option<Kept> {
        let known = self.known.iter().find(|known| known.handle == handle && known.owner == *owner)?;
        let mut file = BufReader::new(File::open(self.path.join(&known.handle)).ok()?);
        let head = head(&mut file)?;
        let mut text = String::new();
        file.take(MAX_KEPT_RESULT_BYTES as u64).read_to_string(&mut text).ok()?;
        let Head { tool, format, cut_from, .. } = head;
        Some(Kept::new(owner.clone(), tool, text, format, cut_from))
    }

    /// The handles of one owner and the tools that they came from, the newest first.
    pub(super) fn handles(&self, owner: &Owner) -> impl Iterator<Item = (&str, &str)> {
        let own = self.known.iter().rev().filter(move |known| known.owner == *owner);
        own.map(|known| (known.handle.as_str(), known.tool.as_str()))
    }
}

fn head(file: &mut BufReader<File>) -> Option<Head> {
    let mut line = Vec::new();
    file.by_ref().take(MAX_HEAD_BYTES).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}
