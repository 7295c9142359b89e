//! Concurrency limits of checks.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::WatcherSettings;

/// The concurrency limits of checks: per tool, and in all.
pub(super) struct CheckLimits {
    all: Arc<Semaphore>,
    of_tools: Mutex<HashMap<String, Weak<Semaphore>>>,
    max_of_tool: usize,
}

/// A permit for one check.
pub(super) struct CheckPermit {
    _of_tool: OwnedSemaphorePermit,
    _in_all: OwnedSemaphorePermit,
}

impl CheckLimits {
    pub(super) fn new(settings: &WatcherSettings) -> Self {
        let size = |most: usize| most.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(size(settings.max_checks_at_once))),
            of_tools: Mutex::default(),
            max_of_tool: size(settings.max_checks_of_tool),
        }
    }

    /// Waits for a permit for a check by a tool. A check that waits for its tool takes no permit from other tools.
    pub(super) async fn acquire(&self, tool: &str) -> Option<CheckPermit> {
        let of_tool = self.of_tool(tool).acquire_owned().await.ok()?;
        let in_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(CheckPermit { _of_tool: of_tool, _in_all: in_all })
    }

    fn of_tool(&self, tool: &str) -> Arc<Semaphore> {
        let mut of_tools = self.of_tools.lock();
        if let Some(semaphore) = of_tools.get(tool).and_then(Weak::upgrade) {
            return semaphore;
        }
        // Unused semaphores are removed.
        of_tools.retain(|_, semaphore| semaphore.strong_count() > 0);
        let semaphore = Arc::new(Semaphore::new(self.max_of_tool));
        of_tools.insert(tool.to_owned(), Arc::downgrade(&semaphore));
        semaphore
    }
}
