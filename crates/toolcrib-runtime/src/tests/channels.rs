//! What `tools.channels` promises.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_app::{Blueprint, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, ToolCall};
use toolcrib_port::CallContext;
use toolcrib_tasks::channels::Terminal;
use toolcrib_testkit::{Canary, wait_until};

use super::{start, wrong};
use crate::Runtime;

fn section(channel: &str) -> String {
    format!("modules: {{hello: {{}}}}\ntools:\n  channels:\n    ops: {channel}\n")
}

#[test]
fn a_channel_that_cannot_be_is_said_at_its_line_and_column() {
    let wrong_ones = [
        "{}",
        "{type: webhok}",
        "{type: terminal, path: a}",
        "{type: terminal, description: 5}",
        "{type: file}",
        "{type: file, path: ''}",
        "{type: file, path: ../told.jsonl}",
        "{type: file, path: /tmp/told.jsonl}",
        "{type: file, path: told.jsonl, max_bytes: 5}",
        "{type: webhook, url: 'https://a.example'}",
        "{type: webhook, url: 'https://a.example', secret: ''}",
        "{type: webhook, url: 'https://a.example', secret: 'whsec_no base64'}",
        "{type: webhook, url: a.example, secret: s}",
        "{type: webhook, url: 'ftp://a.example', secret: s}",
        "{type: webhook, url: 'http://127.0.0.1:1', secret: s, allow_private: false}",
        "{type: webhook, url: 'https://a.example', secret: '${TOOLCRIB_NO_SUCH_VARIABLE}'}",
        "{type: webhook, url: 'https://a.example', secret: s, retries: 5}",
        "{type: tool, params: {}}",
        "{type: tool, tool: say}",
        "{type: tool, tool: hello.say, params: {name: '{{message}}'}}",
        "{type: tool, tool: hello.say_hello, params: {name: [{a: '{{mesage}}'}]}}",
    ];
    let mut said: Vec<String> = wrong_ones.iter().map(|channel| wrong(&section(channel))).collect();
    said.push(wrong("tools: {channels: {'two words': {type: terminal}}}"));
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_webhook_goes_only_where_access_lets_it() {
    let app = "tools: {channels: {ops: {type: webhook, url: 'https://a.example', secret: s}}, capabilities: {access: {network: \
               ['*.example.com:443']}}}";
    assert_eq!(
        wrong(app),
        "app.yaml:1:41: may not connect to `a.example` at port 443: the configuration does not allow it under \
         `access.network`"
    );
}

#[test]
fn the_secret_of_a_webhook_is_never_shown() {
    let app = Blueprint::from_text(
        "app.yaml",
        &section("{type: webhook, url: 'https://a.example', secret: '${CARGO_PKG_NAME}'}"),
    );
    let app = app.unwrap();
    assert!(!app.app.secrets().redactor().redact(env!("CARGO_PKG_NAME")).contains("toolcrib-runtime"));
}

const CHANNELS: &str = "
agents: [{id: clerk, brain: {provider: ollama}}, {id: guest, brain: {provider: ollama}}]
modules: {hello: {}}
execution: {scheduler: true}
tools:
  channels:
    desk: {type: terminal}
    log: {type: file, path: told.jsonl, description: 'Read on Mondays.'}
    chat: {type: tool, tool: hello.say_hello, params: {name: '{{message}}'}}
    gone: {type: tool, tool: chat.post, params: {text: '{{message}}'}}
  capabilities:
    default_policy: grant
    deny: [{module: hello, agent: guest}]
";

#[tokio::test]
async fn an_agent_is_told_the_channels_that_it_can_name() {
    let runtime = start(CHANNELS).await;
    let section = |agent: &str| {
        let setup = runtime.agent(Some(agent)).unwrap();
        let text = &setup.system_prompt.text;
        text.split_once("# CHANNELS").map(|(_, rest)| rest.trim().to_owned())
    };
    // A tool that is not there, or that it may not call, is no channel for it.
    assert_eq!(
        section("clerk").as_deref(),
        Some("- chat\n- desk: The terminal of the user who runs this.\n- log: Read on Mondays.")
    );
    assert_eq!(
        section("guest").as_deref(),
        Some("- desk: The terminal of the user who runs this.\n- log: Read on Mondays.")
    );
    assert_eq!(runtime.warnings(), ["the channel `gone` sends by `chat.post`, an unknown tool"]);
    runtime.close().await;
}

#[tokio::test]
async fn an_agent_that_can_tell_nobody_is_told_of_no_channels() {
    let runtime = start(&CHANNELS.replace("execution: {scheduler: true}", "")).await;
    assert!(!runtime.agent(None).unwrap().system_prompt.text.contains("# CHANNELS"));
}

/// The same app without anything that takes the name of a channel but `send_message`, for one of its agents.
fn sending() -> String {
    let granted = "default_policy: grant\n    grant: [{module: context_builder, actions: [send_message], agent: clerk}]";
    CHANNELS.replace("execution: {scheduler: true}", "").replace("default_policy: grant", granted)
}

#[tokio::test]
async fn an_agent_that_may_send_messages_is_told_the_channels_and_others_know_of_neither() {
    let runtime = start(&sending()).await;
    let told = |agent: &str| {
        let setup = runtime.agent(Some(agent)).unwrap();
        let has_tool = setup.plan.offered.iter().any(|tool| tool.wire_name == "send_message");
        (has_tool, setup.system_prompt.text.contains("- log: Read on Mondays."))
    };
    assert_eq!((told("clerk"), told("guest")), ((true, true), (false, false)));
    runtime.close().await;
}

#[tokio::test]
async fn a_message_by_a_tool_that_its_sender_may_not_call_is_not_sent() {
    let rules = sending().replace("agent: clerk", "agent: '*'");
    let runtime = start(&rules).await;
    let message = json!({"channel": "chat", "message": "Ada"}).as_object().unwrap().clone();
    let call = |agent: &str| {
        let (executor, context) = (runtime.executor().clone(), CallContext::new("s").with_agent(agent));
        let call = ToolCall::new("context_builder.send_message", message.clone());
        async move { executor.call(call, &context).await.error.map(|error| error.kind) }
    };
    assert_eq!(call("clerk").await, None);
    assert_eq!(call("guest").await, Some(ErrorKind::Denied));
    runtime.close().await;
}

#[test]
fn channels_that_nothing_can_send_by_are_warned_of() {
    let warnings = |text: &str| {
        let warnings = Blueprint::from_text("app.yaml", text).unwrap().warnings().to_vec().into_iter();
        warnings.filter(|warning| warning.contains("channels")).collect::<Vec<_>>()
    };
    let nothing = CHANNELS.replace("execution: {scheduler: true}", "");
    assert_eq!(
        warnings(&nothing),
        [
            "`tools.channels` names channels, and nothing can send by them; add `{module: context_builder, actions: \
          [send_message]}` to `tools.capabilities.grant`, or set `execution.scheduler` or `execution.watchers`"
        ]
    );
    let module = nothing.replace("modules: {hello: {}}", "modules: {hello: {}, scheduler: {}}");
    let watchers = CHANNELS.replace("scheduler: true", "watchers: true");
    for reachable in [CHANNELS, sending().as_str(), &module, &watchers] {
        assert!(warnings(reachable).is_empty(), "{reachable}");
    }
    let denied = "    deny: [{module: context_builder, actions: [schedule_*, remind]}, ";
    assert_eq!(warnings(&CHANNELS.replace("    deny: [", denied)).len(), 1);
}

#[derive(Default)]
struct Screen(Mutex<Vec<String>>);

impl Terminal for Screen {
    fn line(&self, line: &str) {
        self.0.lock().push(line.to_owned());
    }
}

/// How long something is waited for that has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn what_an_agent_schedules_or_sends_is_told_by_every_sort_of_channel() {
    for (tool, sends_now) in [("schedule_once", false), ("send_message", true)] {
        every_sort_of_channel(tool, |channel| {
            let message = json!({"message": "The lamps are back.", "channel": channel});
            if sends_now { message } else { json!({"when": "in 1s", "action": message}) }
        })
        .await;
    }
}

/// Gives a message to every sort of channel by this tool, with arguments made of the name of the channel.
async fn every_sort_of_channel(tool: &str, arguments: impl Fn(&str) -> Value) {
    let server = Canary::start(|_| StatusCode::NO_CONTENT.into_response()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "
execution: {{scheduler: true}}
modules: {{filesystem: {{}}}}
tools:
  channels:
    desk: {{type: terminal}}
    log: {{type: file, path: told.jsonl}}
    ops: {{type: webhook, url: '{}', secret: s}}
    note: {{type: tool, tool: filesystem.write, params: {{path: note.txt, content: 'Told: {{{{message}}}}'}}}}
  capabilities: {{default_policy: grant, grant: [{{module: context_builder, actions: [send_message]}}]}}
",
        server.url("/hook")
    );
    std::fs::write(folder.path().join("app.yaml"), text).unwrap();
    let screen = Arc::new(Screen::default());
    let extensions = Extensions::default().with_terminal(screen.clone());
    let app = Blueprint::open_with(folder.path().join("app.yaml"), extensions).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    for channel in ["desk", "log", "ops", "note"] {
        let arguments = arguments(channel).as_object().unwrap().clone();
        let call = ToolCall::new(format!("context_builder.{tool}"), arguments);
        let result = runtime.executor().call(call, &CallContext::new("s").with_agent("clerk")).await;
        assert_eq!(result.error, None, "{channel}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let is_told = || {
        let shown = !screen.0.lock().is_empty();
        let told = shown && !server.hits().is_empty() && read("told.jsonl").ends_with('\n');
        Ok((told && !read("note.txt").is_empty()).then_some(()))
    };
    wait_until("all channels", PATIENCE, is_told).await.unwrap();
    assert_eq!(*screen.0.lock(), ["[desk] The lamps are back."]);
    assert!(read("told.jsonl").contains(r#""message":"The lamps are back.","session":"s","agent":"clerk""#));
    assert!(server.hits()[0].header("webhook-signature").starts_with("v1,"));
    assert_eq!(read("note.txt"), "Told: The lamps are back.");
    runtime.close().await;
}

#[tokio::test]
async fn a_channel_that_is_not_there_is_refused_when_it_is_named() {
    let runtime = start(CHANNELS).await;
    let action = json!({"message": "Back.", "channel": "dsk"});
    let arguments = json!({"when": "in 1h", "action": action}).as_object().unwrap().clone();
    let call = ToolCall::new("context_builder.schedule_once", arguments);
    let error = runtime.executor().call(call, &CallContext::new("s")).await.error.unwrap();
    assert_eq!(
        error.to_string(),
        "invalid_args: there is no channel `dsk` (there is: chat, desk, gone, log; without one it is sent in the \
         conversation)"
    );
}
