//! Progress of running calls.

/// The progress of a running call, as its tool reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The amount of work done, in a unit that the tool chooses; it only grows.
    pub done: f64,
    /// The total amount of work in the same unit, if known.
    pub total: Option<f64>,
    /// A message about the current step.
    pub message: Option<String>,
}

/// A listener for the progress of a call. It runs between two steps of the call, so it must not block.
pub trait ProgressListener: Send + Sync {
    /// Receives the current progress of the call.
    fn progress(&self, progress: &Progress);
}
