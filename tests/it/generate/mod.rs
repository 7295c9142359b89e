//! `toolcrib generate`: the example with its recording, and runs with a model server.

mod kills;
mod office;

use serde_json::Value;

use crate::support::Lab;

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
    let lab = Lab::of_example("datagen", |_, text| text);
    let report = lab.run(["generate", "task.yaml", "--json"]).await.expect(0).json();
    assert_eq!((&report["written"], &report["dropped"]), (&20.into(), &0.into()), "{report}");
    assert_eq!(kinds(&report), KINDS);
    let first = lab.read("data.jsonl");
    snapshot!(lab, lab.read("data.card.md"));

    let checked = lab.run(["generate", "check", "data.jsonl"]).await.expect(0);
    assert_eq!(checked.stdout.trim(), "20 of 20 conversations have no finding");
    // Handles are random, and the file is the same.
    lab.run(["generate", "task.yaml", "--restart"]).await.expect(0);
    assert_eq!(lab.read("data.jsonl"), first);
}

#[tokio::test]
async fn names_are_spelled_as_the_command_or_the_task_says() {
    let names = |lab: &Lab| -> Vec<String> {
        let line = lab.read("data.jsonl").lines().next().unwrap().to_owned();
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
        let lab = Lab::of_example("datagen", |name, text| match name {
            "task.yaml" if !setting.is_empty() => text.replace("output: data", &format!("{setting}: data")),
            _ => text,
        });
        let words = [&["generate", "task.yaml"], arguments].concat();
        lab.run_words(&words).await.expect(0);
        assert_eq!(names(&lab)[0], expected);
        lab.run(["generate", "check", "data.jsonl"]).await.expect(0);
    }
}
