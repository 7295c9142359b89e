//! Errors of a run.

use std::path::PathBuf;

use super::item::Dropped;
use super::settings::StageKind;
use crate::Kind;
use crate::writer::WriteError;

/// The error that ends a run. The items that were settled until then are in its store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// A setting cannot be used.
    #[error("{key}: {message}")]
    Setting {
        /// The key below `generate`.
        key: String,
        /// The problem.
        message: String,
    },
    /// No tool fits a kind of the mix.
    #[error("the kind `{}` needs {needed}; remove it from `generate.kinds`, or add one", kind.name())]
    NoTools {
        /// The kind.
        kind: Kind,
        /// The description of the missing tool.
        needed: &'static str,
    },
    /// The file with the state of the run cannot be used.
    #[error("cannot use {}: {message}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
    /// Another process uses the file with the state of the run.
    #[error("another process uses {}", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A run of this task was begun.
    #[error("{} is the state of an earlier run; continue it by --resume, or begin again by --restart", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The run to be resumed is one of another task.
    #[error("{} is the state of a run with other settings; begin again by --restart", path.display())]
    OtherTask {
        /// The file.
        path: PathBuf,
    },
    /// A model cannot be asked.
    #[error("the model of the stage `{}`: {message}", stage.name())]
    Model {
        /// The stage.
        stage: StageKind,
        /// The problem.
        message: String,
    },
    /// A call could not be made.
    #[error("the session of item {item}: {message}")]
    Session {
        /// The item.
        item: u64,
        /// The problem.
        message: String,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The reason why a stage does not continue with an item.
#[derive(Debug)]
#[non_exhaustive]
pub enum StageError {
    /// The item is dropped.
    Drop(Dropped),
    /// The run has used its budget.
    Budget,
    /// The run ends.
    Fail(PipelineError),
}

impl StageError {
    /// Creates the error that drops an item.
    pub fn drop(stage: StageKind, reason: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Drop(Dropped { stage, reason: reason.into(), detail: detail.into() })
    }
}
