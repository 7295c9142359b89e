//! One run whose output is handed on as it comes, and which is asked to end.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::super::{Command, FollowedExit, MARK_VARIABLE, Pipe, environment_names, find_program, follow};
use super::{PATIENCE, assert_group_ends, shell};
use crate::Error;

/// Runs a script, and asks it to end as soon as it has written a line. What it wrote by then comes back too.
async fn stopped(script: &str, grace: Duration) -> (FollowedExit, String) {
    let (written, mut reading) = mpsc::unbounded_channel();
    let (ask, asked) = oneshot::channel::<()>();
    let stop = async {
        asked.await.unwrap();
    };
    let mut text = String::new();
    let command = shell(script);
    let running = follow(&command, None, move |_, bytes| written.send(bytes.to_vec()).unwrap(), stop, grace);
    let watching = async {
        while let Some(bytes) = reading.recv().await {
            text.push_str(std::str::from_utf8(&bytes).unwrap());
            if text.contains('\n') {
                break;
            }
        }
        ask.send(()).unwrap();
    };
    let (ended, ()) = timeout(PATIENCE, async { tokio::join!(running, watching) }).await.unwrap();
    (ended.unwrap(), text)
}

#[tokio::test]
async fn both_pipes_are_handed_on_before_the_program_ends() {
    let folder = tempfile::tempdir().unwrap();
    // It ends only when what it wrote has been seen, and answered through the file system.
    let command =
        shell("mkfifo go; echo out; echo err >&2; read -r line < go; echo last").with_cwd(folder.path());
    let go = folder.path().join("go");
    let mut seen = Vec::new();
    let take = |pipe, bytes: &[u8]| {
        seen.push((pipe, String::from_utf8(bytes.to_vec()).unwrap()));
        if seen.len() == 2 {
            std::fs::write(&go, "on\n").unwrap();
        }
    };
    let run = follow(&command, None, take, std::future::pending(), Duration::ZERO);
    let ended = timeout(PATIENCE, run).await.unwrap().unwrap();
    assert!(ended.status.success() && !ended.stopped && ended.stdout_ended && ended.stderr_ended);
    seen[..2].sort_by_key(|(pipe, _)| *pipe == Pipe::Stderr);
    assert_eq!(
        seen,
        [(Pipe::Stdout, "out\n".into()), (Pipe::Stderr, "err\n".into()), (Pipe::Stdout, "last\n".into())]
    );
}

#[tokio::test]
async fn a_program_that_is_asked_to_end_may_end_by_itself() {
    let (ended, _) = stopped("trap 'exit 7' TERM; echo on; while :; do sleep 0.01; done", PATIENCE).await;
    assert_eq!((ended.status.code(), ended.stopped), (Some(7), true));
}

#[tokio::test]
async fn a_program_that_does_not_want_to_end_is_killed_with_all_that_it_started() {
    let script = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 300' & sleep 300 & echo $$ $!; \
                  while :; do sleep 0.01; done";
    let (ended, text) = stopped(script, Duration::from_millis(50)).await;
    assert_eq!((ended.status.signal(), ended.stopped), (Some(9), true));
    for id in text.split_whitespace() {
        assert_group_ends(id.parse().unwrap()).await;
    }
}

#[test]
fn a_program_is_found_without_being_started() {
    let path = |command: Command| find_program(&command.with_env("PATH", "/usr/bin:/bin"));
    assert!(path(Command::new(["sh"])).unwrap().ends_with("sh"));
    assert!(matches!(path(Command::new(["no-such-program"])), Err(Error::ProgramNotFound { .. })));
    let guarded = Command::new(["sh"]).with_guard(|program| program == "git");
    assert!(matches!(path(guarded), Err(Error::ProgramNotAllowed { .. })));
}

#[test]
fn the_names_of_an_environment_are_those_that_a_child_finds() {
    let names = environment_names(&Command::new(["sh"]).with_env("OWN", "a secret"));
    assert!(names.iter().any(|name| name == "OWN") && names.iter().any(|name| name == "PATH"));
    assert!(!names.iter().any(|name| name == MARK_VARIABLE || name.contains("secret")));
    assert!(names.is_sorted());
}
