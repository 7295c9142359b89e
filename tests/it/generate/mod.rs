//! `toolcrib generate`: the example with its recording, and runs with a model server.

mod engines;
mod foreign_tasks;
mod limits;
mod resumption;
mod rule_based_model;

use std::io::Read as _;

use serde_json::Value;
use toolcrib_testkit::TestTerminal;

use crate::support::{TestDir, binary};

/// All kinds of conversations.
const KINDS: [&str; 12] = [
    "ambiguous",
    "denied",
    "discovery",
    "error_recovery",
    "irrelevant",
    "long_result",
    "missing_parameter",
    "missing_tool",
    "multi_turn",
    "nested",
    "parallel",
    "single",
];

/// Returns the kinds of a report, sorted.
fn kinds(report: &Value) -> Vec<&str> {
    let mut kinds: Vec<&str> = report["kinds"].as_object().unwrap().keys().map(String::as_str).collect();
    kinds.sort_unstable();
    kinds
}

#[tokio::test]
async fn one_command_makes_conversations_of_every_kind_without_a_key() {
    let dir = TestDir::of_example("datagen", |_, text| text);
    let report = dir.run(["generate", "task.yaml", "--json"]).await.expect(0).json();
    assert_eq!((&report["written"], &report["dropped"]), (&20.into(), &0.into()), "{report}");
    assert_eq!(kinds(&report), KINDS);
    let first = dir.read("data.jsonl");
    snapshot!(dir, dir.read("data.card.md"));

    let checked = dir.run(["generate", "check", "data.jsonl"]).await.expect(0);
    assert_eq!(checked.stdout.trim(), "20 of 20 conversations have no finding");
    // Handles are random, and the file is the same.
    dir.run(["generate", "task.yaml", "--restart"]).await.expect(0);
    assert_eq!(dir.read("data.jsonl"), first);
}

#[tokio::test]
async fn names_are_spelled_as_the_command_or_the_task_says() {
    let names = |dir: &TestDir| -> Vec<String> {
        let line = dir.read("data.jsonl").lines().next().unwrap().to_owned();
        let row: Value = serde_json::from_str(&line).unwrap();
        let mut names: Vec<_> = row["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    for (setting, arguments, expected) in [
        ("", &[][..], "shipping__order"),
        ("names: dotted\n  output", &[], "shipping.order"),
        ("names: dotted\n  output", &["--names", "qualified"], "shipping::order"),
    ] {
        let dir = TestDir::of_example("datagen", |name, text| match name {
            "task.yaml" if !setting.is_empty() => text.replace("output: data", &format!("{setting}: data")),
            _ => text,
        });
        let words = [&["generate", "task.yaml"], arguments].concat();
        dir.run_words(&words).await.expect(0);
        assert_eq!(names(&dir)[0], expected);
        dir.run(["generate", "check", "data.jsonl"]).await.expect(0);
    }
}

#[tokio::test]
async fn a_run_on_a_full_disk_fails_and_continues_when_there_is_space() {
    let server = rule_based_model::server().await;
    let whole = rule_based_model::dir(&server, "  num_outputs: 6\n");
    whole.run(["generate", "task.yaml"]).await.expect(0);
    // The units are 512 bytes: at first nothing can be stored, then some of the stages. How many a larger file would hold
    // depends on when SQLite moves its log into the database.
    let dir = rule_based_model::dir(&server, "  num_outputs: 6\n");
    for (units, flag) in [("0", "--restart"), ("64", "--restart")] {
        let script = format!("trap '' XFSZ; ulimit -f {units}; exec \"$0\" generate task.yaml {flag}");
        let child = dir.command("sh", &dir.path("")).args(["-c", &script]).arg(binary()).spawn().unwrap();
        let run_output = dir.finish(child).await.expect(1);
        assert!(run_output.stderr.contains("data.jsonl.state"), "{run_output:?}");
        assert!(!dir.path("data.jsonl").exists());
    }
    dir.run(["generate", "task.yaml", "--resume"]).await.expect(0);
    assert_eq!(dir.read("data.jsonl"), whole.read("data.jsonl"));
}

#[tokio::test]
async fn a_terminal_shows_the_progress_as_a_bar() {
    let server = rule_based_model::server().await;
    let dir = rule_based_model::dir(&server, "  num_outputs: 3\n  parallel: 1\n");
    let TestTerminal { mut seat, terminal, .. } = TestTerminal::open().unwrap();
    let mut command = dir.command(binary(), &dir.path(""));
    command.args(["generate", "task.yaml"]).stderr(terminal);
    let child = command.spawn().unwrap();
    // It holds the program's side of the terminal, which reads to its end only when that is closed.
    drop(command);
    dir.finish(child).await.expect(0);
    let mut screen = Vec::new();
    // The end of a terminal is an error.
    let _end = seat.read_to_end(&mut screen);
    let screen = String::from_utf8(screen).unwrap();
    let shown: Vec<&str> = screen.split('\r').map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(
        shown,
        [
            "[                              ] 0/3 kept, 0 dropped, 1 in progress",
            "[##########                    ] 1/3 kept, 0 dropped, 1 in progress",
            "[####################          ] 2/3 kept, 0 dropped, 1 in progress",
            "[##############################] 3/3 kept, 0 dropped, 0 in progress",
        ]
    );
}
