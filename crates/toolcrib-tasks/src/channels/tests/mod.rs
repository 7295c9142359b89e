//! What channels promise.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_io::files::Root;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError, ToolResult};
use toolcrib_port::CallContext;
use toolcrib_sdk::{CallContext as Context, FunctionTool, Module};

use super::{FileChannel, MAX_MESSAGE_CHARS, Terminal, TerminalChannel, ToolChannel, channel_tools};
use crate::owner::Owner;
use crate::store::MemoryStore;
use crate::testing::{TestClock, executor, ports};
use crate::{Channel, Error, Services, TaskPorts};

const NOW: &str = "2026-03-01T09:00:00Z";

async fn services(name: &str, channel: impl Channel + 'static) -> Services {
    open(name, channel, TaskPorts::default()).await
}

async fn open(name: &str, channel: impl Channel + 'static, mut ports: TaskPorts) -> Services {
    ports.channels.insert(name.to_owned(), Arc::new(channel));
    let clock = Arc::new(TestClock::at(NOW));
    Services::open(Arc::new(MemoryStore::default()), clock, false, ports).await.unwrap()
}

fn owner() -> Owner {
    Owner::of(&CallContext::new("s").with_agent("clerk"))
}

#[derive(Default)]
struct Screen(Mutex<Vec<String>>);

impl Terminal for Screen {
    fn line(&self, line: &str) {
        self.0.lock().push(line.to_owned());
    }
}

#[tokio::test]
async fn a_terminal_shows_each_message_as_one_line_that_it_cannot_be_told_by() {
    let screen = Arc::new(Screen::default());
    let services = services("desk", TerminalChannel::new(Some(screen.clone()))).await;
    let told = "Two lamps\r\n\tare back.\u{1b}[2J\u{202e}";
    services.notify(&owner(), Some("desk"), told, None).await.unwrap();
    assert_eq!(*screen.0.lock(), ["[desk] Two lamps are back.[2J"]);
}

#[tokio::test]
async fn a_program_without_a_terminal_says_so() {
    let services = services("desk", TerminalChannel::new(None)).await;
    let error = services.notify(&owner(), Some("desk"), "Back.", None).await.unwrap_err();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, false));
}

#[tokio::test(start_paused = true)]
async fn a_file_gets_a_line_for_each_message() {
    let folder = tempfile::tempdir().unwrap();
    let services = services("log", FileChannel::new(Root::open(folder.path()).unwrap(), "told.jsonl")).await;
    services.notify(&owner(), Some("log"), "Two lamps\nare back.", Some("run_1")).await.unwrap();
    let long = "x".repeat(MAX_MESSAGE_CHARS + 1);
    services.notify(&Owner::of(&CallContext::new("t")), Some("log"), &long, None).await.unwrap();
    let text = std::fs::read_to_string(folder.path().join("told.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines[0],
        json!({"at": NOW, "message": "Two lamps\nare back.", "session": "s", "agent": "clerk", "run_key": "run_1"})
    );
    assert_eq!(lines[1], json!({"at": NOW, "message": long[1..], "session": "t"}));
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    let services = services("log", FileChannel::new(root, "missing/told.jsonl")).await;
    let error = services.notify(&owner(), Some("log"), "Back.", None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.message.starts_with("the channel `log` cannot be written to: "), "{error}");
}

type Posts = Arc<Mutex<Vec<(Value, Context)>>>;

/// A module whose tool `post` notes what it is given, and by whom.
fn chat() -> (Module, Posts) {
    let posts = Posts::default();
    let noted = Arc::clone(&posts);
    let post = FunctionTool::new("post", "Posts.", move |arguments: JsonObject, context: Context| {
        noted.lock().push((Value::Object(arguments), context));
        std::future::ready(Ok::<_, ToolError>(Value::Null))
    });
    (Module::new("chat", "Chats.").with_tool(post), posts)
}

fn by_tool(params: &Value) -> Result<ToolChannel, Error> {
    ToolChannel::new("chat.post", params.as_object().unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_called_in_the_name_of_whoever_the_message_is_from() {
    let (module, posts) = chat();
    let params = json!({"room": "ops", "lines": ["{{time}}: {{ message }}", {"id": "{{run_key}}"}], "raw": "{{{{message}}", "n": 1});
    let executor = executor(module, &json!({"default_policy": "grant"})).await;
    let services = open("chat", by_tool(&params).unwrap(), ports(&executor)).await;
    // What is filled in is not looked at again.
    services.notify(&owner(), Some("chat"), "{{run_key}}", Some("run_1")).await.unwrap();
    let posts = posts.lock();
    let [(arguments, context)] = posts.as_slice() else { panic!("{}", posts.len()) };
    assert_eq!(
        *arguments,
        json!({"room": "ops", "lines": [format!("{NOW}: {{{{run_key}}}}"), {"id": "run_1"}], "raw": "{{message}}", "n": 1})
    );
    assert_eq!((&*context.session, context.agent.as_deref()), ("s", Some("clerk")));
    assert_eq!(context.run_key.as_deref(), Some("run_1"));
}

#[tokio::test]
async fn a_tool_that_policy_denies_tells_nobody() {
    let rules = [
        (json!({"default_policy": "grant", "deny": [{"module": "chat"}]}), ErrorKind::Denied),
        (json!({"default_policy": "approve"}), ErrorKind::ApprovalRequired),
    ];
    for (rules, expected) in rules {
        let (module, posts) = chat();
        let executor = executor(module, &rules).await;
        let params = json!({"text": "{{message}}"});
        let services = open("chat", by_tool(&params).unwrap(), ports(&executor)).await;
        let error = services.notify(&owner(), Some("chat"), "Back.", None).await.unwrap_err();
        assert_eq!(error.kind, expected, "{error}");
        assert!(posts.lock().is_empty());
    }
}

#[tokio::test]
async fn a_tool_is_not_called_any_more_when_the_program_ends() {
    let (module, posts) = chat();
    let executor = executor(module, &json!({"default_policy": "grant"})).await;
    let services = open("chat", by_tool(&json!({})).unwrap(), ports(&executor)).await;
    services.stop_intake();
    let error = services.notify(&owner(), Some("chat"), "Back.", None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(posts.lock().is_empty());
}

#[test]
fn a_place_that_is_unknown_is_said_before_anything_is_sent() {
    let wrong =
        [json!({"text": "{{mesage}}"}), json!({"a": [{"b/c": "x {{message"}]}), json!({"text": "{{}}"})];
    let said = wrong.map(|params| match by_tool(&params).unwrap_err() {
        Error::UnknownPlaceholder { pointer, reason } => format!("{pointer}: {reason}"),
        other => other.to_string(),
    });
    insta::assert_snapshot!(said.join("\n"), @r"
    /text: unknown `{{mesage}}`
    /a/0/b~1c: `{{` without `}}`
    /text: unknown `{{}}`
    ");
}

/// Calls `send_message` of these services, which an agent has been granted.
async fn send(services: Services, arguments: Value) -> ToolResult {
    let tools = channel_tools(&Arc::new(services)).into_iter();
    let module = tools.fold(Module::new("context_builder", ""), Module::with_tool);
    let grant = json!({"grant": [{"module": "context_builder", "actions": ["send_message"]}]});
    let executor = executor(module, &grant).await;
    let call = ToolCall::new("send_message", arguments.as_object().unwrap().clone());
    executor.call(call, &CallContext::new("s").with_agent("clerk")).await
}

#[tokio::test]
async fn a_model_is_told_how_to_send_a_message() {
    let services = Arc::new(services("desk", TerminalChannel::new(None)).await);
    let tools = channel_tools(&services).into_iter();
    let module = tools.fold(Module::new("context_builder", ""), Module::with_tool);
    let told: Vec<Value> = module
        .definitions()
        .map(|tool| {
            json!({"description": tool.description, "parameters": tool.parameters, "metadata": tool.metadata()})
        })
        .collect();
    insta::assert_json_snapshot!(told);
}

#[tokio::test]
async fn without_channels_there_is_no_tool_that_sends_messages() {
    let (store, clock) = (Arc::new(MemoryStore::default()), Arc::new(TestClock::at(NOW)));
    let services = Services::open(store, clock, false, TaskPorts::default());
    assert!(channel_tools(&Arc::new(services.await.unwrap())).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_is_sent_at_once_in_the_name_of_the_agent_under_an_id_that_the_agent_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let services = services("log", FileChannel::new(Root::open(folder.path()).unwrap(), "told.jsonl")).await;
    let sent = send(services, json!({"channel": "log", "message": "The lamps are back."})).await;
    assert_eq!(sent.error, None);
    let id = sent.result["message_id"].as_str().unwrap();
    assert!(id.starts_with("message_"), "{id}");
    assert_eq!(sent.result, json!({"status": "sent", "channel": "log", "message_id": id}));
    let line = std::fs::read_to_string(folder.path().join("told.jsonl")).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        line,
        json!({"at": NOW, "message": "The lamps are back.", "session": "s", "agent": "clerk", "run_key": id})
    );
}

#[tokio::test]
async fn a_message_that_cannot_be_sent_is_an_error_and_nothing_is_sent() {
    let screen = Arc::new(Screen::default());
    let mut said = Vec::new();
    for arguments in [
        json!({"channel": "dsk", "message": "Back."}),
        json!({"channel": "desk", "message": " "}),
        json!({"channel": "desk", "message": "x".repeat(MAX_MESSAGE_CHARS + 1)}),
        json!({"channel": "desk"}),
    ] {
        let services = services("desk", TerminalChannel::new(Some(screen.clone()))).await;
        let error = send(services, arguments).await.error.unwrap();
        said.push(error.to_string().chars().take(200).collect::<String>());
    }
    assert!(screen.0.lock().is_empty());
    insta::assert_snapshot!(said.join("\n"));
}
