//! What is left when this process is killed: nothing.

use std::io::{BufRead, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::super::{spawn, watchdog};
use super::{PATIENCE, assert_group_ends, group_runs, shell};

/// Tells the test binary to be a victim, and how it is to end.
const VICTIM: &str = "TOOLCRIB_TEST_VICTIM";

/// A child of a victim, with two of its own: all ignore what can be ignored, and the one that tells its id is in a
/// session of its own.
const STUBBORN: &str = "trap '' HUP INT TERM; sleep 300 & setsid sh -c 'echo $$; exec sleep 300' & sleep 300";

/// The same with one that becomes another program all the time, in the middle of which it has no environment to be known
/// by.
const RESTLESS: &str =
    "export AGAIN='exec sh -c \"$AGAIN\"'; setsid sh -c 'echo $$; eval \"$AGAIN\"' & sleep 300";

/// A process with descendants that the other tests end.
struct Victim {
    process: std::process::Child,
    /// The groups of the child, of a grandchild that has left it, and of the watchdog.
    groups: Vec<u32>,
}

impl Victim {
    fn watchdog(&self) -> u32 {
        self.groups[2]
    }

    /// Waits until nothing of it runs.
    async fn assert_nothing_is_left(mut self) {
        self.process.wait().unwrap();
        for group in self.groups {
            assert_group_ends(group).await;
        }
    }
}

/// Starts this test binary anew as a process that has a child with grandchildren.
fn victim(end: &str) -> Victim {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::tests::killed::the_victim_of_the_other_tests", "--nocapture"])
        .env(VICTIM, end)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let lines = BufRead::lines(std::io::BufReader::new(victim.stdout.as_mut().unwrap()));
    // The test harness may have written to the beginning of the line.
    let report =
        lines.map(Result::unwrap).find_map(|line| Some(line.split_once("GROUP ")?.1.to_owned())).unwrap();
    let groups: Vec<u32> = report.split_whitespace().map(|id| id.parse().unwrap()).collect();
    assert!(groups.len() == 3 && groups.iter().all(|group| group_runs(*group)));
    Victim { process: victim, groups }
}

/// Not a test of its own unless the others run it.
#[tokio::test]
async fn the_victim_of_the_other_tests() {
    let Ok(end) = std::env::var(VICTIM) else { return };
    let script = if end == "exec" { RESTLESS } else { STUBBORN };
    let mut child = spawn(&shell(script), "victim").unwrap();
    let mut stdout = BufReader::new(child.take_stdout().unwrap());
    let mut stray = String::new();
    stdout.read_line(&mut stray).await.unwrap();
    // What else runs when it ends, as far as the other test wants that.
    let mut others = Vec::new();
    if end == "replace" {
        let watchdog = watchdog::helper_id().unwrap();
        kill_process(Pid::from_raw(watchdog.cast_signed()).unwrap(), Signal::KILL).unwrap();
        assert_group_ends(watchdog).await;
        others.push(spawn(&shell(STUBBORN), "other").unwrap());
        assert_ne!(watchdog::helper_id().unwrap(), watchdog);
    }
    println!("GROUP {} {} {}", child.id(), stray.trim(), watchdog::helper_id().unwrap());
    // Until the other test says so, or kills us.
    let _ = std::io::stdin().read(&mut [0]);
    if end == "exit" {
        std::process::exit(0);
    }
    panic!("the victim was not killed");
}

#[tokio::test]
async fn a_kill_of_this_process_leaves_neither_child_nor_grandchild_nor_watchdog() {
    let mut victim = victim("kill");
    victim.process.kill().unwrap();
    victim.assert_nothing_is_left().await;
}

#[tokio::test]
async fn a_kill_of_this_process_leaves_nothing_that_becomes_another_program_all_the_time() {
    let mut victim = victim("exec");
    victim.process.kill().unwrap();
    victim.assert_nothing_is_left().await;
}

#[tokio::test]
async fn an_interrupt_of_the_whole_terminal_leaves_nothing_either() {
    let victim = victim("kill");
    // What a terminal does on Ctrl-C, and a session on its end, only to more groups than it would.
    for process in victim.groups.iter().rev().chain([&victim.process.id()]) {
        for signal in [Signal::INT, Signal::HUP, Signal::TERM] {
            let _ = kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal);
        }
    }
    victim.assert_nothing_is_left().await;
}

#[tokio::test]
async fn an_exit_without_drops_leaves_nothing_and_does_not_wait() {
    let mut victim = victim("exit");
    let began = std::time::Instant::now();
    drop(victim.process.stdin.take());
    // Nobody else holds our output open: it ends with the victim.
    let mut rest = String::new();
    victim.process.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert!(began.elapsed() < PATIENCE);
    victim.assert_nothing_is_left().await;
}

#[tokio::test]
async fn a_watchdog_that_died_is_replaced_and_told_what_its_successor_must_know() {
    let mut victim = victim("replace");
    assert!(group_runs(victim.watchdog()));
    victim.process.kill().unwrap();
    victim.assert_nothing_is_left().await;
}
