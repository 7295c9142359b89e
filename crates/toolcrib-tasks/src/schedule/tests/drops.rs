//! Calls of the scheduler whose futures are dropped.

use toolcrib_testkit::dropped_after;

use super::*;

/// The most polls that a call of these tests takes.
const MAX_POLLS: usize = 200;

/// Two processes with one store.
async fn processes() -> (World, World) {
    let setup = Setup { is_shared: true, ..Setup::at(START) };
    (setup.start().await, setup.start().await)
}

async fn known(world: &World) -> Vec<(String, ScheduleState)> {
    let all = world.schedules.all().await.into_iter();
    all.map(|owned| (owned.task.schedule_id, owned.task.status)).collect()
}

/// Ends one process, and counts the runs that the other makes of what is active.
async fn taken_up(one: &World, two: &World) -> usize {
    one.kill();
    let before = two.count();
    pass(minutes(2)).await;
    two.count() - before
}

#[tokio::test(start_paused = true)]
async fn making_a_schedule_that_is_dropped_at_any_await_makes_it_whole_or_not_at_all() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let (one, two) = processes().await;
        let made =
            dropped_after(polls, one.schedules.create(cron("* * * * *", "UTC", "shop.order"), &context()))
                .await;
        settle().await;
        let (here, there) = (known(&one).await, known(&two).await);
        assert_eq!(here, there, "dropped after {polls} polls");
        let runs = taken_up(&one, &two).await;
        assert_eq!(runs, 2 * here.len(), "nothing is kept from the other process after {polls} polls");
        if let Some(made) = made {
            assert_eq!((made.unwrap().schedule_id, ScheduleState::Active), here[0]);
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_schedule_that_is_dropped_at_any_await_cancels_it_whole_or_not_at_all() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let (one, two) = processes().await;
        let id = one.cron("* * * * *", "shop.order").await;
        let cancelled = dropped_after(polls, one.schedules.cancel(&id, &context())).await;
        settle().await;
        let (here, there) = (known(&one).await, known(&two).await);
        assert_eq!(here, there, "dropped after {polls} polls");
        let is_active = here[0].1 == ScheduleState::Active;
        let runs = taken_up(&one, &two).await;
        assert_eq!(runs, if is_active { 2 } else { 0 }, "dropped after {polls} polls");
        if let Some(cancelled) = cancelled {
            assert_eq!((cancelled.unwrap().status, is_active), (ScheduleState::Cancelled, false));
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn looking_at_a_schedule_that_is_dropped_at_any_await_keeps_it_from_nobody() {
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let (one, two) = processes().await;
        let id = two.cron("* * * * *", "shop.order").await;
        one.schedules.all().await;
        let seen = dropped_after(polls, one.schedules.status(&id, &context())).await;
        settle().await;
        assert_eq!(taken_up(&one, &two).await, 2, "dropped after {polls} polls");
        if let Some(seen) = seen {
            return assert_eq!(seen.unwrap().status, ScheduleState::Active);
        }
    }
}
