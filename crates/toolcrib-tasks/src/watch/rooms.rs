//! How many checks are made at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::WatcherSettings;

/// The room that there is for checks: of each tool, and in all.
pub(super) struct Rooms {
    all: Arc<Semaphore>,
    of_tools: Mutex<HashMap<String, Weak<Semaphore>>>,
    max_of_tool: usize,
}

/// The room that a check takes up.
pub(super) struct Room {
    _of_tool: OwnedSemaphorePermit,
    _in_all: OwnedSemaphorePermit,
}

impl Rooms {
    pub(super) fn new(settings: &WatcherSettings) -> Self {
        let size = |most: usize| most.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(size(settings.max_checks_at_once))),
            of_tools: Mutex::default(),
            max_of_tool: size(settings.max_checks_of_tool),
        }
    }

    /// Waits for room for a check by a tool. Those that wait for one tool take up no room of others.
    pub(super) async fn enter(&self, tool: &str) -> Option<Room> {
        let of_tool = self.of_tool(tool).acquire_owned().await.ok()?;
        let in_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Room { _of_tool: of_tool, _in_all: in_all })
    }

    fn of_tool(&self, tool: &str) -> Arc<Semaphore> {
        let mut of_tools = self.of_tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = of_tools.get(tool).and_then(Weak::upgrade) {
            return room;
        }
        // Nobody is in these, or waits.
        of_tools.retain(|_, room| room.strong_count() > 0);
        let room = Arc::new(Semaphore::new(self.max_of_tool));
        of_tools.insert(tool.to_owned(), Arc::downgrade(&room));
        room
    }
}
