//! Tests with real processes, and what they share.

mod environment;
mod follow;
mod killed;
mod run;
mod server;
mod strays;
mod streams;

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};
use toolcrib_testkit::wait_until;

use super::Command;

/// How long any of these tests waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Command {
    Command::new(["sh", "-c", script])
}

/// Whether any process of the group still runs. The dead that nobody has collected yet do not count.
fn group_runs(group: u32) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        let group = Pid::from_raw(group.cast_signed()).expect("a process group");
        return test_kill_process_group(group).is_ok();
    };
    processes.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()).any(|stat| {
        // "pid (name) state parent group …", where the name may hold anything.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        fields.len() > 2 && fields[2] == group.to_string() && !matches!(fields[0], "Z" | "X")
    })
}

/// Waits until no process of the group runs.
async fn assert_group_ends(group: u32) {
    let gone = || Ok((!group_runs(group)).then_some(()));
    wait_until(&format!("the end of group {group}"), PATIENCE, gone).await.unwrap();
}

/// Ends a process that left its group, which nobody but the test knows of.
fn end(process: &str) {
    let process = process.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(process, Signal::KILL).unwrap();
}

/// Waits for a file to appear with a number in it.
async fn number_in(path: &std::path::Path) -> u32 {
    let number = || Ok(std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()));
    wait_until("a number in a file", PATIENCE, number).await.unwrap()
}
