//! The limits on open requests and request rates of each client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolcrib_app::sections::serve::ServeLimits;
use toolcrib_exec::flow::ProcessCount;

/// The maximum number of tracked clients. Beyond it, idle clients without open requests are dropped.
const MAX_CLIENTS: usize = 4096;

/// The key by which requests are limited: a client with a token, or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClientKey {
    Client(Arc<str>),
    Address(IpAddr),
}

/// A limiter of the open requests and the request rate of each client.
pub(super) struct RateLimiter {
    at_once: usize,
    /// The rate of all processes together.
    per_second: f64,
    processes: ProcessCount,
    usage: Arc<Mutex<HashMap<ClientKey, ClientUsage>>>,
}

struct ClientUsage {
    open: usize,
    /// The number of requests that are permitted now.
    left: f64,
    since: Instant,
}

/// A permit for an open request, returned when this is dropped.
pub(super) struct RequestPermit {
    key: ClientKey,
    usage: Arc<Mutex<HashMap<ClientKey, ClientUsage>>>,
}

impl RateLimiter {
    pub(super) fn new(limits: &ServeLimits, processes: ProcessCount) -> Self {
        Self {
            at_once: limits.requests_at_once.get(),
            per_second: limits.requests_per_second.get().into(),
            processes,
            usage: Arc::default(),
        }
    }

    /// Returns the number of open requests.
    #[cfg(test)]
    pub(super) fn open(&self) -> usize {
        self.usage.lock().values().map(|usage| usage.open).sum()
    }

    /// Acquires a permit, or returns the time after which to retry.
    pub(super) fn acquire(&self, key: ClientKey) -> Result<RequestPermit, Duration> {
        let now = Instant::now();
        let rate = self.per_second / f64::from(self.processes.get());
        // Below one request, none would ever be admitted.
        let most = (rate * 2.0).max(1.0);
        let mut all = self.usage.lock();
        if all.len() >= MAX_CLIENTS && !all.contains_key(&key) {
            all.retain(|_, usage| usage.open > 0 || usage.filled(now, rate, most) < most);
            if all.len() >= MAX_CLIENTS {
                return Err(Duration::from_secs(1));
            }
        }
        let usage = all.entry(key.clone()).or_insert(ClientUsage { open: 0, left: most, since: now });
        usage.left = usage.filled(now, rate, most);
        usage.since = now;
        if usage.open >= self.at_once {
            return Err(Duration::from_secs(1));
        }
        if usage.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - usage.left) / rate));
        }
        usage.left -= 1.0;
        usage.open += 1;
        drop(all);
        Ok(RequestPermit { key, usage: Arc::clone(&self.usage) })
    }
}

impl ClientUsage {
    fn filled(&self, now: Instant, per_second: f64, most: f64) -> f64 {
        (self.left + now.duration_since(self.since).as_secs_f64() * per_second).min(most)
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let mut all = self.usage.lock();
        if let Some(usage) = all.get_mut(&self.key) {
            usage.open = usage.open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> ClientKey {
        ClientKey::Address(IpAddr::from([127, 0, 0, number]))
    }

    fn rate_limiter(at_once: usize, per_second: u32) -> RateLimiter {
        let mut limits = ServeLimits::default();
        limits.requests_at_once = at_once.try_into().unwrap();
        limits.requests_per_second = per_second.try_into().unwrap();
        RateLimiter::new(&limits, ProcessCount::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_comes_too_often_waits_and_others_do_not() {
        let rate_limiter = rate_limiter(100, 2);
        for _ in 0..4 {
            drop(rate_limiter.acquire(key(1)).ok().unwrap());
        }
        let wait = rate_limiter.acquire(key(1)).err().unwrap();
        assert_eq!(wait, Duration::from_millis(500));
        assert!(rate_limiter.acquire(key(2)).is_ok());
        tokio::time::advance(wait).await;
        assert!(rate_limiter.acquire(key(1)).is_ok());
        assert!(rate_limiter.acquire(key(1)).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn each_of_several_processes_admits_its_share() {
        let rate_limiter = rate_limiter(100, 6);
        rate_limiter.processes.set(3);
        for _ in 0..4 {
            drop(rate_limiter.acquire(key(1)).ok().unwrap());
        }
        assert_eq!(rate_limiter.acquire(key(1)).err().unwrap(), Duration::from_millis(500));
        rate_limiter.processes.set(100);
        tokio::time::advance(Duration::from_mins(1)).await;
        assert!(rate_limiter.acquire(key(1)).is_ok(), "each process admits one request at least");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_has_only_so_many_requests_open() {
        let rate_limiter = rate_limiter(2, 1000);
        let first = rate_limiter.acquire(key(1)).ok().unwrap();
        let _second = rate_limiter.acquire(key(1)).ok().unwrap();
        assert!(rate_limiter.acquire(key(1)).is_err());
        drop(first);
        assert!(rate_limiter.acquire(key(1)).is_ok());
    }
}
