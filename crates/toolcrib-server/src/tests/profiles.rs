//! What serving promises of a tool outside of the client's profile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_app::{App, Blueprint, EntryContext, Extensions, LaunchOptions};
use toolcrib_model::{Risk, Tool, ToolError};
use toolcrib_modules::NoConfig;
use toolcrib_policy::OverrideTarget;
use toolcrib_sdk::{FunctionTool, Module};

use super::{Client, serve_to};

const PROFILES: &str = "
profiles:
  desk: {namespaces: [hello, scheduler], surface: SURFACE}
";

#[derive(Deserialize, JsonSchema)]
struct Anything {}

/// Returns an app that is served with the profile `desk`, with or without the module `vault`, which is outside of it.
/// Its tools count their calls. Two of its tools represent methods of the protocol, as those of MCP servers do.
fn app(has_vault: bool, surface: &str, ran: &Arc<AtomicUsize>) -> Blueprint {
    let ran = Arc::clone(ran);
    let extensions = Extensions::default().with_module("vault", move |_: NoConfig, _: &EntryContext<'_>| {
        let tool = |name: &str, method: Option<&str>| {
            let ran = Arc::clone(&ran);
            let tool = FunctionTool::new(name, "Opens the vault of secrets.", move |_: Anything, _| {
                ran.fetch_add(1, Ordering::SeqCst);
                async { Ok::<_, ToolError>(json!({"prompts": [{"name": "secret"}], "resources": []})) }
            });
            let tool = tool.with_risk(Risk::Low);
            match method {
                Some(method) => tool.with_metadata(Tool::PROTOCOL_METHOD, method),
                None => tool,
            }
        };
        let methods =
            ["prompts/list", "prompts/get", "resources/list", "resources/read", "completion/complete"];
        let standing = methods.into_iter().map(|method| tool(&method.replace('/', "_"), Some(method)));
        Ok(standing.fold(Module::new("vault", "A vault.").with_tool(tool("open", None)), Module::with_tool))
    });
    let text = format!(
        "modules: {{hello: {{}}, scheduler: {{}}{}}}
execution: {{watchers: true}}
tools: {{capabilities: {{default_policy: grant}}}}
serve: {{scripts: on}}
{}",
        if has_vault { ", vault: {}" } else { "" },
        PROFILES.replace("SURFACE", surface),
    );
    let app = App::from_text_with("app.yaml", &text, extensions).unwrap();
    let app = app.with_served_profile(Some("desk".to_owned()));
    Blueprint::new(app, LaunchOptions::default()).unwrap()
}

/// The requests by which a client may reach a tool or learn of it.
fn requests() -> Vec<(&'static str, Value)> {
    let call = |name: &str, arguments: Value| ("tools/call", json!({"name": name, "arguments": arguments}));
    let open = json!({"name": "vault.open", "params": {}});
    vec![
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "vault.secret"})),
        ("prompts/get", json!({"name": "secret"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "toolcrib://vault/file:///secret"})),
        ("resources/read", json!({"uri": "file:///secret"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "vault.secret"}, "argument": {"name": "a", "value": ""}}),
        ),
        call("vault__open", json!({})),
        call("vault.open", json!({})),
        call("vault::open", json!({})),
        call("open", json!({})),
        call("vault.opne", json!({})),
        call("execute_tool", open.clone()),
        call("execute_tool", json!({"name": "execute_tool", "params": open})),
        call("run_parallel", json!({"calls": [open]})),
        call("get_tool", json!({"name": "vault.open"})),
        call("search_tools", json!({"query": "open the vault of secrets"})),
        call("list_categories", json!({})),
        call("browse_category", json!({"category": "vault"})),
        call("background_run", json!({"name": "vault.open", "params": {}})),
        call("watch_start", json!({"name": "vault.open", "params": {}, "interval": 1})),
        call("scheduler.schedule_once", json!({"name": "vault.open", "params": {}, "in_seconds": 1})),
        call("run_script", json!({"source": "return await tools.vault.open()"})),
        call("run_script", json!({"source": "return await tools.execute_tool({name: 'vault.open'})"})),
    ]
}

#[tokio::test]
async fn a_tool_outside_of_the_profile_is_as_if_it_did_not_exist_by_every_way() {
    let ran = Arc::new(AtomicUsize::new(0));
    for surface in ["direct", "discovery"] {
        let (mut with, _serving, with_runtime, told) = serve_to(app(true, surface, &ran), json!({})).await;
        let (mut without, _serving, without_runtime, told_without) =
            serve_to(app(false, surface, &ran), json!({})).await;
        assert_eq!(told, told_without, "{surface}");
        for (method, params) in requests() {
            let answer = with.request(method, params.clone()).await;
            assert_eq!(answer, without.request(method, params.clone()).await, "{surface} {method} {params}");
            let request = params.to_string();
            let is_named = ["vault", "secret"].iter().any(|word| request.contains(word));
            assert!(is_named || !answer.to_string().contains("vault"), "{method} {params}: {answer}");
        }
        assert_eq!(ran.load(Ordering::SeqCst), 0, "{surface}");
        with_runtime.close().await;
        without_runtime.close().await;
    }
}

#[tokio::test]
async fn a_tool_in_the_profile_is_listed_and_runs() {
    let (mut client, _serving, runtime, _) = serve_to(app(true, "direct", &Arc::default()), json!({})).await;
    let greeting = client.greet().await;
    assert!(greeting.contains("Ada"), "{greeting}");
    runtime.close().await;
}

#[tokio::test]
async fn a_client_is_told_when_its_profile_or_a_tool_is_switched_and_keeps_its_connection() {
    let text = "
modules: {hello: {}, memory: {}}
tools: {capabilities: {default_policy: grant}}
serve: {surface: direct}
profiles: {greet: {namespaces: [hello]}, remember: {namespaces: [memory], pin: []}}
";
    let (mut client, _serving, runtime, _) =
        serve_to(Blueprint::from_text("app.yaml", text).unwrap(), json!({})).await;
    let target: OverrideTarget = "tool:hello.say_hello".parse().unwrap();
    assert_eq!(client.namespaces().await, ["hello", "memory"]);
    runtime.overrides().use_profile(Some("greet")).await.unwrap();
    assert!(client.greet_after_change().await.contains("Ada"));
    assert_eq!(client.namespaces().await, ["hello"]);
    runtime.overrides().use_profile(Some("remember")).await.unwrap();
    assert!(client.greet_after_change().await.contains("unknown_tool"));
    assert_eq!(client.namespaces().await, ["memory"]);
    runtime.overrides().use_profile(None).await.unwrap();
    assert!(client.greet_after_change().await.contains("Ada"));
    runtime.overrides().set(&target, Some(false)).await.unwrap();
    assert!(client.greet_after_change().await.contains("unknown_tool"));
    runtime.overrides().set(&target, None).await.unwrap();
    assert!(client.greet_after_change().await.contains("Ada"));
    runtime.close().await;
}

impl Client {
    /// Waits for the notification of a change, and calls a tool.
    async fn greet_after_change(&mut self) -> String {
        let line = self.lines.next_line().await.unwrap().unwrap();
        assert!(line.contains("notifications/tools/list_changed"), "{line}");
        self.greet().await
    }

    /// Returns the namespaces of the listed tools that are not of the runtime.
    async fn namespaces(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        let names = tools.iter().filter_map(|tool| tool["name"].as_str()?.split_once("__"));
        let names: BTreeSet<String> = names.map(|(namespace, _)| namespace.to_owned()).collect();
        names.into_iter().collect()
    }

    async fn greet(&mut self) -> String {
        let call = json!({"name": "hello__say_hello", "arguments": {"name": "Ada"}});
        self.request("tools/call", call).await.to_string()
    }
}
