//! Runs: beside each other, in whose name, how many, and how they end.

use toolcrib_model::ErrorKind;

use super::*;
use crate::notifications::MAX_NOTIFICATION_CHARS;
use crate::schedule::transitions::MAX_OVERLAPPING;

#[tokio::test(start_paused = true)]
async fn a_run_that_is_due_while_another_is_under_way_is_skipped_and_counted() {
    let world = World::new().await;
    let id = world.cron("* * * * *", "shop.machine").await;
    pass(minutes(3) + Duration::from_secs(1)).await;
    let status = world.status(&id).await;
    assert_eq!((world.count(), status.runs, status.skipped, status.missed), (1, 1, 2, 0));
    world.end.notify_one();
    pass(minutes(1)).await;
    assert_eq!((world.count(), world.status(&id).await.runs), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn where_one_may_wait_the_last_that_was_due_runs_when_the_other_has_ended() {
    let world = World::new().await;
    let mut request = cron("* * * * *", "UTC", "shop.machine");
    request.overlap = Overlap::QueueOne;
    let id = world.create(request).await;
    pass(minutes(4) + Duration::from_secs(1)).await;
    let status = world.status(&id).await;
    assert_eq!((world.count(), status.runs, status.skipped), (1, 1, 2));
    world.end.notify_one();
    settle().await;
    let seen = world.seen();
    assert_eq!(seen[1].key, format!("{id}@2026-03-01T09:04:00Z"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn where_runs_may_overlap_they_do_up_to_a_bound() {
    let world = World::new().await;
    let mut request = cron("* * * * *", "UTC", "shop.machine");
    request.overlap = Overlap::Allow;
    let id = world.create(request).await;
    pass(minutes(6) + Duration::from_secs(1)).await;
    let status = world.status(&id).await;
    assert_eq!((world.count(), status.skipped), (MAX_OVERLAPPING, 2));
    world.end.notify_waiters();
    settle().await;
    assert_eq!(world.outcome(&id).await, RunOutcome::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn the_last_runs_are_remembered_after_a_restart_with_their_outcomes_and_the_oldest_are_dropped() {
    let mut setup = Setup::at(START);
    let before = setup.start().await;
    let id = before.cron("* * * * *", "shop.order").await;
    pass(minutes(30) + Duration::from_secs(1)).await;
    before.kill();
    setup.rules = json!({"default_policy": "grant", "deny": [{"module": "shop", "actions": ["order"]}]});
    let world = setup.start().await;
    pass(minutes(1)).await;
    let timeline = world.schedules.timeline_of_any(&id).unwrap();
    let at = |minute: i64| START.parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minute);
    let due: Vec<_> = timeline.past.iter().map(|run| run.due).collect();
    assert_eq!(due, (12..=31).map(at).collect::<Vec<_>>());
    let failed: Vec<_> = timeline.past.iter().filter(|run| run.outcome == RunOutcome::Failed).collect();
    assert_eq!(failed.iter().map(|run| run.due).collect::<Vec<_>>(), [at(31)]);
    assert_eq!(timeline.next, (32..=36).map(at).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn after_its_last_run_a_schedule_is_over_and_forgotten_a_day_later() {
    let setup = Setup::at(START);
    let world = setup.start().await;
    let mut request = cron("* * * * *", "UTC", "shop.sync");
    request.max_runs = Some(3);
    let id = world.create(request).await;
    pass(minutes(2) + Duration::from_secs(1)).await;
    assert_eq!(world.status(&id).await.next_runs.len(), 1, "no more are told than there are");
    pass(minutes(60)).await;
    let status = world.status(&id).await;
    assert_eq!((world.count(), status.status, status.runs), (3, ScheduleState::Completed, 3));
    pass(minutes(60 * 24)).await;
    assert_eq!(world.schedules.status(&id, &context()).await.unwrap_err().kind, ErrorKind::NotFound);
    assert!(setup.store.load(RecordKind::Schedule).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn policy_is_asked_when_it_runs_and_a_grant_that_is_gone_stops_the_next_run() {
    let mut setup = Setup::at(START);
    let before = setup.start().await;
    let id = before.cron("0 * * * *", "shop.order").await;
    pass(minutes(61)).await;
    assert_eq!(before.count(), 1);
    before.told().await;
    before.kill();
    setup.rules = json!({"default_policy": "grant", "deny": [{"module": "shop", "actions": ["order"]}]});
    let world = setup.start().await;
    pass(minutes(60)).await;
    assert_eq!((world.count(), world.status(&id).await.runs), (1, 2), "the tool is not reached");
    let last = world.status(&id).await.last_run.unwrap();
    assert_eq!(last.outcome, RunOutcome::Failed);
    assert!(last.detail.unwrap().starts_with("denied"));
    assert!(world.told().await[0].contains("failed: denied"));
    // Nor is one made for what may not be used now, of which nothing is said.
    let request = ScheduleRequest::new(cron("0 * * * *", "UTC", "x").time, call("shop.order"));
    assert_eq!(world.schedules.create(request, &context()).await.unwrap_err().kind, ErrorKind::Denied);
    world.cron("0 * * * *", "shop.sync").await;
}

#[tokio::test(start_paused = true)]
async fn what_would_have_to_be_asked_about_is_not_run_where_nobody_answers() {
    let mut setup = Setup::at(START);
    setup.rules = json!({"default_policy": "grant", "approve": [{"module": "shop", "actions": ["order"]}]});
    let world = setup.start().await;
    let id = world.once("in 5m", call("shop.order")).await;
    pass(minutes(30)).await;
    assert_eq!((world.count(), world.outcome(&id).await), (0, RunOutcome::Failed));
}

#[tokio::test(start_paused = true)]
async fn a_session_and_an_agent_see_and_cancel_only_their_own() {
    let world = World::new().await;
    let id = world.once("in 5m", note("Stand up!")).await;
    for stranger in [CallContext::new("other").with_agent("clerk"), CallContext::new("s").with_agent("other")]
    {
        for error in [
            world.schedules.status(&id, &stranger).await.unwrap_err(),
            world.schedules.cancel(&id, &stranger).await.unwrap_err(),
        ] {
            assert_eq!(error.kind, ErrorKind::NotFound);
            assert!(!format!("{error:?}").contains("Stand"), "{error:?}");
            let guessed = world.schedules.status("schedule_0", &stranger).await.unwrap_err();
            assert_eq!(guessed.to_string().replace("schedule_0", &id), error.to_string());
        }
        assert!(world.schedules.list(&stranger).is_empty());
    }
    pass(minutes(6)).await;
    assert!(world.services.notifications.take("other").await.is_empty());
    assert_eq!(world.told().await, ["Stand up!"]);
    let all = world.schedules.all().await;
    let all: Vec<_> = all.iter().map(|own| (own.session.as_str(), own.agent.as_deref())).collect();
    assert_eq!(all, [("s", Some("clerk"))], "whoever operates the program sees all");
    assert_eq!(world.schedules.cancel_any("schedule_0").await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_is_cancelled_while_it_runs_ends_and_never_runs_again() {
    let world = World::new().await;
    let id = world.cron("* * * * *", "shop.machine").await;
    pass(minutes(1)).await;
    settle().await;
    assert_eq!(world.outcome(&id).await, RunOutcome::Running);
    let status = world.schedules.cancel(&id, &context()).await.unwrap();
    assert_eq!(status.status, ScheduleState::Cancelled);
    assert_eq!(status.last_run.unwrap().outcome, RunOutcome::Cancelled);
    pass(minutes(10)).await;
    assert_eq!(world.count(), 1);
    assert!(world.told().await.is_empty(), "who has cancelled it knows");
    let again = world.schedules.cancel(&id, &context()).await.unwrap();
    assert_eq!(again.note.as_deref(), Some("it had already ended"));
}

#[tokio::test(start_paused = true)]
async fn whoever_operates_the_program_cancels_the_schedules_of_others() {
    let world = World::new().await;
    let id = world.cron("* * * * *", "shop.sync").await;
    let cancelled = world.schedules.cancel_any(&id).await.unwrap();
    assert_eq!((cancelled.session.as_str(), cancelled.task.status), ("s", ScheduleState::Cancelled));
    pass(minutes(5)).await;
    assert_eq!(world.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_runs_have_their_time_and_are_taken_up_by_the_next_start_then() {
    let setup = Setup::at(START);
    let world = setup.start().await;
    let quick = world.once("in 1m", call("shop.machine")).await;
    pass(minutes(1)).await;
    settle().await;
    world.services.stop_intake();
    let ending = async {
        tokio::task::yield_now().await;
        world.end.notify_one();
    };
    tokio::join!(world.schedules.close(Duration::from_secs(10)), ending);
    assert_eq!(world.outcome(&quick).await, RunOutcome::Succeeded);
    let request = ScheduleRequest::new(cron("0 * * * *", "UTC", "x").time, note("x"));
    assert_eq!(world.schedules.create(request, &context()).await.unwrap_err().kind, ErrorKind::Unavailable);

    let world = setup.start().await;
    let mill = world.once("in 1m", call("shop.mill")).await;
    let machine = world.once("in 1m", call("shop.machine")).await;
    pass(minutes(1)).await;
    settle().await;
    let begun = tokio::time::Instant::now();
    world.services.stop_intake();
    world.schedules.close(Duration::from_secs(10)).await;
    assert!(begun.elapsed() <= Duration::from_secs(16));
    let calls = world.count();
    world.told().await;

    let world = setup.start().await;
    settle().await;
    let seen = world.seen();
    assert_eq!(seen.len(), calls + 1, "{seen:?}");
    assert_eq!(seen[calls].key, seen.iter().find(|seen| seen.tool == "mill").unwrap().key);
    assert_eq!(world.outcome(&mill).await, RunOutcome::Running);
    assert_eq!(world.outcome(&machine).await, RunOutcome::OutcomeUnknown);
    let told = world.told().await;
    assert!(told.len() == 1 && told[0].contains(&machine), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_when_its_time_is_over() {
    let mut setup = Setup::at(START);
    setup.settings.max_duration = minutes(2);
    let world = setup.start().await;
    let id = world.once("in 1m", call("shop.machine")).await;
    pass(minutes(4)).await;
    let last = world.status(&id).await.last_run.unwrap();
    assert_eq!(last.outcome, RunOutcome::Failed);
    assert!(last.detail.unwrap().starts_with("timeout"));
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_than_may_and_the_others_wait_for_their_turn() {
    let mut setup = Setup::at(START);
    setup.settings.max_running = 3;
    let world = setup.start().await;
    for _ in 0..8 {
        world.once("in 1m", call("shop.machine")).await;
    }
    pass(minutes(2)).await;
    assert_eq!(world.count(), 3);
    for _ in 0..5 {
        world.end.notify_one();
        settle().await;
    }
    assert_eq!(world.count(), 8);
}

#[tokio::test(start_paused = true)]
async fn no_more_are_made_than_may_be_and_what_is_over_makes_room() {
    let mut setup = Setup::at(START);
    (setup.settings.max_per_session, setup.settings.max_total) = (2, 5);
    let world = setup.start().await;
    let make = async |session: &str| {
        let time = ScheduleTime::Once(crate::time::parse_time("in 5m", &world.schedules.now(None)).unwrap());
        let context = CallContext::new(session);
        let made = world.schedules.create(ScheduleRequest::new(time, note("x")), &context).await;
        made.map(|made| made.schedule_id).map_err(|error| error.to_string())
    };
    let first = make("a").await.unwrap();
    make("a").await.unwrap();
    let refused = make("a").await.unwrap_err();
    for session in ["b", "b", "c"] {
        make(session).await.unwrap();
    }
    let all_refused = make("d").await.unwrap_err();
    insta::assert_snapshot!([refused, all_refused].join("\n"));
    // What is over is kept beside, and goes first.
    for _ in 0..3 {
        let own = CallContext::new("a");
        let active = world.schedules.list(&own);
        let active = active.iter().find(|one| one.status == ScheduleState::Active).unwrap();
        world.schedules.cancel(&active.schedule_id, &own).await.unwrap();
        world.clock.jump(SignedDuration::from_secs(1));
        for session in ["b", "c"] {
            for one in world.schedules.list(&CallContext::new(session)) {
                world.schedules.cancel(&one.schedule_id, &CallContext::new(session)).await.unwrap();
            }
        }
        pass(minutes(60 * 25)).await;
        make("a").await.unwrap();
    }
    assert_eq!(
        world.schedules.status(&first, &CallContext::new("a")).await.unwrap_err().kind,
        ErrorKind::NotFound
    );
}

#[tokio::test(start_paused = true)]
async fn a_notification_that_cannot_leave_and_an_agent_that_is_not_there_are_told_at_once() {
    let world = World::new().await;
    let refused = async |action: Action| {
        let request = ScheduleRequest::new(cron("0 * * * *", "UTC", "x").time, action);
        world.schedules.create(request, &context()).await.unwrap_err().to_string()
    };
    let long = "x".repeat(MAX_NOTIFICATION_CHARS + 1);
    let large = Action::ToolCall {
        tool: "shop.order".into(),
        params: JsonObject::from_iter([("text".to_owned(), json!("x".repeat(MAX_ACTION_BYTES)))]),
    };
    let said = [
        refused(Action::Notification { message: "x".into(), channel: Some("phone".into()) }).await,
        refused(Action::LlmPrompt { prompt: "Write the report.".into() }).await,
        refused(call("shop.ordr")).await,
        refused(note(" ")).await,
        refused(note(&long)).await,
        refused(large).await,
    ];
    insta::assert_snapshot!(said.join("\n"));
}

/// An agent that answers, or never does.
struct Agent(bool);

#[async_trait::async_trait]
impl crate::Prompter for Agent {
    async fn prompt(&self, prompt: &str, context: &CallContext) -> Result<String, ToolError> {
        if self.0 {
            context.cancel.cancelled().await;
            return Err(ToolError::new(ErrorKind::Cancelled, "it was stopped"));
        }
        Ok(format!("{} for {}: {prompt}", context.agent.as_deref().unwrap_or_default(), context.session))
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_given_a_prompt_has_its_answer_told_and_is_not_asked_twice() {
    let mut setup = Setup::at(START);
    let prompt = || Action::LlmPrompt { prompt: "Write the report.".into() };
    setup.prompter = Some(Arc::new(Agent(false)));
    let world = setup.start().await;
    let id = world.once("in 1m", prompt()).await;
    pass(minutes(2)).await;
    assert_eq!(world.told().await, ["clerk for s: Write the report."]);
    let last = world.status(&id).await.last_run.unwrap();
    assert_eq!(last.detail.as_deref(), Some("clerk for s: Write the report."));
    world.kill();

    setup.prompter = Some(Arc::new(Agent(true)));
    let world = setup.start().await;
    let slow = world.once("in 1m", prompt()).await;
    pass(minutes(2)).await;
    world.kill();
    setup.prompter = Some(Arc::new(Agent(false)));
    let world = setup.start().await;
    pass(minutes(2)).await;
    assert_eq!(world.outcome(&slow).await, RunOutcome::OutcomeUnknown);
    let told = world.told().await;
    assert!(told.len() == 1 && told[0].contains("is unknown"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_schedule_of_a_revoked_client_does_not_run() {
    let mut setup = Setup::at(START);
    let world = setup.start().await;
    let order = world.cron("0 10 * * *", "shop.order").await;
    let note = world.once("in 5m", note("Stand up!")).await;
    world.kill();
    setup.is_revoked = true;
    let world = setup.start().await;
    pass(minutes(120)).await;
    assert_eq!(world.count(), 0);
    for id in [order, note] {
        let run = world.status(&id).await.last_run.unwrap();
        assert_eq!(run.outcome, RunOutcome::Failed);
        assert!(run.detail.unwrap().contains("is no longer a client of the app"));
    }
    let told = world.told().await;
    assert!(!told.is_empty() && told.iter().all(|told| told.contains("failed")), "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_has_no_more_schedules_in_all_its_sessions_than_it_may() {
    let mut setup = Setup::at(START);
    setup.settings.max_per_client = 3;
    let world = setup.start().await;
    let make = async |session: &str| {
        let request = cron("0 10 * * *", "UTC", "shop.order");
        world.schedules.create(request, &CallContext::new(session)).await
    };
    for session in ["serve/ci/1", "serve/ci/2", "serve/ci/2"] {
        make(session).await.unwrap();
    }
    insta::assert_snapshot!(make("serve/ci/3").await.unwrap_err(), @"limit_reached: this client has 3 schedules in all its sessions; the limit is 3 (cancel one with `schedule_cancel`; ended schedules are removed after a day)");
    make("serve/other/1").await.unwrap();
}
