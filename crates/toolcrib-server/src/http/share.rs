//! The limits on open requests and request rates of each client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_runtime::ServeLimits;

/// The maximum number of tracked clients. Beyond it, idle clients without open requests are dropped.
const MAX_CLIENTS: usize = 4096;

/// The key by which requests are limited: a client with a token, or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sharer {
    Client(Arc<str>),
    Address(IpAddr),
}

/// A limiter of the open requests and the request rate of each client.
pub(super) struct Shares {
    at_once: usize,
    per_second: f64,
    taken: Arc<Mutex<HashMap<Sharer, Taken>>>,
}

struct Taken {
    open: usize,
    /// The number of requests that are permitted now.
    left: f64,
    since: Instant,
}

/// A permit for an open request, returned when this is dropped.
pub(super) struct Share {
    sharer: Sharer,
    taken: Arc<Mutex<HashMap<Sharer, Taken>>>,
}

impl Shares {
    pub(super) fn new(limits: &ServeLimits) -> Self {
        Self {
            at_once: limits.requests_at_once.get(),
            per_second: limits.requests_per_second.get().into(),
            taken: Arc::default(),
        }
    }

    /// Returns the number of open requests.
    #[cfg(test)]
    pub(super) fn open(&self) -> usize {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).values().map(|taken| taken.open).sum()
    }

    /// Acquires a permit, or returns the time after which to retry.
    pub(super) fn take(&self, sharer: Sharer) -> Result<Share, Duration> {
        let now = Instant::now();
        let most = self.per_second * 2.0;
        let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_CLIENTS && !all.contains_key(&sharer) {
            let rate = self.per_second;
            all.retain(|_, taken| taken.open > 0 || taken.filled(now, rate, most) < most);
            if all.len() >= MAX_CLIENTS {
                return Err(Duration::from_secs(1));
            }
        }
        let taken = all.entry(sharer.clone()).or_insert(Taken { open: 0, left: most, since: now });
        taken.left = taken.filled(now, self.per_second, most);
        taken.since = now;
        if taken.open >= self.at_once {
            return Err(Duration::from_secs(1));
        }
        if taken.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - taken.left) / self.per_second));
        }
        taken.left -= 1.0;
        taken.open += 1;
        drop(all);
        Ok(Share { sharer, taken: Arc::clone(&self.taken) })
    }
}

impl Taken {
    fn filled(&self, now: Instant, per_second: f64, most: f64) -> f64 {
        (self.left + now.duration_since(self.since).as_secs_f64() * per_second).min(most)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = all.get_mut(&self.sharer) {
            taken.open = taken.open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sharer(number: u8) -> Sharer {
        Sharer::Address(IpAddr::from([127, 0, 0, number]))
    }

    fn shares(at_once: usize, per_second: u32) -> Shares {
        let (requests_at_once, requests_per_second) =
            (at_once.try_into().unwrap(), per_second.try_into().unwrap());
        Shares::new(&ServeLimits { requests_at_once, requests_per_second, ..ServeLimits::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_comes_too_often_waits_and_others_do_not() {
        let shares = shares(100, 2);
        for _ in 0..4 {
            drop(shares.take(sharer(1)).ok().unwrap());
        }
        let wait = shares.take(sharer(1)).err().unwrap();
        assert_eq!(wait, Duration::from_millis(500));
        assert!(shares.take(sharer(2)).is_ok());
        tokio::time::advance(wait).await;
        assert!(shares.take(sharer(1)).is_ok());
        assert!(shares.take(sharer(1)).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_has_only_so_many_requests_open() {
        let shares = shares(2, 1000);
        let first = shares.take(sharer(1)).ok().unwrap();
        let _second = shares.take(sharer(1)).ok().unwrap();
        assert!(shares.take(sharer(1)).is_err());
        drop(first);
        assert!(shares.take(sharer(1)).is_ok());
    }
}
