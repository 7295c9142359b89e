//! The keys that the processes have in common: a secret that stays, and the key ring that signs `requestState`.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rmcp::model::{RequestStateCodec, RequestStateError, SealOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolcrib_model::random::{hex, random_bytes};
use toolcrib_tasks::Store;
use toolcrib_tasks::store::{Change, Record, RecordKind, StoreError};

use super::Replica;
use crate::Error;
use crate::approval::SUSPENSION_TIME;

/// The time for which a key signs. Then the next process that signs makes another.
const SIGNING_TIME: Duration = Duration::from_hours(12);

/// The time for which a key exists: what it signed last has ended by then.
const KEY_LIFETIME: Duration = SIGNING_TIME.saturating_add(SUSPENSION_TIME).saturating_add(SIGNING_TIME);

/// The maximum number of keys of a ring. Older ones are not used.
const MAX_KEYS: usize = 16;

/// The id of the secret.
const SECRET: &str = "secret";

/// The beginning of the ids of the keys of the ring.
const RING: &str = "ring.";

/// The lease under which a key is made, so that two processes do not both make one.
const LEASE: &str = "keys";

/// The time in which a key is made.
const LEASE_TIME: Duration = Duration::from_secs(10);

/// The time between two attempts to acquire the lease.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The number of random bytes of a key.
const KEY_BYTES: usize = RequestStateCodec::MIN_KEY_LENGTH;

/// The key ring, as this process knows it.
#[derive(Default)]
pub(super) struct KeyRing(Mutex<Option<KeySet>>);

#[derive(Clone)]
struct KeySet {
    codec: Arc<RequestStateCodec>,
    /// The time at which another key has to be made.
    until: SystemTime,
}

/// The reason why a token is not accepted.
pub(crate) enum TokenError {
    /// It is forged, of another call, or too old.
    Refused,
    Store(StoreError),
}

/// Returns the secret of the processes. Makes it if it does not exist.
pub(super) async fn secret(store: &dyn Store, process: &str) -> Result<Vec<u8>, Error> {
    kept_key(store, process, SECRET, || Some(random_bytes::<KEY_BYTES>().ok()?.to_vec())).await
}

/// Returns a key that stays, and that all processes have. Stores a generated one if it does not exist.
async fn kept_key(
    store: &dyn Store,
    process: &str,
    id: &str,
    generate: impl Fn() -> Option<Vec<u8>>,
) -> Result<Vec<u8>, Error> {
    loop {
        if let Some(record) = store.get(RecordKind::Key, id).await? {
            return Ok(key_of(&record.body).unwrap_or_default());
        }
        let key = generate().ok_or(Error::NoRandomness)?;
        make(store, process, id.to_owned(), (&key, None)).await?;
    }
}

/// Makes a key unless another process makes one, which is waited for.
async fn make(
    store: &dyn Store,
    process: &str,
    id: String,
    (key, lifetime): (&[u8], Option<Duration>),
) -> Result<(), Error> {
    if !store.lease(LEASE, process, LEASE_TIME).await? {
        tokio::time::sleep(RETRY_INTERVAL).await;
        return Ok(());
    }
    let is_there = match lifetime {
        None => store.get(RecordKind::Key, &id).await?.is_some(),
        Some(_) => newest(&ring(store).await?).is_some(),
    };
    if !is_there {
        let body = json!({"key": hex(key)});
        let record = Record { kind: RecordKind::Key, id, session: String::new(), body };
        let put = match lifetime {
            None => Change::Put(record),
            Some(lifetime) => Change::PutFor { record, lifetime },
        };
        let fence = Change::Fence { id: LEASE.to_owned(), owner: process.to_owned() };
        store.apply(vec![fence, put]).await?;
    }
    store.release(LEASE, process).await?;
    Ok(())
}

async fn ring(store: &dyn Store) -> Result<Vec<Record>, StoreError> {
    store.list(RecordKind::Key, RING).await
}

/// Returns the key that signs now, with the time at which it stops.
fn newest(ring: &[Record]) -> Option<(&Record, SystemTime)> {
    let record = ring.last()?;
    let made: u64 = record.id.strip_prefix(RING)?.parse().ok()?;
    let until = UNIX_EPOCH + Duration::from_millis(made) + SIGNING_TIME;
    (until > SystemTime::now()).then_some((record, until))
}

fn key_of(body: &Value) -> Option<Vec<u8>> {
    let text = body.get("key")?.as_str()?;
    let digits = text.as_bytes().chunks(2).map(std::str::from_utf8);
    digits.map(|digits| u8::from_str_radix(digits.ok()?, 16).ok()).collect()
}

impl Replica {
    /// Returns a token that any of the processes opens with the same associated data.
    pub(crate) async fn seal<T: Serialize>(&self, bound_to: &[u8], contents: &T) -> Result<String, Error> {
        let codec = self.codec().await?;
        let options = SealOptions::new().associated_data(bound_to).ttl(SUSPENSION_TIME);
        codec.seal_json_with(contents, &options).map_err(|_| Error::NoRandomness)
    }

    /// Returns a token without contents, for a page or a cookie, by a key that is known. Returns `None` before
    /// [`learn_keys`](Self::learn_keys).
    pub(crate) fn seal_page(&self, bound_to: &[u8]) -> Option<String> {
        let known = self.keys.0.lock().clone()?;
        let options = SealOptions::new().associated_data(bound_to).ttl(SIGNING_TIME);
        known.codec.seal_json_with(&(), &options).ok()
    }

    /// Reads the key ring unless the key that signs now is known.
    pub(crate) async fn learn_keys(&self) -> Result<(), Error> {
        self.codec().await.map(drop)
    }

    async fn codec(&self) -> Result<Arc<RequestStateCodec>, Error> {
        let known = self.keys.0.lock().clone();
        match known {
            Some(known) if known.until > SystemTime::now() => Ok(known.codec),
            _ => self.signing_codec().await,
        }
    }

    /// Returns the contents of a token. They are valid once, see [`take`](Self::take).
    pub(crate) async fn open<T: DeserializeOwned>(
        &self,
        bound_to: &[u8],
        token: &str,
    ) -> Result<T, TokenError> {
        let known = self.keys.0.lock().clone();
        let opened = known.map(|known| known.codec.open_json_with(token, bound_to));
        match opened {
            Some(Ok(contents)) => return Ok(contents),
            // Another process may have made the key since.
            None | Some(Err(RequestStateError::UnknownKeyId)) => {}
            Some(Err(_)) => return Err(TokenError::Refused),
        }
        let ring = ring(self.store().as_ref()).await.map_err(TokenError::Store)?;
        let codec = self.learn(&ring).ok_or(TokenError::Refused)?;
        codec.open_json_with(token, bound_to).map_err(|_| TokenError::Refused)
    }

    /// Returns the codec with the key that signs now. Makes the key if it does not exist.
    async fn signing_codec(&self) -> Result<Arc<RequestStateCodec>, Error> {
        loop {
            let ring = ring(self.store().as_ref()).await?;
            if newest(&ring).is_some()
                && let Some(codec) = self.learn(&ring)
            {
                return Ok(codec);
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // All ids have the same length until the year 2286, so that they sort by time.
            let id = format!("{RING}{:013}", now.as_millis());
            let key = random_bytes::<KEY_BYTES>()?;
            make(self.store().as_ref(), self.id(), id, (&key, Some(KEY_LIFETIME))).await?;
        }
    }

    /// Returns a key that stays, and that all processes have. Stores a generated one if it does not exist.
    pub(crate) async fn kept_key(
        &self,
        id: &str,
        generate: impl Fn() -> Option<Vec<u8>>,
    ) -> Result<Vec<u8>, Error> {
        kept_key(self.store().as_ref(), self.id(), id, generate).await
    }

    /// Uses the keys of a ring from now on.
    fn learn(&self, ring: &[Record]) -> Option<Arc<RequestStateCodec>> {
        let active = ring.last()?.id.clone();
        let keys = ring
            .iter()
            .rev()
            .take(MAX_KEYS)
            .filter_map(|record| Some((record.id.clone(), key_of(&record.body)?)));
        let codec = Arc::new(RequestStateCodec::new_with_keyring(active, keys).ok()?);
        let until = newest(ring).map_or(UNIX_EPOCH, |(_, until)| until);
        *self.keys.0.lock() = Some(KeySet { codec: Arc::clone(&codec), until });
        Some(codec)
    }
}
