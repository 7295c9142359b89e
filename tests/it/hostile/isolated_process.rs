//! A process of its own for each test that counts what its process holds.

use std::process::Command;

/// Set in the process that is a test's own.
const ALONE: &str = "TOOLCRIB_TEST_ALONE";

/// Whether no other test runs in this process. Where one may, the test is run in a new process, and this has to pass; the
/// answer is no then, and there is nothing left to do.
pub(super) fn is_alone(module: &str, test: &str) -> bool {
    let runs_each_test_alone = |mode| mode == "process-per-test";
    if std::env::var("NEXTEST_EXECUTION_MODE").is_ok_and(runs_each_test_alone)
        || std::env::var_os(ALONE).is_some()
    {
        return true;
    }
    let (_, module) = module.split_once("::").unwrap();
    let run_output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(run_output.status.success(), "{}\n{}", said(&run_output.stdout), said(&run_output.stderr));
    assert!(said(&run_output.stdout).contains("1 passed"), "it ran nothing: {}", said(&run_output.stdout));
    false
}
