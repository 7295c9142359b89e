//! The notifications that sessions read at their next turn.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::id::random_id;
use crate::store::{Change, Record, RecordKind, StoreError};
use crate::{Clock, Store};

/// The maximum number of unread notifications per session. The oldest are dropped first.
pub(crate) const MAX_NOTIFICATIONS: usize = 100;

/// The time after which an unread notification expires.
const NOTIFICATION_AGE: SignedDuration = SignedDuration::from_hours(24);

/// The maximum length of a notification in characters. Longer texts are truncated.
pub(crate) const MAX_NOTIFICATION_CHARS: usize = 2_000;

/// A message to a session about an event outside of its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// The time of the event.
    pub at: Timestamp,
    /// The text for the model.
    pub text: String,
}

impl Notification {
    /// Returns the notification as a model reads it.
    pub fn line(&self) -> String {
        format!("{}: {}", self.at.strftime("%F %T UTC"), self.text)
    }
}

/// The notifications of all sessions.
pub struct Notifications {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    waiting: Mutex<HashMap<String, VecDeque<(String, Notification)>>>,
    /// Notified when a notification arrives.
    changed: Arc<Notify>,
}

impl Notifications {
    /// Loads the unread notifications from the store.
    pub async fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let mut waiting: HashMap<String, VecDeque<(String, Notification)>> = HashMap::new();
        let records = store.load(RecordKind::Notification).await?;
        let mut loaded: Vec<(String, String, Notification)> = records
            .into_iter()
            .filter_map(|record| Some((record.session, record.id, serde_json::from_value(record.body).ok()?)))
            .collect();
        loaded.sort_by_key(|(_, _, notification)| notification.at);
        for (session, id, notification) in loaded {
            waiting.entry(session).or_default().push_back((id, notification));
        }
        Ok(Self { store, clock, waiting: Mutex::new(waiting), changed: Arc::default() })
    }

    /// Queues a notification for a session, and persists it.
    pub async fn push(&self, session: &str, text: &str) -> Result<(), StoreError> {
        let text: String = text.chars().take(MAX_NOTIFICATION_CHARS).collect();
        let (id, notification) = (random_id("note")?, Notification { at: self.clock.now(), text });
        let record = Record {
            kind: RecordKind::Notification,
            id: id.clone(),
            session: session.to_owned(),
            body: serde_json::json!(notification),
        };
        let mut changes = vec![Change::Put(record)];
        {
            let mut waiting = self.waiting.lock();
            let waiting = waiting.entry(session.to_owned()).or_default();
            waiting.push_back((id, notification));
            while waiting.len() > MAX_NOTIFICATIONS {
                changes
                    .extend(waiting.pop_front().map(|(id, _)| Change::remove(RecordKind::Notification, id)));
            }
        }
        self.changed.notify_waiters();
        self.store.apply(changes).await
    }

    /// Returns up to `most` unread notifications of a session with their ids, the oldest first. They stay unread until
    /// [`read`](Self::read) is called.
    pub async fn peek(&self, session: &str, most: usize) -> Vec<(String, Notification)> {
        let oldest = self.clock.now().checked_sub(NOTIFICATION_AGE).unwrap_or(Timestamp::MIN);
        let (unread, expired) = {
            let mut waiting = self.waiting.lock();
            let Some(of_session) = waiting.get_mut(session) else { return Vec::new() };
            let (loaded, expired): (VecDeque<_>, VecDeque<_>) = std::mem::take(of_session)
                .into_iter()
                .partition(|(_, notification)| notification.at >= oldest);
            *of_session = loaded;
            (of_session.iter().take(most).cloned().collect(), expired)
        };
        self.remove(expired.iter().map(|(id, _)| id.as_str())).await;
        unread
    }

    /// Marks notifications as read, and removes them.
    pub async fn read(&self, session: &str, ids: &[String]) {
        {
            let mut waiting = self.waiting.lock();
            if let Some(of_session) = waiting.get_mut(session) {
                of_session.retain(|(id, _)| !ids.contains(id));
                if of_session.is_empty() {
                    waiting.remove(session);
                }
            }
        }
        self.remove(ids.iter().map(String::as_str)).await;
    }

    /// Removes and returns the unread notifications of a session, the oldest first.
    pub async fn take(&self, session: &str) -> Vec<Notification> {
        let taken = self.peek(session, MAX_NOTIFICATIONS).await;
        let (ids, unread): (Vec<String>, _) = taken.into_iter().unzip();
        self.read(session, &ids).await;
        unread
    }

    async fn remove(&self, ids: impl Iterator<Item = &str>) {
        let removed: Vec<_> = ids.map(|id| Change::remove(RecordKind::Notification, id)).collect();
        if removed.is_empty() {
            return;
        }
        if let Err(error) = self.store.apply(removed).await {
            // They may be delivered again after a crash, which is better than never.
            tracing::warn!(%error, "notifications that were read could not be removed from the store");
        }
    }

    /// Waits for the next notification of any session.
    pub fn changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let changed = Arc::clone(&self.changed);
        async move { changed.notified().await }
    }
}
