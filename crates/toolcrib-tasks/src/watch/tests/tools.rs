//! What models read.

use toolcrib_port::ToolLoader as _;

use super::*;

async fn with_tools(office: &Office) {
    let module =
        office.watchers.tools().into_iter().fold(Module::new("context_builder", ""), Module::with_tool);
    let module = Arc::new(module);
    office.gate.executors[0].add_engine("module context_builder", Arc::clone(&module) as _);
    office.gate.executors[0].registry().add_loader(module);
    office.gate.executors[0].registry().refresh().await.unwrap();
}

async fn call(office: &Office, name: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new(format!("context_builder.{name}"), arguments.as_object().unwrap().clone());
    office.gate.call(call, &context()).await
}

#[tokio::test(start_paused = true)]
async fn a_model_is_told_how_to_watch() {
    let office = Office::new().await;
    let module =
        office.watchers.tools().into_iter().fold(Module::new("context_builder", ""), Module::with_tool);
    let tools = module.load().await.tools;
    let told = tools.iter().map(|tool| {
        json!({"name": tool.name.name(), "description": tool.description, "parameters": tool.parameters, "metadata": tool.metadata()})
    });
    insta::assert_json_snapshot!(told.collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_watcher_lives_from_start_to_stop_by_its_tools() {
    let office = Office::new().await;
    with_tools(&office).await;
    office.plant.shows([json!({"level": 1}), json!({"level": 2})]);
    let started =
        call(&office, "watch_start", json!({"name": "plant.gauge", "label": "level", "interval": 30})).await;
    let id = started.result["watcher_id"].as_str().unwrap().to_owned();
    let one = json!({"watcher_id": id});
    office.checked(&id, 2).await;
    let mut said = vec![("watch_start", started)];
    for (tool, arguments) in [
        ("watch_status", one.clone()),
        ("watch_history", json!({"watcher_id": id, "limit": 1})),
        ("watch_history", one.clone()),
        ("watch_pause", one.clone()),
        ("watch_list", json!({})),
        ("watch_resume", one.clone()),
        ("watch_stop", one.clone()),
        ("watch_list", json!({})),
    ] {
        said.push((tool, call(&office, tool, arguments).await));
    }
    let said: Vec<Value> = said
        .into_iter()
        .map(|(tool, result)| {
            assert_eq!(result.metadata.get("output_violations"), None, "{tool}");
            json!({tool: result.result, "error": result.error})
        })
        .collect();
    let said = serde_json::to_string_pretty(&said).unwrap().replace(&id, "watch_1");
    insta::assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_watched_is_said_at_once_and_nothing_is_called() {
    let office = Office::new().await;
    with_tools(&office).await;
    let filled = |text: &str| json!({"actions": [{"type": "notification", "message": text}]});
    let acting = |tool: &str, params: Value| json!({"actions": [{"type": "tool_call", "tool": tool, "params": params}]});
    let many = "{{value}}".repeat(11);
    let cases = [
        json!({"name": "plant.measure"}),
        json!({"name": "plant.secret"}),
        json!({"interval": 4}),
        json!({"interval": 3601}),
        json!({"label": "x".repeat(101)}),
        json!({"params": {"value": "x".repeat(17_000)}}),
        json!({"params": {"vlaue": 1}}),
        json!({"condition": "$.level > "}),
        json!({"notify_when": "on_threshold"}),
        json!({"notify_when": "on_error", "condition": "$ == 1"}),
        json!({"channel": "pigeon"}),
        json!({"actions": vec![json!({"type": "notification", "message": "x"}); 4]}),
        json!({"actions": [{"type": "llm_prompt", "prompt": "x"}]}),
        json!({"actions": [{"type": "notification", "message": "x", "channel": "pigeon"}]}),
        filled("{{value"),
        filled("{{price}}"),
        filled("{{value.}}"),
        filled(&many),
        acting("plant.secret", json!({})),
        acting("plant.bell", json!({"vlaue": 1})),
        acting("{{value.tool}}", json!({})),
        acting("context_builder.watch_start", json!({"name": "{{value.tool}}"})),
    ];
    let mut said = Vec::new();
    for request in cases {
        let error = office.try_start(request.clone()).await.unwrap_err();
        let request: String = request.to_string().chars().take(100).collect();
        said.push(
            json!({"request": request, "kind": error.kind, "message": error.message, "hint": error.hint}),
        );
    }
    let wrong = [
        ("watch_start", json!({"name": "plant.gauge", "interval": 1})),
        ("watch_start", json!({"name": "plant.gauge", "notify_when": "never"})),
        ("watch_status", json!({"watcher_id": "watch_0"})),
    ];
    for (tool, arguments) in wrong {
        let error = call(&office, tool, arguments.clone()).await.error.unwrap();
        said.push(json!({"tool": tool, "request": arguments, "kind": error.kind, "message": error.message, "hint": error.hint}));
    }
    assert_eq!(office.plant.calls(), 0);
    assert_eq!(office.store.load(RecordKind::Watcher).await.unwrap(), []);
    insta::assert_json_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn the_type_of_an_action_may_be_left_out_and_an_error_shows_the_form_by_example() {
    let office = Office::new().await;
    with_tools(&office).await;
    office.plant.shows([json!(1), json!(2)]);
    let start = async |actions: Value| {
        call(&office, "watch_start", json!({"name": "plant.gauge", "actions": actions})).await
    };
    let started = start(json!([{"tool": "plant.bell"}, {"message": "It is {{value}}."}])).await;
    let id = started.result["watcher_id"].as_str().unwrap().to_owned();
    let actions = json!(office.live(&id).unwrap().task().request.actions);
    let typed = json!([
        {"type": "tool_call", "tool": "plant.bell", "params": {}},
        {"type": "notification", "message": "It is {{value}}."},
    ]);
    assert_eq!(actions, typed);
    let mut errors = Vec::new();
    for action in [
        json!({}),
        json!({"message": "x", "tool": "plant.bell"}),
        json!({"type": "tool_call", "message": "x"}),
        json!({"text_to_tell": "x"}),
        json!({"type": "call", "tool": "plant.bell"}),
    ] {
        errors.push(format!("{action}\n  {}", start(json!([action])).await.error.unwrap()));
    }
    insta::assert_snapshot!(errors.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_result_can_name_no_tool_even_when_names_come_to_mean_others() {
    let office = Office::new().await;
    office.plant.shows([json!("plant.probe"), json!("plant.lamp")]);
    let id = office.start(json!({"actions": Office::ring("plant.bell")})).await;
    office.checked(&id, 1).await;
    // As if the name had come to mean a tool of the runtime.
    with_tools(&office).await;
    office.live(&id).unwrap().update(|watcher| {
        let params = json!({"name": "{{value}}"}).as_object().unwrap().clone();
        watcher.request.actions = vec![Action::ToolCall { tool: "watch_start".into(), params }];
    });
    office.checked(&id, 2).await;
    assert_eq!(office.watchers.list(&context()).await.len(), 1, "none was started");
    insta::assert_snapshot!(office.told().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn max_checks_of_0_means_that_a_watcher_has_no_end() {
    let office = Office::new().await;
    let id = office.start(json!({"max_checks": 0, "notify_when": "always"})).await;
    office.checked(&id, 3).await;
    let status = office.status(&id).await;
    assert_eq!((status.status, status.max_checks), (WatcherState::Active, None));
}

#[tokio::test(start_paused = true)]
async fn the_arguments_of_watchers_are_taken_under_their_former_names() {
    let office = Office::new().await;
    with_tools(&office).await;
    office.plant.shows([json!({"level": 1})]);
    let started =
        call(&office, "watch_start", json!({"name": "plant.gauge", "predicate": "$.level > 5"})).await;
    assert_eq!(started.result["condition"], "$.level > 5");
    assert_eq!(started.metadata["repairs"][0]["to"], "condition");
    let id = started.result["watcher_id"].as_str().unwrap().to_owned();
    office.checked(&id, 2).await;
    let history = call(&office, "watch_history", json!({"watcher_id": id, "last_n": 1})).await;
    assert_eq!(history.result["checks"].as_array().unwrap().len(), 1);
    assert_eq!(history.metadata["repairs"][0]["to"], "limit");
}

#[tokio::test(start_paused = true)]
async fn a_predicate_that_is_an_object_says_what_is_called_and_what_has_to_hold() {
    let office = Office::new().await;
    with_tools(&office).await;
    office.plant.shows([json!({"level": 1})]);
    for predicate in [
        json!({"name": "plant.gauge", "params": {"value": 3}, "condition": "$.level > 5"}),
        json!({"tool": "plant.gauge", "arguments": {"value": 3}, "condition": "$.level > 5"}),
    ] {
        let started = call(&office, "watch_start", json!({"predicate": predicate, "interval": 10})).await;
        assert_eq!(started.error, None, "{predicate}");
        assert_eq!(
            (&started.result["name"], &started.result["condition"]),
            (&json!("plant.gauge"), &json!("$.level > 5"))
        );
        assert_eq!(started.metadata["repairs"][2]["from"], "predicate/condition", "{:?}", started.metadata);
    }
    let both = json!({"predicate": {"condition": "$.a"}, "condition": "$.b", "name": "plant.gauge"});
    assert_eq!(call(&office, "watch_start", both).await.error.unwrap().kind, ErrorKind::InvalidArgs);
}
