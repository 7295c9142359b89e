//! The storage of the notes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_io::files::{make_private, read_bounded, update};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_sdk::CallContext;

use super::notebook::{Notebook, Owner};
use super::snapshot;

/// The maximum size of the file. All notes at their bounds take about 20 MB in the worst case; typical files have a few
/// kilobytes.
const MAX_MEMORY_BYTES: u64 = 32 * 1024 * 1024;

/// The notes of an app. Clones share them.
#[derive(Clone, Debug)]
pub struct Memory {
    storage: Arc<Storage>,
}

#[derive(Debug)]
enum Storage {
    /// Lost when the process ends.
    Process(Mutex<Notebook>),
    File(PathBuf),
}

impl Memory {
    /// Creates a memory whose notes are lost when the process ends.
    pub fn in_process() -> Self {
        Self { storage: Arc::new(Storage::Process(Mutex::new(Notebook::new()))) }
    }

    /// Creates a memory in a file, which several processes may use at the same time. The file is created with the first
    /// note, readable by its owner only.
    pub fn in_file(path: impl Into<PathBuf>) -> Self {
        Self { storage: Arc::new(Storage::File(path.into())) }
    }

    /// Returns the text that an agent receives when a run starts: its goal and tasks in a session, and the facts of the
    /// user. It is empty if there are no notes, and has at most [`MAX_SNAPSHOT_CHARS`](super::MAX_SNAPSHOT_CHARS)
    /// characters. The call blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or was not written by this module.
    pub fn snapshot(
        &self,
        session: &str,
        agent: Option<&str>,
        user: Option<&str>,
    ) -> Result<String, ToolError> {
        let owner = Owner { session, agent, user };
        match self.storage.as_ref() {
            Storage::Process(notebook) => Ok(snapshot::snapshot(&notebook.lock(), owner)),
            Storage::File(path) => Ok(snapshot::snapshot(&read(path)?, owner)),
        }
    }

    /// Forgets the goals and tasks of a session that will not continue. Facts stay. The call blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or written, or was not written by this module.
    pub fn end_session(&self, session: &str) -> Result<(), ToolError> {
        match self.storage.as_ref() {
            Storage::Process(notebook) => {
                notebook.lock().end_session(session);
                Ok(())
            }
            // Most sessions have no plans. Then there is nothing to write or to lock.
            Storage::File(path) if !read(path)?.end_session(session) => Ok(()),
            Storage::File(path) => change_file(path, |notebook| {
                notebook.end_session(session);
                Ok(())
            }),
        }
    }

    /// Reads from the notes.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        context: CallContext,
        view: impl FnOnce(&Notebook, Owner<'_>) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        self.blocking(move |storage| {
            let owner = owner(&context);
            match storage {
                Storage::Process(notebook) => Ok(view(&notebook.lock(), owner)),
                Storage::File(path) => Ok(view(&read(path)?, owner)),
            }
        })
        .await
    }

    /// Changes the notes; leaves them as they are if `change` fails.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        context: CallContext,
        change: impl FnOnce(&mut Notebook, Owner<'_>) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        self.blocking(move |storage| {
            let owner = owner(&context);
            match storage {
                Storage::Process(notebook) => {
                    let mut notebook = notebook.lock();
                    let mut changed = notebook.clone();
                    let result = change(&mut changed, owner)?;
                    *notebook = changed;
                    Ok(result)
                }
                Storage::File(path) => change_file(path, |notebook| change(notebook, owner)),
            }
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Storage) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let storage = Arc::clone(&self.storage);
        let worked = tokio::task::spawn_blocking(move || operation(&storage)).await;
        worked.unwrap_or_else(|error| Err(ToolError::new(ErrorKind::Internal, error.to_string())))
    }
}

/// An error of the file, or of the change.
struct UpdateError(ToolError);

impl From<toolcrib_io::Error> for UpdateError {
    fn from(error: toolcrib_io::Error) -> Self {
        Self(ToolError::new(ErrorKind::ToolFailed, format!("the memory cannot be kept: {error}")))
    }
}

impl From<ToolError> for UpdateError {
    fn from(error: ToolError) -> Self {
        Self(error)
    }
}

fn owner(context: &CallContext) -> Owner<'_> {
    Owner { session: &context.session, agent: context.agent.as_deref(), user: context.user.as_deref() }
}

fn change_file<T>(
    path: &Path,
    change: impl FnOnce(&mut Notebook) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    protect(&path.with_added_extension("lock"));
    update(path, MAX_MEMORY_BYTES, |bytes| {
        let mut notebook = match bytes {
            Some(bytes) => parse(path, bytes)?,
            None => Notebook::new(),
        };
        let result = change(&mut notebook)?;
        let bytes = serde_json::to_vec(&notebook).map_err(|error| failed(path, &error.to_string()))?;
        Ok((Some(bytes), result))
    })
    .map_err(|error: UpdateError| error.0)
}

/// Removes the permission of others to read the file, which earlier versions granted.
fn protect(path: &Path) {
    if let Err(error) = make_private(path) {
        tracing::warn!(path = %path.display(), %error, "others may read the memory of this app");
    }
}

fn read(path: &Path) -> Result<Notebook, ToolError> {
    protect(path);
    match read_bounded(path, MAX_MEMORY_BYTES) {
        Ok(bytes) => parse(path, &bytes),
        Err(toolcrib_io::Error::NotFound { .. }) => Ok(Notebook::new()),
        Err(error) => Err(failed(path, &error.to_string())),
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Notebook, ToolError> {
    let notebook: Notebook =
        serde_json::from_slice(bytes).map_err(|error| failed(path, &error.to_string()))?;
    if notebook.format != Notebook::FORMAT {
        let message =
            format!("it has format {}, and this version knows {}", notebook.format, Notebook::FORMAT);
        return Err(failed(path, &message));
    }
    Ok(notebook)
}

/// Returns an error without the path, which is of no use to a model, and logs the path for the operator.
fn failed(path: &Path, message: &str) -> ToolError {
    tracing::warn!(path = %path.display(), %message, "the memory cannot be read; move the file to start again");
    let text =
        "the memory of this app cannot be read; go on without it, and tell the user that its file is damaged";
    ToolError::new(ErrorKind::ToolFailed, text)
}
