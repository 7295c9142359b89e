//! A result of a million rows, read page by page from the first to the last.

use std::error::Error;
use std::time::Instant;

use serde_json::{Value, json};
use toolcrib_bench::memory::peak_of;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_io::files::{ProtectedFiles, Root};
use toolcrib_module_database::{DatabaseConfig, module};
use toolcrib_policy::Access;
use toolcrib_port::ToolEngine as _;
use toolcrib_sdk::Module;

use crate::call::result;

const ROWS: u64 = 1_000_000;
const PAGE_ROWS: u64 = 1000;

/// The memory bound; the table has about six times as much.
const BOUND: u64 = 16 * 1024 * 1024;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("a table of 1,000,000 rows in SQLite, by pages of 1,000");
    let folder = tempfile::tempdir()?;
    let module = {
        let config: DatabaseConfig = serde_json::from_value(json!({"allow_writes": true}))?;
        module(config, Root::open(folder.path())?, Access::unlimited(), ProtectedFiles::default())?
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(fill(&module))?;

    let mut timings = Timings::default();
    let (read, peak) = peak_of(|| runtime.block_on(read(&module, &mut timings)));
    let rows = read?;
    runtime.block_on(module.close());
    if rows != ROWS {
        return Err(format!("{rows} rows were read, not {ROWS}").into());
    }
    let Some(peak) = peak else { return Err("this system does not tell the peak of a process".into()) };
    let bytes = std::fs::metadata(folder.path().join("data.db"))?.len();
    Row::new("the database on the disk", Figure::Bytes(bytes)).print();
    Row::new("peak memory of reading all pages", Figure::Bytes(peak)).at_most(Figure::Bytes(BOUND)).print();
    Row::new("a page, p50", timings.median()).print();
    Row::new("a page, p99", timings.percentile(99.0)).print();
    Ok(())
}

/// Creates the table.
async fn fill(module: &Module) -> Result<(), Box<dyn Error>> {
    let connect = json!({"driver": "sqlite", "database": "data.db", "create": true});
    result(module, "connect", &connect).await?;
    for sql in [
        "CREATE TABLE bookings (id INTEGER PRIMARY KEY, owner TEXT, amount REAL, note TEXT)".to_owned(),
        format!(
            "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {ROWS}) \
             INSERT INTO bookings SELECT n, 'owner ' || (n % 977), n / 7.0, \
             'a booking that somebody has made, and a note of ordinary length on it' FROM counted"
        ),
    ] {
        result(module, "execute", &json!({"sql": sql})).await?;
    }
    Ok(())
}

/// Reads all pages, and returns the number of their rows.
async fn read(module: &Module, timings: &mut Timings) -> Result<u64, Box<dyn Error>> {
    let sql = "SELECT id, owner, amount, note FROM bookings ORDER BY id";
    let mut rows = 0;
    let mut start = Instant::now();
    let mut page = result(module, "query", &json!({"sql": sql, "max_rows": PAGE_ROWS})).await?;
    loop {
        timings.add(start.elapsed());
        let last = page.get("rows").and_then(Value::as_array).and_then(|rows| rows.last()?.get(0));
        rows += page.get("row_count").and_then(Value::as_u64).unwrap_or(0);
        if last != Some(&Value::from(rows)) {
            return Err(format!("row {rows} is {last:?}").into());
        }
        let Some(more) = page.get("result").cloned() else { return Ok(rows) };
        start = Instant::now();
        page = result(module, "fetch_results", &json!({"result": more, "max_rows": PAGE_ROWS})).await?;
    }
}
