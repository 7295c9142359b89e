//! What is left when this process is killed: nothing.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::super::{spawn, watchdog};
use super::{PATIENCE, assert_group_ends, group_runs, shell};

/// Tells the test binary to be a victim, and how it is to end.
const VICTIM: &str = "TOOLCRIB_TEST_VICTIM";

/// Children of a victim: both ignore what can be ignored.
const STUBBORN: &str = "trap '' HUP INT TERM; sleep 300 & echo ready; sleep 300";

/// Starts this test binary anew as a process that has a child with a grandchild. Returns it with the group of the
/// child and the id of its watchdog.
fn victim(end: &str) -> (std::process::Child, u32, u32) {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::tests::killed::the_victim_of_the_other_tests", "--nocapture"])
        .env(VICTIM, end)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.as_mut().unwrap()).lines();
    // The test harness may have written to the beginning of the line.
    let report =
        lines.map(Result::unwrap).find_map(|line| Some(line.split_once("GROUP ")?.1.to_owned())).unwrap();
    let ids: Vec<u32> = report.split_whitespace().map(|id| id.parse().unwrap()).collect();
    assert!(group_runs(ids[0]) && group_runs(ids[1]));
    (victim, ids[0], ids[1])
}

/// Not a test of its own unless the others run it.
#[tokio::test]
async fn the_victim_of_the_other_tests() {
    let Ok(end) = std::env::var(VICTIM) else { return };
    let mut child = spawn(&shell(STUBBORN), "victim").unwrap();
    let mut stdout = child.take_stdout().unwrap();
    tokio::io::AsyncReadExt::read_u8(&mut stdout).await.unwrap();
    // What else runs when it ends, as far as the other test wants that.
    let mut others = Vec::new();
    if end == "replace" {
        let watchdog = watchdog::helper_id().unwrap();
        kill_process(Pid::from_raw(watchdog.cast_signed()).unwrap(), Signal::KILL).unwrap();
        assert_group_ends(watchdog).await;
        others.push(spawn(&shell(STUBBORN), "other").unwrap());
        assert_ne!(watchdog::helper_id().unwrap(), watchdog);
    }
    println!("GROUP {} {}", child.id(), watchdog::helper_id().unwrap());
    // Until the other test says so, or kills us.
    let _ = std::io::stdin().read(&mut [0]);
    if end == "exit" {
        std::process::exit(0);
    }
    panic!("the victim was not killed");
}

#[tokio::test]
async fn a_kill_of_this_process_leaves_neither_child_nor_grandchild_nor_watchdog() {
    let (mut victim, group, watchdog) = victim("kill");
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_group_ends(group).await;
    assert_group_ends(watchdog).await;
}

#[tokio::test]
async fn an_interrupt_of_the_whole_terminal_leaves_nothing_either() {
    let (mut victim, group, watchdog) = victim("kill");
    // What a terminal does on Ctrl-C, and a session on its end, only to more groups than it would.
    for process in [watchdog, group, victim.id()] {
        for signal in [Signal::INT, Signal::HUP, Signal::TERM] {
            let _ = kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal);
        }
    }
    victim.wait().unwrap();
    assert_group_ends(group).await;
    assert_group_ends(watchdog).await;
}

#[tokio::test]
async fn an_exit_without_drops_leaves_nothing_and_does_not_wait() {
    let (mut victim, group, watchdog) = victim("exit");
    let began = std::time::Instant::now();
    drop(victim.stdin.take());
    // Nobody else holds our output open: it ends with the victim.
    let mut rest = String::new();
    victim.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    victim.wait().unwrap();
    assert!(began.elapsed() < PATIENCE);
    assert_group_ends(group).await;
    assert_group_ends(watchdog).await;
}

#[tokio::test]
async fn a_watchdog_that_died_is_replaced_and_told_what_its_successor_must_know() {
    let (mut victim, group, watchdog) = victim("replace");
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_group_ends(watchdog).await;
    assert_group_ends(group).await;
}
