//! What a session is told at its next turn.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

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
        Ok(Self { store, clock, waiting: Mutex::new(waiting) })
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
        self.store.apply(changes).await
    }

    /// What a session has not been told yet, the oldest first. It is told once.
    pub async fn take(&self, session: &str) -> Vec<Notification> {
        let taken = self.waiting().remove(session).unwrap_or_default();
        if taken.is_empty() {
            return Vec::new();
        }
        let removed = taken.iter().map(|(id, _)| Change::remove(Kind::Notification, id.as_str())).collect();
        if let Err(error) = self.store.apply(removed).await {
            // They may be told once more after a crash, which is better than never.
            tracing::warn!(%error, "notifications that were read are still kept");
        }
        let oldest = self.clock.now().checked_sub(NOTIFICATION_AGE).unwrap_or(Timestamp::MIN);
        taken.into_iter().map(|(_, notification)| notification).filter(|told| told.at >= oldest).collect()
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, VecDeque<(String, Notification)>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
