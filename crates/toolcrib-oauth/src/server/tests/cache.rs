//! When keys are fetched, on a clock that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::advance;

use super::super::key_cache::{EARLY_INTERVAL, KEYS_FRESH, KEYS_LIFE, KeyCache, RETRY_INTERVAL};
use super::super::keys::KeySet;
use super::vectors;

const SECOND: Duration = Duration::from_secs(1);

/// An authorization server.
struct Issuer {
    is_up: Mutex<bool>,
    fetches: AtomicUsize,
    /// Each answer takes one.
    answers: Semaphore,
}

fn issuer(answers: usize) -> (Arc<Issuer>, KeyCache) {
    let issuer =
        Issuer { is_up: Mutex::new(true), fetches: AtomicUsize::new(0), answers: Semaphore::new(answers) };
    let issuer = Arc::new(issuer);
    let asked = Arc::clone(&issuer);
    let cache = KeyCache::new(move || {
        let issuer = Arc::clone(&asked);
        async move {
            issuer.fetches.fetch_add(1, Ordering::SeqCst);
            issuer.answers.acquire().await.unwrap().forget();
            if !*issuer.is_up.lock() {
                return Err("it is down".to_owned());
            }
            KeySet::read(json!({"keys": [vectors()["ES256"]["key"]]}).to_string().as_bytes())
        }
    });
    (issuer, cache)
}

impl Issuer {
    fn goes(&self, is_up: bool) {
        *self.is_up.lock() = is_up;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }
}

/// Lets tasks run that can.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn many_who_want_keys_at_once_have_them_fetched_once() {
    let (issuer, cache) = issuer(0);
    let wanting = futures::future::join_all((0..50).map(|_| cache.current()));
    let answering = async {
        settle().await;
        assert_eq!(issuer.fetches(), 1);
        issuer.answers.add_permits(1);
    };
    let (all, ()) = futures::join!(wanting, answering);
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_gives_up_does_not_end_the_fetch() {
    let (issuer, cache) = issuer(0);
    let given_up = tokio::time::timeout(SECOND, cache.current()).await;
    assert!(given_up.is_err());
    issuer.answers.add_permits(1);
    settle().await;
    assert!(cache.current().await.is_ok());
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_again_when_they_are_old_and_used_on_until_they_are_too_old() {
    let (issuer, cache) = issuer(1000);
    let first = cache.current().await.unwrap();
    advance(KEYS_FRESH.saturating_sub(SECOND)).await;
    assert!(Arc::ptr_eq(&first, &cache.current().await.unwrap()));
    assert_eq!(issuer.fetches(), 1);
    advance(SECOND).await;
    // Whoever finds them old does not wait.
    assert!(Arc::ptr_eq(&first, &cache.current().await.unwrap()));
    settle().await;
    let second = cache.current().await.unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    assert_eq!(issuer.fetches(), 2);

    issuer.goes(false);
    advance(KEYS_LIFE.saturating_sub(SECOND)).await;
    assert!(Arc::ptr_eq(&second, &cache.current().await.unwrap()));
    settle().await;
    advance(SECOND).await;
    assert!(cache.current().await.is_err());
    issuer.goes(true);
    advance(RETRY_INTERVAL).await;
    assert!(cache.current().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_is_asked_now_and_then_only() {
    let (issuer, cache) = issuer(1000);
    issuer.goes(false);
    for _ in 0..50 {
        assert!(cache.current().await.is_err());
    }
    assert_eq!(issuer.fetches(), 1);
    issuer.goes(true);
    advance(RETRY_INTERVAL).await;
    assert!(cache.current().await.is_ok());
    assert_eq!(issuer.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn keys_that_nobody_knows_have_the_set_fetched_once_in_an_interval() {
    let (issuer, cache) = issuer(1000);
    let first = cache.current().await.unwrap();
    let asking = futures::future::join_all((0..50).map(|_| cache.after(&first))).await;
    assert!(asking.iter().all(|newer| newer.as_ref().unwrap().is_some()));
    assert_eq!(issuer.fetches(), 2);
    let second = cache.current().await.unwrap();
    for _ in 0..50 {
        assert!(cache.after(&second).await.unwrap().is_none());
    }
    assert_eq!(issuer.fetches(), 2);
    advance(EARLY_INTERVAL).await;
    issuer.goes(false);
    // It cannot be told whether there is such a key.
    for _ in 0..50 {
        assert!(cache.after(&second).await.is_err());
    }
    assert_eq!(issuer.fetches(), 3);
    // The keys that are known serve on.
    assert!(Arc::ptr_eq(&second, &cache.current().await.unwrap()));
    issuer.goes(true);
    advance(RETRY_INTERVAL).await;
    assert!(cache.after(&second).await.unwrap().is_some());
}
