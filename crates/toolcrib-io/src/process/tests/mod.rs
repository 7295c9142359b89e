//! Tests with real processes, and what they share.

mod environment;
mod killed;
mod run;
mod server;
mod streams;

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};

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

/// Waits until no process of the group runs. The system tells nobody when that is, so this looks again and again.
fn assert_group_ends(group: u32) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while group_runs(group) {
        assert!(std::time::Instant::now() < deadline, "group {group} still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends a process that left its group, which nobody but the test knows of.
fn end(process: &str) {
    let process = process.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(process, Signal::KILL).unwrap();
}

/// Waits for a file to appear with a number in it.
async fn number_in(path: &std::path::Path) -> u32 {
    let look = async {
        loop {
            if let Some(number) = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok())
            {
                return number;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("the number was never written")
}
