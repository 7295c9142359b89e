//! The contents of a source that one of several processes loads for all.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::SharedTable;

/// The time after which another process loads a source whose process has ended.
const LEASE_TIME: Duration = Duration::from_secs(20);

/// The interval of checks for another generation.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The newest generation of the contents of one source. Of the processes that share it, one has the lease, loads the
/// source, and publishes its contents under their digest. The others take them by the digest, without contact to the
/// source.
pub struct SharedGeneration {
    table: Arc<dyn SharedTable>,
    /// The id of the source, whose row has the digest. The row of the contents has both as its id.
    id: String,
    /// This process.
    owner: String,
    /// True if this process had the lease at the last check.
    has_lease: AtomicBool,
    /// The digest of the contents that this process has.
    known: Mutex<Option<String>>,
}

impl SharedGeneration {
    /// Returns the generation of a source. No other process may have the same owner.
    pub fn new(table: Arc<dyn SharedTable>, id: impl Into<String>, owner: impl Into<String>) -> Self {
        let (has_lease, known) = (AtomicBool::default(), Mutex::default());
        Self { table, id: id.into(), owner: owner.into(), has_lease, known }
    }

    /// Returns true if this process loads the source, and acquires or extends the lease.
    ///
    /// # Errors
    ///
    /// Returns an error if the table cannot be reached.
    pub async fn is_owner(&self) -> io::Result<bool> {
        let is_owner = self.table.lock(&self.id, &self.owner, LEASE_TIME).await?;
        self.has_lease.store(is_owner, Ordering::Relaxed);
        Ok(is_owner)
    }

    /// Lets another process load the source.
    ///
    /// # Errors
    ///
    /// Returns an error if the table cannot be reached. The lease ends by itself then.
    pub async fn release(&self) -> io::Result<()> {
        self.has_lease.store(false, Ordering::Relaxed);
        self.table.unlock(&self.id, &self.owner).await
    }

    /// Returns the newest contents; `None` before the first are published.
    ///
    /// # Errors
    ///
    /// Returns an error if the table cannot be reached.
    pub async fn contents(&self) -> io::Result<Option<Value>> {
        let Some(digest) = self.digest().await? else { return Ok(None) };
        // They are missing if another generation has just been published, which the next check finds.
        let contents = self.table.get(&self.row(&digest)).await?;
        if contents.is_some() {
            *self.known.lock() = Some(digest);
        }
        Ok(contents)
    }

    /// Publishes contents with their digest, and removes the ones before.
    ///
    /// # Errors
    ///
    /// Returns an error if the table cannot be reached or written to.
    pub async fn publish(&self, digest: &str, contents: Value) -> io::Result<()> {
        let before = self.digest().await?;
        if before.as_deref() != Some(digest) {
            self.table.put(&self.row(digest), contents).await?;
            self.table.put(&self.id, json!({"digest": digest})).await?;
            if let Some(before) = before {
                self.table.remove(&self.row(&before)).await?;
            }
        }
        *self.known.lock() = Some(digest.to_owned());
        Ok(())
    }

    /// Removes the contents. A process that has them keeps them; the next one loads the source.
    ///
    /// # Errors
    ///
    /// Returns an error if the table cannot be reached or written to.
    pub async fn withdraw(&self) -> io::Result<()> {
        let Some(digest) = self.digest().await? else { return Ok(()) };
        self.table.remove(&self.id).await?;
        self.table.remove(&self.row(&digest)).await?;
        Ok(())
    }

    /// Waits until there are other contents than those that this process has, or this process has to load the source,
    /// since no other does. Returns true in the second case.
    pub async fn changed(&self) -> bool {
        let mut hints = self.table.hints().await;
        loop {
            tokio::select! {
                () = sleep(POLL_INTERVAL) => {}
                () = hints.next() => {}
            }
            let had_lease = self.has_lease.load(Ordering::Relaxed);
            // While the table is away, this process has what it had.
            let Ok(is_owner) = self.is_owner().await else { continue };
            if is_owner && !had_lease {
                return true;
            }
            if !is_owner && let Ok(Some(digest)) = self.digest().await {
                let is_known = self.known.lock().as_ref() == Some(&digest);
                if !is_known {
                    return false;
                }
            }
        }
    }

    async fn digest(&self) -> io::Result<Option<String>> {
        let row = self.table.get(&self.id).await?;
        Ok(row.as_ref().and_then(|row| row["digest"].as_str()).map(str::to_owned))
    }

    fn row(&self, digest: &str) -> String {
        format!("{} {digest}", self.id)
    }
}

impl fmt::Debug for SharedGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedGeneration").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::MemoryTable;
    use super::*;

    fn replicas() -> [SharedGeneration; 2] {
        let table = Arc::new(MemoryTable::default());
        ["one", "two"].map(|owner| SharedGeneration::new(Arc::clone(&table) as _, "source", owner))
    }

    #[tokio::test]
    async fn one_process_loads_a_source_and_the_others_take_what_it_has_published() {
        let [one, two] = replicas();
        assert_eq!(two.contents().await.unwrap(), None);
        assert!(one.is_owner().await.unwrap());
        assert!(!two.is_owner().await.unwrap());
        for (digest, contents) in [("d1", json!([1])), ("d2", json!([2])), ("d2", json!([2]))] {
            one.publish(digest, contents.clone()).await.unwrap();
            assert_eq!(two.contents().await.unwrap(), Some(contents));
        }
        assert_eq!(one.table.get("source d1").await.unwrap(), None, "the ones before are removed");
        one.release().await.unwrap();
        assert!(two.is_owner().await.unwrap());
    }

    #[tokio::test]
    async fn contents_that_were_withdrawn_are_published_again() {
        let [one, two] = replicas();
        one.publish("d1", json!([1])).await.unwrap();
        two.withdraw().await.unwrap();
        assert_eq!(one.contents().await.unwrap(), None);
        assert_eq!(one.table.get("source d1").await.unwrap(), None);
        one.publish("d1", json!([1])).await.unwrap();
        assert_eq!(two.contents().await.unwrap(), Some(json!([1])));
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_notices_other_contents_and_that_it_has_to_load() {
        let [one, two] = replicas();
        assert!(one.is_owner().await.unwrap());
        one.publish("d1", json!([1])).await.unwrap();
        two.contents().await.unwrap();
        let quiet = tokio::time::timeout(Duration::from_mins(1), two.changed()).await;
        assert!(quiet.is_err(), "nothing has changed");
        one.publish("d2", json!([2])).await.unwrap();
        assert!(!two.changed().await);
        assert_eq!(two.contents().await.unwrap(), Some(json!([2])));
        let (has_to_load, ()) = tokio::join!(two.changed(), async {
            sleep(POLL_INTERVAL * 3).await;
            one.release().await.unwrap();
        });
        assert!(has_to_load && two.is_owner().await.unwrap());
    }
}
