//! What the module `mcp` promises.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, QualifiedName, Risk, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::access::AccessRules;
use toolcrib_policy::{Access, Call, Capabilities, Policy, Rule, Verdict};
use toolcrib_port::{CallContext, Catalogue, ToolCaller, ToolEngine as _, ToolLoader as _};
use toolcrib_registry::SessionTools;
use toolcrib_sdk::Module;

use super::elicitation::{NEW, OLD, User, filled};
use super::eventually;
use super::server::{ScriptServer, runs};
use crate::module::servers::MAX_SERVERS;
use crate::module::{McpModuleConfig, module};

const RESOURCES: &str = r#"
CAPABILITIES='{"tools":{},"resources":{}}'
on_other() {
  case $line in
    *'"resources/list"'*) reply '{"resources":[{"uri":"note://1","name":"one"}]}' ;;
    *'"resources/read"'*) reply '{"contents":[{"uri":"note://1","mimeType":"text/plain","text":"milk"}]}' ;;
  esac
}
"#;

fn command(server: &ScriptServer) -> Value {
    json!(["sh", server.path().join("server.sh")])
}

fn plain() -> Module {
    with(&McpModuleConfig::default(), Access::unlimited())
}

fn with(config: &McpModuleConfig, access: Access) -> Module {
    module(config, access, std::env::temp_dir(), None, SessionTools::default()).unwrap()
}

async fn call_in(session: &str, module: &Module, name: &str, arguments: Value) -> ToolResult {
    call_with(&CallContext::new(session), module, name, arguments).await
}

async fn call_with(context: &CallContext, module: &Module, name: &str, arguments: Value) -> ToolResult {
    let tool = module.load().await.tools.into_iter().find(|tool| tool.name.name() == name).unwrap();
    let mut call = Call::new(Arc::new(tool), module.source().into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    let rule = Rule { module: Some(module.id().into()), actions: Some(vec![name.into()]), ..Rule::default() };
    let policy = Policy::new(&Capabilities { grant: vec![rule], ..Capabilities::default() }, []).unwrap();
    let Verdict::Granted(call) = policy.authorize(call, context.principal()) else { panic!("not granted") };
    module.invoke(&call, context).await
}

async fn ok(module: &Module, name: &str, arguments: Value) -> Value {
    let result = call_in("s", module, name, arguments).await;
    assert_eq!(result.error, None);
    result.result
}

async fn error(module: &Module, name: &str, arguments: Value) -> ToolError {
    call_in("s", module, name, arguments).await.error.unwrap()
}

#[tokio::test]
async fn a_server_is_connected_to_used_listed_and_disconnected() {
    let (server, module) = (ScriptServer::new(RESOURCES), plain());
    let connected = ok(&module, "connect", json!({"server": "notes", "command": command(&server)})).await;
    assert_eq!(connected["tools"][0]["name"], "one");
    assert_eq!(connected["tools"][0]["parameters"], json!({"type": "object"}));

    let called =
        ok(&module, "call_tool", json!({"server": "notes", "tool": "one", "arguments": {"a": 1}})).await;
    assert_eq!(called, json!({"server": "notes", "external": true, "result": "called one"}));
    assert!(server.logged("tools/call")[0].contains(r#""arguments":{"a":1}"#));
    let listed = ok(&module, "list_resources", json!({"server": "notes"})).await;
    assert_eq!(
        (&listed["external"], &listed["result"]["resources"][0]["uri"]),
        (&json!(true), &json!("note://1"))
    );
    let read = ok(&module, "read_resource", json!({"server": "notes", "uri": "note://1"})).await;
    assert!(read["result"].to_string().contains("milk"), "{read}");

    let known = ok(&module, "list_servers", json!({})).await;
    assert_eq!((&known[0]["server"], &known[0]["open"]), (&json!("notes"), &json!(true)), "{known}");
    ok(&module, "disconnect", json!({"server": "notes"})).await;
    assert_eq!(ok(&module, "list_servers", json!({})).await, json!([]));
    assert!(server.process_ids().iter().all(|process| !runs(*process)));
}

/// An entrance that knows the tool `mcp_notes.one`.
struct Knows;

#[async_trait]
impl ToolCaller for Knows {
    async fn call(&self, call: ToolCall, _: &CallContext) -> ToolResult {
        ToolResult::failed(call.call_id, call.name, ToolError::new(ErrorKind::Internal, "not called"))
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Knows {
    fn find_tools(&self, name: &str, _: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        assert_eq!(name, "mcp_notes::one");
        Ok(vec![Arc::new(Tool::new(QualifiedName::new("mcp_notes", "one").unwrap()))])
    }
}

#[tokio::test]
async fn a_call_that_was_judged_before_its_tool_had_a_name_does_not_run() {
    let (server, module) = (ScriptServer::new(""), plain());
    ok(&module, "connect", json!({"server": "notes", "command": command(&server)})).await;
    let mut context = CallContext::new("s");
    context.caller = Some(Arc::new(Knows));
    let arguments = json!({"server": "notes", "tool": "one"});
    let refused = call_with(&context, &module, "call_tool", arguments).await.error.unwrap();
    assert_eq!(refused.kind, ErrorKind::ToolChanged);
    assert!(refused.hint.unwrap().contains("`mcp_notes.one`"));
    assert!(server.logged("tools/call").is_empty());
    module.close().await;
}

#[tokio::test]
async fn servers_end_with_the_app_and_belong_to_their_session() {
    let (server, module) = (ScriptServer::new(""), plain());
    ok(&module, "connect", json!({"server": "notes", "command": command(&server)})).await;
    let other = call_in("other", &module, "call_tool", json!({"server": "notes", "tool": "one"})).await;
    let told = other.error.unwrap();
    assert_eq!((told.kind, told.message.as_str()), (ErrorKind::InvalidArgs, "there is no server `notes`"));
    assert_eq!(call_in("other", &module, "list_servers", json!({})).await.result, json!([]));
    assert!(server.process_ids().iter().any(|process| runs(*process)));
    module.close().await;
    assert!(server.process_ids().iter().all(|process| !runs(*process)));
}

#[tokio::test]
async fn the_servers_of_a_session_end_with_it_and_no_others() {
    let (mine, other, module) = (ScriptServer::new(""), ScriptServer::new(""), plain());
    for (session, name, server) in [("s", "one", &mine), ("s", "two", &mine), ("t", "one", &other)] {
        let arguments = json!({"server": name, "command": command(server)});
        assert_eq!(call_in(session, &module, "connect", arguments).await.error, None);
    }
    assert_eq!(mine.process_ids().iter().filter(|process| runs(**process)).count(), 2);
    module.end_session("s").await;
    assert!(mine.process_ids().iter().all(|process| !runs(*process)));
    assert_eq!(ok(&module, "list_servers", json!({})).await, json!([]));
    let called = call_in("t", &module, "call_tool", json!({"server": "one", "tool": "one"})).await;
    assert_eq!((called.error, &called.result["result"]), (None, &json!("called one")));
    // A name that was given is free again.
    ok(&module, "connect", json!({"server": "one", "command": command(&mine)})).await;
    module.close().await;
}

#[tokio::test]
async fn a_question_of_a_connected_server_is_put_to_the_user_of_the_call() {
    for era in [OLD, NEW] {
        let (server, module) = (ScriptServer::new(era), plain());
        let user = User::saying([filled(json!({"age": 42}))]);
        let mut context = CallContext::new("s");
        context.approver = Some(Arc::clone(&user) as _);
        let connect = json!({"server": "notes", "command": command(&server)});
        assert_eq!(call_with(&context, &module, "connect", connect).await.error, None);
        let called = json!({"server": "notes", "tool": "one"});
        let told = call_with(&context, &module, "call_tool", called).await.result;
        assert!(told["result"].as_str().unwrap().contains("-age-:42"), "{told}");
        let asked = user.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!((asked[0].server.as_deref(), asked[0].session.as_ref()), (Some("mcp_notes"), "s"));
        assert!(module.reports_progress(), "a call that waits for the user has to be given the time");
        module.close().await;
    }
}

#[tokio::test]
async fn a_server_that_does_not_start_is_an_error_and_leaves_nothing() {
    let module = plain();
    let broken = error(&module, "connect", json!({"server": "x", "command": ["no-such-server"]})).await;
    assert_eq!(broken.kind, ErrorKind::Unavailable);
    assert!(broken.message.contains("no-such-server"), "{broken}");
    assert_eq!(broken.hint.as_deref(), Some("check the words of `command`, or ask the user"));
    assert_eq!(ok(&module, "list_servers", json!({})).await, json!([]));
    let server = ScriptServer::new("on_list() { exit 3; }");
    error(&module, "connect", json!({"server": "x", "command": command(&server)})).await;
    eventually(|| async { server.process_ids().iter().all(|process| !runs(*process)).then_some(()) }).await;
}

#[tokio::test]
async fn wrong_calls_are_told_what_would_be_right() {
    let (server, module) = (ScriptServer::new(""), plain());
    let command = command(&server);
    ok(&module, "connect", json!({"server": "notes", "command": command})).await;
    for (name, arguments, kind, told) in [
        ("connect", json!({"server": "x"}), ErrorKind::InvalidArgs, "one of the two"),
        (
            "connect",
            json!({"server": "x", "command": command, "url": "https://a.example"}),
            ErrorKind::InvalidArgs,
            "one of the two",
        ),
        ("connect", json!({"server": "x", "command": []}), ErrorKind::InvalidArgs, "`command` is empty"),
        (
            "connect",
            json!({"server": "x", "url": "file:///etc/passwd"}),
            ErrorKind::InvalidArgs,
            "is not an address",
        ),
        (
            "connect",
            json!({"server": "a b", "command": command}),
            ErrorKind::InvalidArgs,
            "should be a name of letters",
        ),
        (
            "connect",
            json!({"server": "notes", "command": command}),
            ErrorKind::InvalidArgs,
            "there is already a server",
        ),
        (
            "connect",
            json!({"server": "x", "url": "http://127.0.0.1:9/mcp"}),
            ErrorKind::Denied,
            "`127.0.0.1:9` is a private address",
        ),
        (
            "call_tool",
            json!({"server": "note", "tool": "one"}),
            ErrorKind::InvalidArgs,
            "there is no server `note`",
        ),
        ("call_tool", json!({"server": "notes", "tool": "two"}), ErrorKind::UnknownTool, "has no tool `two`"),
        ("disconnect", json!({"server": "x"}), ErrorKind::InvalidArgs, "there is no server `x`"),
    ] {
        let error = error(&module, name, arguments.clone()).await;
        assert_eq!(error.kind, kind, "{name} {arguments}: {error}");
        assert!(error.message.contains(told), "{name} {arguments}: {error}");
    }
    let error = error(&module, "call_tool", json!({"server": "notes", "tool": "two"})).await;
    assert_eq!(error.hint.as_deref(), Some("it has: one"));
    module.close().await;
}

#[tokio::test]
async fn only_what_may_be_started_or_reached_is() {
    let rules: AccessRules =
        serde_json::from_value(json!({"system": ["sh"], "network": ["mcp.example"]})).unwrap();
    let module = with(&McpModuleConfig::default(), Access::new(&rules).unwrap());
    for (address, told) in [
        (json!({"server": "x", "command": ["python3", "server.py"]}), "`python3` may not be started"),
        (
            json!({"server": "x", "url": "https://other.example/mcp"}),
            "`other.example:443` may not be reached",
        ),
    ] {
        let error = error(&module, "connect", address).await;
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Denied, told));
    }
    let server = ScriptServer::new("");
    ok(&module, "connect", json!({"server": "x", "command": command(&server)})).await;
    module.close().await;
}

#[tokio::test]
async fn a_server_at_a_private_address_is_connected_to_only_where_the_operator_names_its_origin() {
    let url = super::http::url_of_server().await;
    let arguments = json!({"server": "near", "url": url});
    let refused = error(&plain(), "connect", arguments.clone()).await;
    assert_eq!(refused.kind, ErrorKind::Denied, "{refused}");
    assert!(refused.hint.unwrap().contains("under `private_origins`"));

    let origin = url::Url::parse(&url).unwrap().origin().ascii_serialization();
    let module = with(
        &McpModuleConfig { private_origins: vec![origin], ..McpModuleConfig::default() },
        Access::unlimited(),
    );
    let connected = ok(&module, "connect", arguments).await;
    assert_eq!(connected["tools"][0]["name"], "get_header");
    // Another port is another origin.
    let other = json!({"server": "other", "url": "http://127.0.0.1:9/mcp"});
    assert_eq!(error(&module, "connect", other).await.kind, ErrorKind::Denied);
    module.close().await;
}

#[tokio::test]
async fn only_so_many_servers_are_connected_to() {
    let (server, module) = (ScriptServer::new(""), plain());
    for number in 0..MAX_SERVERS {
        ok(&module, "connect", json!({"server": format!("s{number}"), "command": command(&server)})).await;
    }
    let full = json!({"server": "more", "command": command(&server)});
    let error = error(&module, "connect", full.clone()).await;
    assert!(error.message.contains("16 servers are connected") && error.hint.is_some(), "{error}");
    ok(&module, "disconnect", json!({"server": "s3"})).await;
    ok(&module, "connect", full).await;
    module.close().await;
    assert!(server.process_ids().iter().all(|process| !runs(*process)));
}

#[tokio::test]
async fn whoever_connects_or_calls_is_asked_for_leave() {
    let tools = plain().load().await.tools;
    let risks: Vec<_> = tools.iter().map(|tool| (tool.name.name(), tool.traits().risk)).collect();
    assert_eq!(
        risks,
        [
            ("connect", Risk::High),
            ("disconnect", Risk::Medium),
            ("list_servers", Risk::Low),
            ("call_tool", Risk::High),
            ("list_resources", Risk::Low),
            ("read_resource", Risk::Low),
        ]
    );
    assert!(tools[0].traits().confirmation_required);
    assert!(tools.iter().all(|tool| tool.parameters["additionalProperties"] == false));
}
