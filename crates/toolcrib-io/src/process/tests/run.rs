//! One run, captured.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;

use super::super::{Command, DRAIN_GRACE, RunLimits, run, spawn};
use super::{PATIENCE, assert_group_ends, end, number_in, shell};
use crate::Error;

async fn refused(command: &Command) -> Error {
    run(command, None, &RunLimits::default()).await.unwrap_err()
}

#[tokio::test]
async fn both_streams_and_the_status_are_captured() {
    let output = run(&shell("echo out; echo err >&2; exit 3"), None, &RunLimits::default()).await.unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    assert!(!output.stdout_truncated && !output.stderr_truncated);
}

#[tokio::test]
async fn arguments_arrive_without_a_shell_reading_them() {
    let command = Command::new(["printf", "%s|", "$HOME; `id` 'x'", "", "*"]);
    let output = run(&command, None, &RunLimits::default()).await.unwrap();
    assert_eq!(output.stdout, b"$HOME; `id` 'x'||*|");
}

#[tokio::test]
async fn input_larger_than_a_pipe_passes_through_both_ways_at_once() {
    let input = Bytes::from(vec![b'x'; 3 * 1024 * 1024]);
    let output = run(&Command::new(["cat"]), Some(input.clone()), &RunLimits::default()).await.unwrap();
    assert!(output.stdout == input && !output.stdout_truncated);
}

#[tokio::test]
async fn input_that_nobody_reads_is_no_error() {
    let input = Bytes::from(vec![b'x'; 3 * 1024 * 1024]);
    let output = run(&Command::new(["true"]), Some(input), &RunLimits::default()).await.unwrap();
    assert!(output.status.success());
}

#[tokio::test]
async fn output_beyond_the_limits_is_read_but_not_kept() {
    let limits = RunLimits { stdout_bytes: 1000, stderr_bytes: 10 };
    let script = "head -c 2000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 4";
    let output = run(&shell(script), None, &limits).await.unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert_eq!((output.stdout.len(), output.stderr.len()), (1000, 10));
    assert!(output.stdout_truncated && output.stderr_truncated);
}

#[tokio::test]
async fn output_of_exactly_the_limit_is_not_truncated() {
    let limits = RunLimits { stdout_bytes: 5, ..RunLimits::default() };
    let output = run(&Command::new(["printf", "12345"]), None, &limits).await.unwrap();
    assert!(output.stdout == b"12345" && !output.stdout_truncated);
}

#[tokio::test]
async fn dropping_a_run_kills_its_group() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let command =
        shell("echo $$ > pid.new; mv pid.new pid; sleep 300 & sleep 300").with_cwd(directory.path());
    let limits = RunLimits::default();
    let group = tokio::select! {
        output = run(&command, None, &limits) => panic!("it ended: {output:?}"),
        group = number_in(&file) => group,
    };
    assert_group_ends(group).await;
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_is_killed_with_its_group() {
    let began = Instant::now();
    let output = run(&shell("sleep 300 & echo $$"), None, &RunLimits::default()).await.unwrap();
    assert!(began.elapsed() < PATIENCE);
    assert!(!output.stdout_truncated);
    assert_group_ends(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()).await;
}

#[tokio::test]
async fn a_process_that_left_the_group_holds_up_nobody() {
    let began = Instant::now();
    let directory = tempfile::tempdir().unwrap();
    // It says through the FIFO that it has left, and ends by itself long after the grace that it is given.
    let script = "mkfifo fifo && { env -u TOOLCRIB_CHILD setsid sh -c 'echo $$; echo left > fifo; exec sleep 5' & read -r line < fifo; }";
    let command = shell(script).with_cwd(directory.path());
    let output = run(&command, None, &RunLimits::default()).await.unwrap();
    assert!(output.status.success());
    end(&String::from_utf8(output.stdout).unwrap());
    assert!(output.stdout_truncated);
    assert!(began.elapsed() >= DRAIN_GRACE && began.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn a_missing_program_is_named_with_the_place_where_it_was_looked_for() {
    let error = refused(&Command::new(["no-such-program"]).with_env("PATH", "/usr/bin:/bin")).await;
    assert_eq!(
        error.to_string(),
        "program `no-such-program` not found in PATH; install it, or give its full path"
    );
    let error = refused(&Command::new(["./no-such-program"]).with_cwd("/usr")).await;
    assert!(error.to_string().contains("not found in /usr/no-such-program"), "{error}");
}

#[tokio::test]
async fn a_program_that_the_guard_does_not_admit_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let only = |allowed: &'static str| {
        shell(&format!("echo ran >> {}", trace.display())).with_guard(move |program| program == allowed)
    };
    let error = refused(&only("git")).await;
    assert!(matches!(&error, Error::ProgramNotAllowed { program } if program == "sh"), "{error:?}");
    assert!(matches!(spawn(&only("/bin/sh"), "server"), Err(Error::ProgramNotAllowed { .. })));
    assert!(!trace.exists());
    assert!(run(&only("sh"), None, &RunLimits::default()).await.unwrap().status.success());
    assert!(trace.exists());
}

#[tokio::test]
async fn a_program_beside_the_directory_it_starts_in_is_found() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/echo", directory.path().join("say")).unwrap();
    let command = Command::new(["./say", "hi"]).with_cwd(directory.path());
    assert_eq!(run(&command, None, &RunLimits::default()).await.unwrap().stdout, b"hi\n");
}

#[tokio::test]
async fn a_file_that_is_not_executable_is_refused_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tool");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let path = directory.path().to_str().unwrap();
    for command in [Command::new(["./tool"]).with_cwd(path), Command::new(["tool"]).with_env("PATH", path)] {
        let error = refused(&command).await;
        assert!(matches!(error, Error::ProgramNotExecutable { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_missing_interpreter_is_an_error_that_says_where_to_look() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tool");
    std::fs::write(&file, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = refused(&Command::new([file.to_str().unwrap()])).await;
    assert!(error.to_string().contains("interpreter"), "{error}");
}

#[tokio::test]
async fn a_missing_directory_is_not_mistaken_for_a_missing_program() {
    let error = refused(&Command::new(["true"]).with_cwd("/no/such/directory")).await;
    assert!(matches!(error, Error::WorkingDirectoryMissing { .. }), "{error:?}");
}

#[tokio::test]
async fn what_no_system_could_start_is_refused_with_a_reason() {
    let empty: [&str; 0] = [];
    for command in [
        Command::new(empty),
        Command::new([""]),
        Command::new(["echo", "a\0b"]),
        Command::new(["echo"]).with_env("A=B", "1"),
        Command::new(["echo"]).with_env("A", "\0"),
    ] {
        let error = refused(&command).await;
        assert!(matches!(error, Error::InvalidCommand { .. }), "{error:?}");
    }
}

#[test]
fn without_a_runtime_it_is_an_error_and_no_panic() {
    let error = refused(&Command::new(["true"])).now_or_never().expect("it has nothing to wait for");
    assert!(error.to_string().contains("Tokio runtime"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_at_once_each_get_their_own_output() {
    let runs = (0..40).map(|number| async move {
        let command = Command::new(["echo".to_owned(), number.to_string()]);
        let output = run(&command, None, &RunLimits::default()).await.unwrap();
        assert_eq!(output.stdout, format!("{number}\n").into_bytes());
    });
    let all = futures::future::join_all(runs);
    tokio::time::timeout(PATIENCE + Duration::from_secs(10), all).await.unwrap();
}
