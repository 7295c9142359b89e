//! That a crash at any statement loses nothing that was acknowledged, and repeats nothing that may not be.

use std::time::Duration;

use tokio::sync::watch;

use super::*;
use crate::store::StoreError;

/// A store that counts what is written, that may be full, and whose process may die at a statement.
pub(super) struct Counting {
    inner: Arc<MemoryStore>,
    applied: AtomicUsize,
    pub(super) is_full: AtomicBool,
    /// At which statement the process dies, and whether what it says is done by then.
    dies_at: Option<(usize, bool)>,
    is_dead: watch::Sender<bool>,
}

impl Default for Counting {
    fn default() -> Self {
        Self::over(Arc::default(), None)
    }
}

impl Counting {
    fn over(inner: Arc<MemoryStore>, dies_at: Option<(usize, bool)>) -> Self {
        let (applied, is_full, is_dead) =
            (AtomicUsize::new(0), AtomicBool::new(false), watch::Sender::new(false));
        Self { inner, applied, is_full, dies_at, is_dead }
    }

    pub(super) fn applied(&self) -> usize {
        self.applied.load(Ordering::SeqCst)
    }

    async fn death(&self) {
        self.is_dead.subscribe().wait_for(|is_dead| *is_dead).await.unwrap();
    }
}

#[async_trait]
impl Store for Counting {
    async fn list(&self, kind: RecordKind, prefix: &str) -> Result<Vec<Record>, StoreError> {
        self.inner.list(kind, prefix).await
    }

    async fn remove_ended(&self) -> Result<(), StoreError> {
        self.inner.remove_ended().await
    }
    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        self.inner.get(kind, id).await
    }
    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(StoreError::Full { path: "tasks.db".into() });
        }
        let number = self.applied.fetch_add(1, Ordering::SeqCst) + 1;
        match self.dies_at {
            Some((at, is_done)) if number >= at => {
                if number == at && is_done {
                    self.inner.apply(changes).await?;
                }
                self.is_dead.send_replace(true);
                // A dead process does nothing more.
                std::future::pending().await
            }
            _ => self.inner.apply(changes).await,
        }
    }
    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        self.inner.lease(id, owner, time).await
    }
    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        self.inner.release(id, owner).await
    }
    async fn has_changed(&self) -> Result<bool, StoreError> {
        self.inner.has_changed().await
    }
    fn is_durable(&self) -> bool {
        true
    }
    async fn close(&self) {}
}

/// Starts a watcher, lets the gauge change once, and waits until that has been told and followed up.
async fn live(office: &Office, tool: &str, action: &str, acknowledged: &Mutex<Option<String>>) {
    let known = acknowledged.lock().clone();
    let id = if let Some(id) = known {
        id
    } else {
        let id = office.start(json!({"name": tool, "actions": Office::ring(action)})).await;
        *acknowledged.lock() = Some(id.clone());
        id
    };
    let task = || office.live(&id).expect("it is not lost").task();
    let mut turns = office.watchers.inner.ledger.running();
    turns.wait_for(|turns| *turns == 0 && task().seen.is_some()).await.unwrap();
    office.plant.shows([json!({"level": 2})]);
    let is_done = |turns: &usize| *turns == 0 && task().metrics.changes == 1 && task().firing.is_none();
    turns.wait_for(is_done).await.unwrap();
}

/// What came of a life that ended at a statement, and of one after it. Gives how many statements there were.
async fn lives(tool: &str, action: &str, dies_at: Option<(usize, bool)>) -> usize {
    let (plant, memory) = (Arc::new(Plant::default()), Arc::new(MemoryStore::new()));
    plant.shows([json!({"level": 1})]);
    let acknowledged = Mutex::new(None);
    let store = Arc::new(Counting::over(Arc::clone(&memory), dies_at));
    let setup = |store: Arc<dyn Store>| Setup { plant: Arc::clone(&plant), store, ..Setup::default() };
    let first = setup(Arc::clone(&store) as _).open().await;
    tokio::select! {
        () = live(&first, tool, action, &acknowledged) => assert!(dies_at.is_none(), "it has died"),
        () = store.death() => {}
    }
    let again = setup(Arc::clone(&memory) as _).open().await;
    live(&again, tool, action, &acknowledged).await;

    let told = again.told().await;
    let said = |text: &str| told.iter().filter(|told| told.contains(text)).count();
    let rings = plant.rings.lock().clone();
    let context = format!("{tool}, {action}, {dies_at:?}: {told:#?}, {rings:?}");
    assert!(
        (1..=2).contains(&said("has seen a change: it was {\"level\":1}, and is {\"level\":2}")),
        "{context}"
    );
    assert!(rings.iter().all(|(value, _)| *value == json!({"level": 2})), "{context}");
    if action == "plant.bell" {
        assert!(rings.len() <= 1, "it is not repeated: {context}");
        assert!(
            rings.len() == 1 || said("the outcome is unknown") == 1,
            "it is done, or that is told: {context}"
        );
    } else {
        assert!(
            (1..=2).contains(&rings.len()) && said("the outcome is unknown") == 0,
            "it is done: {context}"
        );
        assert!(rings.iter().all(|(_, key)| *key == rings[0].1), "under the same key: {context}");
    }
    let keys = plant.keys.lock().clone();
    let different: std::collections::HashSet<_> = keys.iter().collect();
    assert!(
        tool == "plant.gauge" || different.len() == keys.len(),
        "no check is repeated: {context}, {keys:?}"
    );
    store.applied()
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_statement_loses_nothing_and_repeats_nothing_that_may_not_be() {
    let mut crashes = 0;
    for tool in ["plant.gauge", "plant.probe"] {
        for action in ["plant.bell", "plant.lamp"] {
            let statements = lives(tool, action, None).await;
            assert!(statements >= 6, "{statements}");
            for at in 1..=statements {
                for is_done in [false, true] {
                    lives(tool, action, Some((at, is_done))).await;
                    crashes += 1;
                }
            }
        }
    }
    println!("{crashes} crashes");
}
