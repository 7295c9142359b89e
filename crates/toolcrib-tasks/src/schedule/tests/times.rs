//! Moments: the days on which clocks are set, clocks that jump, and time in which nothing ran.

use super::*;
use crate::schedule::time::{MAX_COUNTED, format_moment};

#[tokio::test(start_paused = true)]
async fn a_single_moment_is_one_run_within_fifty_milliseconds() {
    let world = World::new().await;
    let id = world.once("in 5m", call("shop.order")).await;
    pass(minutes(4)).await;
    assert_eq!(world.count(), 0);
    pass(Duration::from_millis(60_050)).await;
    let seen = world.seen();
    let due: Timestamp = "2026-03-01T09:05:00Z".parse().unwrap();
    assert!(seen[0].at.duration_since(due) <= SignedDuration::from_millis(50), "{seen:?}");
    assert_eq!(seen[0].key, format!("{id}@2026-03-01T09:05:00Z"));
    pass(minutes(600)).await;
    let status = world.status(&id).await;
    assert_eq!((world.count(), status.status, status.runs), (1, ScheduleState::Completed, 1));
    assert_eq!(
        world.told().await,
        [format!("The schedule {id} (tool_call: shop.order) has run: {{\"made\":7}}")]
    );
}

/// The times in Paris at which a pattern ran within so many hours.
async fn in_paris(start: &str, pattern: &str, hours: u64) -> Vec<String> {
    let world = Setup::at(start).start().await;
    world.create(cron(pattern, "Europe/Paris", "shop.sync")).await;
    pass(minutes(60 * hours)).await;
    let paris = TimeZone::get("Europe/Paris").unwrap();
    world.seen().iter().map(|seen| format_moment(seen.at, &paris)).collect()
}

#[tokio::test(start_paused = true)]
async fn when_clocks_go_forward_the_hour_that_is_skipped_is_made_up_for_once() {
    let runs = in_paris("2026-03-28T00:00:00Z", "30 2 * * *", 72).await;
    assert_eq!(runs, ["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]);
}

#[tokio::test(start_paused = true)]
async fn when_clocks_go_back_the_hour_that_comes_twice_is_one_run() {
    let runs = in_paris("2026-10-24T22:00:00Z", "30 2 * * *", 48).await;
    assert_eq!(runs, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]);
    let every_half_hour = in_paris("2026-10-24T23:59:00Z", "*/30 * * * *", 3).await;
    assert_eq!(every_half_hour.len(), 6, "an hour more than clocks show: {every_half_hour:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leap_day_comes_in_leap_years() {
    let setup = Setup::at("2028-02-28T09:00:00Z");
    let world = setup.start().await;
    let id = world.cron("0 9 29 2 *", "shop.sync").await;
    pass(minutes(60 * 24)).await;
    settle().await;
    assert_eq!(world.times(), ["2028-02-29T09:00:00Z"]);
    assert_eq!(world.status(&id).await.next_runs[0], "2032-02-29T09:00:00+00:00");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_forward_is_seen_within_fifteen_seconds() {
    let world = World::new().await;
    world.once("in 50m", call("shop.order")).await;
    pass(minutes(1)).await;
    world.clock.jump(hours(1));
    pass(Duration::from_secs(16)).await;
    assert_eq!(world.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_moment_has_two_runs_where_a_clock_is_set_back_by_an_hour() {
    let world = World::new().await;
    let id = world.cron("0 * * * *", "shop.sync").await;
    pass(minutes(61)).await;
    world.clock.jump(hours(-1));
    pass(minutes(62)).await;
    assert_eq!(world.count(), 1, "ten o'clock comes a second time, and has been");
    pass(minutes(60)).await;
    let keys: Vec<String> = world.seen().into_iter().map(|seen| seen.key).collect();
    assert_eq!(keys, [format!("{id}@2026-03-01T10:00:00Z"), format!("{id}@2026-03-01T11:00:00Z")]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_a_year_ahead_and_is_set_right_does_not_stop_a_pattern_for_a_year() {
    let world = World::new().await;
    world.cron("0 * * * *", "shop.sync").await;
    world.clock.jump(hours(24 * 365));
    pass(minutes(61)).await;
    let before = world.count();
    world.clock.jump(hours(-24 * 365));
    pass(minutes(121)).await;
    assert_eq!(world.count() - before, 2);
}

#[tokio::test(start_paused = true)]
async fn after_three_days_down_the_last_run_is_made_and_the_others_are_counted() {
    let setup = Setup::at(START);
    let before = setup.start().await;
    let hourly = before.cron("0 * * * *", "shop.sync").await;
    let daily = before.cron("0 12 * * *", "shop.sync").await;
    let once = before.once("tomorrow at 9am", call("shop.order")).await;
    before.kill();
    setup.clock.jump(hours(24 * 3) + SignedDuration::from_mins(30));
    let world = setup.start().await;
    settle().await;
    let seen = world.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(
        seen[0].key,
        format!("{hourly}@2026-03-04T09:00:00Z"),
        "half an hour late, and within an hour"
    );
    let counts = async |id: &str| {
        let status = world.status(id).await;
        (status.status, status.runs, status.missed)
    };
    assert_eq!(counts(&hourly).await, (ScheduleState::Active, 1, 71));
    assert_eq!(counts(&daily).await, (ScheduleState::Active, 0, 3), "it is too late for the last of them");
    assert_eq!(counts(&once).await, (ScheduleState::Completed, 0, 1));
    let told = world.told().await;
    assert!(told.iter().any(|told| told.contains(&once) && told.contains("was not run")), "{told:?}");
    assert_eq!(world.status(&daily).await.next_runs[0], "2026-03-04T12:00:00+00:00");
}

#[tokio::test(start_paused = true)]
async fn how_late_a_run_may_be_is_a_setting_of_the_schedule_within_bounds() {
    let setup = Setup::at(START);
    let before = setup.start().await;
    let with = async |catch_up: u64| {
        let mut request = cron("0 12 * * *", "UTC", "shop.sync");
        request.catch_up = Some(Duration::from_secs(catch_up));
        before.create(request).await
    };
    let (patient, strict, endless) = (with(7200).await, with(0).await, with(u64::MAX).await);
    before.kill();
    setup.clock.jump(hours(4) + SignedDuration::from_mins(30));
    let world = setup.start().await;
    settle().await;
    let counts = async |id: &str| {
        let status = world.status(id).await;
        (status.catch_up, status.runs, status.missed)
    };
    assert_eq!(counts(&patient).await, (7200, 1, 0));
    assert_eq!(counts(&strict).await, (60, 0, 1));
    assert_eq!(counts(&endless).await, (604_800, 1, 0));
}

#[test]
fn the_last_of_very_many_moments_is_found_and_not_by_counting_all() {
    let ScheduleRequest { time, .. } = cron("*/10 * * * * *", "Europe/Paris", "shop.sync");
    let first: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    let now: Timestamp = "2026-03-29T01:00:07Z".parse().unwrap();
    let (latest, count) = time.latest(first, now);
    assert_eq!((latest.to_string().as_str(), count), ("2026-03-29T01:00:00Z", MAX_COUNTED));
    let few: Timestamp = "2026-03-29T00:59:30Z".parse().unwrap();
    assert_eq!(time.latest(few, now), ("2026-03-29T01:00:00Z".parse().unwrap(), 4));
}

#[tokio::test(start_paused = true)]
async fn what_never_comes_has_passed_or_comes_too_often_is_refused() {
    let world = World::new().await;
    let refused = async |time: ScheduleTime| {
        let request = ScheduleRequest::new(time, note("x"));
        let error = world.schedules.create(request, &context()).await.unwrap_err();
        error.to_string()
    };
    let at = |text: &str| ScheduleTime::Once(text.parse().unwrap());
    let said = [
        refused(at("2026-03-01T08:58:59+00:00[UTC]")).await,
        refused(cron("* * * * * *", "UTC", "x").time).await,
        refused(cron("0,2 0 12 29 2 *", "UTC", "x").time).await,
    ];
    insta::assert_snapshot!(said.join("\n"));
    // Whoever wrote it has taken a moment.
    let just_now = ScheduleRequest::new(at("2026-03-01T08:59:30+00:00[UTC]"), note("now"));
    world.create(just_now).await;
    settle().await;
    assert_eq!(world.told().await, ["now"]);
}
