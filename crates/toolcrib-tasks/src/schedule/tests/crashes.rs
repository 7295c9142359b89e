//! What survives: processes that end at any statement of the store, and stores that refuse one.

use std::collections::BTreeSet;

use super::faulty::{Fault, FaultyStore};
use super::*;
use crate::store::{Change, Record, SqliteStore};

/// What was acknowledged.
#[derive(Clone, Default)]
struct Acknowledged {
    order: Option<String>,
    sync: Option<String>,
    note: Option<String>,
    cancelled: Option<String>,
}

/// Makes one schedule of each sort, and cancels another.
async fn script(schedules: Schedules, acknowledged: Arc<Mutex<Acknowledged>>) {
    let create = async |when: &str, action: Action| {
        let time = ScheduleTime::Once(crate::time::parse_time(when, &schedules.now(None)).unwrap());
        schedules.create(ScheduleRequest::new(time, action), &context()).await.unwrap().schedule_id
    };
    let order = create("in 1m", call("shop.order")).await;
    acknowledged.lock().order = Some(order);
    let mut request = cron("* * * * *", "UTC", "shop.sync");
    request.max_runs = Some(3);
    let sync = schedules.create(request, &context()).await.unwrap().schedule_id;
    acknowledged.lock().sync = Some(sync);
    let note = create("in 2m", note("Stand up!")).await;
    acknowledged.lock().note = Some(note);
    let gone = create("in 3m", call("shop.machine")).await;
    schedules.cancel(&gone, &context()).await.unwrap();
    acknowledged.lock().cancelled = Some(gone);
}

/// Goes wrong at one statement, starts again, and looks at what is left. `false` where there was no such statement.
async fn goes_wrong(fault: Fault, at: usize) -> bool {
    let mut setup = Setup::at("2026-03-01T09:00:10Z");
    let kept = Arc::clone(&setup.store);
    let store = FaultyStore::new(&kept, fault, at);
    setup.store = store.clone();
    let world = setup.start().await;
    let acknowledged = Arc::new(Mutex::new(Acknowledged::default()));
    let script = tokio::spawn(script(world.schedules.clone(), Arc::clone(&acknowledged)));
    // The process ends there, or has all the time that it needs.
    let _ = tokio::time::timeout(minutes(10), store.ended()).await;
    script.abort();
    world.kill();
    let mut told = Vec::new();
    if fault == Fault::Refused {
        told = world.told().await;
    }

    setup.store = kept;
    let world = setup.start().await;
    pass(minutes(10)).await;
    told.extend(world.told().await);
    let place = format!("{fault:?} at {at}: {told:?}, {:?}", world.seen());
    let Acknowledged { order, sync, note, cancelled } = acknowledged.lock().clone();
    let calls = |id: &str| world.seen().into_iter().filter(|seen| seen.key.starts_with(id)).count();
    assert!(world.seen().iter().filter(|seen| seen.tool == "order").count() <= 1, "ran twice: {place}");
    if let Some(order) = order {
        let status = world.status(&order).await;
        assert_eq!(status.status, ScheduleState::Completed, "{place}");
        let is_unknown = status.last_run.unwrap().outcome == RunOutcome::OutcomeUnknown;
        let is_told = told.iter().any(|told| told.contains(&order) && told.contains("is unknown"));
        assert!(calls(&order) == 1 && !is_unknown || is_unknown && is_told, "lost: {place}");
    }
    if let Some(sync) = sync {
        let own = world.seen().into_iter().filter(|seen| seen.key.starts_with(&sync));
        assert_eq!(own.map(|seen| seen.key).collect::<BTreeSet<_>>().len(), 3, "{place}");
        assert_eq!(world.status(&sync).await.runs, 3, "{place}");
    }
    if note.is_some() {
        assert!(told.iter().any(|told| told == "Stand up!"), "lost: {place}");
    }
    if let Some(cancelled) = cancelled {
        assert_eq!(calls(&cancelled), 0, "{place}");
        assert_eq!(world.status(&cancelled).await.status, ScheduleState::Cancelled, "{place}");
    }
    store.changes() > at
}

#[tokio::test(start_paused = true)]
async fn nothing_acknowledged_is_lost_and_nothing_is_done_twice_wherever_the_process_ends() {
    for fault in [Fault::Refused, Fault::EndsBefore, Fault::EndsBehind] {
        let mut at = 0;
        while goes_wrong(fault, at).await {
            at += 1;
        }
        println!("{fault:?}: at each of {at} statements");
        // Five are acknowledged, and each of six runs is kept at its beginning and at its end.
        assert!(at >= 15, "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_under_way_is_made_again_where_it_may_be_and_is_of_unknown_outcome_otherwise() {
    let setup = Setup::at(START);
    let before = setup.start().await;
    let machine = before.cron("0 10 * * *", "shop.machine").await;
    let mill = before.cron("0 10 * * *", "shop.mill").await;
    pass(minutes(61)).await;
    let last = before.status(&machine).await.last_run.unwrap();
    assert_eq!((last.outcome, last.ended), (RunOutcome::Running, None), "kept before it runs");
    before.kill();

    let world = setup.start().await;
    assert_eq!(world.outcome(&machine).await, RunOutcome::OutcomeUnknown, "at once");
    settle().await;
    let keys: Vec<_> = world.seen().into_iter().map(|seen| (seen.tool, seen.key)).collect();
    let of_mill = ("mill", format!("{mill}@2026-03-01T10:00:00Z"));
    assert_eq!(keys.iter().filter(|key| **key == of_mill).count(), 2, "{keys:?}");
    assert_eq!(keys.len(), 3, "{keys:?}");
    let told = world.told().await.join("\n").replace(&machine, "schedule_1");
    insta::assert_snapshot!(told);
    world.end.notify_one();
    settle().await;
    assert_eq!((world.outcome(&mill).await, world.status(&mill).await.runs), (RunOutcome::Succeeded, 1));
    pass(minutes(60 * 24)).await;
    assert_eq!(world.status(&machine).await.runs, 2, "its next run is another");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_the_program_each_time_is_not_tried_for_ever() {
    let setup = Setup::at(START);
    let world = setup.start().await;
    let id = world.once("in 1m", call("shop.mill")).await;
    pass(minutes(2)).await;
    world.kill();
    for _ in 0..4 {
        let world = setup.start().await;
        settle().await;
        world.kill();
    }
    let world = setup.start().await;
    assert_eq!((world.count(), world.outcome(&id).await), (3, RunOutcome::OutcomeUnknown));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_kept_runs_says_so_and_is_kept_when_it_can_be() {
    let mut setup = Setup::at(START);
    let kept = Arc::clone(&setup.store);
    let store = FaultyStore::sound(&kept);
    setup.store = store.clone();
    let world = setup.start().await;
    store.set_full(true);
    let created = world.schedules.create(cron("0 * * * *", "UTC", "shop.order"), &context()).await.unwrap();
    assert!(created.note.unwrap().contains("no room left"));
    let id = created.schedule_id;
    pass(minutes(61)).await;
    assert_eq!(world.count(), 1, "nobody repeats what the store does not know");
    store.set_full(false);
    pass(minutes(2)).await;
    assert_eq!(kept.load(RecordKind::Schedule).await.unwrap().len(), 1);
    // From here on it is known, and a run that cannot be kept waits.
    store.set_full(true);
    pass(minutes(60)).await;
    assert_eq!(world.count(), 1);
    store.set_full(false);
    pass(minutes(1)).await;
    assert_eq!((world.count(), world.status(&id).await.runs), (2, 2));
    store.set_full(true);
    let cancelled = world.schedules.cancel(&id, &context()).await.unwrap();
    assert!(cancelled.note.unwrap().contains("may run again"));
}

#[tokio::test(start_paused = true)]
async fn what_another_version_has_written_is_left_as_it_is_and_told() {
    let setup = Setup::at(START);
    let before = setup.start().await;
    let id = before.cron("0 * * * *", "shop.sync").await;
    before.kill();
    let mut newer = setup.store.load(RecordKind::Schedule).await.unwrap().pop().unwrap();
    (newer.id, newer.body["form"]) = ("schedule_newer".into(), json!(2));
    let other = Record { id: "schedule_other".into(), body: json!({"at": "dawn"}), ..newer.clone() };
    setup.store.apply(vec![Change::Put(newer.clone()), Change::Put(other.clone())]).await.unwrap();
    let world = setup.start().await;
    pass(minutes(61)).await;
    assert_eq!((world.count(), world.outcome(&id).await), (1, RunOutcome::Succeeded));
    let aside = world.schedules.unreadable();
    assert_eq!(aside.keys().collect::<Vec<_>>(), ["schedule_newer", "schedule_other"]);
    assert!(aside["schedule_newer"].contains("format 2"), "{aside:?}");
    let kept = setup.store.load(RecordKind::Schedule).await.unwrap();
    assert!(kept.contains(&newer) && kept.contains(&other), "{kept:?}");
}

#[tokio::test(start_paused = true)]
async fn a_record_with_a_field_of_a_newer_program_is_read() {
    let setup = Setup::at(START);
    let before = setup.start().await;
    let id = before.cron("0 * * * *", "shop.sync").await;
    pass(minutes(61)).await;
    before.kill();
    let mut record = setup.store.load(RecordKind::Schedule).await.unwrap().pop().unwrap();
    record.body["added"] = json!(true);
    record.body["last_run"]["added"] = json!(true);
    setup.store.apply(vec![Change::Put(record)]).await.unwrap();
    let world = setup.start().await;
    pass(minutes(60)).await;
    assert_eq!((world.count(), world.outcome(&id).await), (2, RunOutcome::Succeeded));
    assert_eq!(world.schedules.unreadable().len(), 0);
}

/// Waits for something that happens by itself.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    while !is_so().await {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn three_days_after_a_kill_the_file_says_what_is_to_be_done() {
    let folder = tempfile::tempdir().unwrap();
    let open =
        async |name: &str| Arc::new(SqliteStore::open(folder.path().join(name), false).await.unwrap().store);
    let store = open("tasks.db").await;
    let mut setup = Setup { store: store.clone(), ..Setup::at(START) };
    let before = setup.start().await;
    let hourly = before.cron("0 * * * *", "shop.sync").await;
    let machine = before.once("2026-03-01T09:00:00Z", call("shop.machine")).await;
    let gone = before.cron("0 * * * *", "shop.order").await;
    before.schedules.cancel(&gone, &context()).await.unwrap();
    until(async || before.count() == 1).await;
    // As a killed process leaves it: nothing is told that it ends.
    for part in ["", "-wal"] {
        let name = format!("tasks.db{part}");
        std::fs::copy(folder.path().join(&name), folder.path().join(format!("again-{name}"))).unwrap();
    }
    before.kill();
    store.close().await;

    setup.store = open("again-tasks.db").await;
    setup.clock.jump(hours(24 * 3) + SignedDuration::from_mins(10));
    let world = setup.start().await;
    until(async || world.status(&hourly).await.last_run.is_some_and(|last| last.ended.is_some())).await;
    let status = world.status(&hourly).await;
    assert_eq!((status.runs, status.missed), (1, 71));
    assert_eq!(world.outcome(&machine).await, RunOutcome::OutcomeUnknown);
    until(async || world.schedules.status(&gone, &context()).await.is_err()).await;
    assert_eq!(world.count(), 2, "{:?}", world.seen());
    world.kill();
    setup.store.close().await;
}
