//! What whoever serves an app says about it, besides the app itself.

use std::time::Duration;

use toolcrib_runtime::SurfaceMode;

/// What whoever serves an app says about it, besides the app itself.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ServerSettings {
    /// What clients are shown of the tools; what `serve.surface` says when absent.
    pub surface: Option<SurfaceMode>,
    /// After how long a call becomes a task where its client takes tasks, unless `execution.background_after` says it;
    /// [`TASK_AFTER`](crate::TASK_AFTER) when absent.
    pub task_after: Option<Duration>,
}

impl ServerSettings {
    /// Sets what clients are shown of the tools.
    pub fn with_surface(mut self, surface: Option<SurfaceMode>) -> Self {
        self.surface = surface;
        self
    }

    /// Sets after how long a call becomes a task where its client takes tasks.
    pub fn with_task_after(mut self, after: Option<Duration>) -> Self {
        self.task_after = after;
        self
    }
}
