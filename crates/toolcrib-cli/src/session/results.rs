//! Large results of sessions in the store. The files of the machine are a copy.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_io::files::{read_bounded, replace_private};
use toolcrib_model::result::is_handle;
use toolcrib_tasks::store::{Change, Record, RecordKind, StoreError};

use super::shared::{SessionHead, SharedSession, lease, prefix};

/// The maximum size of the file of a result in bytes: a text of 32 MiB, and a line that describes it.
const MAX_FILE_BYTES: u64 = 33 * 1024 * 1024;

/// The maximum number of files of a folder that are looked at. A session has at most 100 results.
const MAX_FILES: usize = 1_000;

/// The record of a result.
#[derive(Serialize, Deserialize)]
struct ResultFile {
    /// The text of the file.
    file: String,
}

impl SharedSession {
    /// Writes the results to a folder that are in the store only.
    pub(super) async fn load_results(&self, folder: &Path) -> io::Result<()> {
        let handles = self.head.lock().await.results.clone();
        let store = self.store.get().await.map_err(io::Error::other)?;
        for handle in handles.iter().filter(|handle| is_handle(handle)) {
            let path = folder.join(handle);
            if path.exists() {
                continue;
            }
            let found = store.get(RecordKind::SessionResult, &result_id(&self.id, handle)).await;
            let found = found.map_err(io::Error::other)?;
            let file = found.and_then(|record| serde_json::from_value::<ResultFile>(record.body).ok());
            if let Some(ResultFile { file }) = file {
                blocking(move || replace_private(path, file.as_bytes()).map_err(io::Error::other)).await?;
            }
        }
        Ok(())
    }

    /// Puts the results of a folder into the store that it does not have, and removes those that had to make room. A result
    /// that is too large for the store stays on this machine.
    pub(super) async fn save_results(&self, folder: &Path) -> io::Result<()> {
        let path = folder.to_owned();
        let found = blocking(move || handles(&path)).await?;
        let mut head = self.head.lock().await;
        let (kept, gone): (Vec<_>, Vec<_>) =
            head.results.iter().cloned().partition(|handle| found.contains(handle));
        let new = found.into_iter().filter(|handle| !kept.contains(handle)).collect::<Vec<_>>();
        if !gone.is_empty() {
            let removed = gone.iter().map(|handle| remove(&self.id, handle)).collect();
            self.apply(&mut head, kept, removed).await.map_err(io::Error::other)?;
        }
        for handle in new {
            let path = folder.join(&handle);
            let file = blocking(move || read(&path)).await?;
            let id = result_id(&self.id, &handle);
            let (session, body) = (self.id.clone(), json!(ResultFile { file }));
            let put = Change::Put(Record { kind: RecordKind::SessionResult, id, session, body });
            let results = head.results.iter().cloned().chain([handle]).collect();
            match self.apply(&mut head, results, vec![put]).await {
                Ok(()) => {}
                Err(error @ StoreError::TooLarge { .. }) => {
                    tracing::warn!(%error, "a result can be read on this machine only");
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(())
    }

    /// Applies changes of results together with the head that lists them.
    async fn apply(
        &self,
        head: &mut SessionHead,
        results: Vec<String>,
        mut changes: Vec<Change>,
    ) -> Result<(), StoreError> {
        let mut next = head.clone();
        next.results = results;
        changes.insert(0, Change::Fence { id: lease(&self.id), owner: self.owner.clone() });
        let (id, session) = (self.id.clone(), self.id.clone());
        changes.push(Change::Put(Record { kind: RecordKind::Session, id, session, body: json!(next) }));
        self.store.get().await?.apply(changes).await?;
        *head = next;
        Ok(())
    }
}

/// Returns the change that removes a result of a session.
pub(super) fn remove(session: &str, handle: &str) -> Change {
    Change::remove(RecordKind::SessionResult, result_id(session, handle))
}

fn result_id(session: &str, handle: &str) -> String {
    format!("{}{handle}", prefix(session))
}

/// Returns the handles of the results in a folder, the oldest first.
fn handles(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries.take(MAX_FILES) {
        let entry = entry?;
        if let Some(handle) = entry.file_name().to_str().filter(|name| is_handle(name)) {
            found.push((entry.metadata()?.modified()?, handle.to_owned()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, handle)| handle).collect())
}

fn read(path: &Path) -> io::Result<String> {
    let bytes = read_bounded(path, MAX_FILE_BYTES).map_err(io::Error::other)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
