//! Two processes that share a store.

use std::time::Duration;

use super::*;

async fn office(plant: &Arc<Plant>, store: &Arc<dyn Store>) -> Office {
    let (plant, store) = (Arc::clone(plant), Arc::clone(store));
    Setup { plant, store, is_shared: true, ..Setup::default() }.open().await
}

#[tokio::test(start_paused = true)]
async fn each_check_is_made_by_one_of_them_and_the_other_goes_on_when_it_is_gone() {
    let (plant, store) = (Arc::<Plant>::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let one = office(&plant, &store).await;
    let id = one.start(json!({"interval": 60})).await;
    one.checked(&id, 1).await;
    tokio::time::advance(Duration::from_secs(20)).await;
    let other = office(&plant, &store).await;
    let begun = Instant::now();
    one.checked(&id, 11).await;
    assert!((570..=590).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    assert_eq!(plant.calls(), 11);
    // What one has started, the other learns of.
    let late = one.start(json!({"interval": 60})).await;
    one.checked(&late, 1).await;
    one.services.stop_intake();
    one.watchers.close(Duration::ZERO).await;
    drop(one);
    other.checked(&late, 2).await;
    other.checked(&id, 12).await;
    assert_eq!(plant.most_at_once.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_check_keeps_its_lease_and_who_wants_to_change_it_is_told_to_try_again() {
    let (plant, store) = (Arc::<Plant>::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let one = office(&plant, &store).await;
    let id = one.start(json!({"interval": 5})).await;
    one.checked(&id, 1).await;
    let other = office(&plant, &store).await;
    plant.is_slow.store(true, Ordering::SeqCst);
    while plant.calls() < 2 {
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    // Longer than a lease holds, and shorter than the call may take.
    for _ in 0..50 {
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
    assert_eq!((plant.calls(), plant.most_at_once.load(Ordering::SeqCst)), (2, 1));
    let holder = [&one, &other].into_iter().position(|office| office.live(&id).unwrap().is_running());
    let stranger = if holder == Some(0) { &other } else { &one };
    let error = stranger.watchers.pause(&id, &context()).await.unwrap_err();
    assert_eq!((error.kind, error.hint.as_deref()), (ErrorKind::Unavailable, Some("try again")));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_stopped_or_paused_by_one_is_so_for_the_other() {
    let (plant, store) = (Arc::<Plant>::default(), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let one = office(&plant, &store).await;
    let (stopped, paused) = (one.start(json!({})).await, one.start(json!({})).await);
    one.checked(&stopped, 1).await;
    one.checked(&paused, 1).await;
    let other = office(&plant, &store).await;
    one.watchers.stop(&stopped, &context()).await.unwrap();
    one.watchers.pause(&paused, &context()).await.unwrap();
    let calls = plant.calls();
    let mut turns = other.watchers.inner.ledger.running();
    let is_known = |_: &usize| {
        let is_paused = other.live(&paused).unwrap().task().state == WatcherState::Paused;
        other.live(&stopped).is_none() && is_paused
    };
    turns.wait_for(is_known).await.unwrap();
    assert_eq!(plant.calls(), calls);
    assert_eq!(other.watchers.status(&stopped, &context()).await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(other.status(&paused).await.status, WatcherState::Paused);
    // And one that goes on does so for both.
    one.watchers.unpause(&paused, &context()).await.unwrap();
    one.checked(&paused, 2).await;
    drop(one);
    other.checked(&paused, 3).await;
}
