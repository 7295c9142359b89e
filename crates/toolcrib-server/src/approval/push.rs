//! The browsers that people have subscribed to push messages about waiting calls.
//!
//! Subscriptions, and the key that browsers subscribe with, are in the store of the app. Without a durable store they end
//! with the process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;
use toolcrib_app::sections::approvals::ApprovalTransport;
use toolcrib_model::random::hex;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_tasks::channels::{PushError, PushSubscription, VapidKey, WebPush};
use toolcrib_tasks::store::{Change, Record, RecordKind};

use super::answer_queue::JoinedReplica;
use super::channels::Messenger;
use super::operator_queue::PendingApprovals;
use crate::Error;

/// The maximum number of subscriptions of an app.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;

/// The maximum number of subscriptions of a person. Another one replaces the oldest.
pub(crate) const MAX_SUBSCRIPTIONS_OF_PERSON: usize = 8;

/// The id of the key in the store.
const KEY: &str = "web_push";

/// The number of bytes of a digest that are an id.
const ID_BYTES: usize = 16;

/// The subscriptions of an app. All processes that share the store have the same.
pub(super) struct PushSubscriptions {
    replica: JoinedReplica,
    /// The subscriptions of a process without a durable store, by id.
    in_process: Mutex<BTreeMap<String, Subscribed>>,
    key: OnceCell<Arc<VapidKey>>,
}

/// The subscription of a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Subscribed {
    person: String,
    /// The time of the subscription, in seconds since 1970.
    made: u64,
    subscription: PushSubscription,
}

/// The reason why a browser cannot subscribe.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubscribeError {
    /// No channel sends push messages to the person.
    #[error("no channel of the type `web_push` names you; add you to its `people`")]
    NoChannel,
    /// The endpoint may not be used.
    #[error("the push service of the browser cannot be used: {0}")]
    Refused(String),
    /// There are too many subscriptions.
    #[error("{MAX_SUBSCRIPTIONS} browsers have subscribed, which is the limit")]
    Full,
    /// The subscription cannot be stored.
    #[error(transparent)]
    Store(#[from] Error),
}

impl PushSubscriptions {
    pub(super) fn new(replica: JoinedReplica) -> Self {
        Self { replica, in_process: Mutex::default(), key: OnceCell::new() }
    }

    /// Returns the key that browsers subscribe with. Makes it if it does not exist.
    async fn key(&self) -> Result<Arc<VapidKey>, Error> {
        let made = self.key.get_or_try_init(|| async {
            let document = match self.replica.get() {
                Some(replica) => replica.kept_key(KEY, VapidKey::generate).await?,
                None => VapidKey::generate().ok_or(Error::NoRandomness)?,
            };
            VapidKey::from_pkcs8(&document).map(Arc::new).ok_or(Error::NoRandomness)
        });
        made.await.map(Arc::clone)
    }

    /// Returns the subscriptions by id.
    async fn all(&self) -> Result<BTreeMap<String, Subscribed>, Error> {
        let Some(replica) = self.replica.get() else { return Ok(self.in_process.lock().clone()) };
        let records = replica.store().load(RecordKind::PushSubscription).await?;
        let read = |record: Record| Some((record.id, serde_json::from_value(record.body).ok()?));
        Ok(records.into_iter().filter_map(read).collect())
    }

    /// Adds a subscription, and removes others.
    async fn change(&self, added: Option<(String, Subscribed)>, removed: Vec<String>) -> Result<(), Error> {
        let Some(replica) = self.replica.get() else {
            let mut all = self.in_process.lock();
            all.retain(|id, _| !removed.contains(id));
            all.extend(added);
            return Ok(());
        };
        let removed = removed.into_iter().map(|id| Change::remove(RecordKind::PushSubscription, id));
        let added = added.map(|(id, subscribed)| {
            let (kind, body) = (RecordKind::PushSubscription, json!(subscribed));
            Change::Put(Record { kind, id, session: String::new(), body })
        });
        Ok(replica.store().apply(removed.chain(added).collect()).await?)
    }

    async fn add(&self, person: &str, subscription: PushSubscription) -> Result<(), SubscribeError> {
        let id = id_of(&subscription);
        let all = self.all().await?;
        let mut of_person: Vec<_> =
            all.iter().filter(|(other, subscribed)| **other != id && subscribed.person == person).collect();
        of_person.sort_by_key(|(_, subscribed)| subscribed.made);
        let excess = (of_person.len() + 1).saturating_sub(MAX_SUBSCRIPTIONS_OF_PERSON);
        let removed: Vec<String> = of_person.into_iter().take(excess).map(|(id, _)| id.clone()).collect();
        if !all.contains_key(&id) && all.len() - removed.len() >= MAX_SUBSCRIPTIONS {
            return Err(SubscribeError::Full);
        }
        let made = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let subscribed = Subscribed { person: person.to_owned(), made, subscription };
        Ok(self.change(Some((id, subscribed)), removed).await?)
    }

    /// Sends a text to the browsers of a person. A subscription that has ended is removed.
    ///
    /// # Errors
    ///
    /// Returns an error if no browser gets it.
    pub(super) async fn send(
        &self,
        sender: &WebPush,
        (channel, person): (&str, &str),
        (text, lifetime): (&str, Duration),
    ) -> Result<(), ToolError> {
        let unavailable = |error: Error| ToolError::new(ErrorKind::Unavailable, error.to_string());
        let (key, all) = (self.key().await.map_err(unavailable)?, self.all().await.map_err(unavailable)?);
        let of_person = all.into_iter().filter(|(_, subscribed)| subscribed.person == person);
        let sending = of_person.map(async |(id, subscribed)| {
            let sent = sender.send(channel, &key, &subscribed.subscription, (text, lifetime)).await;
            if matches!(sent, Err(PushError::Gone))
                && let Err(error) = self.change(None, vec![id]).await
            {
                tracing::warn!(%error, person, "a subscription that has ended cannot be removed");
            }
            sent
        });
        let mut failed = None;
        for sent in futures::future::join_all(sending).await {
            match sent {
                Ok(()) => return Ok(()),
                Err(PushError::Gone) => {}
                Err(PushError::Failed(error)) => failed = Some(error),
            }
        }
        let message = format!("no browser of `{person}` has subscribed to push messages at the console");
        Err(failed.unwrap_or_else(|| ToolError::new(ErrorKind::Unavailable, message)))
    }
}

impl Messenger {
    /// Returns the sender of push messages to a person.
    fn push_sender(&self, person: &str) -> Option<&WebPush> {
        self.channels().find_map(|channel| match &channel.transport {
            ApprovalTransport::WebPush { sender } if channel.people.iter().any(|name| name == person) => {
                Some(sender)
            }
            _ => None,
        })
    }
}

impl PendingApprovals {
    /// Returns true if a channel sends push messages to a person.
    pub(crate) fn has_push(&self, person: &str) -> bool {
        self.0.messenger().is_some_and(|messenger| messenger.push_sender(person).is_some())
    }

    /// Returns the public key that browsers subscribe with.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    pub(crate) async fn push_key(&self) -> Result<String, Error> {
        Ok(self.0.push.key().await?.public_key())
    }

    /// Returns the number of subscriptions.
    #[cfg(test)]
    pub(crate) async fn subscriptions(&self) -> usize {
        self.0.push.all().await.unwrap().len()
    }

    /// Subscribes a browser of a person.
    ///
    /// # Errors
    ///
    /// Returns an error if no channel sends push messages to the person, if the endpoint may not be used, or if the
    /// subscription cannot be stored.
    pub(crate) async fn subscribe(
        &self,
        person: &str,
        subscription: PushSubscription,
    ) -> Result<(), SubscribeError> {
        let messenger = self.0.messenger();
        let sender = messenger.as_ref().and_then(|messenger| messenger.push_sender(person));
        let sender = sender.ok_or(SubscribeError::NoChannel)?;
        sender.check_endpoint(&subscription.endpoint).map_err(SubscribeError::Refused)?;
        self.0.push.add(person, subscription).await
    }
}

/// Returns the id of a subscription, which another one of the same browser replaces.
fn id_of(subscription: &PushSubscription) -> String {
    let digest = Sha256::digest(subscription.endpoint.as_str());
    hex(digest.get(..ID_BYTES).unwrap_or_default())
}
