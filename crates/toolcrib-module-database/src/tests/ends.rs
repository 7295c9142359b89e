//! What ends: statements that take too long, and those that nobody waits for any more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_port::{CallContext, ToolEngine};

use super::{Place, call, cancellable, context, writing};
use crate::DatabaseConfig;
use crate::config::Driver;

/// Statements that never end by themselves, or not for long.
fn endless(place: &Place) -> Vec<&'static str> {
    place.pick(
        vec![
            "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT max(n) FROM s",
            "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT n FROM s WHERE n < 0",
        ],
        vec!["SELECT pg_sleep(600)", "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT 1 FROM s) SELECT count(*) FROM s"],
        vec![
            "SELECT SLEEP(600)",
            "SELECT count(*) FROM information_schema.columns a, information_schema.columns b, information_schema.columns c, information_schema.columns d",
        ],
    )
}

/// How many statements of others run at the server.
async fn running(place: &Place) -> Value {
    let sql = match place.driver {
        Driver::Sqlite => return json!(0),
        Driver::Postgres => {
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()"
        }
        Driver::Mysql => {
            "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND command IN ('Query', 'Execute') AND id <> CONNECTION_ID()"
        }
    };
    place.rows(sql, json!([])).await[0][0].clone()
}

/// Comes back once nothing runs at the server any more.
async fn nothing_runs(place: &Place) {
    let begun = Instant::now();
    while running(place).await != json!(0) {
        assert!(begun.elapsed() < Duration::from_secs(10), "{}: it still runs", place.driver);
    }
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended_and_the_connection_goes_on() {
    for place in
        Place::all(&DatabaseConfig { timeout_seconds: 1, pool_size: 2, ..DatabaseConfig::default() }).await
    {
        for sql in endless(&place) {
            let begun = Instant::now();
            let error = place.error("query", json!({"sql": sql})).await;
            assert_eq!(error.kind, ErrorKind::Timeout, "{} {sql}: {error}", place.driver);
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "{} {sql}: {:?}",
                place.driver,
                begun.elapsed()
            );
            nothing_runs(&place).await;
        }
        assert_eq!(place.rows("SELECT 1", json!([])).await, json!([[1]]));
    }
}

#[tokio::test]
async fn the_deadline_of_the_call_counts_too() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let mut context = context();
        context.deadline = Some(tokio::time::Instant::now() + Duration::from_secs(1));
        let begun = Instant::now();
        let result = call(&place.module, &context, "query", json!({"sql": endless(&place)[0]})).await;
        assert_eq!(result.error.unwrap().kind, ErrorKind::Timeout, "{}", place.driver);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends_its_statement() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let (context, cancel) = cancellable();
        let calling = call(&place.module, &context, "query", json!({"sql": endless(&place)[0]}));
        let ending = async {
            wait_for_it(&place).await;
            cancel.cancel();
        };
        let (result, ()) = tokio::join!(calling, ending);
        assert_eq!(result.error.unwrap().kind, ErrorKind::Cancelled, "{}", place.driver);
        nothing_runs(&place).await;
    }
}

/// Comes back once the statement has begun.
async fn wait_for_it(place: &Place) {
    if place.driver == Driver::Sqlite {
        // Nobody can look. It is ended all the same if it has not begun.
        return tokio::task::yield_now().await;
    }
    while running(place).await == json!(0) {}
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_statement() {
    for place in Place::all(&DatabaseConfig { pool_size: 2, ..DatabaseConfig::default() }).await {
        let place = Arc::new(place);
        let calling = Arc::clone(&place);
        let task = tokio::spawn(async move {
            let sql = endless(&calling)[0];
            call(&calling.module, &context(), "query", json!({"sql": sql})).await
        });
        wait_for_it(&place).await;
        task.abort();
        nothing_runs(&place).await;
        // Both connections of the pool are free again.
        let (one, two) = tokio::join!(place.rows("SELECT 1", json!([])), place.rows("SELECT 2", json!([])));
        assert_eq!((one, two), (json!([[1]]), json!([[2]])));
    }
}

#[tokio::test]
async fn a_result_that_is_left_open_ends_with_its_module() {
    for place in Place::all(&DatabaseConfig::default()).await {
        if place.driver == Driver::Sqlite {
            continue;
        }
        let other = place.another(&DatabaseConfig::default());
        let sql = super::pages::numbers(&place, 10_000_000);
        let result = call(&other, &context(), "query", json!({"sql": sql, "max_rows": 1})).await;
        assert_eq!(result.error, None);
        drop(other);
        nothing_runs(&place).await;
    }
}

#[tokio::test]
async fn nothing_is_open_at_the_server_once_the_module_is_closed() {
    for place in Place::all(&DatabaseConfig::default()).await {
        if place.driver == Driver::Sqlite {
            continue;
        }
        let other = place.another(&DatabaseConfig::default());
        let sql = super::pages::numbers(&place, 10_000_000);
        let open = call(&other, &context(), "query", json!({"sql": sql, "max_rows": 1})).await;
        assert_eq!(open.error, None);
        assert_eq!(call(&other, &context(), "query", json!({"sql": "SELECT 1"})).await.error, None);
        other.close().await;
        let mine = place.pick(
            "",
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
            "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
        );
        let begun = Instant::now();
        while place.rows(mine, json!([])).await != json!([[0]]) {
            assert!(begun.elapsed() < Duration::from_secs(10), "{}", place.driver);
        }
    }
}

#[tokio::test]
async fn a_change_that_is_ended_is_not_made() {
    for place in Place::all(&DatabaseConfig { timeout_seconds: 1, ..writing() }).await {
        place.execute("CREATE TABLE t (n INTEGER)", json!([])).await;
        let slow = place.pick(
            "INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT n FROM s WHERE n < 0",
            "INSERT INTO t SELECT 1 FROM pg_sleep(600)",
            "INSERT INTO t SELECT SLEEP(600) + 1",
        );
        let statements = json!([{"sql": "INSERT INTO t VALUES (1)"}, {"sql": slow}]);
        let error = place.error("batch_execute", json!({"statements": statements})).await;
        assert_eq!(error.kind, ErrorKind::Timeout, "{}: {error}", place.driver);
        assert_eq!(place.rows("SELECT count(*) FROM t", json!([])).await, json!([[0]]), "{}", place.driver);
    }
}

#[tokio::test]
async fn what_has_no_deadline_left_fails_at_once() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let mut context: CallContext = context();
        context.deadline = Some(tokio::time::Instant::now());
        let result = call(&place.module, &context, "query", json!({"sql": "SELECT 1"})).await;
        // It may have been quicker than that.
        assert!(result.error.is_none_or(|error| error.kind == ErrorKind::Timeout), "{}", place.driver);
    }
}
