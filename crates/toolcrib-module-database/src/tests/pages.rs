//! Results, page by page.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_port::CallContext;

use super::{Place, call, context, writing};
use crate::DatabaseConfig;
use crate::config::Driver;

/// Counts from one, in each database's own way.
pub(super) fn numbers(place: &Place, count: u64) -> String {
    match place.driver {
        Driver::Postgres => format!("SELECT n FROM generate_series(1, {count}) AS s(n)"),
        Driver::Sqlite | Driver::Mysql => format!(
            "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s"
        ),
    }
}

#[tokio::test]
async fn a_result_is_read_page_by_page_to_its_end() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let sql = numbers(&place, 250);
        let mut page = place.ok("query", json!({"sql": sql, "max_rows": 100})).await;
        assert_eq!(page["columns"][0]["name"], "n");
        let mut seen: Vec<Value> = Vec::new();
        let mut pages = 1;
        loop {
            seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row[0].clone()));
            assert_eq!(page["row_count"], page["rows"].as_array().unwrap().len());
            assert_eq!(page["truncated"], page.get("result").is_some());
            let Some(result) = page.get("result").cloned() else { break };
            page = place.ok("fetch_results", json!({"result": result, "max_rows": 100})).await;
            pages += 1;
        }
        assert_eq!(pages, 3, "{}", place.driver);
        assert_eq!(seen, (1..=250).map(Value::from).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_page_that_holds_all_rows_says_so_and_has_no_handle() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let page = place.ok("query", json!({"sql": numbers(&place, 100), "max_rows": 100})).await;
        assert_eq!(
            (&page["truncated"], page.get("result"), &page["row_count"]),
            (&json!(false), None, &json!(100))
        );
    }
}

#[tokio::test]
async fn a_result_without_rows_has_its_columns() {
    for place in Place::all(&writing()).await {
        place.execute("CREATE TABLE t (id INTEGER, name VARCHAR(20))", json!([])).await;
        let page = place.ok("query", json!({"sql": "SELECT id, name FROM t"})).await;
        let names: Vec<&Value> =
            page["columns"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
        assert_eq!(names, ["id", "name"]);
        assert_eq!(page["rows"], json!([]));
    }
}

#[tokio::test]
async fn a_page_is_bounded_in_bytes_too() {
    let config = DatabaseConfig { max_page_bytes: 4096, max_cell_bytes: 1000, ..DatabaseConfig::default() };
    for place in Place::all(&config).await {
        let long = place.pick("substr(hex(zeroblob(500)), 1, 900)", "repeat('x', 900)", "repeat('x', 900)");
        let sql = numbers(&place, 20).replacen("SELECT n FROM", &format!("SELECT n, {long} FROM"), 1);
        let page = place.ok("query", json!({"sql": sql})).await;
        assert_eq!((&page["row_count"], &page["truncated"]), (&json!(4), &json!(true)), "{}", place.driver);
    }
}

#[tokio::test]
async fn a_value_of_ten_megabytes_is_cut_and_the_result_says_so() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let sql = place.pick(
            "SELECT 1 AS a, replace(hex(zeroblob(5000000)), '0', 'é') AS b, zeroblob(10000000) AS c",
            "SELECT 1 AS a, repeat('é', 10000000) AS b, decode(repeat('00', 10000000), 'hex') AS c",
            "SELECT 1 AS a, repeat('é', 5000000) AS b, repeat(x'00', 10000000) AS c",
        );
        let page = place.ok("query", json!({"sql": sql})).await;
        let row = &page["rows"][0];
        assert_eq!(row[0], 1);
        assert_eq!(row[1].as_str().unwrap(), "é".repeat(4096));
        assert!(row[2]["base64"].as_str().unwrap().len() <= 8192);
        let chars = place.pick(20_000_000, 20_000_000, 10_000_000);
        let expected = json!([{"row": 0, "column": "b", "bytes": chars}, {"row": 0, "column": "c", "bytes": 10_000_000}]);
        assert_eq!(page["cut"], expected, "{}", place.driver);
    }
}

#[tokio::test]
async fn a_handle_is_good_for_its_own_session_only() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let page = place.ok("query", json!({"sql": numbers(&place, 10), "max_rows": 2})).await;
        let arguments = json!({"result": page["result"]});
        let other = CallContext::new("two").with_agent("assistant");
        let refused = call(&place.module, &other, "fetch_results", arguments.clone()).await;
        assert_eq!(refused.error.unwrap().kind, ErrorKind::NotFound);
        assert_eq!(place.ok("fetch_results", arguments).await["row_count"], 8);
    }
}

#[tokio::test]
async fn the_oldest_open_result_gives_way_and_queries_still_run() {
    let config = DatabaseConfig { pool_size: 3, ..DatabaseConfig::default() };
    for place in Place::all(&config).await {
        let arguments = json!({"sql": numbers(&place, 1000), "max_rows": 1});
        let mut handles = Vec::new();
        for _ in 0..4 {
            handles.push(place.ok("query", arguments.clone()).await["result"].clone());
        }
        for (at, handle) in handles.iter().enumerate() {
            let result = place.call("fetch_results", json!({"result": handle, "max_rows": 1})).await;
            assert_eq!(result.error.is_none(), at >= 2, "{} {at}", place.driver);
        }
        assert_eq!(place.rows("SELECT 1", json!([])).await, json!([[1]]));
    }
}

#[tokio::test]
async fn a_result_that_nobody_reads_is_closed() {
    let config = DatabaseConfig { result_idle_seconds: 60, ..DatabaseConfig::default() };
    for place in Place::all(&config).await {
        let page = place.ok("query", json!({"sql": numbers(&place, 1000), "max_rows": 1})).await;
        let arguments = json!({"result": page["result"], "max_rows": 1});
        // Lets the clock of the result begin.
        tokio::task::yield_now().await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(61)).await;
        tokio::task::yield_now().await;
        let result = call(&place.module, &context(), "fetch_results", arguments).await;
        tokio::time::resume();
        assert_eq!(result.error.unwrap().kind, ErrorKind::NotFound, "{}", place.driver);
    }
}

/// What this process holds in memory, in bytes.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn reading_many_rows_takes_no_more_memory_than_reading_some() {
    const DOUBLINGS: u32 = 18;
    // Would take about 100 bytes each.
    const ROWS: u64 = 1 << DOUBLINGS;
    let config = DatabaseConfig {
        allow_writes: true,
        max_rows: 5000,
        max_page_bytes: 4 << 20,
        ..DatabaseConfig::default()
    };
    for place in Place::all(&config).await {
        let long = place.pick("substr(hex(zeroblob(50)), 1, 90)", "repeat('x', 90)", "repeat('x', 90)");
        let sql = if place.driver == Driver::Mysql {
            // There the depth of what calls itself is bounded.
            place.execute("CREATE TABLE t (n INTEGER)", json!([])).await;
            place.execute("INSERT INTO t VALUES (1)", json!([])).await;
            for _ in 0..DOUBLINGS {
                place.execute("INSERT INTO t SELECT n FROM t", json!([])).await;
            }
            format!("SELECT n, {long} FROM t")
        } else {
            numbers(&place, ROWS).replacen("SELECT n FROM", &format!("SELECT n, {long} FROM"), 1)
        };
        let mut page = place.ok("query", json!({"sql": sql, "max_rows": 5000})).await;
        let mut count = page["row_count"].as_u64().unwrap();
        let before = resident();
        while let Some(result) = page.get("result").cloned() {
            page = place.ok("fetch_results", json!({"result": result, "max_rows": 5000})).await;
            count += page["row_count"].as_u64().unwrap();
        }
        let grown = resident().saturating_sub(before);
        assert_eq!(count, ROWS);
        assert!(grown < 16 << 20, "{}: {grown} bytes more", place.driver);
    }
}
