//! How far a call is, for those who wait for it.

/// What a tool says of its work while it is under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done, in a unit of the tool's own; it only grows.
    pub done: f64,
    /// How much there is to do, in the same unit, where that is known.
    pub total: Option<f64>,
    /// What the tool is at, in words.
    pub message: Option<String>,
}

/// Somebody who wants to know how far a call is. Told between two steps of the call, so it must not block.
pub trait ProgressListener: Send + Sync {
    /// The call has come so far.
    fn progress(&self, progress: &Progress);
}
