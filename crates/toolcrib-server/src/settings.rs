//! What whoever serves an app says about it, besides the app itself.

use toolcrib_runtime::SurfaceMode;

/// What whoever serves an app says about it, besides the app itself.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ServerSettings {
    /// What clients are shown of the tools; what `serve.surface` says when absent.
    pub surface: Option<SurfaceMode>,
}

impl ServerSettings {
    /// Sets what clients are shown of the tools.
    pub fn with_surface(mut self, surface: Option<SurfaceMode>) -> Self {
        self.surface = surface;
        self
    }
}
