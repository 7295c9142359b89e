//! What models read.

use toolcrib_model::{ToolCall, ToolResult};

use super::*;
use crate::ActionSupport;

/// The tools among the runtime's own.
fn own(world: &World) -> Module {
    let scheduler = Scheduler::default().with_schedules(world.schedules.clone());
    scheduler.tools().into_iter().fold(Module::new("context_builder", ""), Module::with_tool)
}

impl World {
    async fn with_tools() -> Self {
        let world = Self::new().await;
        testing::add(&world.executor, own(&world)).await;
        world
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new(format!("context_builder.{tool}"), arguments.as_object().unwrap().clone());
        self.executor.call(call, &context()).await
    }

    async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.error, None);
        result.result
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_is_told_how_to_make_and_to_look_at_schedules() {
    let world = World::new().await;
    let module = own(&world);
    let tools: Vec<Value> = module
        .definitions()
        .map(|tool| {
            json!({
                "name": tool.name.name(), "description": tool.description, "metadata": tool.metadata(),
                "parameters": tool.parameters,
            })
        })
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&tools).unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_schedule_is_made_looked_at_and_cancelled_by_its_id() {
    let world = World::with_tools().await;
    let action = json!({"tool": "shop.order", "params": {}});
    let once = world.ok("schedule_once", json!({"when": "in 5m", "action": action, "label": "Order"})).await;
    let id = once["schedule_id"].as_str().unwrap().to_owned();
    world.clock.jump(SignedDuration::from_secs(1));
    let other = world
        .ok(
            "schedule_cron",
            json!({
                "cron": "0 9 * * MON", "time_zone": "Europe/Paris", "max_runs": 2, "overlap": "queue_one", "catch_up": 120,
                "action": {"type": "notification", "message": "A new week."},
            }),
        )
        .await;
    pass(minutes(6)).await;
    let told = vec![
        once,
        other.clone(),
        world.ok("schedule_status", json!({"schedule_id": id})).await,
        world.ok("schedule_list", json!({})).await,
        world.ok("schedule_cancel", json!({"schedule_id": other["schedule_id"]})).await,
        world.ok("schedule_cancel", json!({"schedule_id": id})).await,
    ];
    let told = serde_json::to_string_pretty(&told).unwrap();
    let told = told.replace(&id, "schedule_1").replace(other["schedule_id"].as_str().unwrap(), "schedule_2");
    insta::assert_snapshot!(told);
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_is_told_when_its_time_has_come() {
    let world = World::with_tools().await;
    world.ok("remind", json!({"what": "Ask Ada about the invoice.", "when": "dans 30 minutes"})).await;
    world.ok("remind", json!({"what": "Water the plants.", "when": "0 10 * * *"})).await;
    let action = json!({"tool": "shop.order"});
    let done = world.ok("remind", json!({"what": "Order more.", "when": "at 11am", "action": action})).await;
    assert_eq!(done["label"], "Order more.");
    pass(minutes(31)).await;
    assert_eq!(world.told().await, ["Reminder: Ask Ada about the invoice."]);
    pass(minutes(30)).await;
    assert_eq!(world.told().await, ["Reminder: Water the plants."]);
    pass(minutes(60)).await;
    assert_eq!(world.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn moments_are_understood_as_people_say_them_in_the_zone_that_is_named() {
    let world = World::with_tools().await;
    let mut firsts = Vec::new();
    for (when, zone) in [
        ("2026-03-01T12:00:00Z", None),
        ("2026-03-02 08:30", Some("Europe/Paris")),
        ("in 5m", None),
        ("tomorrow at 9am", Some("America/New_York")),
        ("dans 30 minutes", Some("Europe/Paris")),
    ] {
        let mut arguments = json!({"when": when, "action": {"message": "x"}});
        if let Some(zone) = zone {
            arguments["time_zone"] = zone.into();
        }
        let made = world.ok("schedule_once", arguments).await;
        firsts.push(made["next_runs"][0].as_str().unwrap().to_owned());
    }
    assert_eq!(
        firsts,
        [
            "2026-03-01T12:00:00+00:00",
            "2026-03-02T08:30:00+01:00",
            "2026-03-01T09:05:00+00:00",
            "2026-03-02T09:00:00-05:00",
            "2026-03-01T10:30:00+01:00"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_said_with_what_would_be_right() {
    let world = World::with_tools().await;
    let note = json!({"message": "x"});
    let wrong = [
        ("schedule_once", json!({"when": "soon", "action": note})),
        ("schedule_once", json!({"when": "2026-02-28", "action": note})),
        ("schedule_once", json!({"when": "0 9 * * *", "action": note})),
        ("schedule_once", json!({"when": "in 5m", "action": {}})),
        ("schedule_once", json!({"when": "in 5m", "action": {"message": "x", "tool": "shop.order"}})),
        ("schedule_once", json!({"when": "in 5m", "action": {"type": "tool_call", "message": "x"}})),
        ("schedule_once", json!({"when": "in 5m", "action": {"tool": "shop.nothing"}})),
        (
            "schedule_once",
            json!({"when": "in 5m", "action": {"tool": "shop.order", "params": {"amount": 2}}}),
        ),
        ("schedule_once", json!({"when": "in 5m", "action": note, "time_zone": "Mars"})),
        ("schedule_cron", json!({"cron": "every day", "action": note})),
        ("schedule_cron", json!({"cron": "* * * * * *", "action": note})),
        ("remind", json!({"what": " ", "when": "in 5m"})),
        ("remind", json!({"what": "x", "when": "sometimes"})),
        ("schedule_status", json!({"schedule_id": "schedule_0"})),
    ];
    let mut said = Vec::new();
    for (tool, arguments) in wrong {
        let error = world.call(tool, arguments.clone()).await.error.unwrap();
        said.push(format!("{tool} {arguments}\n  {error}"));
    }
    assert!(world.schedules.list(&context()).is_empty());
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn max_runs_of_0_means_that_a_schedule_has_no_end() {
    let world = World::with_tools().await;
    let action = json!({"tool": "shop.order"});
    let made = world.ok("schedule_cron", json!({"cron": "* * * * *", "action": action, "max_runs": 0})).await;
    assert_eq!(made["max_runs"], Value::Null);
    pass(minutes(5)).await;
    assert!(world.count() >= 4, "{} runs", world.count());
}

#[test]
fn an_app_without_agents_and_channels_is_offered_neither() {
    let told = |means| {
        let tools = Scheduler::new(means).module();
        let texts = tools.definitions().map(|tool| format!("{} {}", tool.description, tool.parameters));
        texts.collect::<Vec<_>>().join(" ")
    };
    let all = told(ActionSupport::default());
    assert!(all.contains("\"prompt\"") && all.contains("llm_prompt") && all.contains("\"channel\""));
    let neither = told(ActionSupport { agents: false, channels: false });
    for word in ["prompt", "agent", "channel"] {
        assert!(!neither.to_lowercase().contains(word), "{word}: {neither}");
    }
}
