//! A child that stays.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use super::super::{Child, STDERR_LINE_BYTES, STDERR_TAIL_LINES, StdoutReader, spawn};
use super::{PATIENCE, assert_group_ends, end, group_runs, shell};

/// A grace that is too short to wait for in vain.
const SHORT: Duration = Duration::from_millis(100);

/// Starts the script, and waits until it has written the line `ready`.
async fn ready(script: &str) -> (Child, BufReader<StdoutReader>) {
    let mut child = spawn(&shell(script), "test").unwrap();
    let mut stdout = BufReader::new(child.take_stdout().unwrap());
    let mut line = String::new();
    timeout(PATIENCE, stdout.read_line(&mut line)).await.unwrap().unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

#[tokio::test]
async fn a_server_is_talked_to_line_by_line() {
    let mut child = spawn(&shell("while read -r line; do echo \"got $line\"; done"), "test").unwrap();
    let mut stdin = child.take_stdin().unwrap();
    let mut stdout = BufReader::new(child.take_stdout().unwrap()).lines();
    for word in ["one", "two"] {
        stdin.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(stdout.next_line().await.unwrap().unwrap(), format!("got {word}"));
    }
    assert!(child.take_stdin().is_none() && child.take_stdout().is_none());
    drop(stdin);
    assert!(timeout(PATIENCE, child.exited()).await.unwrap().unwrap().success());
}

#[tokio::test]
async fn closing_ends_the_input_even_while_the_writer_is_held() {
    let (mut child, _stdout) = ready("echo ready; cat > /dev/null; exit 7").await;
    let mut stdin = child.take_stdin().unwrap();
    let status = child.close(PATIENCE).await.unwrap();
    assert_eq!(status.code(), Some(7));
    let error = stdin.write_all(b"late").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn what_was_written_before_the_end_counts_as_written() {
    let (mut child, _stdout) = ready("echo ready; cat > /dev/null").await;
    let mut stdin = child.take_stdin().unwrap();
    stdin.write_all(b"a request\n").await.unwrap();
    child.close(PATIENCE).await.unwrap();
    stdin.flush().await.unwrap();
}

#[tokio::test]
async fn closing_wakes_a_writer_that_waits_for_room() {
    let (mut child, _stdout) = ready("echo ready; exec sleep 300").await;
    let mut stdin = child.take_stdin().unwrap();
    let writer = tokio::spawn(async move { stdin.write_all(&vec![b'x'; 4 * 1024 * 1024]).await });
    child.close(SHORT).await.unwrap();
    let written = timeout(PATIENCE, writer).await.unwrap().unwrap();
    assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn a_child_that_ignores_the_end_of_its_input_is_terminated() {
    let (child, _stdout) = ready("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done").await;
    assert_eq!(child.close(PATIENCE.min(SHORT * 20)).await.unwrap().code(), Some(9));
}

#[tokio::test]
async fn a_child_that_ignores_term_is_killed() {
    let (child, _stdout) = ready("trap '' TERM; echo ready; while :; do sleep 0.01; done").await;
    let group = child.id();
    let status = timeout(PATIENCE, child.close(SHORT)).await.unwrap().unwrap();
    assert_eq!(status.signal(), Some(9));
    assert_group_ends(group).await;
}

#[tokio::test]
async fn dropping_a_child_kills_its_whole_group() {
    let (child, _stdout) = ready("trap '' TERM; sleep 300 & sleep 300 & echo ready; wait").await;
    let group = child.id();
    assert!(group_runs(group));
    drop(child);
    assert_group_ends(group).await;
}

#[tokio::test]
async fn the_exit_is_known_while_others_hold_the_pipes() {
    // The process that left the group lives on for a while, with all three pipes.
    let script =
        "env -u TOOLCRIB_CHILD setsid sh -c 'echo ready; echo $$; exec sleep 5' & read -r line; exit 5";
    let (mut child, mut stdout) = ready(script).await;
    let mut process = String::new();
    stdout.read_line(&mut process).await.unwrap();
    let exited = child.exited();
    let began = Instant::now();
    child.take_stdin().unwrap().write_all(b"go\n").await.unwrap();
    assert_eq!(timeout(PATIENCE, exited).await.unwrap().unwrap().code(), Some(5));
    assert!(began.elapsed() < Duration::from_secs(3));
    // Standard output is indeed still open.
    assert!(timeout(SHORT, stdout.read_u8()).await.is_err());
    end(&process);
    assert!(child.close(SHORT).await.unwrap().code() == Some(5));
}

#[tokio::test]
async fn a_grandchild_does_not_outlive_the_child() {
    let (mut child, _stdout) = ready("sleep 300 & echo ready; read -r line").await;
    let group = child.id();
    drop(child.take_stdin());
    timeout(PATIENCE, child.exited()).await.unwrap().unwrap();
    assert_group_ends(group).await;
}

#[tokio::test]
async fn the_last_lines_of_standard_error_are_there_when_the_child_has_ended() {
    let child = spawn(
        &shell("i=0; while [ $i -lt 100 ]; do echo line $i >&2; i=$((i+1)); done; printf end >&2"),
        "t",
    );
    let child = child.unwrap();
    let tail = child.stderr_tail();
    timeout(PATIENCE, child.exited()).await.unwrap().unwrap();
    let lines = tail.last_lines().await;
    assert_eq!(lines.len(), STDERR_TAIL_LINES);
    assert_eq!(lines.last().unwrap(), "end");
    assert_eq!(lines[0], "line 81");
    drop(child);
    assert_eq!(tail.lines(), lines);
}

#[tokio::test]
async fn a_flood_on_standard_error_blocks_nobody_and_is_kept_within_bounds() {
    let script = "head -c 20000000 /dev/zero | tr '\\0' e >&2; printf '\\033[2Jx\\n' >&2; echo ready";
    let (child, _stdout) = ready(script).await;
    let tail = child.stderr_tail();
    timeout(PATIENCE, child.exited()).await.unwrap().unwrap();
    let lines = tail.last_lines().await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].len(), STDERR_LINE_BYTES);
}

#[tokio::test]
async fn standard_error_cannot_write_to_a_terminal() {
    let child = spawn(&shell("printf 'a\\033[2Jb\\377\\n' >&2"), "t").unwrap();
    timeout(PATIENCE, child.exited()).await.unwrap().unwrap();
    assert_eq!(child.stderr_tail().last_lines().await, ["a [2Jb\u{fffd}"]);
}
