//! The context windows of models that the app file does not specify.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use tokio::sync::OnceCell;

/// The context windows that servers reported.
#[derive(Default)]
pub(crate) struct ContextWindows {
    pub(crate) asked: OnceCell<()>,
    /// By the ids of the agents.
    pub(crate) known: Mutex<BTreeMap<String, u32>>,
}
