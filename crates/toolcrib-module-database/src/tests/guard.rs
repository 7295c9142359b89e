//! What a statement cannot get at.

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;

use super::{Place, writing};
use crate::DatabaseConfig;

#[tokio::test]
async fn values_are_values_whatever_is_in_them() {
    for place in Place::all(&writing()).await {
        place.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(200))", json!([])).await;
        let hostile = [
            "'; DROP TABLE t; --",
            "\\'; DROP TABLE t; --",
            "\" OR 1=1",
            "$1",
            "?",
            "%s",
            "{\"a\":1}",
            "'||(SELECT 1)||'",
        ];
        for (at, name) in hostile.iter().enumerate() {
            place.execute("INSERT INTO t VALUES (?, ?)", json!([at, name])).await;
            let found = place.rows("SELECT name FROM t WHERE name = ?", json!([name])).await;
            assert_eq!(found, json!([[name]]), "{}", place.driver);
        }
        assert_eq!(place.rows("SELECT id FROM t WHERE name = ?", json!(["' OR ''='"])).await, json!([]));
    }
}

#[tokio::test]
async fn names_are_names_whatever_is_in_them() {
    for place in Place::all(&writing()).await {
        for name in ["we ird", "a\"b", "a`b", "x; DROP TABLE t", "select", "é", "a'b"] {
            let quote = place.pick('"', '"', '`');
            let quoted = format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")));
            place
                .execute(
                    &format!("CREATE TABLE {quoted} (id INTEGER PRIMARY KEY, {quoted} VARCHAR(20))"),
                    json!([]),
                )
                .await;
            let rows = json!([{"id": 1, name: "v"}]);
            place.ok("upsert", json!({"table": name, "rows": rows, "conflict_columns": ["id"]})).await;
            assert_eq!(place.rows(&format!("SELECT * FROM {quoted}"), json!([])).await, json!([[1, "v"]]));
            let described = place.ok("describe_table", json!({"table": name})).await;
            assert_eq!(described["columns"][1]["name"], name, "{}", place.driver);
            let listed = place.ok("list_tables", json!({"name_contains": name})).await;
            assert!(
                listed["tables"].as_array().unwrap().iter().any(|table| table["name"] == name),
                "{listed}"
            );
        }
        for name in ["t\"; DROP TABLE x; --", "t`; DROP TABLE x; --"] {
            let rows = json!([{"id": 1}]);
            place.error("upsert", json!({"table": name, "rows": rows, "conflict_columns": ["id"]})).await;
            place.error("describe_table", json!({"table": name})).await;
        }
    }
}

#[tokio::test]
async fn one_text_is_one_statement() {
    for place in Place::all(&writing()).await {
        place.execute("CREATE TABLE t (id INTEGER)", json!([])).await;
        for sql in [
            "DELETE FROM t; DROP TABLE t",
            "DELETE FROM t;\n-- then\nDROP TABLE t;",
            "DELETE FROM t /* ; */ ; DROP TABLE t",
            "INSERT INTO t VALUES (1); COMMIT; DROP TABLE t",
            "CREATE TABLE u (id INTEGER); DROP TABLE t",
        ] {
            let error = place.error("execute", json!({"sql": sql})).await;
            assert!(
                matches!(error.kind, ErrorKind::InvalidArgs | ErrorKind::ToolFailed),
                "{} {sql}: {error}",
                place.driver
            );
        }
        assert_eq!(place.rows("SELECT count(*) FROM t;", json!([])).await, json!([[0]]), "{}", place.driver);
    }
}

#[tokio::test]
async fn a_trigger_is_one_statement_and_what_follows_it_another() {
    let place = Place::sqlite(&writing());
    place.execute("CREATE TABLE t (id INTEGER)", json!([])).await;
    let trigger = "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT CASE WHEN 1 THEN 2 END; DELETE FROM t WHERE id = 9; END;";
    let error = place.error("execute", json!({"sql": format!("{trigger} ATTACH 'x.db' AS x")})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    place.execute(trigger, json!([])).await;
    place.execute("INSERT INTO t VALUES (9)", json!([])).await;
    assert_eq!(place.rows("SELECT count(*) FROM t", json!([])).await, json!([[0]]));
}

#[tokio::test]
async fn sqlite_reaches_no_other_file() {
    let place = Place::sqlite(&writing());
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.db");
    std::fs::write(&secret, "").unwrap();
    let path = secret.display();
    for sql in [
        format!("ATTACH '{path}' AS x"),
        format!("/* a */ ATTACH DATABASE '{path}' AS x"),
        format!("SELECT 1; ATTACH '{path}' AS x"),
        format!("SELECT $a('); ATTACH '{path}' AS x; --'"),
        format!("SELECT [a'] ; ATTACH '{path}' AS x; --'"),
        format!("VACUUM INTO '{path}'"),
        "PRAGMA query_only = OFF".into(),
        "PRAGMA temp_store_directory = '/tmp'".into(),
        "EXPLAIN SELECT 1".into(),
        "SELECT load_extension('/tmp/x.so')".into(),
        "SELECT readfile('/etc/passwd')".into(),
        "SELECT writefile('/tmp/x', 'y')".into(),
        "SELECT fts3_tokenizer('simple', x'4141414141414141')".into(),
        "SELECT * FROM pragma_writable_schema(1)".into(),
    ] {
        for tool in ["query", "execute"] {
            place.error(tool, json!({"sql": sql})).await;
        }
    }
    assert_eq!(std::fs::read(&secret).unwrap(), b"");
}

#[tokio::test]
async fn what_is_in_strings_and_comments_is_no_statement() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let sql = "SELECT ';' AS a, '-- ; /*' AS b /* ; DROP TABLE t */ -- ; '\n, 'it''s ;' AS c;  ; -- end";
        assert_eq!(place.rows(sql, json!([])).await, json!([[";", "-- ; /*", "it's ;"]]), "{}", place.driver);
    }
}

#[tokio::test]
async fn what_a_file_says_of_itself_is_not_trusted() {
    // A view of a file that somebody has sent, which would do something as soon as it is read.
    let place = Place::sqlite(&writing());
    place.execute("CREATE TABLE t (id INTEGER)", json!([])).await;
    place.execute("CREATE VIEW v AS SELECT load_extension('/tmp/x.so') AS a", json!([])).await;
    let error = place.error("query", json!({"sql": "SELECT * FROM v"})).await;
    assert_eq!(error.kind, ErrorKind::ToolFailed);
}

#[tokio::test]
async fn postgres_runs_no_program_and_takes_no_copy() {
    let Some(place) = Place::postgres(&writing()).await else { return };
    for sql in [
        "COPY t FROM PROGRAM 'id'",
        "COPY (SELECT 1) TO '/tmp/x'",
        "COPY t FROM STDIN",
        "LISTEN x",
        "SET ROLE x",
        "LOAD 'x'",
        "PREPARE a AS SELECT 1",
        "DECLARE c CURSOR FOR SELECT 1",
        "LOCK TABLE t",
    ] {
        for tool in ["query", "execute", "explain"] {
            assert_eq!(place.error(tool, json!({"sql": sql})).await.kind, ErrorKind::Denied, "{sql}");
        }
    }
    let analyzed: Value = json!({"sql": "ANALYZE DELETE FROM t"});
    assert_eq!(place.error("explain", analyzed).await.kind, ErrorKind::Denied);
}

#[tokio::test]
async fn mysql_reads_and_writes_no_file() {
    let Some(place) = Place::mysql(&writing()).await else { return };
    place.execute("CREATE TABLE t (a TEXT)", json!([])).await;
    for sql in [
        "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE t",
        "SET @a = 1",
        "SET SESSION TRANSACTION READ WRITE",
        "USE mysql",
        "KILL 1",
        "HANDLER t OPEN",
        "LOCK TABLES t WRITE",
        "PREPARE a FROM 'SELECT 1'",
        "SELECT 1 INTO/**/DUMPFILE '/tmp/x'",
        "/*!50000 DROP TABLE t */",
        "/*M!50000 DROP TABLE t */",
    ] {
        for tool in ["query", "execute", "explain"] {
            assert_eq!(place.error(tool, json!({"sql": sql})).await.kind, ErrorKind::Denied, "{tool} {sql}");
        }
    }
}
