//! What whoever serves an app says about it, besides the app itself.

use std::time::Duration;

use toolcrib_port::CallScope;
use toolcrib_runtime::SurfaceMode;

/// What whoever serves an app says about it, besides the app itself.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServerSettings {
    /// What clients are shown of the tools; what `serve.surface` says when absent.
    pub surface: Option<SurfaceMode>,
    /// After how long a call becomes a task where its client takes tasks, unless `execution.background_after` says it;
    /// [`TASK_AFTER`](crate::TASK_AFTER) when absent.
    pub task_after: Option<Duration>,
    /// On whose behalf calls are made whose client brings no token; nobody known when absent. Those of other clients are made
    /// on behalf of the client, or of the subject of its token.
    pub user: Option<String>,
    /// What else tools are told of the callers, whoever they are.
    pub scope: CallScope,
}

impl ServerSettings {
    /// Sets what clients are shown of the tools.
    pub fn with_surface(mut self, surface: Option<SurfaceMode>) -> Self {
        self.surface = surface;
        self
    }

    /// Sets on whose behalf calls are made whose client brings no token.
    pub fn with_user(mut self, user: Option<String>) -> Self {
        self.user = user;
        self
    }

    /// Sets what else tools are told of the callers.
    pub fn with_scope(mut self, scope: CallScope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets after how long a call becomes a task where its client takes tasks.
    pub fn with_task_after(mut self, after: Option<Duration>) -> Self {
        self.task_after = after;
        self
    }
}
