//! The keys as they were last seen, and when to look again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::keys::KeySet;

/// How old keys are when they are asked for again, while the old ones serve on.
pub(super) const KEYS_FRESH: Duration = Duration::from_mins(5);

/// How old keys may be that nobody could fetch again. Nobody comes in by older ones.
pub(super) const KEYS_LIFE: Duration = Duration::from_hours(1);

/// How long to wait after keys could not be had.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_secs(3);

/// How often a token of an unknown key may have the keys asked for before their time.
pub(super) const EARLY_INTERVAL: Duration = Duration::from_secs(30);

/// The keys cannot be had now.
#[derive(Debug)]
pub(super) struct Unavailable;

type Fetch = dyn Fn() -> BoxFuture<'static, Result<KeySet, String>> + Send + Sync;

/// Keeps the keys. They are fetched by one task at a time, which no request that ends early can end.
pub(super) struct KeyCache {
    fetch: Arc<Fetch>,
    known: Arc<Mutex<Known>>,
    fetching: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Known {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// When fetching failed last.
    failed: Option<Instant>,
    /// When they were last asked for before their time.
    early: Option<Instant>,
}

impl KeyCache {
    pub(super) fn new<F>(fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<KeySet, String>> + Send + 'static,
    {
        Self { fetch: Arc::new(move || fetch().boxed()), known: Arc::default(), fetching: Arc::default() }
    }

    /// The keys. Old ones are fetched again meanwhile.
    pub(super) async fn current(&self) -> Result<Arc<KeySet>, Unavailable> {
        let usable = self.known().usable();
        if let Some((keys, is_fresh)) = usable {
            if !is_fresh && let Ok(turn) = Arc::clone(&self.fetching).try_lock_owned() {
                let mut known = self.known();
                if known.is_due() {
                    self.start(&mut known, turn);
                }
            }
            return Ok(keys);
        }
        let turn = Arc::clone(&self.fetching).lock_owned().await;
        self.fetched(turn, Known::is_due).await;
        self.known().usable().map(|(keys, _)| keys).ok_or(Unavailable)
    }

    /// The keys that have come after these, of which a token names none; `None` while it is too early to ask.
    pub(super) async fn after(&self, seen: &Arc<KeySet>) -> Result<Option<Arc<KeySet>>, Unavailable> {
        let is_new =
            |known: &Known| known.usable().map(|(keys, _)| keys).filter(|keys| !Arc::ptr_eq(keys, seen));
        // Whoever comes while they are fetched waits for these.
        let turn = Arc::clone(&self.fetching).lock_owned().await;
        self.fetched(turn, |known| is_new(known).is_none() && known.may_ask_early()).await;
        let known = self.known();
        match is_new(&known) {
            None if known.failed.is_some() => Err(Unavailable),
            newer => Ok(newer),
        }
    }

    /// Fetches the keys where that is still called for.
    async fn fetched(&self, turn: OwnedMutexGuard<()>, is_called_for: impl FnOnce(&mut Known) -> bool) {
        let task = {
            let mut known = self.known();
            if !is_called_for(&mut known) {
                return;
            }
            self.start(&mut known, turn)
        };
        // A task that panicked has fetched nothing.
        let _ = task.await;
    }

    fn start(&self, known: &mut Known, turn: OwnedMutexGuard<()>) -> tokio::task::JoinHandle<()> {
        // Until it is known to be otherwise: so also of a fetch that panics.
        known.failed = Some(Instant::now());
        let (fetching, known) = ((self.fetch)(), Arc::clone(&self.known));
        tokio::spawn(async move {
            let fetched = fetching.await;
            let mut known = lock(&known);
            match fetched {
                Ok(keys) => {
                    known.keys = Some((Arc::new(keys), Instant::now()));
                    known.failed = None;
                }
                Err(problem) => {
                    known.failed = Some(Instant::now());
                    tracing::warn!("the keys of the authorization server cannot be had: {problem}");
                }
            }
            drop((known, turn));
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

impl Known {
    /// The keys while they may be used, and whether they are fresh.
    fn usable(&self) -> Option<(Arc<KeySet>, bool)> {
        let (keys, since) = self.keys.as_ref()?;
        let age = since.elapsed();
        (age < KEYS_LIFE).then(|| (Arc::clone(keys), age < KEYS_FRESH))
    }

    /// Whether it is time to fetch them.
    fn is_due(&mut self) -> bool {
        !self.usable().is_some_and(|(_, is_fresh)| is_fresh)
            && self.failed.is_none_or(|failed| failed.elapsed() >= RETRY_INTERVAL)
    }

    /// Whether they may be fetched before that, which is noted.
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

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
