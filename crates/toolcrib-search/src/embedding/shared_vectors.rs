//! Sets of vectors in a table that several processes share, so that one of them embeds each text for all.
//!
//! The row of a set has its file, and the digests of the model and of the texts as its id. Another row lists the sets of a
//! model, of which the newest are kept. A process that needs a set that does not exist makes it under a lock, and the
//! others wait for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};
use toolcrib_io::table::{RowLock, SharedTable};
use toolcrib_model::random::{hex, random_bytes};

use super::ContentHash;
use super::vector_set::VectorSet;

/// The most sets of a model in the table. The oldest are removed.
const MAX_SHARED_SETS: usize = 8;

/// The most bytes of a set in the table; a larger one is not shared. It holds 80,000 vectors of 384 numbers.
const MAX_SHARED_BYTES: usize = 32 << 20;

/// The time for which a process may make a set without extending its lock.
const LOCK_TIME: Duration = Duration::from_mins(1);

/// The time that a process waits for the set of another one. Then it makes the set itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time between two looks for the set of another process.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The sets of vectors that several processes share. Its functions block, and belong on a thread of their own.
pub(super) struct SharedVectors {
    table: Arc<dyn SharedTable>,
    runtime: Handle,
    /// This process.
    owner: String,
}

/// The name of a set: those of its model and of its texts.
pub(super) struct SetName {
    pub(super) model: String,
    pub(super) set: String,
}

impl SharedVectors {
    /// Uses a table. Returns `None` without random numbers for the name of this process.
    pub(super) fn new(table: Arc<dyn SharedTable>, runtime: Handle) -> Option<Self> {
        let owner = hex(&random_bytes::<16>().ok()?);
        Some(Self { table, runtime, owner })
    }

    /// Returns a set, and waits for it while another process makes it. Returns `None` if this process has to make it.
    pub(super) fn fetch(
        &self,
        name: &SetName,
        contents: &[ContentHash],
        dimension: usize,
        is_wanted: impl Fn() -> bool,
    ) -> Option<VectorSet> {
        let begun = Instant::now();
        let fetching = async {
            loop {
                if let Some(found) = self.get(name, contents, dimension).await? {
                    return Ok(Some(found));
                }
                if self.table.lock(&name.set, &self.owner, LOCK_TIME).await? {
                    // Another process may have made it just before.
                    let found = self.get(name, contents, dimension).await?;
                    if found.is_some() {
                        self.table.unlock(&name.set, &self.owner).await?;
                    }
                    return Ok(found);
                }
                if begun.elapsed() > PATIENCE || !is_wanted() {
                    return Ok(None);
                }
                sleep(POLL_INTERVAL).await;
            }
        };
        self.runtime.block_on(fetching).unwrap_or_else(|error: io::Error| {
            tracing::debug!(%error, "the vectors are not shared");
            None
        })
    }

    /// Extends the lock under which this process makes a set.
    pub(super) fn extend(&self, name: &SetName) {
        // If that fails, another process may make the set too.
        let _ = self.runtime.block_on(self.table.lock(&name.set, &self.owner, LOCK_TIME));
    }

    /// Puts a set into the table, and releases the lock. A set that is not new is put unless it is there. `None` releases
    /// the lock without a set.
    pub(super) fn publish(&self, name: &SetName, set: Option<&VectorSet>, is_new: bool) {
        let publishing = async {
            if let Some(set) = set {
                self.put(name, set, is_new).await?;
            }
            self.table.unlock(&name.set, &self.owner).await
        };
        if let Err(error) = self.runtime.block_on(publishing) {
            tracing::debug!(%error, "the vectors are not shared");
        }
    }

    async fn put(&self, name: &SetName, set: &VectorSet, is_new: bool) -> io::Result<()> {
        if !is_new && listed(self.table.get(&name.model).await?.as_ref()).contains(&name.set) {
            return Ok(());
        }
        let file = set.encode();
        if file.len() > MAX_SHARED_BYTES {
            return Ok(());
        }
        let _lock = RowLock::acquire(&self.table, &name.model, self.owner.clone(), PATIENCE).await?;
        let mut sets = listed(self.table.get(&name.model).await?.as_ref());
        self.table.put(&name.set, json!({"file": STANDARD.encode(file)})).await?;
        sets.retain(|set| *set != name.set);
        sets.push(name.set.clone());
        let excess = sets.len().saturating_sub(MAX_SHARED_SETS);
        let removed: Vec<_> = sets.drain(..excess).collect();
        self.table.put(&name.model, json!({"sets": sets})).await?;
        for set in removed {
            self.table.remove(&set).await?;
        }
        Ok(())
    }

    async fn get(
        &self,
        name: &SetName,
        contents: &[ContentHash],
        dimension: usize,
    ) -> io::Result<Option<VectorSet>> {
        let row = self.table.get(&name.set).await?;
        let file = row.as_ref().and_then(|row| STANDARD.decode(row.get("file")?.as_str()?).ok());
        let set = file.and_then(|file| VectorSet::decode(&file.into(), dimension));
        Ok(set.filter(|set| set.is_of(contents)))
    }
}

/// Returns the sets that a row lists, the oldest first.
fn listed(row: Option<&Value>) -> Vec<String> {
    let sets = row.and_then(|row| row.get("sets")?.as_array());
    sets.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
