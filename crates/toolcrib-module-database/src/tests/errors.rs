//! What a model is told when something fails.

use std::fmt::Write;

use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_modules::ModuleContext;

use super::{Place, call, context, database, writing};
use crate::DatabaseConfig;
use crate::config::Driver;

/// Errors of one database, each beside what was asked for.
async fn told(place: &Place) -> String {
    place.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, other INTEGER UNIQUE REFERENCES people (id))", json!([])).await;
    place.execute("INSERT INTO people VALUES (1, 'Ada', NULL)", json!([])).await;
    let calls = [
        ("query", json!({"sql": "SELECT * FROM poeple"})),
        ("query", json!({"sql": "SELECT * FROM nowhere_near"})),
        ("query", json!({"sql": "SELECT nam FROM people"})),
        ("query", json!({"sql": "SELECT id\nFROM people WHER id == 1"})),
        ("query", json!({"sql": "SELECT (1"})),
        ("query", json!({"sql": "DELETE FROM people"})),
        ("query", json!({"sql": "SELECT 1; SELECT 2"})),
        ("query", json!({"sql": " -- nothing\n"})),
        ("query", json!({"sql": "'x'"})),
        ("query", json!({"sql": "SELECT 1", "params": [1, 2]})),
        ("query", json!({"connection": "mian", "sql": "SELECT 1"})),
        ("execute", json!({"sql": "SELECT 1 FROM people FOR UPDATE; DROP TABLE people"})),
        ("execute", json!({"sql": "COMMIT"})),
        ("execute", json!({"sql": "INSERT INTO people VALUES (1, 'Bob', NULL)"})),
        ("execute", json!({"sql": "INSERT INTO people VALUES (2, NULL, NULL)"})),
        ("describe_table", json!({"table": "peopel"})),
        ("explain", json!({"sql": "EXPLAIN SELECT 1"})),
        ("fetch_results", json!({"result": "rows_999"})),
        (
            "upsert",
            json!({"table": "people", "rows": [{"id": 1}, {"name": "x"}], "conflict_columns": ["id"]}),
        ),
    ];
    let mut text = String::new();
    for (tool, arguments) in calls {
        let error = place.error(tool, arguments.clone()).await;
        writeln!(text, "{tool} {arguments}\n  {error}").unwrap();
    }
    text
}

#[tokio::test]
async fn errors_of_sqlite_tell_what_to_do() {
    let place = Place::sqlite(&writing());
    insta::assert_snapshot!(told(&place).await);
}

#[tokio::test]
async fn errors_of_postgres_tell_what_to_do() {
    let Some(place) = Place::postgres(&writing()).await else { return };
    insta::assert_snapshot!(told(&place).await);
}

#[tokio::test]
async fn errors_of_mysql_tell_what_to_do() {
    let Some(place) = Place::mysql(&writing()).await else { return };
    let text = told(&place).await;
    let database = place.location.database.as_str();
    insta::assert_snapshot!(text.replace(database, "[database]"));
}

#[tokio::test]
async fn a_file_that_somebody_else_writes_to_is_locked_and_that_may_pass() {
    let place = Place::sqlite(&writing());
    place.execute("CREATE TABLE t (n INTEGER)", json!([])).await;
    let other = place.another(&writing());
    // Another program in the middle of a change.
    let mut locker =
        <sqlx::SqliteConnection as sqlx::Connection>::connect(&format!("sqlite:{}", place.file().display()))
            .await
            .unwrap();
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut locker).await.unwrap();
    for (tool, sql) in [("execute", "INSERT INTO t VALUES (1)"), ("query", "SELECT * FROM t")] {
        let error = call(&other, &context(), tool, json!({"sql": sql})).await.error.unwrap();
        assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, true), "{error}");
    }
    sqlx::query("ROLLBACK").execute(&mut locker).await.unwrap();
    assert_eq!(
        call(&other, &context(), "execute", json!({"sql": "INSERT INTO t VALUES (1)"})).await.error,
        None
    );
}

#[tokio::test]
async fn a_result_that_is_open_does_not_lock_the_file_against_its_own_module() {
    let place = Place::sqlite(&writing());
    place.execute("CREATE TABLE t (n INTEGER)", json!([])).await;
    let page = place.ok("query", json!({"sql": super::pages::numbers(&place, 1000), "max_rows": 1})).await;
    place.execute("INSERT INTO t VALUES (1)", json!([])).await;
    assert_eq!(
        place.error("fetch_results", json!({"result": page["result"]})).await.kind,
        ErrorKind::NotFound
    );
}

#[tokio::test]
async fn a_file_that_is_damaged_or_none_of_sqlite_is_told() {
    let place = Place::sqlite(&writing());
    place.execute("CREATE TABLE t (n INTEGER, x TEXT)", json!([])).await;
    for _ in 0..50 {
        place.execute("INSERT INTO t VALUES (1, hex(randomblob(500)))", json!([])).await;
    }
    let mut bytes = std::fs::read(place.file()).unwrap();
    let at = bytes.len() / 2;
    bytes[at..].fill(0xff);
    std::fs::write(place.dir.path().join("damaged.db"), &bytes).unwrap();
    std::fs::write(
        place.dir.path().join("text.db"),
        "this is a text and no database, for sure. ".repeat(100),
    )
    .unwrap();
    place.ok("connect", json!({"name": "damaged", "driver": "sqlite", "database": "damaged.db"})).await;
    let sql = "SELECT sum(length(x)) FROM t";
    let damaged = place.error("query", json!({"connection": "damaged", "sql": sql})).await;
    let text =
        place.error("connect", json!({"name": "text", "driver": "sqlite", "database": "text.db"})).await;
    insta::assert_snapshot!(format!("{damaged}\n{text}"), @r"
    tool_failed: database disk image is malformed (the file is damaged: tell the user, who may have a copy)
    tool_failed: cannot open `text.db`: file is not a database (give the path of a file that SQLite has written)
    ");
}

/// Ends a file system when a test is over.
#[cfg(target_os = "linux")]
struct Unmount(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Drop for Unmount {
    fn drop(&mut self) {
        let _ended = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A disk that is full needs a file system of its own, which only root can have.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_disk_that_is_full_is_told_and_what_was_there_stays() {
    use std::process::Command;
    let place = Place::sqlite(&writing());
    let small = place.dir.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).arg(&small).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("left out: a file system of its own wants root");
        return;
    }
    let _unmount = Unmount(small);
    place
        .ok("connect", json!({"name": "small", "driver": "sqlite", "database": "small/a.db", "create": true}))
        .await;
    let execute = |sql: &str| json!({"connection": "small", "sql": sql});
    place.ok("execute", execute("CREATE TABLE t (x BLOB)")).await;
    place.ok("execute", execute("INSERT INTO t VALUES (zeroblob(1000))")).await;
    let error = place.error("execute", execute("INSERT INTO t VALUES (randomblob(300000))")).await;
    insta::assert_snapshot!(error.to_string(), @"tool_failed: database or disk is full (there is no room for more on the disk: tell the user)");
    let count = place.ok("query", execute("SELECT count(*) FROM t")).await;
    assert_eq!(count["rows"], json!([[1]]));
}

#[tokio::test]
async fn a_statement_that_wants_too_much_memory_fails_alone() {
    let place = Place::sqlite(&DatabaseConfig::default());
    let sql = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s LIMIT 900) SELECT group_concat(zeroblob(1000000)) FROM s";
    let error = place.error("query", json!({"sql": sql})).await;
    assert_eq!(error.kind, ErrorKind::LimitReached, "{error}");
    assert_eq!(place.rows("SELECT 1", json!([])).await, json!([[1]]));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_soon() {
    let dir = tempfile::tempdir().unwrap();
    let context_of = ModuleContext::new(dir.path());
    let config = DatabaseConfig { allow_private_addresses: true, ..DatabaseConfig::default() };
    let module = database(config, &context_of).unwrap();
    // A port that nobody listens at.
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    for driver in [Driver::Postgres, Driver::Mysql] {
        let arguments = json!({"driver": driver.as_str(), "host": "127.0.0.1", "port": port, "database": "d", "user": "u"});
        let error = call(&module, &context(), "connect", arguments).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Unavailable);
        let text = error.to_string().replace(&port.to_string(), "[port]");
        insta::allow_duplicates! {
            insta::assert_snapshot!(text.replace(driver.as_str(), "[driver]"), @"unavailable: cannot open `d` of the [driver] server at 127.0.0.1:[port]: Connection refused (os error 111) (check the host and the port, and that the server is running)");
        }
    }
}
