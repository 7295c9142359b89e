//! What the tools of single sessions promise.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use toolcrib_model::tool::EquivalentCall;
use toolcrib_model::{QualifiedName, Tool, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, LoadOutcome, RejectKind, ToolEngine, ToolLoader};

use super::tool;
use crate::session_tools::{
    AddedTools, MAX_SESSION_SOURCES, MAX_SESSION_TOOLS, SessionSource, SessionToolsError,
};
use crate::{FindError, SessionTools, Snapshot, ToolRegistry};

struct Nothing;

#[async_trait]
impl ToolEngine for Nothing {
    async fn invoke(&self, call: &Authorized<Call>, _: &CallContext) -> ToolResult {
        call.ok("done")
    }
}

struct Owner;

#[async_trait]
impl ToolLoader for Owner {
    fn source(&self) -> &'static str {
        "mcp owner"
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        Some("mcp_owned")
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome::default()
    }
}

fn source(name: &str, namespace: &str, tools: Vec<Tool>) -> SessionSource {
    SessionSource { name: name.into(), namespace: namespace.to_owned(), tools, engine: Arc::new(Nothing) }
}

async fn add(
    tools: &SessionTools,
    session: &str,
    namespace: &str,
    names: &[&str],
) -> Result<AddedTools, SessionToolsError> {
    let own = names.iter().map(|name| tool(namespace, name)).collect();
    tools.add(&session.into(), source(&format!("{namespace} of {session}"), namespace, own)).await
}

fn app(tools: Vec<Tool>) -> (ToolRegistry, SessionTools) {
    let session_tools = SessionTools::default();
    let registry = ToolRegistry::from_tools("app", tools).unwrap();
    (registry.with_session_tools(session_tools.clone()), session_tools)
}

fn found(snapshot: &Snapshot, spelling: &str) -> Option<String> {
    let overloads = snapshot.find(spelling, |_| true).ok()?;
    Some(overloads.first()?.tool.name.dotted())
}

#[tokio::test]
async fn a_tool_of_a_session_is_in_its_snapshot_and_in_no_other() {
    let (registry, tools) = app(vec![tool("files", "read")]);
    add(&tools, "s", "mcp_notes", &["search"]).await.unwrap();
    add(&tools, "t", "mcp_notes", &["other"]).await.unwrap();
    let of = |session: &str| -> Vec<String> {
        registry.snapshot_of(session).iter().map(|entry| entry.tool.name.dotted()).collect()
    };
    assert_eq!(of("s"), ["files.read", "mcp_notes.search"]);
    assert_eq!(of("t"), ["files.read", "mcp_notes.other"]);
    assert_eq!(of("u"), ["files.read"]);
    assert_eq!(registry.snapshot().iter().count(), 1);
    for spelling in
        ["mcp_notes.search", "mcp_notes::search", "mcp_notes__search", "search", "MCP-notes.Search"]
    {
        assert_eq!(
            found(&registry.snapshot_of("s"), spelling).as_deref(),
            Some("mcp_notes.search"),
            "{spelling}"
        );
        assert_eq!(found(&registry.snapshot_of("t"), spelling), None, "{spelling}");
    }
    assert!(registry.session_engine("s", "mcp_notes of s").is_some());
    assert!(registry.session_engine("t", "mcp_notes of s").is_none(), "an engine is its session's alone");

    tools.remove("s", "mcp_notes of t");
    assert_eq!(of("t"), ["files.read", "mcp_notes.other"], "a session removes its own sources only");
    tools.remove("s", "mcp_notes of s");
    assert_eq!(of("s"), ["files.read"]);
    assert!(registry.session_engine("s", "mcp_notes of s").is_none());
    registry.end_session("t");
    assert_eq!(of("t"), ["files.read"]);
}

#[tokio::test]
async fn a_name_that_means_something_in_the_app_means_the_same_in_every_session() {
    let (registry, tools) =
        app(vec![tool("files", "read"), tool("vault", "open"), tool("mcp", "notes_find")]);
    let names = ["read", "files_read", "files.read", "Open", "vault__open", "find", "write"];
    let added = add(&tools, "s", "mcp_notes", &names).await.unwrap();
    let rejected: Vec<_> = added.rejected.iter().map(|reject| reject.name.as_deref().unwrap()).collect();
    // Its full name reads like that of `mcp.notes_find`.
    assert_eq!(rejected, ["mcp_notes::find"]);
    let snapshot = registry.snapshot_of("s");
    for spelling in ["read", "files_read", "files.read", "Files-Read", "READ"] {
        assert_eq!(found(&snapshot, spelling).as_deref(), Some("files.read"), "{spelling}");
    }
    for spelling in ["open", "Open", "vault__open", "vault-open"] {
        assert_eq!(found(&snapshot, spelling).as_deref(), Some("vault.open"), "{spelling}");
    }
    assert_eq!(found(&snapshot, "mcp_notes.find").as_deref(), Some("mcp.notes_find"));
    assert_eq!(found(&snapshot, "mcp_notes.read").as_deref(), Some("mcp_notes.read"));
    assert_eq!(found(&snapshot, "write").as_deref(), Some("mcp_notes.write"));
    // What is hidden from the caller stays so.
    let hidden = snapshot.find("open", |entry| entry.tool.name.namespace() != "vault");
    assert!(matches!(hidden, Err(FindError::Hidden { .. })));
    let unknown = snapshot.find("mcp_notes.wirte", |_| true).unwrap_err();
    let FindError::Unknown { suggestions, .. } = unknown else { panic!("{unknown}") };
    assert_eq!(suggestions[0], QualifiedName::new("mcp_notes", "write").unwrap());
}

#[tokio::test]
async fn a_namespace_that_is_in_use_or_reads_like_one_is_refused() {
    let registry = ToolRegistry::new();
    let tools = SessionTools::default();
    let registry = registry.with_session_tools(tools.clone());
    registry.add_loader(Arc::new(Owner));
    registry.refresh().await.unwrap();
    add(&tools, "s", "mcp_notes", &["one"]).await.unwrap();
    for namespace in ["mcp_owned", "MCP_Owned", "mcp-owned", "mcp_notes", "mcp_Notes", "mcp__notes"] {
        let error = add(&tools, "s", namespace, &["one"]).await.unwrap_err();
        assert_eq!(error, SessionToolsError::NamespaceTaken { namespace: namespace.to_owned() });
    }
    add(&tools, "t", "mcp_notes", &["one"]).await.unwrap();
}

#[tokio::test]
async fn tools_of_a_namespace_that_the_app_comes_to_use_leave_the_session() {
    let tools = SessionTools::default();
    let registry = ToolRegistry::new().with_session_tools(tools.clone());
    registry.refresh().await.unwrap();
    add(&tools, "s", "mcp_owned", &["one"]).await.unwrap();
    assert_eq!(found(&registry.snapshot_of("s"), "one").as_deref(), Some("mcp_owned.one"));
    registry.add_loader(Arc::new(Owner));
    registry.refresh().await.unwrap();
    assert_eq!(found(&registry.snapshot_of("s"), "one"), None);
}

#[tokio::test]
async fn a_session_adds_only_so_many_sources_and_tools() {
    let (registry, tools) = app(Vec::new());
    let names: Vec<String> = (0..=MAX_SESSION_TOOLS).map(|number| format!("t{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let added = add(&tools, "s", "many", &names).await.unwrap();
    assert_eq!((added.tools.len(), added.rejected.len()), (MAX_SESSION_TOOLS, 1));
    let more = add(&tools, "s", "more", &["one"]).await.unwrap();
    assert_eq!((more.tools.len(), more.rejected[0].kind), (0, RejectKind::TooLarge));
    assert_eq!(registry.snapshot_of("s").iter().count(), MAX_SESSION_TOOLS);
    for number in 2..MAX_SESSION_SOURCES {
        add(&tools, "s", &format!("n{number}"), &[]).await.unwrap();
    }
    assert_eq!(add(&tools, "s", "n", &[]).await.unwrap_err(), SessionToolsError::TooManySources);
    add(&tools, "t", "n", &["one"]).await.unwrap();
}

#[tokio::test]
async fn a_tool_that_cannot_be_used_is_rejected_and_the_others_are_added() {
    let (registry, tools) = app(Vec::new());
    let broken = tool("mcp_a", "broken").with_parameters(json!({"type": "no such type"}));
    let stranger = tool("files", "read");
    let own = vec![broken, stranger, tool("mcp_a", "one")];
    let added = tools.add(&"s".into(), source("a", "mcp_a", own)).await.unwrap();
    let mut rejected: Vec<_> =
        added.rejected.iter().map(|reject| (reject.kind, reject.name.clone().unwrap())).collect();
    rejected.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(rejected[0], (RejectKind::NamespaceTaken, "files::read".to_owned()));
    assert_eq!(rejected[1].0, RejectKind::InvalidSchema);
    let names: Vec<_> = registry.snapshot_of("s").tool_names().map(QualifiedName::dotted).collect();
    assert_eq!(names, ["mcp_a.one"]);
}

#[tokio::test]
async fn a_call_of_another_tool_that_amounts_to_a_call_of_a_session_tool_is_known() {
    let (registry, tools) = app(vec![tool("mcp", "call_tool")]);
    let object = |value: serde_json::Value| value.as_object().unwrap().clone();
    let own = tool("mcp_a", "one").with_equivalent(EquivalentCall {
        tool: Arc::new(tool("mcp", "call_tool")),
        source: "module mcp".into(),
        fixed: object(json!({"server": "a", "tool": "one"})),
        arguments_key: "arguments".to_owned(),
    });
    tools.add(&"s".into(), source("a", "mcp_a", vec![own])).await.unwrap();
    let call_tool = QualifiedName::new("mcp", "call_tool").unwrap();
    let of = |session: &str, arguments| {
        let snapshot = registry.snapshot_of(session);
        let (entry, arguments) = snapshot.equivalent(&call_tool, &object(arguments))?;
        Some((entry.tool.name.dotted(), serde_json::Value::Object(arguments)))
    };
    let one = |arguments| Some(("mcp_a.one".to_owned(), arguments));
    let called = json!({"server": "a", "tool": "one", "arguments": {"q": 1}});
    assert_eq!(of("s", called.clone()), one(json!({"q": 1})));
    assert_eq!(of("s", json!({"server": "a", "tool": "one"})), one(json!({})));
    assert_eq!(of("s", json!({"server": "b", "tool": "one"})), None);
    assert_eq!(of("t", called), None);
}
