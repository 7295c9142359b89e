//! Calls that wait until their client comes back with an answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ErrorData, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use toolcrib_model::{JsonObject, canonical_json};

use crate::Error;
use crate::client::Client;
use crate::random::random;

/// The most calls that wait for an answer. The oldest is given up for one more.
pub const MAX_PARKED_CALLS: usize = 1024;

/// The most of them that one client has.
const MAX_PARKED_CALLS_OF_CLIENT: usize = 128;

/// How long a call waits for its client.
const PARKED_FOR: Duration = super::APPROVAL_PATIENCE;

/// Calls that wait, and the tokens by which their clients come back. A token is good once, for the same call of the same client.
pub(crate) struct Parked<T> {
    codec: RequestStateCodec,
    calls: Mutex<Calls<T>>,
}

struct Calls<T> {
    last: u64,
    waiting: HashMap<u64, (Instant, Arc<str>, T)>,
}

/// What a token is bound to: who makes which request.
pub(crate) struct Key {
    client: Arc<str>,
    bytes: Vec<u8>,
}

/// What a token says.
#[derive(Serialize, Deserialize)]
struct Ticket {
    call: u64,
}

impl Key {
    pub(crate) fn new(
        client: &Client,
        session: &str,
        method: &str,
        name: &str,
        arguments: &JsonObject,
    ) -> Self {
        let mut hash = Sha256::new();
        // Lengths first, so that no two keys are written alike.
        for part in [&client.owner, session, method, name] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        hash.update(canonical_json(&serde_json::Value::Object(arguments.clone())));
        Self { client: Arc::clone(&client.owner), bytes: hash.finalize().to_vec() }
    }
}

impl<T> Parked<T> {
    pub(crate) fn new() -> Result<Self, Error> {
        let key = random::<{ RequestStateCodec::MIN_KEY_LENGTH }>()?;
        let codec = RequestStateCodec::try_new(key).map_err(|_| Error::NoRandomness)?;
        Ok(Self { codec, calls: Mutex::new(Calls { last: 0, waiting: HashMap::new() }) })
    }

    /// Keeps a call, and returns the token by which its client comes back to it.
    pub(crate) fn park(&self, key: &Key, call: T) -> Result<String, ErrorData> {
        let given_up;
        let number = {
            let mut calls = self.calls();
            given_up = calls.make_room(&key.client);
            calls.last += 1;
            let number = calls.last;
            calls.waiting.insert(number, (Instant::now(), key.client.clone(), call));
            number
        };
        drop(given_up);
        let options = SealOptions::new().associated_data(&key.bytes).ttl(PARKED_FOR);
        self.codec
            .seal_json_with(&Ticket { call: number }, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    /// The call of a token, which is used up.
    pub(crate) fn take(&self, key: &Key, token: &str) -> Result<T, ErrorData> {
        let refused =
            |why: &str| ErrorData::invalid_params(format!("`requestState` is not accepted: {why}"), None);
        let ticket: Ticket = self
            .codec
            .open_json_with(token, &key.bytes)
            .map_err(|_| refused("it is not one that was given out for this very call, or it is too old"))?;
        let taken = self.calls().waiting.remove(&ticket.call);
        let (since, _, call) =
            taken.ok_or_else(|| {
                refused(&format!(
                    "it was used already, or the call was given up; of one client {MAX_PARKED_CALLS_OF_CLIENT} calls wait at most"
                ))
            })?;
        if since.elapsed() > PARKED_FOR {
            return Err(refused("it is too old"));
        }
        Ok(call)
    }

    /// Gives up all that wait.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut self.calls().waiting);
        drop(all);
    }

    fn calls(&self) -> MutexGuard<'_, Calls<T>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Calls<T> {
    /// Takes out what is too old or too much, for whoever lets it go outside of the lock.
    fn make_room(&mut self, client: &str) -> Vec<T> {
        let old: Vec<u64> = self
            .waiting
            .iter()
            .filter(|(_, (since, ..))| since.elapsed() > PARKED_FOR)
            .map(|(number, _)| *number)
            .collect();
        let mut out: Vec<T> = old.iter().filter_map(|number| Some(self.waiting.remove(number)?.2)).collect();
        let of_client = |waiting: &HashMap<u64, (Instant, Arc<str>, T)>| {
            waiting.values().filter(|(_, owner, _)| **owner == *client).count()
        };
        while of_client(&self.waiting) >= MAX_PARKED_CALLS_OF_CLIENT || self.waiting.len() >= MAX_PARKED_CALLS
        {
            let is_own = of_client(&self.waiting) >= MAX_PARKED_CALLS_OF_CLIENT;
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
