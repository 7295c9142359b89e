//! A server that is killed. `cargo xtask test` starts two for this, and starts them again when they are gone.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_modules::ModuleContext;
use toolcrib_sdk::Module;

use super::{call, context, database, location, server};
use crate::DatabaseConfig;
use crate::config::Driver;

fn victim(driver: Driver, variable: &str) -> Option<(Module, tempfile::TempDir)> {
    let url = server(variable)?;
    let dir = tempfile::tempdir().unwrap();
    let main = location(driver, &url, &url.path()[1..]);
    let config = DatabaseConfig { connections: [("main".into(), main)].into(), ..DatabaseConfig::default() };
    let module = database(config, &ModuleContext::new(dir.path())).unwrap();
    Some((module, dir))
}

async fn query(module: &Module, sql: &str) -> Result<Value, toolcrib_model::ToolError> {
    let result = call(module, &context(), "query", json!({"sql": sql})).await;
    result.error.map_or(Ok(result.result["rows"].clone()), Err)
}

/// Kills the server in the middle of a statement; the call fails as what it is, and later calls work again.
async fn survives(module: &Module, pid: u64, sleep: &str, running: &str) {
    let (sleeping, ()) = tokio::join!(query(module, sleep), async {
        // Once it has begun.
        while query(module, running).await.unwrap() == json!([[0]]) {}
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        assert!(killed.success());
    });
    let error = sleeping.unwrap_err();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, true), "{error}");
    let begun = Instant::now();
    loop {
        match query(module, "SELECT 1").await {
            Ok(rows) => break assert_eq!(rows, json!([[1]])),
            Err(error) => assert_eq!(error.kind, ErrorKind::Unavailable, "{error}"),
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "it is not connected to anew");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_postgres_server_that_is_killed_is_connected_to_anew() {
    let Some((module, _dir)) = victim(Driver::Postgres, "TOOLCRIB_TEST_POSTGRES_VICTIM") else { return };
    let pid = query(&module, "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)").await.unwrap();
    survives(
        &module,
        pid[0][0].as_str().unwrap().parse().unwrap(),
        "SELECT pg_sleep(60)",
        "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'",
    )
    .await;
}

#[tokio::test]
async fn a_mariadb_server_that_is_killed_is_connected_to_anew() {
    let Some((module, _dir)) = victim(Driver::Mysql, "TOOLCRIB_TEST_MYSQL_VICTIM") else { return };
    let file = query(&module, "SELECT @@pid_file").await.unwrap();
    let pid = std::fs::read_to_string(file[0][0].as_str().unwrap()).unwrap();
    survives(
        &module,
        pid.trim().parse().unwrap(),
        "SELECT SLEEP(60)",
        "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'",
    )
    .await;
}
