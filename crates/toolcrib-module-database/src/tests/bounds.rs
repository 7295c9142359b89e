//! Bounds.

use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_modules::ModuleContext;
use toolcrib_port::{CallContext, ToolEngine as _};

use super::{Place, call, context, database, writing};
use crate::DatabaseConfig;
use crate::backend::MAX_COLUMN_NAME_BYTES;
use crate::parameters::MAX_PARAMETERS;
use crate::statement_check::MAX_SQL_BYTES;

#[tokio::test]
async fn a_thousand_connections_are_refused_by_the_bound() {
    let place = Place::sqlite(&DatabaseConfig::default());
    let mut refused = 0;
    for at in 0..1000 {
        let arguments = json!({"name": format!("c{at}"), "driver": "sqlite", "database": "data.db"});
        if let Some(error) = place.call("connect", arguments).await.error {
            assert_eq!(error.kind, ErrorKind::LimitReached);
            refused += 1;
        }
    }
    assert_eq!(refused, 1000 - 7);
    insta::assert_snapshot!(
        place.error("connect", json!({"name": "x", "driver": "sqlite", "database": "data.db"})).await.to_string(),
        @"limit_reached: there are 8 connections already, which is the most (close one by `database.disconnect`, or use one of `database.list_connections`)"
    );
    place.ok("disconnect", json!({"connection": "c3"})).await;
    place.ok("connect", json!({"name": "x", "driver": "sqlite", "database": "data.db"})).await;
}

#[tokio::test]
async fn more_calls_than_connections_wait_for_their_turn() {
    for place in Place::all(&DatabaseConfig { pool_size: 2, ..DatabaseConfig::default() }).await {
        let calls = (0..40).map(|at| place.rows("SELECT ?", json!([at.to_string()])));
        let rows = futures::future::join_all(calls).await;
        for (at, rows) in rows.iter().enumerate() {
            assert_eq!(*rows, json!([[at.to_string()]]));
        }
    }
}

#[tokio::test]
async fn connections_are_for_their_session_and_those_of_the_operator_for_all() {
    let place = Place::sqlite(&DatabaseConfig::default());
    let connect = |name: &str| json!({"name": name, "driver": "sqlite", "database": "data.db"});
    assert_eq!(call(&place.module, &context(), "connect", connect("mine")).await.error, None);
    assert_eq!(
        call(&place.module, &CallContext::new("setup"), "connect", connect("shared")).await.error,
        None
    );
    let two = CallContext::new("two").with_agent("assistant");
    let listed = call(&place.module, &two, "list_connections", json!({})).await.result;
    let names: Vec<_> =
        listed["connections"].as_array().unwrap().iter().map(|one| &one["connection"]).collect();
    assert_eq!(names, ["main", "shared"]);
    let query = json!({"connection": "mine", "sql": "SELECT 1"});
    assert_eq!(call(&place.module, &two, "query", query).await.error.unwrap().kind, ErrorKind::NotFound);
    for name in ["main", "shared"] {
        let error = call(&place.module, &two, "disconnect", json!({"connection": name})).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Denied);
    }
    place.module.end_session(&context().session).await;
    let query = json!({"connection": "mine", "sql": "SELECT 1"});
    let gone = call(&place.module, &context(), "query", query).await.error.unwrap();
    assert_eq!(gone.kind, ErrorKind::NotFound, "it ended with its session");
    let query = json!({"connection": "shared", "sql": "SELECT 1"});
    assert_eq!(call(&place.module, &context(), "query", query).await.error, None);
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    for place in Place::all(&writing()).await {
        let long = format!("SELECT '{}'", "x".repeat(MAX_SQL_BYTES));
        assert_eq!(place.error("query", json!({"sql": long})).await.kind, ErrorKind::InvalidArgs);
        let params = vec![1; MAX_PARAMETERS + 1];
        let many = place.error("query", json!({"sql": "SELECT 1", "params": params})).await;
        assert_eq!(many.kind, ErrorKind::InvalidArgs);
        let statements: Vec<_> = (0..501).map(|_| json!({"sql": "DELETE FROM t"})).collect();
        let error = place.error("batch_execute", json!({"statements": statements})).await;
        assert_eq!(error.kind, ErrorKind::InvalidArgs);
        let deep = format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000));
        let result = place.call("query", json!({"sql": deep})).await;
        let length = result.result["columns"][0]["name"].as_str().unwrap_or_default().len();
        assert!(length <= MAX_COLUMN_NAME_BYTES, "{}: {length}", place.driver);
        assert_eq!(place.rows("SELECT 1", json!([])).await, json!([[1]]), "{}", place.driver);
    }
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for config in [
        DatabaseConfig { timeout_seconds: 0, ..DatabaseConfig::default() },
        DatabaseConfig { pool_size: 1, ..DatabaseConfig::default() },
        DatabaseConfig { max_rows: 0, ..DatabaseConfig::default() },
        DatabaseConfig { max_cell_bytes: usize::MAX, ..DatabaseConfig::default() },
    ] {
        let refused = database(config, &ModuleContext::new(dir.path())).err().unwrap();
        assert!(refused.to_string().starts_with("module `database`: `"), "{refused}");
    }
}

#[tokio::test]
async fn a_connection_of_one_client_is_not_there_for_another() {
    let place = Place::sqlite(&writing());
    let (one, two) = (CallContext::new("serve/one/1"), CallContext::new("serve/two/1"));
    let connect = |name: &str| json!({"name": name, "driver": "sqlite", "database": "data.db"});
    assert_eq!(call(&place.module, &one, "connect", connect("mine")).await.error, None);
    let listed = call(&place.module, &two, "list_connections", json!({})).await.result;
    assert_eq!(listed["connections"].as_array().unwrap().len(), 1, "{listed}");
    for (name, arguments) in [
        ("query", json!({"connection": "mine", "sql": "SELECT 1"})),
        ("disconnect", json!({"connection": "mine"})),
        (
            "upsert",
            json!({"connection": "mine", "table": "t", "rows": [{"x": 1}], "conflict_columns": ["x"]}),
        ),
    ] {
        let error = call(&place.module, &two, name, arguments).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::NotFound, "{name}: {error}");
    }
    assert_eq!(call(&place.module, &CallContext::new("setup"), "connect", connect("all")).await.error, None);
    let error = call(&place.module, &two, "disconnect", json!({"connection": "all"})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Denied);
    place.module.end_session("serve/one/1").await;
    assert!(
        call(&place.module, &one, "query", json!({"connection": "mine", "sql": "SELECT 1"}))
            .await
            .error
            .is_some()
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn heavy_queries_one_after_another_do_not_add_up() {
    /// The maximum additional memory of the process. Each query takes about 256 MiB including the allocator's overhead, and
    /// the allocator keeps freed memory for each thread that ran one: 545 to 1,420 MiB were measured, against 4,700 MiB if
    /// the memory of all queries adds up.
    const MOST_MIB: u64 = 2000;
    let resident_mib = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    };
    let place = Place::sqlite(&DatabaseConfig::default());
    let before = resident_mib();
    let sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000000)
        SELECT x FROM c ORDER BY x DESC";
    for at in 0..6 {
        let name = format!("c{at}");
        place.ok("connect", json!({"name": name, "driver": "sqlite", "database": "data.db"})).await;
        let error = place.error("query", json!({"connection": name, "sql": sql})).await;
        assert!(error.message.contains("memory"), "{error}");
    }
    let taken = resident_mib() - before;
    assert!(taken < MOST_MIB, "{taken} MiB");
}
