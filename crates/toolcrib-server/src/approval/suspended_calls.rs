//! Calls that are suspended until their client returns with an answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{ErrorData, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_model::JsonObject;
use toolcrib_model::random::random_bytes;
use toolcrib_model::text::canonical_json;

use crate::Error;
use crate::client::Client;
/// The maximum number of suspended calls. A further one replaces the oldest, which is cancelled.
const MAX_SUSPENDED_CALLS: usize = 1024;

/// The maximum number of suspended calls of one client.
const MAX_SUSPENDED_CALLS_OF_CLIENT: usize = 128;

/// The time in which a client has to resume a call.
pub(crate) const SUSPENSION_TIME: Duration = super::elicitation::APPROVAL_PATIENCE;

/// The suspended calls, and the tokens by which their clients resume them. A token is valid once, for the same call of
/// the same client.
pub(crate) struct SuspendedCalls<T> {
    codec: RequestStateCodec,
    calls: Mutex<CallTable<T>>,
    /// The requests of clients that have come to another process, and are cancelled when they leave.
    clients_elsewhere: Mutex<HashMap<String, CancellationToken>>,
}

struct CallTable<T> {
    last: u64,
    waiting: HashMap<u64, SuspendedCall<T>>,
}

struct SuspendedCall<T> {
    since: Instant,
    key: RequestKey,
    call: T,
}

/// The request that a token is bound to, with its client.
#[derive(Clone)]
pub(crate) struct RequestKey {
    client: Arc<str>,
    pub(crate) bytes: Vec<u8>,
}

/// The contents of a token.
#[derive(Serialize, Deserialize)]
struct ResumeToken {
    call: u64,
}

impl RequestKey {
    pub(crate) fn new(
        client: &Client,
        session: &str,
        method: &str,
        name: &str,
        arguments: &JsonObject,
    ) -> Self {
        let mut hash = Sha256::new();
        // The length prefixes make the encoding of each key unique.
        for part in [&client.owner, session, method, name] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        hash.update(canonical_json(&serde_json::Value::Object(arguments.clone())));
        Self { client: Arc::clone(&client.owner), bytes: hash.finalize().to_vec() }
    }
}

impl<T> SuspendedCalls<T> {
    pub(crate) fn new() -> Result<Self, Error> {
        let key = random_bytes::<{ RequestStateCodec::MIN_KEY_LENGTH }>()?;
        let codec = RequestStateCodec::try_new(key).map_err(|_| Error::NoRandomness)?;
        let calls = Mutex::new(CallTable { last: 0, waiting: HashMap::new() });
        Ok(Self { codec, calls, clients_elsewhere: Mutex::default() })
    }

    /// Stores a call and returns the token by which its client resumes it.
    pub(crate) fn suspend(&self, key: &RequestKey, call: T) -> Result<String, ErrorData> {
        let number = {
            let mut calls = self.calls.lock();
            calls.last += 1;
            calls.last
        };
        self.insert(number, key, call);
        let options = SealOptions::new().associated_data(&key.bytes).ttl(SUSPENSION_TIME);
        self.codec
            .seal_json_with(&ResumeToken { call: number }, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Stores a call under a number.
    pub(crate) fn insert(&self, number: u64, key: &RequestKey, call: T) {
        let given_up = {
            let mut calls = self.calls.lock();
            let given_up = calls.make_room(&key.client);
            calls.waiting.insert(number, SuspendedCall { since: Instant::now(), key: key.clone(), call });
            given_up
        };
        drop(given_up);
    }

    /// Removes a call and returns it with its request.
    pub(crate) fn take(&self, number: u64) -> Option<(RequestKey, T)> {
        let taken = self.calls.lock().waiting.remove(&number)?;
        (taken.since.elapsed() <= SUSPENSION_TIME).then_some((taken.key, taken.call))
    }

    /// Returns true if a call waits for its client.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.calls.lock().waiting.is_empty() || !self.clients_elsewhere.lock().is_empty()
    }

    /// Returns the token that is cancelled when the client of a request leaves the process that it has come to.
    pub(crate) fn client_at(&self, request: &str) -> CancellationToken {
        self.clients_elsewhere.lock().entry(request.to_owned()).or_default().clone()
    }

    /// Cancels the token of a request, which has ended or whose client has left.
    pub(crate) fn client_left(&self, request: &str) {
        if let Some(gone) = self.clients_elsewhere.lock().remove(request) {
            gone.cancel();
        }
    }

    /// Returns the call of a token and invalidates the token.
    pub(crate) fn resume(&self, key: &RequestKey, token: &str) -> Result<T, ErrorData> {
        let token_contents: ResumeToken = self
            .codec
            .open_json_with(token, &key.bytes)
            .map_err(|_| refused("it does not belong to this call, or it has expired"))?;
        let taken = self.calls.lock().waiting.remove(&token_contents.call);
        let SuspendedCall { since, call, .. } =
            taken.ok_or_else(|| {
                refused(&format!(
                    "it was used already, or the call was cancelled; at most {MAX_SUSPENDED_CALLS_OF_CLIENT} calls of one client can wait"
                ))
            })?;
        if since.elapsed() > SUSPENSION_TIME {
            return Err(refused("it has expired"));
        }
        Ok(call)
    }

    /// Cancels all suspended calls.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut self.calls.lock().waiting);
        drop(all);
    }
}

/// Returns the error for a token that is not accepted.
pub(crate) fn refused(why: &str) -> ErrorData {
    ErrorData::invalid_params(format!("`requestState` is not accepted: {why}"), None)
}

impl<T> CallTable<T> {
    /// Removes expired and excess calls. The caller drops them outside of the lock.
    fn make_room(&mut self, client: &str) -> Vec<T> {
        let old: Vec<u64> = self
            .waiting
            .iter()
            .filter(|(_, call)| call.since.elapsed() > SUSPENSION_TIME)
            .map(|(number, _)| *number)
            .collect();
        let mut out: Vec<T> =
            old.iter().filter_map(|number| Some(self.waiting.remove(number)?.call)).collect();
        let of_client = |waiting: &HashMap<u64, SuspendedCall<T>>| {
            waiting.values().filter(|call| *call.key.client == *client).count()
        };
        while of_client(&self.waiting) >= MAX_SUSPENDED_CALLS_OF_CLIENT
            || self.waiting.len() >= MAX_SUSPENDED_CALLS
        {
            let is_own = of_client(&self.waiting) >= MAX_SUSPENDED_CALLS_OF_CLIENT;
            let oldest = self
                .waiting
                .iter()
                .filter(|(_, call)| !is_own || *call.key.client == *client)
                .map(|(n, _)| *n)
                .min();
            match oldest.and_then(|number| self.waiting.remove(&number)) {
                Some(call) => out.push(call.call),
                None => break,
            }
        }
        out
    }
}
