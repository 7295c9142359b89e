//! Databases on the server that `cargo xtask databases` starts.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use toolcrib_testkit::wait_until;

use super::PATIENCE;

const SERVER: &str = "TOOLCRIB_TEST_POSTGRES";

/// A server that tests may kill. It is started again.
const VICTIM: &str = "TOOLCRIB_TEST_POSTGRES_VICTIM";

/// The URL of a new database. A stranger's machine has no server.
pub(crate) fn new_database() -> Option<String> {
    new_database_of(SERVER)
}

/// The URL of a new database on the server that tests may kill.
pub(crate) fn new_database_of_victim() -> Option<String> {
    new_database_of(VICTIM)
}

fn new_database_of(server: &str) -> Option<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var(server) else {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "{server} names no server, and CI=true leaves nothing out");
        eprintln!("left out: {server} names no server");
        return None;
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("replicas_{}_{number}", std::process::id());
    query(&server, &format!("CREATE DATABASE {name}")).unwrap();
    let (base, parameters) = server.split_once('?').map_or((server.as_str(), None), |(a, b)| (a, Some(b)));
    let base = &base[..base.rfind('/').unwrap()];
    let parameters = parameters.map_or_else(String::new, |text| format!("?{text}"));
    Some(format!("{base}/{name}{parameters}"))
}

/// Runs a statement in a database. Returns the rows, whose columns are separated by `|`.
pub(crate) fn query(database: &str, sql: &str) -> Result<Vec<String>, String> {
    let run_output = Command::new("psql")
        .args([database, "--quiet", "--no-psqlrc", "--tuples-only", "--no-align", "--command", sql])
        .output()
        .unwrap();
    if !run_output.status.success() {
        return Err(String::from_utf8_lossy(&run_output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&run_output.stdout).lines().map(str::to_owned).collect())
}

/// Kills the server of a database as a power failure would.
pub(crate) fn kill_server(database: &str) {
    let pid = query(database, "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)").unwrap();
    assert!(Command::new("kill").args(["-9", &pid[0]]).status().unwrap().success());
}

/// Waits until a statement returns rows that are as expected, also while the server is away.
pub(crate) async fn until_rows(database: &str, sql: &str, are_expected: impl Fn(&[String]) -> bool) {
    let look = || Ok(query(database, sql).is_ok_and(|rows| are_expected(&rows)).then_some(()));
    wait_until(sql, PATIENCE, look).await.unwrap();
}
