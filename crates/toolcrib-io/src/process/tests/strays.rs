//! Descendants that have left the process group of their child.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use super::super::{Child, RunLimits, run, spawn};
use super::{PATIENCE, assert_group_ends, end, group_runs, shell};

/// Leaves a process in a session of its own, whose parent ends at once. It tells its id and ignores what can be ignored.
const DAEMON: &str = "(setsid sh -c 'trap \"\" HUP INT TERM; echo $$; exec sleep 300' < /dev/null &)";

/// Starts a child with a daemon, and then this. Returns it with the group of the daemon.
async fn with_daemon(then: &str) -> (Child, u32) {
    let mut child = spawn(&shell(&format!("{DAEMON}; {then}")), "test").unwrap();
    let mut stdout = BufReader::new(child.take_stdout().unwrap());
    let mut line = String::new();
    timeout(PATIENCE, stdout.read_line(&mut line)).await.unwrap().unwrap();
    let daemon = line.trim().parse().unwrap();
    assert!(daemon != child.id() && group_runs(daemon));
    (child, daemon)
}

#[tokio::test]
async fn a_descendant_that_left_the_group_ends_with_the_child() {
    let (mut child, daemon) = with_daemon("read -r line").await;
    drop(child.take_stdin());
    timeout(PATIENCE, child.exited()).await.unwrap().unwrap();
    assert_group_ends(daemon).await;
}

#[tokio::test]
async fn closing_a_child_that_ignores_everything_ends_what_left_its_group() {
    let (child, daemon) = with_daemon("trap '' TERM; while :; do sleep 0.01; done").await;
    timeout(PATIENCE, child.close(Duration::from_millis(100))).await.unwrap().unwrap();
    assert_group_ends(daemon).await;
}

#[tokio::test]
async fn dropping_a_child_ends_what_left_its_group() {
    let (child, daemon) = with_daemon("wait; sleep 300").await;
    drop(child);
    assert_group_ends(daemon).await;
}

#[tokio::test]
async fn a_child_keeps_the_strays_of_no_other() {
    let (first, daemon) = with_daemon("sleep 300").await;
    let (second, other) = with_daemon("sleep 300").await;
    second.close(Duration::ZERO).await.unwrap();
    assert_group_ends(other).await;
    assert!(group_runs(daemon), "it belongs to the first child");
    drop(first);
    assert_group_ends(daemon).await;
}

#[tokio::test]
async fn a_run_ends_what_left_its_group_and_waits_for_no_pipe_of_it() {
    let script =
        "mkfifo fifo && { setsid sh -c 'echo $$; echo left > fifo; exec sleep 300' & read -r line < fifo; }";
    let folder = tempfile::tempdir().unwrap();
    let output = run(&shell(script).with_cwd(folder.path()), None, &RunLimits::default()).await.unwrap();
    // Whether the output counts as whole depends on what comes first: the end of the stray, or that of the wait for it.
    assert!(output.status.success());
    assert_group_ends(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()).await;
}

#[tokio::test]
async fn what_becomes_another_program_all_the_time_ends_too() {
    let folder = tempfile::tempdir().unwrap();
    // In the middle of `exec` a process has no environment to be known by.
    std::fs::write(folder.path().join("again.sh"), "exec sh again.sh").unwrap();
    let script = "for stray in 1 2 3 4 5 6; do setsid sh -c 'echo $$; exec sh again.sh' < /dev/null & done; read -r line";
    let mut child = spawn(&shell(script).with_cwd(folder.path()), "test").unwrap();
    let mut stdout = BufReader::new(child.take_stdout().unwrap()).lines();
    let mut strays = Vec::new();
    while strays.len() < 6 {
        let line = timeout(PATIENCE, stdout.next_line()).await.unwrap().unwrap().unwrap();
        strays.push(line.trim().parse().unwrap());
    }
    drop(child);
    for stray in strays {
        assert_group_ends(stray).await;
    }
}

#[tokio::test]
async fn a_process_without_the_variable_and_with_a_session_of_its_own_is_left_alone() {
    let script = "env -u TOOLCRIB_CHILD setsid sh -c 'echo $$; exec sleep 300' & read -r line";
    let mut child = spawn(&shell(script), "test").unwrap();
    let mut stdout = BufReader::new(child.take_stdout().unwrap());
    let mut line = String::new();
    timeout(PATIENCE, stdout.read_line(&mut line)).await.unwrap().unwrap();
    child.close(PATIENCE).await.unwrap();
    assert!(group_runs(line.trim().parse().unwrap()));
    end(&line);
}
