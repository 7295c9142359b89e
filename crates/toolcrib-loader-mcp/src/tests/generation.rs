//! Lists of tools that one of several processes loads.

use std::sync::Arc;

use serde_json::json;
use toolcrib_io::table::{MemoryTable, SharedGeneration, SharedTable as _};
use toolcrib_model::Secret;
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::kept::{Kept, names, tool};
use crate::{McpConnection, McpEngine, McpLoader, McpSource};

/// A process that shares the table.
fn replica(kept: &Kept, table: &Arc<MemoryTable>, owner: &str) -> (McpLoader, McpEngine) {
    let generation = SharedGeneration::new(Arc::clone(table) as _, "mcp test", owner);
    let source = McpSource { generation: Some(Arc::new(generation)), ..kept.source.clone() };
    let connection = McpConnection::new(source);
    (McpLoader::new(connection.clone()), McpEngine::new(connection))
}

#[tokio::test]
async fn one_process_asks_the_server_and_the_others_have_the_same_list() {
    let kept = Kept::new(&json!([tool("one", "counts")]));
    let table = Arc::new(MemoryTable::default());
    let (first, engine) = replica(&kept, &table, "first");
    assert_eq!(names(&first.load().await.tools), ["one"]);
    let (second, other) = replica(&kept, &table, "second");
    assert_eq!(names(&second.load().await.tools), ["one"]);
    assert_eq!(kept.starts(), 1);
    kept.list(&json!([tool("one", "counts"), tool("two", "counts")]));
    assert_eq!(names(&second.load().await.tools), ["one"], "it is not the one that asks");
    assert_eq!(names(&first.load().await.tools), ["one", "two"]);
    assert_eq!(names(&second.load().await.tools), ["one", "two"]);
    assert!(!kept.server.path().join("cache").exists(), "the table takes the place of the cache");
    for engine in [engine, other] {
        engine.close().await;
    }
}

#[tokio::test]
async fn a_process_whose_server_does_not_start_leaves_the_list_to_the_others() {
    let kept = Kept::new(&json!([tool("one", "counts")]));
    let table = Arc::new(MemoryTable::default());
    let mut broken = Kept::new(&json!([]));
    broken.source = McpSource::stdio("test", ["/nowhere/server"]);
    let (first, engine) = replica(&broken, &table, "first");
    assert_eq!(first.load().await.tools.len(), 0);
    let (second, other) = replica(&kept, &table, "second");
    assert_eq!(names(&second.load().await.tools), ["one"]);
    let loaded = first.load().await;
    assert_eq!((names(&loaded.tools), loaded.rejected.len()), (vec!["one".to_owned()], 0));
    for engine in [engine, other] {
        engine.close().await;
    }
}

#[tokio::test]
async fn a_list_that_holds_a_secret_is_not_published() {
    let mut kept = Kept::new(&json!([tool("leak", "my key is open-sesame-1")]));
    kept.source.secrets.push(Secret::new("open-sesame-1"));
    let table = Arc::new(MemoryTable::default());
    let (loader, engine) = replica(&kept, &table, "first");
    assert_eq!(loader.load().await.tools.len(), 1);
    assert_eq!(table.get("mcp test").await.unwrap(), None);
    engine.close().await;
}
