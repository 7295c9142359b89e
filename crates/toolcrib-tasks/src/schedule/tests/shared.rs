//! Two processes with one store.

use std::collections::BTreeSet;

use super::faulty::FaultyStore;
use super::*;
use crate::store::StoreError;

fn shared() -> Setup {
    Setup { is_shared: true, ..Setup::at(START) }
}

#[tokio::test(start_paused = true)]
async fn each_run_is_made_by_one_of_them() {
    let setup = shared();
    let one = setup.start().await;
    let id = one.cron("* * * * *", "shop.order").await;
    let two = setup.start().await;
    pass(minutes(10) + Duration::from_secs(30)).await;
    let keys: BTreeSet<String> = one.seen().into_iter().map(|seen| seen.key).collect();
    assert_eq!((one.count(), keys.len()), (10, 10), "{:?}", one.seen());
    for world in [&one, &two] {
        let status = world.status(&id).await;
        assert_eq!((status.runs, status.missed, status.skipped), (10, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_has_made_or_cancelled_the_other_knows() {
    let setup = shared();
    let (one, two) = (setup.start().await, setup.start().await);
    let kept = one.cron("*/5 * * * *", "shop.order").await;
    let gone = one.cron("*/5 * * * *", "shop.sync").await;
    pass(minutes(2)).await;
    let cancelled = two.schedules.cancel(&gone, &context()).await.unwrap();
    assert_eq!((cancelled.status, cancelled.note), (ScheduleState::Cancelled, None));
    assert_eq!(one.status(&gone).await.status, ScheduleState::Cancelled);
    one.kill();
    pass(minutes(9)).await;
    let seen: Vec<_> = two.seen().into_iter().map(|seen| seen.key).collect();
    assert_eq!(seen, [format!("{kept}@2026-03-01T09:05:00Z"), format!("{kept}@2026-03-01T09:10:00Z")]);
    // What is over is forgotten by both.
    pass(minutes(60 * 25)).await;
    assert!(setup.store.get(RecordKind::Schedule, &gone).await.unwrap().is_none());
    assert!(two.schedules.status(&gone, &context()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_schedule_whose_call_waits_for_a_person_says_so_in_each_process_until_it_is_answered() {
    let (approver, yes) = testing::slow_approver();
    let rules = json!({"default_policy": "grant", "approve": [{"module": "shop", "actions": ["order"]}]});
    let setup = Setup { rules, approver, ..shared() };
    let (one, two) = (setup.start().await, setup.start().await);
    let id = one.cron("*/2 * * * *", "shop.order").await;
    pass(minutes(2) + Duration::from_secs(1)).await;
    for world in [&one, &two] {
        let status = world.status(&id).await;
        assert_eq!((status.status, world.count()), (ScheduleState::WaitingForApproval, 0));
        assert_eq!(status.note.as_deref(), Some("its run waits for a person to approve a call"));
        assert_eq!(json!(world.schedules.all().await[0].task)["status"], "waiting_for_approval");
    }
    yes.notify_one();
    settle().await;
    for world in [&one, &two] {
        let status = world.status(&id).await;
        assert_eq!((status.status, status.note, world.count()), (ScheduleState::Active, None, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn while_one_runs_it_the_other_does_not_however_long_it_takes() {
    let setup = shared();
    let one = setup.start().await;
    let id = one.cron("*/2 * * * *", "shop.machine").await;
    let two = setup.start().await;
    pass(minutes(9)).await;
    assert_eq!(one.count(), 1, "{:?}", one.seen());
    assert_eq!(two.status(&id).await.last_run.unwrap().outcome, RunOutcome::Running);
}

#[tokio::test(start_paused = true)]
async fn when_one_ends_in_the_middle_of_a_run_the_other_takes_it_up() {
    let setup = shared();
    let store = FaultyStore::sound(&setup.store);
    let one = Setup { store: store.clone(), ..shared() };
    let one = Setup { clock: Arc::clone(&setup.clock), seen: Arc::clone(&setup.seen), ..one }.start().await;
    let machine = one.once("in 1m", call("shop.machine")).await;
    let mill = one.once("in 1m", call("shop.mill")).await;
    pass(minutes(1) + Duration::from_secs(1)).await;
    assert_eq!(one.count(), 2);
    let two = setup.start().await;
    pass(minutes(2)).await;
    assert_eq!(two.count(), 2, "the other still has them");
    store.end_process();
    pass(minutes(2)).await;
    let keys: Vec<String> = two.seen().into_iter().skip(2).map(|seen| seen.key).collect();
    assert_eq!(keys, [format!("{mill}@2026-03-01T09:01:00Z")]);
    assert_eq!(two.outcome(&machine).await, RunOutcome::OutcomeUnknown);
    let told = two.told().await;
    assert!(told.len() == 1 && told[0].contains(&machine), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn one_that_the_other_runs_is_cancelled_by_a_mark_that_it_finds() {
    let setup = shared();
    let one = setup.start().await;
    let id = one.cron("* * * * *", "shop.machine").await;
    let two = setup.start().await;
    pass(minutes(1) + Duration::from_secs(1)).await;
    let is_ones = one.schedules.inner.ledger.get(&id).unwrap().is_running();
    let (runner, other) = if is_ones { (&one, &two) } else { (&two, &one) };
    let cancelled = other.schedules.cancel(&id, &context()).await.unwrap();
    assert_eq!(cancelled.status, ScheduleState::Cancelled);
    assert_eq!(cancelled.note.as_deref(), Some("another process runs it, and will cancel the run"));
    pass(Duration::from_secs(20)).await;
    for world in [runner, other] {
        let status = world.status(&id).await;
        assert_eq!(status.status, ScheduleState::Cancelled);
        assert_eq!(status.last_run.unwrap().outcome, RunOutcome::Cancelled);
    }
    pass(minutes(10)).await;
    assert_eq!(one.count(), 1);
    let kept: Vec<String> =
        setup.store.load(RecordKind::Schedule).await.unwrap().into_iter().map(|record| record.id).collect();
    assert_eq!(kept, [id], "the mark is gone");
}

#[tokio::test(start_paused = true)]
async fn what_a_process_writes_to_a_schedule_that_it_has_lost_is_refused() {
    let setup = shared();
    let one = setup.start().await;
    let id = one.cron("0 10 * * *", "shop.order").await;
    let ledger = &one.schedules.inner.ledger;
    let live = ledger.get(&id).unwrap();
    ledger.save(&live).await.unwrap();
    assert!(setup.store.lease(&id, "another", Duration::from_mins(1)).await.unwrap());
    let refused = ledger.save(&live).await;
    assert!(matches!(refused, Err(StoreError::LeaseLost { .. })), "{refused:?}");
    assert!(live.unsaved().is_none(), "the record of the other one counts");
}
