//! What changes data, and what never does.

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;

use super::{Place, call, context, writing};
use crate::DatabaseConfig;

async fn with_users(place: &Place) {
    place
        .execute(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR(200) NOT NULL UNIQUE, age INTEGER)",
            json!([]),
        )
        .await;
    for (id, name) in [(1, "Ada"), (2, "Grace")] {
        place.execute("INSERT INTO users VALUES (?, ?, NULL)", json!([id, name])).await;
    }
}

async fn users(place: &Place) -> Value {
    place.rows("SELECT id, name, age FROM users ORDER BY id", json!([])).await
}

#[tokio::test]
async fn execute_tells_how_many_rows_it_changed() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        assert_eq!(place.execute("UPDATE users SET age = 3", json!([])).await, json!({"rows_affected": 2}));
        assert_eq!(
            place.execute("DELETE FROM users WHERE id = ?", json!([9])).await,
            json!({"rows_affected": 0})
        );
        assert_eq!(
            place.execute("CREATE TABLE other (id INTEGER)", json!([])).await,
            json!({"rows_affected": 0})
        );
    }
}

#[tokio::test]
async fn execute_gives_the_rows_that_it_returns() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        let sql = place.sql("DELETE FROM users WHERE id = ? RETURNING id, name");
        let done = place.ok("execute", json!({"sql": sql, "params": [1]})).await;
        assert_eq!(
            (&done["rows_affected"], &done["returned"]["rows"]),
            (&json!(1), &json!([[1, "Ada"]])),
            "{}",
            place.driver
        );
        assert_eq!(users(&place).await, json!([[2, "Grace", null]]));
    }
}

#[tokio::test]
async fn nothing_is_changed_unless_the_operator_allows_it() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        let reading = place.another(&DatabaseConfig::default());
        for (tool, arguments) in [
            ("execute", json!({"sql": "DELETE FROM users"})),
            ("batch_execute", json!({"statements": [{"sql": "DELETE FROM users"}]})),
            (
                "upsert",
                json!({"table": "users", "rows": [{"id": 1, "name": "x"}], "conflict_columns": ["id"]}),
            ),
        ] {
            let error = call(&reading, &context(), tool, arguments).await.error.unwrap();
            assert_eq!(error.kind, ErrorKind::Denied);
            insta::allow_duplicates! {
                insta::assert_snapshot!(error.to_string(), @"denied: this connection may only read (changing data needs `allow_writes`, which the operator sets, and a connection without `read_only`)");
            }
        }
        assert_eq!(users(&place).await.as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_query_never_writes_even_where_writing_is_allowed() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        let tries = place.pick(
            vec![
                "WITH x AS (SELECT 1) DELETE FROM users",
                "WITH x AS (SELECT 9) INSERT INTO users SELECT 9, 'x', 9 FROM x",
            ],
            vec![
                "WITH x AS (DELETE FROM users RETURNING *) SELECT * FROM x",
                "SELECT * INTO copy FROM users",
                "SELECT nextval('numbers')",
                "SELECT set_config('transaction_read_only', 'off', false), forget()",
                "SELECT forget()",
            ],
            vec![
                "WITH x AS (SELECT 1) DELETE FROM users",
                "SELECT forget()",
                "SELECT * FROM users INTO OUTFILE '/tmp/toolcrib-out'",
                "SELECT 1 /*! INTO OUTFILE '/tmp/toolcrib-out' */",
            ],
        );
        if place.pick(false, true, false) {
            place.execute("CREATE SEQUENCE numbers", json!([])).await;
            let body =
                "CREATE FUNCTION forget() RETURNS int LANGUAGE sql AS $$ DELETE FROM users; SELECT 1 $$";
            place.execute(body, json!([])).await;
        }
        if place.pick(false, false, true) {
            let body = "CREATE FUNCTION forget() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN DELETE FROM users; RETURN 1; END";
            place.execute(body, json!([])).await;
        }
        for sql in tries {
            let error = place.error("query", json!({"sql": sql})).await;
            assert!(
                matches!(error.kind, ErrorKind::Denied | ErrorKind::ToolFailed),
                "{} {sql}: {error}",
                place.driver
            );
        }
        assert_eq!(users(&place).await.as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn what_a_read_only_transaction_lets_through_is_taken_back() {
    let Some(place) = Place::postgres(&writing()).await else { return };
    place.call("query", json!({"sql": "SELECT lo_create(0)"})).await;
    assert_eq!(place.rows("SELECT count(*) FROM pg_largeobject_metadata", json!([])).await, json!([[0]]));
}

#[tokio::test]
async fn what_a_query_sets_is_not_there_for_the_next_call() {
    let Some(place) = Place::postgres(&DatabaseConfig { pool_size: 2, ..writing() }).await else { return };
    place.rows("SELECT set_config('search_path', 'elsewhere', false), pg_advisory_lock(7)", json!([])).await;
    place.execute("SELECT set_config('search_path', 'elsewhere', false)", json!([])).await;
    for _ in 0..3 {
        let state = "SELECT current_setting('search_path'), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), \
                     current_setting('default_transaction_read_only')";
        assert_eq!(place.rows(state, json!([])).await, json!([["\"$user\", public", 0, "off"]]));
    }
}

#[tokio::test]
async fn a_batch_is_done_as_a_whole_or_not_at_all() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        let insert = place.sql("INSERT INTO users VALUES (?, ?, ?)");
        let done = place
            .ok(
                "batch_execute",
                json!({"statements": [
                    {"sql": insert, "params": [3, "Edsger", 72]},
                    {"sql": place.sql("UPDATE users SET age = ? WHERE id < 3"), "params": [36]},
                ]}),
            )
            .await;
        assert_eq!(done, json!({"rows_affected": [1, 2]}));
        let error = place
            .error(
                "batch_execute",
                json!({"statements": [
                    {"sql": "DELETE FROM users"},
                    {"sql": insert, "params": [5, null, 1]},
                ]}),
            )
            .await;
        assert!(error.message.starts_with("statement 2: "), "{error}");
        assert!(error.message.ends_with("; nothing was changed"), "{error}");
        let all = json!([[1, "Ada", 36], [2, "Grace", 36], [3, "Edsger", 72]]);
        assert_eq!(users(&place).await, all, "{}", place.driver);
    }
}

#[tokio::test]
async fn what_would_end_the_transaction_of_a_batch_is_refused() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        for sql in ["COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT a", "END", "START TRANSACTION"] {
            let statements = json!([{"sql": "DELETE FROM users"}, {"sql": sql}, {"sql": "nonsense"}]);
            let error = place.error("batch_execute", json!({"statements": statements})).await;
            assert_eq!(error.kind, ErrorKind::Denied, "{sql}");
        }
        assert_eq!(users(&place).await.as_array().unwrap().len(), 2);
    }
    let Some(place) = Place::mysql(&writing()).await else { return };
    let statements = json!([{"sql": "CREATE TABLE a (id INT)"}]);
    assert_eq!(place.error("batch_execute", json!({"statements": statements})).await.kind, ErrorKind::Denied);
}

#[tokio::test]
async fn upsert_inserts_what_is_new_and_changes_what_is_there() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        let rows = json!([{"id": 2, "name": "Hopper", "age": 85}, {"id": 3, "name": "Edsger", "age": 72}]);
        let done =
            place.ok("upsert", json!({"table": "users", "rows": rows, "conflict_columns": ["id"]})).await;
        assert_eq!(done["rows"], 2);
        assert_eq!(
            users(&place).await,
            json!([[1, "Ada", null], [2, "Hopper", 85], [3, "Edsger", 72]]),
            "{}",
            place.driver
        );
        let only_age = json!({"table": "users", "rows": [{"id": 2, "name": "-", "age": 1}], "conflict_columns": ["id"], "update_columns": ["age"]});
        place.ok("upsert", only_age).await;
        let nothing = json!({"table": "users", "rows": [{"id": 1, "name": "-", "age": 1}], "conflict_columns": ["id"], "update_columns": []});
        place.ok("upsert", nothing).await;
        assert_eq!(
            users(&place).await,
            json!([[1, "Ada", null], [2, "Hopper", 1], [3, "Edsger", 72]]),
            "{}",
            place.driver
        );
    }
}

#[tokio::test]
async fn upsert_takes_many_rows_and_all_or_none() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        let mut rows: Vec<Value> =
            (10..1210).map(|id| json!({"id": id, "name": format!("n{id}"), "age": null})).collect();
        place.ok("upsert", json!({"table": "users", "rows": rows, "conflict_columns": ["id"]})).await;
        assert_eq!(place.rows("SELECT count(*) FROM users", json!([])).await, json!([[1202]]));
        rows = (5000..6000).map(|id| json!({"id": id, "name": format!("m{id}"), "age": 1})).collect();
        rows.push(json!({"id": 7000, "name": null, "age": 1}));
        place.error("upsert", json!({"table": "users", "rows": rows, "conflict_columns": ["id"]})).await;
        assert_eq!(
            place.rows("SELECT count(*) FROM users", json!([])).await,
            json!([[1202]]),
            "{}",
            place.driver
        );
    }
}

#[tokio::test]
async fn upsert_wants_a_key_that_is_one() {
    for place in Place::all(&writing()).await {
        with_users(&place).await;
        let rows = json!([{"id": 1, "name": "x", "age": 1}]);
        let error =
            place.error("upsert", json!({"table": "users", "rows": rows, "conflict_columns": ["age"]})).await;
        assert!(matches!(error.kind, ErrorKind::InvalidArgs | ErrorKind::ToolFailed), "{error}");
        assert_eq!(users(&place).await[0], json!([1, "Ada", null]), "{}", place.driver);
    }
}
