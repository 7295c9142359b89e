//! Server settings that are not part of the app.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_app::sections::serve::SurfaceMode;
use toolcrib_port::CallScope;

use crate::Replica;

/// Server settings that are not part of the app.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServerSettings {
    /// The tools that clients see. `serve.surface` applies if absent.
    pub surface: Option<SurfaceMode>,
    /// The time after which a call becomes a task if its client supports tasks. `execution.background_after` takes
    /// precedence, and [`TASK_AFTER`](crate::TASK_AFTER) applies if absent.
    pub task_after: Option<Duration>,
    /// The user on whose behalf clients without a token make calls. The user is unknown if absent. Other clients call
    /// on behalf of the client, or of the subject of its token.
    pub user: Option<String>,
    /// This process among those that serve the app on one store, see [`Replica::join`].
    pub replica: Option<Arc<Replica>>,
    /// The scope that tools receive for all callers.
    pub scope: CallScope,
}
