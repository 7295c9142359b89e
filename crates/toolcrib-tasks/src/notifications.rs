//! What a session is told at its next turn.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::id::random_id;
use crate::{Change, Clock, Kind, Record, Store, StoreError};

/// How many notifications of a session wait to be read. Of more the oldest are forgotten.
pub const MAX_NOTIFICATIONS: usize = 100;

/// How long a notification waits to be read.
pub const NOTIFICATION_AGE: SignedDuration = SignedDuration::from_hours(24);

/// How long a notification may be, in characters; what is longer is cut.
pub const MAX_NOTIFICATION_CHARS: usize = 2_000;

/// Something that happened while a session was not looking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// When.
    pub at: Timestamp,
    /// What, as a model reads it.
    pub text: String,
}

/// The notifications of all sessions.
pub struct Notifications {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    waiting: Mutex<HashMap<String, VecDeque<(String, Notification)>>>,
    /// Rings when something new waits.
    changed: Arc<Notify>,
}

impl Notifications {
    /// Takes up those that were not read before the process ended.
    pub async fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let mut waiting: HashMap<String, VecDeque<(String, Notification)>> = HashMap::new();
        let records = store.load(Kind::Notification).await?;
        let mut kept: Vec<(String, String, Notification)> = records
            .into_iter()
            .filter_map(|record| Some((record.session, record.id, serde_json::from_value(record.body).ok()?)))
            .collect();
        kept.sort_by_key(|(_, _, notification)| notification.at);
        for (session, id, notification) in kept {
            waiting.entry(session).or_default().push_back((id, notification));
        }
        Ok(Self { store, clock, waiting: Mutex::new(waiting), changed: Arc::default() })
    }

    /// Tells a session something at its next turn, also after a crash.
    pub async fn tell(&self, session: &str, text: &str) -> Result<(), StoreError> {
        let text: String = text.chars().take(MAX_NOTIFICATION_CHARS).collect();
        let (id, notification) = (random_id("note")?, Notification { at: self.clock.now(), text });
        let record = Record {
            kind: Kind::Notification,
            id: id.clone(),
            session: session.to_owned(),
            body: serde_json::json!(notification),
        };
        let mut changes = vec![Change::Put(record)];
        {
            let mut waiting = self.waiting();
            let waiting = waiting.entry(session.to_owned()).or_default();
            waiting.push_back((id, notification));
            while waiting.len() > MAX_NOTIFICATIONS {
                changes.extend(waiting.pop_front().map(|(id, _)| Change::remove(Kind::Notification, id)));
            }
        }
        self.changed.notify_waiters();
        self.store.apply(changes).await
    }

    /// What a session has not been told yet, with its ids, the oldest first, at most so much. It goes on waiting until it
    /// was [read](Self::read).
    pub async fn peek(&self, session: &str, most: usize) -> Vec<(String, Notification)> {
        let oldest = self.clock.now().checked_sub(NOTIFICATION_AGE).unwrap_or(Timestamp::MIN);
        let (told, old) = {
            let mut waiting = self.waiting();
            let Some(of_session) = waiting.get_mut(session) else { return Vec::new() };
            let (kept, old): (VecDeque<_>, VecDeque<_>) = std::mem::take(of_session)
                .into_iter()
                .partition(|(_, notification)| notification.at >= oldest);
            *of_session = kept;
            (of_session.iter().take(most).cloned().collect(), old)
        };
        self.forget(old.iter().map(|(id, _)| id.as_str())).await;
        told
    }

    /// These have been told.
    pub async fn read(&self, session: &str, ids: &[String]) {
        {
            let mut waiting = self.waiting();
            if let Some(of_session) = waiting.get_mut(session) {
                of_session.retain(|(id, _)| !ids.contains(id));
                if of_session.is_empty() {
                    waiting.remove(session);
                }
            }
        }
        self.forget(ids.iter().map(String::as_str)).await;
    }

    /// What a session has not been told yet, the oldest first. It is told once.
    pub async fn take(&self, session: &str) -> Vec<Notification> {
        let taken = self.peek(session, MAX_NOTIFICATIONS).await;
        let (ids, told): (Vec<String>, _) = taken.into_iter().unzip();
        self.read(session, &ids).await;
        told
    }

    async fn forget(&self, ids: impl Iterator<Item = &str>) {
        let removed: Vec<_> = ids.map(|id| Change::remove(Kind::Notification, id)).collect();
        if removed.is_empty() {
            return;
        }
        if let Err(error) = self.store.apply(removed).await {
            // They may be told once more after a crash, which is better than never.
            tracing::warn!(%error, "notifications that were read are still kept");
        }
    }

    /// Comes back when somebody is told something.
    pub fn told(&self) -> impl Future<Output = ()> + Send + use<> {
        let changed = Arc::clone(&self.changed);
        async move { changed.notified().await }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, VecDeque<(String, Notification)>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
