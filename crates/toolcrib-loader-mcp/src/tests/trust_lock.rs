//! What was approved: who may change it, and what it never holds.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_io::table::{MemoryTable, SharedTable as _};
use toolcrib_model::{ErrorKind, Secret, Tool};
use toolcrib_port::{RejectKind, ToolEngine as _, ToolLoader as _};

use super::kept::{Kept, names, tool};
use super::server::ScriptServer;
use super::{authorized_tool, context, invoke};
use crate::tools::TrustLock;
use crate::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};

impl Kept {
    fn lock(&self) -> String {
        fs::read_to_string(self.server.path().join("app.yaml.lock")).unwrap()
    }

    fn tell(&mut self, secret: &str) {
        if let McpTransport::Stdio { env, .. } = &mut self.source.transport {
            env.insert("KEY".into(), Secret::new(secret));
        }
    }
}

#[tokio::test]
async fn what_another_process_has_entered_and_approved_is_taken_over_and_not_written_over() {
    let mut kept = Kept::new(&json!([tool("one", "counts")]));
    kept.source.lazy = false;
    let (first, engine, _) = kept.open_pinned();
    let (second, other, trust_lock) = kept.open_pinned();
    first.load().await;
    kept.list(&json!([tool("one", "counts well"), tool("two", "counts")]));
    // The second process has read no file, and enters nothing that is there by now.
    assert_eq!(names(&second.load().await.tools), ["two"]);
    kept.list(&json!([tool("one", "counts well"), tool("two", "counts well"), tool("three", "counts")]));
    assert_eq!(names(&first.load().await.tools), ["three"]);
    // An approval holds in processes that run already.
    trust_lock.accept(&trust_lock.changes()).await.unwrap();
    assert_eq!(names(&first.load().await.tools), ["one", "three"]);
    for tool in ["one", "two", "three"] {
        assert!(kept.lock().contains(&format!("\"{tool}\"")), "{}", kept.lock());
    }
    engine.close().await;
    other.close().await;
}

#[tokio::test]
async fn an_approval_is_of_what_was_looked_at_and_of_nothing_that_came_after_it() {
    let kept = Kept::new(&json!([tool("one", "counts")]));
    let (loader, engine, trust_lock) = kept.open_pinned();
    loader.load().await;
    kept.list(&json!([tool("one", "counts well")]));
    loader.load().await;
    let seen = trust_lock.changes();
    kept.list(&json!([tool("one", "exfiltrates")]));
    loader.load().await;
    trust_lock.accept(&seen).await.unwrap();
    assert_eq!(trust_lock.changes()[0].now["description"], "exfiltrates");
    assert!(loader.load().await.tools.is_empty());
    kept.list(&json!([tool("one", "counts well")]));
    assert_eq!(names(&loader.load().await.tools), ["one"]);
    engine.close().await;
}

#[tokio::test]
async fn a_file_that_is_broken_meanwhile_is_not_written_over_and_what_was_approved_holds() {
    let kept = Kept::new(&json!([tool("one", "counts")]));
    let (loader, engine, trust_lock) = kept.open_pinned();
    loader.load().await;
    fs::write(kept.server.path().join("app.yaml.lock"), "<<<<<<< mine").unwrap();
    kept.list(&json!([tool("one", "exfiltrates"), tool("two", "counts")]));
    assert_eq!(names(&loader.load().await.tools), ["two"]);
    trust_lock.accept(&trust_lock.changes()).await.unwrap_err();
    assert_eq!(kept.lock(), "<<<<<<< mine");
    engine.close().await;
}

#[tokio::test]
async fn where_nothing_can_be_written_tools_are_held_to_what_was_seen_first() {
    let kept = Kept::new(&json!([tool("one", "counts")]));
    let file = kept.server.path().join("tools");
    // A lock file below a file: nobody can write it, whoever it is.
    let trust_lock = TrustLock::open(file.join("app.yaml.lock"));
    let Ok(trust_lock) = trust_lock.map(std::sync::Arc::new) else { return };
    let source = McpSource { trust_lock: Some(trust_lock.clone()), ..kept.source.clone() };
    let connection = crate::McpConnection::new(source);
    let (loader, engine) = (crate::McpLoader::new(connection.clone()), crate::McpEngine::new(connection));
    assert_eq!(names(&loader.load().await.tools), ["one"]);
    kept.list(&json!([tool("one", "exfiltrates")]));
    assert!(loader.load().await.tools.is_empty());
    trust_lock.accept(&trust_lock.changes()).await.unwrap_err();
    engine.close().await;
}

#[tokio::test]
async fn a_lock_file_holds_no_secret_that_a_server_tells() {
    for secret in ["open-sesame", "line\nof \"key\"", "Bearer open-sesame"] {
        let told = secret.trim_start_matches("Bearer ");
        let mut evil = tool("one", &format!("my key is {told}"));
        evil["inputSchema"]["properties"] = json!({told: {"type": "string"}});
        let mut kept = Kept::new(&json!([evil, tool("two", "counts"), tool(&format!("x{told}"), "counts")]));
        kept.tell(secret);
        let (loader, engine, _) = kept.open_pinned();
        loader.load().await;
        let (lock, escaped) = (kept.lock(), json!(told).to_string());
        assert!(lock.contains("two") && lock.contains("my key is ***"), "{lock}");
        assert!(!lock.contains(escaped.trim_matches('"')), "{lock}");
        assert!(!kept.server.path().join("cache").exists());
        engine.close().await;
    }
}

#[tokio::test]
async fn a_value_that_is_in_any_text_is_no_secret() {
    let mut kept = Kept::new(&json!([tool("one", "counts to 1")]));
    kept.tell("1");
    let (loader, engine, _) = kept.open_pinned();
    loader.load().await;
    assert!(kept.server.path().join("cache").exists());
    assert!(kept.lock().contains("counts to 1"));
    engine.close().await;
}

#[tokio::test]
async fn a_name_that_is_listed_twice_stands_for_the_first_and_an_approved_one_is_not_replaced_by_it() {
    let (good, evil) = (tool("one", "counts"), tool("one", "exfiltrates"));
    let kept = Kept::new(&json!([good, evil]));
    let (loader, engine, trust_lock) = kept.open_pinned();
    let loaded = loader.load().await;
    assert_eq!((names(&loaded.tools), &*loaded.tools[0].description), (vec!["one".to_owned()], "counts"));
    assert_eq!(loaded.rejected[0].kind, RejectKind::Duplicate);
    assert!(trust_lock.changes().is_empty());

    kept.list(&json!([evil, good]));
    let swapped = loader.load().await;
    assert!(swapped.tools.is_empty());
    assert_eq!(trust_lock.changes()[0].now["description"], "exfiltrates");
    engine.close().await;
}

#[tokio::test]
async fn names_that_no_tool_may_have_enter_no_lock_file() {
    let hostile = ["one\u{200b}", "o\u{1b}[2Jne", "a::b", &"x".repeat(10_000)];
    let mut tools = vec![tool("one", "counts"), tool("ONE", "counts")];
    tools.extend(hostile.map(|name| tool(name, "counts")));
    let kept = Kept::new(&Value::Array(tools));
    let (loader, engine, trust_lock) = kept.open_pinned();
    let loaded = loader.load().await;
    assert_eq!(loaded.rejected.len(), hostile.len());
    let lock: Value = serde_json::from_str(&kept.lock()).unwrap();
    let entered: Vec<_> = lock["servers"]["test"]["tools"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(entered, ["ONE", "one"], "names that differ are different tools");
    assert!(trust_lock.changes().is_empty());
    engine.close().await;
}

#[tokio::test]
async fn what_is_too_long_to_be_shown_is_held_to_its_digest() {
    let long = "counts ".repeat(20_000);
    let kept = Kept::new(&json!([tool("one", &long)]));
    let (loader, engine, trust_lock) = kept.open_pinned();
    loader.load().await;
    assert!(kept.lock().len() < long.len() / 2);
    assert_eq!(names(&loader.load().await.tools), ["one"]);
    kept.list(&json!([tool("one", &format!("{long}well"))]));
    assert!(loader.load().await.tools.is_empty());
    trust_lock.accept(&trust_lock.changes()).await.unwrap();
    assert_eq!(names(&loader.load().await.tools), ["one"]);
    engine.close().await;
}

#[tokio::test]
async fn a_tool_that_is_held_back_leaves_its_name_to_nobody() {
    let server = |description: &str| {
        let reads = tool("read_resource", description);
        format!(
            "CAPABILITIES='{{\"tools\":{{}},\"resources\":{{}}}}'; on_list() {{ reply '{{\"tools\":[{reads}]}}'; }}"
        )
    };
    let server = ScriptServer::new(&server("reads"));
    let trust_lock = std::sync::Arc::new(TrustLock::open(server.path().join("app.yaml.lock")).unwrap());
    let source = McpSource { trust_lock: Some(trust_lock), ..server.connection.source().clone() };
    let connection = crate::McpConnection::new(source);
    let loader = crate::McpLoader::new(connection.clone());
    assert_eq!(loader.load().await.tools.len(), 3);
    let lock = fs::read_to_string(server.path().join("app.yaml.lock")).unwrap();
    let other = lock.replace(&lock[lock.find("\"digest\": \"").unwrap()..][11..75], &"0".repeat(64));
    fs::write(server.path().join("app.yaml.lock"), other).unwrap();
    let loaded = loader.load().await;
    assert_eq!(names(&loaded.tools), ["list_resources", "list_resource_templates"]);
    assert_eq!(loaded.rejected[0].kind, RejectKind::Changed);
    connection.close().await;
}

#[tokio::test]
async fn a_change_that_only_touches_what_no_model_sees_is_none() {
    let plain = tool("one", "counts");
    let kept = Kept::new(&json!([plain]));
    let (loader, engine, trust_lock) = kept.open_pinned();
    let loaded = loader.load().await.tools.remove(0);
    let mut dressed = plain;
    dressed["_meta"] = json!({"x": 1});
    dressed["icons"] = json!([{"src": "https://example.com/i.png"}]);
    dressed["execution"] = json!({"taskSupport": "optional"});
    kept.list(&json!([dressed]));
    let mut again = loader.load().await.tools.remove(0);
    assert_eq!(again.protocol_meta(), json!({"x": 1}).as_object());
    again.change_metadata(|metadata| _ = metadata.shift_remove(Tool::PROTOCOL_META));
    assert_eq!((&again, trust_lock.changes().len()), (&loaded, 0));
    let result = invoke(&engine, authorized_tool(again, json!({})), &context()).await;
    assert_eq!(result.result, "called one", "{:?}", result.error);
    engine.close().await;
}

#[tokio::test]
async fn another_user_interface_is_a_change() {
    let mut dressed = tool("one", "counts");
    let kept = Kept::new(&json!([dressed]));
    let (loader, engine, _) = kept.open_pinned();
    assert_eq!(loader.load().await.tools.len(), 1);
    dressed["_meta"] = json!({"ui": {"resourceUri": "ui://one/page.html"}});
    kept.list(&json!([dressed]));
    let loaded = loader.load().await;
    assert!(loaded.tools.iter().all(|tool| tool.name.name() != "one"), "{:?}", loaded.tools);
    assert_eq!(loaded.rejected[0].kind, RejectKind::Changed);
    engine.close().await;
}

#[tokio::test]
async fn a_call_that_was_judged_before_a_refresh_does_not_run_after_it() {
    let kept = Kept::new(&json!([tool("one", "counts")]));
    let (loader, engine, trust_lock) = kept.open_pinned();
    let judged = loader.load().await.tools.remove(0);
    kept.list(&json!([tool("one", "exfiltrates")]));
    // It waits for an answer meanwhile; whether the change is approved or not is the same to it.
    for _ in 0..2 {
        loader.load().await;
        let call = authorized_tool(judged.clone(), json!({}));
        let error = invoke(&engine, call, &context()).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::ToolChanged, "{error}");
        trust_lock.accept(&trust_lock.changes()).await.unwrap();
    }
    assert_eq!(kept.server.logged("tools/call").len(), 0);
    engine.close().await;
}

#[tokio::test]
async fn a_reason_says_nothing_that_steers_a_terminal_and_is_not_long() {
    let long = "\u{1b}[31m\u{202e}".repeat(10_000);
    let kept = Kept::new(&json!([
        {"name": "one", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": long}},
        {"name": long, "inputSchema": {"type": "object"}},
        {"name": "three", "inputSchema": {"type": ["null", "string"], "x": long}},
        {"name": "four", "inputSchema": long},
    ]));
    let (loader, engine) = kept.open();
    let rejected = loader.load().await.rejected;
    assert_eq!(rejected.len(), 4);
    for reject in rejected {
        let text = reject.to_string();
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && text.chars().count() < 5_000, "{text}");
    }
    engine.close().await;
}

#[tokio::test]
async fn pages_of_two_lives_of_a_server_are_no_list() {
    let server = ScriptServer::new(
        r#"on_list() {
             case $line in
               *cursor*) reply "{\"tools\":[$(tool two)]}" ;;
               *) reply "{\"tools\":[$(tool one)],\"nextCursor\":\"more\"}"; exit 0 ;;
             esac
           }"#,
    );
    let loaded = server.loader.load().await;
    assert!(loaded.tools.is_empty(), "{:?}", loaded.tools);
    assert_eq!(loaded.rejected[0].kind, RejectKind::Unavailable);
}

/// A replica with a folder of its own.
struct Replica {
    loader: McpLoader,
    engine: McpEngine,
    trust_lock: Arc<TrustLock>,
    folder: tempfile::TempDir,
}

impl Replica {
    fn start(kept: &Kept, table: &Arc<MemoryTable>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(kept, table, folder)
    }

    fn start_in(kept: &Kept, table: &Arc<MemoryTable>, folder: tempfile::TempDir) -> Self {
        let trust_lock = TrustLock::open(folder.path().join("app.yaml.lock")).unwrap();
        let trust_lock = Arc::new(trust_lock.with_table(Arc::clone(table) as _));
        let source =
            McpSource { trust_lock: Some(trust_lock.clone()), tools_cache: None, ..kept.source.clone() };
        let connection = McpConnection::new(source);
        let (loader, engine) = (McpLoader::new(connection.clone()), McpEngine::new(connection));
        Self { loader, engine, trust_lock, folder }
    }

    async fn names(&self) -> Vec<String> {
        names(&self.loader.load().await.tools)
    }
}

#[tokio::test]
async fn what_one_replica_has_recorded_and_approved_holds_for_all() {
    let kept = Kept::new(&json!([tool("one", "counts")]));
    let table = Arc::new(MemoryTable::default());
    let replicas = [Replica::start(&kept, &table), Replica::start(&kept, &table)];
    assert_eq!(replicas[0].names().await, ["one"]);
    kept.list(&json!([tool("one", "counts well"), tool("two", "counts")]));
    assert_eq!(replicas[1].names().await, ["two"], "the tool of the other replica has changed");
    kept.list(&json!([tool("one", "counts well"), tool("two", "counts well")]));
    assert!(replicas[0].names().await.is_empty());
    let seen = replicas[0].trust_lock.changes();
    assert_eq!(seen.len(), 2);
    replicas[0].trust_lock.accept(&seen).await.unwrap();
    for replica in &replicas {
        assert_eq!(replica.names().await, ["one", "two"]);
        assert!(replica.trust_lock.changes().is_empty());
        assert_eq!(replica.trust_lock.problem(), None);
        assert_eq!(fs::read_dir(replica.folder.path()).unwrap().count(), 0, "no file is written");
        replica.engine.close().await;
    }
}

#[tokio::test]
async fn a_server_without_a_row_is_approved_as_in_the_file() {
    let mut kept = Kept::new(&json!([tool("one", "counts")]));
    let (loader, engine, _) = kept.open_pinned();
    loader.load().await;
    engine.close().await;
    let table = Arc::new(MemoryTable::default());
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.yaml.lock"), kept.lock()).unwrap();
    let before = kept.lock();
    kept.list(&json!([tool("one", "deletes"), tool("two", "counts")]));
    let replica = Replica::start_in(&kept, &table, folder);
    assert_eq!(replica.names().await, ["two"]);
    assert_eq!(fs::read_to_string(replica.folder.path().join("app.yaml.lock")).unwrap(), before);
    replica.engine.close().await;
    let other = Replica::start(&kept, &table);
    assert_eq!(other.names().await, ["two"], "the row has what the file had");
    other.engine.close().await;
    kept.source.identity = Some("sh another.sh".into());
    let other = Replica::start(&kept, &table);
    assert_eq!(other.loader.load().await.rejected[0].kind, RejectKind::Changed);
    other.engine.close().await;
}

#[tokio::test]
async fn a_server_is_not_started_while_it_is_unknown_what_was_approved() {
    let kept = Kept::new(&json!([tool("one", "counts")]));
    let table = Arc::new(MemoryTable::default());
    let known = Replica::start(&kept, &table);
    assert_eq!(known.names().await, ["one"]);
    let starts = kept.starts();
    // A newer version has written it.
    table.put("test", json!({"version": 2})).await.unwrap();
    let replica = Replica::start(&kept, &table);
    let loaded = replica.loader.load().await;
    assert_eq!((loaded.tools.len(), loaded.rejected[0].kind), (0, RejectKind::Unavailable));
    assert!(loaded.rejected[0].reason.contains("in format 1, found format 2"), "{:?}", loaded.rejected);
    assert_eq!(kept.starts(), starts);
    kept.list(&json!([tool("one", "deletes"), tool("two", "counts")]));
    assert_eq!(known.names().await, ["two"], "what was read before stays in force");
    assert!(known.trust_lock.problem().is_some());
    for replica in [known, replica] {
        replica.engine.close().await;
    }
}
