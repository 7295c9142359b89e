//! The cached keys of an authorization server, and the times of their refresh.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::keys::KeySet;

/// The age from which keys are refreshed while the old ones stay in use.
pub(super) const KEYS_FRESH: Duration = Duration::from_mins(5);

/// The maximum age of keys that could not be refreshed. Older keys admit no client.
pub(super) const KEYS_LIFE: Duration = Duration::from_hours(1);

/// The delay after a failed fetch.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_secs(3);

/// The minimum interval between early fetches that a token with an unknown key causes.
pub(super) const EARLY_INTERVAL: Duration = Duration::from_secs(30);

/// An error for keys that are currently unavailable.
#[derive(Debug)]
pub(super) struct Unavailable;

type Fetch = dyn Fn() -> Pin<Box<dyn Future<Output = Result<KeySet, String>> + Send>> + Send + Sync;

/// A cache of the keys. One task fetches them at a time, and it does not end with the request that started it.
pub(super) struct KeyCache {
    fetch: Arc<Fetch>,
    known: Arc<Mutex<CachedKeys>>,
    fetching: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct CachedKeys {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// The time of the last failed fetch.
    failed: Option<Instant>,
    /// The time of the last early fetch.
    early: Option<Instant>,
}

impl KeyCache {
    pub(super) fn new<F>(fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<KeySet, String>> + Send + 'static,
    {
        Self { fetch: Arc::new(move || Box::pin(fetch())), known: Arc::default(), fetching: Arc::default() }
    }

    /// Returns the keys. Old ones are refreshed in the background.
    pub(super) async fn current(&self) -> Result<Arc<KeySet>, Unavailable> {
        let usable = self.known.lock().usable();
        if let Some((keys, is_fresh)) = usable {
            if !is_fresh && let Ok(turn) = Arc::clone(&self.fetching).try_lock_owned() {
                let mut known = self.known.lock();
                if known.is_due() {
                    self.start(&mut known, turn);
                }
            }
            return Ok(keys);
        }
        let turn = Arc::clone(&self.fetching).lock_owned().await;
        self.fetched(turn, CachedKeys::is_due).await;
        self.known.lock().usable().map(|(keys, _)| keys).ok_or(Unavailable)
    }

    /// Returns the keys that replaced `seen`, which lack the key that a token names. Returns `None` if it is too early
    /// for another fetch.
    pub(super) async fn after(&self, seen: &Arc<KeySet>) -> Result<Option<Arc<KeySet>>, Unavailable> {
        let is_new =
            |known: &CachedKeys| known.usable().map(|(keys, _)| keys).filter(|keys| !Arc::ptr_eq(keys, seen));
        // Requests that arrive during a fetch wait for its keys.
        let turn = Arc::clone(&self.fetching).lock_owned().await;
        self.fetched(turn, |known| is_new(known).is_none() && known.may_ask_early()).await;
        let known = self.known.lock();
        match is_new(&known) {
            None if known.failed.is_some() => Err(Unavailable),
            newer => Ok(newer),
        }
    }

    /// Fetches the keys if that is still necessary.
    async fn fetched(&self, turn: OwnedMutexGuard<()>, is_called_for: impl FnOnce(&mut CachedKeys) -> bool) {
        let task = {
            let mut known = self.known.lock();
            if !is_called_for(&mut known) {
                return;
            }
            self.start(&mut known, turn)
        };
        // A task that panicked has fetched nothing.
        let _ = task.await;
    }

    fn start(&self, known: &mut CachedKeys, turn: OwnedMutexGuard<()>) -> tokio::task::JoinHandle<()> {
        // The fetch counts as failed until it succeeds, also if it panics.
        known.failed = Some(Instant::now());
        let (fetching, known) = ((self.fetch)(), Arc::clone(&self.known));
        tokio::spawn(async move {
            let fetched = fetching.await;
            let mut known = known.lock();
            match fetched {
                Ok(keys) => {
                    known.keys = Some((Arc::new(keys), Instant::now()));
                    known.failed = None;
                }
                Err(problem) => {
                    known.failed = Some(Instant::now());
                    tracing::warn!("the keys of the authorization server are unavailable: {problem}");
                }
            }
            drop((known, turn));
        })
    }
}

impl CachedKeys {
    /// Returns the keys while they are usable, and true if they are fresh.
    fn usable(&self) -> Option<(Arc<KeySet>, bool)> {
        let (keys, since) = self.keys.as_ref()?;
        let age = since.elapsed();
        (age < KEYS_LIFE).then(|| (Arc::clone(keys), age < KEYS_FRESH))
    }

    /// Returns true if it is time to fetch the keys.
    fn is_due(&mut self) -> bool {
        !self.usable().is_some_and(|(_, is_fresh)| is_fresh)
            && self.failed.is_none_or(|failed| failed.elapsed() >= RETRY_INTERVAL)
    }

    /// Returns true if the keys may be fetched early, and records the fetch.
    fn may_ask_early(&mut self) -> bool {
        let may = match self.failed {
            Some(failed) => failed.elapsed() >= RETRY_INTERVAL,
            None => self.early.is_none_or(|early| early.elapsed() >= EARLY_INTERVAL),
        };
        if may {
            self.early = Some(Instant::now());
        }
        may
    }
}
