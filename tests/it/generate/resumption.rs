//! Runs that are killed and continue.

use std::collections::BTreeSet;
use std::future::Future;

use tokio::time::timeout;
use toolcrib_testkit::{ModelRequest, ModelServer};

use super::rule_based_model::{dir, server};
use super::{KINDS, kinds};
use crate::support::{PATIENCE, TestDir};

/// The stages that ask the model, sorted.
const ASKING_STAGES: [&str; 11] = [
    "answer",
    "clarify",
    "error_turn",
    "filter",
    "persona",
    "plan",
    "preference",
    "scenario",
    "search",
    "utterance",
    "verify",
];

/// The number of times that a run is killed which makes one conversation at a time.
const KILLS_OF_ONE: usize = 70;

/// The number of times that a run is killed which makes several at a time.
const KILLS_OF_SEVERAL: usize = 30;

const SETTINGS: &str = "  num_outputs: 24
  seed: 5
  stages: [{type: persona}, {type: scenario}, {type: plan}, {type: utterance}, {type: verify}, {type: search}, \
{type: clarify}, {type: error_turn}, {type: execute}, {type: answer}, {type: filter, votes: 1}, {type: preference}]
";

#[tokio::test]
async fn a_run_that_is_killed_a_hundred_times_makes_the_same_conversations() {
    let server = server().await;
    let whole = dir(&server, SETTINGS);
    let report = whole.run(["generate", "task.yaml", "--json"]).await.expect(0).json();
    assert_eq!(report["written"], 24, "{report}");
    assert_eq!(kinds(&report), KINDS);

    // One request at a time is answered, and the next one comes when the stage before it is stored: each boundary between
    // two stages is hit, one after the other.
    let one = dir(&server, &format!("{SETTINGS}  parallel: 1\n"));
    let mut stages = BTreeSet::new();
    for kill in 0..KILLS_OF_ONE {
        server.hold_after(1);
        interrupt(&one, kill, server.held()).await;
        stages.insert(stage(&server.requests().pop().unwrap()));
    }
    assert_eq!(stages.iter().map(String::as_str).collect::<Vec<_>>(), ASKING_STAGES);
    finish(&server, &one, &whole).await;

    // At the last answer, the stage is running or being stored.
    let several = dir(&server, &format!("{SETTINGS}  parallel: 3\n"));
    for kill in 0..KILLS_OF_SEVERAL {
        server.hold_after(4);
        if kill % 2 == 0 {
            interrupt(&several, kill, server.held()).await;
        } else {
            interrupt(&several, kill, server.answered()).await;
        }
    }
    finish(&server, &several, &whole).await;
}

/// Starts or continues the run, and kills it at a moment.
async fn interrupt(dir: &TestDir, kill: usize, moment: impl Future<Output = ()>) {
    let mut words = vec!["generate", "task.yaml"];
    words.extend((kill > 0).then_some("--resume"));
    let mut process = dir.start(&words);
    tokio::select! {
        ended = process.wait() => panic!("the run ended after {kill} kills: {ended:?}"),
        moment = timeout(PATIENCE, moment) => moment.unwrap(),
    }
    process.kill().await.unwrap();
    dir.assert_nothing_is_left(&[]).await;
}

/// Continues the run to its end, and compares it with the one that was not killed.
async fn finish(server: &ModelServer, killed: &TestDir, whole: &TestDir) {
    server.hold_after(usize::MAX);
    let report = killed.run(["generate", "task.yaml", "--resume", "--json"]).await.expect(0).json();
    assert_eq!((&report["written"], &report["started"]), (&24.into(), &24.into()), "{report}");
    assert_eq!(killed.read("data.jsonl"), whole.read("data.jsonl"));
    assert_eq!(killed.read("data.card.md"), whole.read("data.card.md"));
}

/// Returns the stage that sent a request.
fn stage(request: &ModelRequest) -> String {
    let request = request.json().unwrap().to_string();
    let (_, rest) = request.split_once(r#"\"stage\": \""#).unwrap();
    rest.split('\\').next().unwrap().to_owned()
}
