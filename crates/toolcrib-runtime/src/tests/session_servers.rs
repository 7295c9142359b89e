//! The tools of servers that single sessions have connected to.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_app::{Blueprint, Extensions};
use toolcrib_exec::Callback;
use toolcrib_exec::audit::{AuditSink, Record};
use toolcrib_model::{ErrorKind, Risk, ToolCall, ToolResult};
use toolcrib_policy::Question;
use toolcrib_port::{Answer, CallContext};

use crate::Runtime;

/// An MCP server that answers each call with its name, which is its first argument, and that of the tool. `die` ends it, and
/// keeps it from starting again.
const SERVER: &str = r#"
here=${0%/*}
[ -e "$here/dead" ] && exit 3
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":%s%s}' "$1" "$2" "$3" "$4"; }
plain='{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}}}'
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      reply '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      reply "{\"tools\":[$(tool archive 'Looks in the archive of the lighthouse.' "$plain" ',"annotations":{"readOnlyHint":true,"idempotentHint":true}'),$(tool die 'Ends.' "$plain"),$(tool broken 'Is broken.' '{"type":"object","properties":{"a":{"type":"nonsense"}}}')]}" ;;
    *'"method":"tools/call"'*)
      name=${line#*\"name\":\"}; name=${name%%\"*}
      [ "$name" = die ] && { : > "$here/dead"; exit 3; }
      reply "{\"content\":[{\"type\":\"text\",\"text\":\"$1 did $name\"}]}" ;;
  esac
done
"#;

/// Rules under which nobody is asked.
const OPEN: &str = "{default_policy: grant, grant: [{module: mcp, actions: [connect, call_tool]}]}";

#[derive(Default)]
struct Records(Mutex<Vec<(String, Option<String>)>>);

impl AuditSink for Records {
    fn record(&self, record: &Record) {
        let record = serde_json::to_value(record).unwrap();
        let of = |key: &str| record[key].as_str().map(str::to_owned);
        self.0.lock().push((of("tool").unwrap_or_default(), of("rule")));
    }
}

struct Fixture {
    folder: TempDir,
    runtime: Runtime,
    asked: Arc<Mutex<Vec<Question>>>,
    records: Arc<Records>,
}

impl Fixture {
    /// An app with the module `mcp` whose user says yes to everything.
    async fn new(capabilities: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("server.sh"), SERVER).unwrap();
        let app = format!("modules: {{mcp: {{}}, hello: {{}}}}\ntools:\n  capabilities: {capabilities}\n");
        let records = Arc::new(Records::default());
        let extensions = Extensions::default().with_observer(Arc::clone(&records) as _);
        let app = Blueprint::from_text_with("app.yaml", &app, extensions).unwrap();
        let asked: Arc<Mutex<Vec<Question>>> = Arc::default();
        let told = Arc::clone(&asked);
        let approver = Callback::new(move |question: Question| {
            let approval = question.approve();
            told.lock().push(question);
            async move { Answer::Approved(approval) }
        });
        let runtime = Runtime::start(app, Arc::new(approver)).await.unwrap();
        Self { folder, runtime, asked, records }
    }

    async fn call(&self, session: &str, tool: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new(tool, arguments.as_object().unwrap().clone());
        self.runtime.executor().call(call, &CallContext::new(session)).await
    }

    async fn ok(&self, session: &str, tool: &str, arguments: Value) -> Value {
        let result = self.call(session, tool, arguments).await;
        assert_eq!(result.error, None, "{tool}");
        result.result
    }

    /// What the server answered, which is labelled as the text of a stranger.
    async fn said(&self, session: &str, tool: &str, arguments: Value) -> Value {
        let mut result = self.ok(session, tool, arguments).await;
        assert_eq!(result["external"], true, "{result}");
        result["result"].take()
    }

    /// The kind and the text of an error.
    async fn error(&self, session: &str, tool: &str, arguments: Value) -> (ErrorKind, String) {
        let error = self.call(session, tool, arguments).await.error.unwrap();
        (error.kind, format!("{}; {}", error.message, error.hint.unwrap_or_default()))
    }

    fn server(&self) -> PathBuf {
        self.folder.path().join("server.sh")
    }

    /// Connects a session to a server that goes by `says` in its answers.
    async fn connect(&self, session: &str, server: &str, says: &str) -> Value {
        let command = json!(["sh", self.server(), says]);
        self.ok(session, "mcp.connect", json!({"server": server, "command": command})).await
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().drain(..).map(|question| question.tool).collect()
    }
}

#[tokio::test]
async fn the_tools_of_a_connected_server_are_found_shown_and_called_like_others() {
    let fixture = Fixture::new(OPEN).await;
    let nothing = fixture.ok("s", "search_tools", json!({"query": "archive of the lighthouse"})).await;
    assert_ne!(nothing["outcome"], "ok", "{nothing}");
    let connected = fixture.connect("s", "notes", "one").await;
    assert_eq!(connected["category"], "mcp_notes");
    let names: Vec<_> =
        connected["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["archive", "die"]);
    assert!(connected["notes"][0].as_str().unwrap().contains("`mcp_notes.broken`"), "{connected}");

    let found = fixture.ok("s", "search_tools", json!({"query": "archive of the lighthouse"})).await;
    assert!(found["results"].to_string().contains("mcp_notes.archive"), "{found}");
    let browsed = fixture.ok("s", "browse_category", json!({"category": "mcp_notes"})).await;
    assert!(browsed["total"] == 2 && browsed.to_string().contains("mcp_notes.archive"), "{browsed}");
    let categories = fixture.ok("s", "list_categories", json!({})).await.to_string();
    assert!(categories.contains("mcp_notes"), "{categories}");
    let card = fixture.ok("s", "get_tool", json!({"name": "mcp_notes__archive"})).await;
    assert_eq!(card["parameters"]["properties"]["query"]["type"], "string", "{card}");
    let snapshot = fixture.runtime.executor().registry().snapshot_of("s");
    let tool = snapshot.iter().find(|entry| entry.tool.name.name() == "archive").unwrap();
    // What the server says of itself does not make it harmless.
    assert!(tool.tool.traits().risk == Risk::Medium && !tool.tool.traits().idempotent);

    let archive = json!({"name": "mcp_notes.archive", "params": {"query": "storm"}});
    assert_eq!(fixture.said("s", "mcp_notes.archive", json!({"query": "storm"})).await, "one did archive");
    assert_eq!(fixture.said("s", "execute_tool", archive.clone()).await, "one did archive");
    let ran = fixture.ok("s", "run_parallel", json!({"calls": [archive, {"name": "archive"}]})).await;
    assert_eq!(ran["succeeded"], 2, "{ran}");
    let (kind, text) = fixture.error("s", "mcp_notes.archive", json!({"limit": "many"})).await;
    assert_eq!(kind, ErrorKind::InvalidArgs, "{text}");
    let (kind, _) = fixture.error("s", "mcp_notes.broken", json!({})).await;
    assert_eq!(kind, ErrorKind::UnknownTool);
    fixture.runtime.close().await;
}

#[tokio::test]
async fn a_session_never_sees_or_reaches_the_tools_of_another() {
    let fixture = Fixture::new(OPEN).await;
    fixture.connect("s", "notes", "mine").await;
    fixture.connect("s", "more", "more").await;
    fixture.connect("t", "notes", "theirs").await;
    assert_eq!(fixture.said("s", "mcp_notes.archive", json!({})).await, "mine did archive");
    assert_eq!(fixture.said("t", "mcp_notes.archive", json!({})).await, "theirs did archive");
    let call = json!({"server": "notes", "tool": "archive", "arguments": {}});
    assert_eq!(fixture.said("t", "mcp.call_tool", call).await, "theirs did archive");
    for session in ["t", "u"] {
        for name in ["mcp_more.archive", "mcp_more::archive", "MCP_MORE.ARCHIVE"] {
            let (kind, text) = fixture.error(session, name, json!({})).await;
            assert_eq!(kind, ErrorKind::UnknownTool, "{session} {name}");
            let inner = fixture.error(session, "execute_tool", json!({"name": name})).await;
            assert_eq!(inner.0, ErrorKind::UnknownTool);
            assert!(!text.contains("`mcp_more.archive`?"), "{text}");
        }
        let told = fixture
            .ok(session, "search_tools", json!({"query": "mcp_more archive", "max_results": 20}))
            .await;
        assert!(!told.to_string().contains("mcp_more"), "{told}");
        let told = fixture.ok(session, "list_categories", json!({})).await;
        assert!(!told.to_string().contains("mcp_more"), "{told}");
        let (kind, _) = fixture.error(session, "browse_category", json!({"category": "mcp_more"})).await;
        assert_eq!(kind, ErrorKind::NotFound);
        assert!(fixture.call(session, "get_tool", json!({"name": "mcp_more.archive"})).await.error.is_some());
    }
    let snapshot = fixture.runtime.snapshot();
    assert!(snapshot.iter().all(|entry| !entry.tool.name.namespace().starts_with("mcp_")));

    fixture.runtime.executor().end_session("s").await;
    assert_eq!(fixture.error("s", "mcp_notes.archive", json!({})).await.0, ErrorKind::UnknownTool);
    assert_eq!(fixture.said("t", "mcp_notes.archive", json!({})).await, "theirs did archive");
    fixture.runtime.close().await;
}

#[tokio::test]
async fn the_tools_of_a_server_go_with_it() {
    let fixture = Fixture::new(OPEN).await;
    fixture.connect("s", "notes", "one").await;
    fixture.ok("s", "mcp.disconnect", json!({"server": "notes"})).await;
    assert_eq!(fixture.error("s", "mcp_notes.archive", json!({})).await.0, ErrorKind::UnknownTool);
    let told = fixture.ok("s", "search_tools", json!({"query": "archive of the lighthouse"})).await;
    assert_ne!(told["outcome"], "ok", "{told}");
    // The name is free again, also for another server.
    fixture.connect("s", "notes", "two").await;
    assert_eq!(fixture.said("s", "mcp_notes.archive", json!({})).await, "two did archive");

    // It ends, and does not start again.
    fixture.error("s", "mcp_notes.die", json!({})).await;
    let (kind, text) = fixture.error("s", "mcp_notes.archive", json!({})).await;
    assert_eq!(kind, ErrorKind::Unavailable, "{text}");
    assert!(text.contains("`notes` is disconnected; `mcp.connect` connects to it again"), "{text}");
    assert_eq!(fixture.error("s", "mcp_notes.archive", json!({})).await.0, ErrorKind::UnknownTool);
    assert_eq!(fixture.ok("s", "mcp.list_servers", json!({})).await, json!([]));
    fixture.runtime.close().await;
}

#[tokio::test]
async fn a_server_may_not_take_a_name_of_the_app_and_is_told_one_that_is_free() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("server.sh"), SERVER).unwrap();
    let fixture = Fixture::new(&format!(
        "{OPEN}\n  registry: [{{type: mcp, name: team, command: [sh, '{}', app]}}]",
        folder.path().join("server.sh").display()
    ))
    .await;
    assert_eq!(fixture.ok("s", "mcp_team.archive", json!({})).await, "app did archive");
    let command = json!(["sh", fixture.server(), "other"]);
    for name in ["team", "TEAM"] {
        let (kind, text) =
            fixture.error("s", "mcp.connect", json!({"server": name, "command": command})).await;
        assert_eq!(kind, ErrorKind::InvalidArgs, "{text}");
        assert!(text.contains(&format!("such as `{name}_2`")), "{text}");
    }
    assert_eq!(fixture.ok("s", "mcp.list_servers", json!({})).await, json!([]));
    fixture.connect("s", "team_2", "other").await;
    assert_eq!(fixture.ok("s", "mcp_team.archive", json!({})).await, "app did archive");
    assert_eq!(fixture.said("s", "mcp_team_2.archive", json!({})).await, "other did archive");
    fixture.runtime.close().await;
}

#[tokio::test]
async fn a_rule_that_denies_either_name_denies_the_tool_by_both() {
    for (rule, archive_only) in [
        ("{module: mcp, actions: [call_tool]}", false),
        ("{module: mcp, actions: [call_tool], arguments: [{path: /server, equals: notes}]}", false),
        ("{module: mcp, actions: [call_tool], arguments: [{path: /tool, equals: archive}]}", true),
        ("{module: mcp_notes}", false),
        ("{module: mcp_notes, actions: [archive]}", true),
        ("{actions: [archive]}", true),
    ] {
        let capabilities = format!(
            "{{default_policy: grant, grant: [{{module: mcp, actions: [connect, call_tool]}}], deny: [{rule}]}}"
        );
        let fixture = Fixture::new(&capabilities).await;
        fixture.connect("s", "notes", "one").await;
        let (kind, _) = fixture.error("s", "mcp_notes.archive", json!({})).await;
        assert_eq!(kind, ErrorKind::Denied, "{rule}");
        let call = json!({"server": "notes", "tool": "archive", "arguments": {}});
        let (kind, _) = fixture.error("s", "mcp.call_tool", call).await;
        assert_eq!(kind, ErrorKind::Denied, "{rule}");
        let found = fixture.ok("s", "search_tools", json!({"query": "archive of the lighthouse"})).await;
        assert!(!found.to_string().contains("mcp_notes.archive"), "{rule}: {found}");
        let categories = fixture.ok("s", "list_categories", json!({})).await.to_string();
        assert_eq!(categories.contains("mcp_notes"), archive_only, "{rule}: {categories}");
        fixture.runtime.close().await;
    }
}

#[tokio::test]
async fn a_person_is_asked_about_the_tool_by_its_own_name_however_it_is_called() {
    // Nothing says that `call_tool` may run unasked.
    let fixture = Fixture::new("{default_policy: grant, grant: [{module: mcp, actions: [connect]}]}").await;
    fixture.connect("s", "notes", "one").await;
    let by_call_tool = json!({"server": "notes", "tool": "archive", "arguments": {"query": "x"}});
    for (tool, arguments) in [
        ("mcp_notes.archive", json!({"query": "x"})),
        ("execute_tool", json!({"name": "mcp_notes.archive", "params": {"query": "x"}})),
        ("mcp.call_tool", by_call_tool.clone()),
        ("execute_tool", json!({"name": "mcp.call_tool", "params": by_call_tool})),
    ] {
        fixture.records.0.lock().clear();
        assert_eq!(fixture.said("s", tool, arguments.clone()).await, "one did archive");
        let asked = fixture.asked.lock().first().cloned().unwrap();
        assert_eq!(asked.rule, "high risk, as a call of `mcp.call_tool`");
        assert_eq!(Value::from(asked.arguments), json!({"query": "x"}));
        assert_eq!(fixture.asked(), ["mcp_notes.archive"], "{tool} {arguments}");
        let records = fixture.records.0.lock();
        let of_tool =
            records.iter().find(|(name, _)| name == "mcp_notes::archive" || name == "mcp_notes.archive");
        assert!(of_tool.is_some(), "{records:?}");
    }
    fixture.runtime.close().await;
    // A rule for the tool's own name is not dodged by the other one.
    let capabilities = "{default_policy: grant, grant: [{module: mcp, actions: [connect, call_tool]}], \
                        approve: [{module: mcp_notes}]}";
    let fixture = Fixture::new(capabilities).await;
    assert_eq!(fixture.runtime.warnings(), [""; 0], "a rule may be about what a session adds");
    fixture.connect("s", "notes", "one").await;
    let call = json!({"server": "notes", "tool": "archive", "arguments": {}});
    fixture.ok("s", "mcp.call_tool", call).await;
    assert_eq!(fixture.asked(), ["mcp_notes.archive"]);
    fixture.runtime.close().await;
}

#[tokio::test]
async fn what_was_approved_of_a_server_holds_for_no_other_under_its_name() {
    use toolcrib_policy::Remember;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("server.sh"), SERVER).unwrap();
    let app = "modules: {mcp: {}}\ntools: {capabilities: {default_policy: grant}}\n";
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&asked);
    let approver = Callback::new(move |question: Question| {
        told.lock().push(question.tool.clone());
        let approval = question.approve().remember(Remember::Tool);
        async move { Answer::Approved(approval) }
    });
    let runtime =
        Runtime::start(Blueprint::from_text("app.yaml", app).unwrap(), Arc::new(approver)).await.unwrap();
    let call = async |tool: &str, arguments: Value| {
        let call = ToolCall::new(tool, arguments.as_object().unwrap().clone());
        let result = runtime.executor().call(call, &CallContext::new("s")).await;
        assert_eq!(result.error, None, "{tool}");
    };
    for says in ["one", "two"] {
        let command = json!(["sh", folder.path().join("server.sh"), says]);
        call("mcp.connect", json!({"server": "notes", "command": command})).await;
        call("mcp_notes.archive", json!({})).await;
        call("mcp_notes.archive", json!({})).await;
        call("mcp.disconnect", json!({"server": "notes"})).await;
    }
    let asked = asked.lock().clone();
    assert_eq!(asked.iter().filter(|tool| *tool == "mcp_notes.archive").count(), 2, "{asked:?}");
    runtime.close().await;
}
