//! Calls that are suspended until their client returns with an answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{ErrorData, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
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
const SUSPENSION_TIME: Duration = super::elicitation::APPROVAL_PATIENCE;

/// The suspended calls, and the tokens by which their clients resume them. A token is valid once, for the same call of
/// the same client.
pub(crate) struct SuspendedCalls<T> {
    codec: RequestStateCodec,
    calls: Mutex<CallTable<T>>,
}

struct CallTable<T> {
    last: u64,
    waiting: HashMap<u64, (Instant, Arc<str>, T)>,
}

/// The request that a token is bound to, with its client.
pub(crate) struct RequestKey {
    client: Arc<str>,
    bytes: Vec<u8>,
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
        Ok(Self { codec, calls: Mutex::new(CallTable { last: 0, waiting: HashMap::new() }) })
    }

    /// Stores a call and returns the token by which its client resumes it.
    pub(crate) fn suspend(&self, key: &RequestKey, call: T) -> Result<String, ErrorData> {
        let given_up;
        let number = {
            let mut calls = self.calls.lock();
            given_up = calls.make_room(&key.client);
            calls.last += 1;
            let number = calls.last;
            calls.waiting.insert(number, (Instant::now(), key.client.clone(), call));
            number
        };
        drop(given_up);
        let options = SealOptions::new().associated_data(&key.bytes).ttl(SUSPENSION_TIME);
        self.codec
            .seal_json_with(&ResumeToken { call: number }, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// Returns the call of a token and invalidates the token.
    pub(crate) fn resume(&self, key: &RequestKey, token: &str) -> Result<T, ErrorData> {
        let refused =
            |why: &str| ErrorData::invalid_params(format!("`requestState` is not accepted: {why}"), None);
        let token_contents: ResumeToken = self
            .codec
            .open_json_with(token, &key.bytes)
            .map_err(|_| refused("it does not belong to this call, or it has expired"))?;
        let taken = self.calls.lock().waiting.remove(&token_contents.call);
        let (since, _, call) =
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

impl<T> CallTable<T> {
    /// Removes expired and excess calls. The caller drops them outside of the lock.
    fn make_room(&mut self, client: &str) -> Vec<T> {
        let old: Vec<u64> = self
            .waiting
            .iter()
            .filter(|(_, (since, ..))| since.elapsed() > SUSPENSION_TIME)
            .map(|(number, _)| *number)
            .collect();
        let mut out: Vec<T> = old.iter().filter_map(|number| Some(self.waiting.remove(number)?.2)).collect();
        let of_client = |waiting: &HashMap<u64, (Instant, Arc<str>, T)>| {
            waiting.values().filter(|(_, owner, _)| **owner == *client).count()
        };
        while of_client(&self.waiting) >= MAX_SUSPENDED_CALLS_OF_CLIENT
            || self.waiting.len() >= MAX_SUSPENDED_CALLS
        {
            let is_own = of_client(&self.waiting) >= MAX_SUSPENDED_CALLS_OF_CLIENT;
            let oldest = self
                .waiting
                .iter()
                .filter(|(_, (_, owner, _))| !is_own || **owner == *client)
                .map(|(n, _)| *n)
                .min();
            match oldest.and_then(|number| self.waiting.remove(&number)) {
                Some((_, _, call)) => out.push(call),
                None => break,
            }
        }
        out
    }
}
