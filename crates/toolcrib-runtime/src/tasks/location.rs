//! The store of the tasks of an app.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_app::{App, TaskStore, expanded, state_name};
use toolcrib_io::files::state_folder;
use toolcrib_tasks::{MemoryStore, SqliteStore, Store, StoreError};

use crate::Error;

/// A store that was opened.
pub(super) struct TaskLocation {
    pub(super) store: Arc<dyn Store>,
    /// True if another process has it.
    pub(super) is_beside: bool,
    pub(super) warnings: Vec<String>,
}

impl From<Arc<dyn Store>> for TaskLocation {
    fn from(store: Arc<dyn Store>) -> Self {
        Self { store, is_beside: false, warnings: Vec::new() }
    }
}

/// Opens the store of an app. Where tasks cannot be kept, they are with this process, and a warning says why.
pub(super) async fn open(app: &App, mode: TaskStore) -> Result<TaskLocation, Error> {
    let in_process = || Arc::new(MemoryStore::new()) as Arc<dyn Store>;
    if mode == TaskStore::Process {
        return Ok(in_process().into());
    }
    let Some(path) = path(app)? else { return Ok(in_process().into()) };
    let is_shared = app.config.execution.shared;
    let failed = |error: StoreError| Error::Start { what: "the tasks".into(), message: error.to_string() };
    match (mode, SqliteStore::open(&path, is_shared).await) {
        (_, Ok(opened)) => {
            let mut place = TaskLocation::from(Arc::new(opened.store) as Arc<dyn Store>);
            place.warnings.extend(opened.quarantined.map(|aside| {
                format!(
                    "the tasks in {} were damaged, and none of them is known any more; what is left is in {}",
                    path.display(),
                    aside.display()
                )
            }));
            Ok(place)
        }
        (TaskStore::Operator, Err(StoreError::InUse { .. })) => {
            let store = SqliteStore::open_unlocked(&path).await.map_err(failed)?;
            // What changes from here on is news, and what is read behind this is not.
            store.has_changed().await.map_err(failed)?;
            Ok(TaskLocation { is_beside: true, ..TaskLocation::from(Arc::new(store) as Arc<dyn Store>) })
        }
        (TaskStore::Operator, Err(error)) => Err(failed(error)),
        (_, Err(error)) => {
            Ok(TaskLocation { warnings: vec![not_kept(&error)], ..TaskLocation::from(in_process()) })
        }
    }
}

/// Returns the warning that tasks end with the process.
pub(super) fn not_kept(error: &StoreError) -> String {
    format!("background tasks, watchers and schedules end with this process: {error}")
}

/// Returns the file that the app names, or a default one in the folder for program state; `None` if there is no such folder, or
/// the app is not in a file.
fn path(app: &App) -> Result<Option<PathBuf>, Error> {
    if let Some(named) = &app.config.execution.store {
        let path =
            expanded(&app.file, named, "/execution/store", true).map_err(|error| app.file.wrong(error))?;
        return Ok(Some(app.file.path(&path)));
    }
    let file = app.file.is_on_disk().then_some(&app.file.name);
    let in_folder = file.and_then(|file| Some((file, state_folder("tasks")?)));
    Ok(in_folder.map(|(file, folder)| folder.join(format!("{}.db", state_name(Path::new(file))))))
}
