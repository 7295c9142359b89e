//! What was acknowledged survives `kill -9` at any time, and nothing runs twice that may not.

use super::{Served, begun, dir, effects, run, tasks, until};
use crate::support::TestDir;

/// How often the program is killed.
const KILLS: usize = 12;

/// How many schedules of each sort are made in each of its lives.
const MADE: usize = 3;

/// Waits until it is to be killed in this life: at once when all is acknowledged, when a run has begun, when one has ended,
/// or when half of the runs of this life have.
async fn end_of(number: usize, dir: &TestDir, before: usize) {
    let seen = |what: &str| effects(dir).iter().filter(|line| line.starts_with(what)).count();
    match number % 4 {
        0 => {}
        1 => until("a run", || effects(dir).len() > before).await,
        2 => {
            let ended = seen("end");
            until("the end of a run", || seen("end") > ended).await;
        }
        _ => until("half of the runs", || effects(dir).len() >= before + 2 * MADE).await,
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9_and_no_side_effect_happens_twice() {
    let dir = dir("{default_policy: grant}", "");
    let (mut makes, mut polishes) = (Vec::new(), Vec::new());
    for number in 0..KILLS {
        let before = effects(&dir).len();
        let mut served = Served::start(&dir).await;
        for _ in 0..MADE {
            makes.push(served.schedule("shop.make", "in 1s").await);
            polishes.push(served.schedule("shop.polish", "in 1s").await);
        }
        end_of(number, &dir, before).await;
        served.kill().await;
        dir.assert_nothing_is_left(&[]).await;
    }
    let served = Served::start(&dir).await;
    let all: Vec<_> = makes.iter().chain(&polishes).cloned().collect();
    let mut standing = tasks(&dir).await;
    for _ in 0..600 {
        if all.iter().all(|id| standing[id]["status"] != "active") {
            break;
        }
        standing = tasks(&dir).await;
    }
    served.end().await;
    let begun = begun(&dir);
    let runs_of = |id: &String| {
        let of_id = begun
            .iter()
            .filter(|(run, _)| run.split(' ').nth(1).is_some_and(|key| key.starts_with(id.as_str())));
        of_id.map(|(_, times)| *times).collect::<Vec<_>>()
    };
    let (mut unknown, mut repeated) = (0, 0);
    for id in &makes {
        let outcome = &standing[id]["last_run"]["outcome"];
        match runs_of(id)[..] {
            [1] => {}
            // It was killed between writing down that it runs and running.
            [] => assert_eq!(outcome, "outcome_unknown", "{:#}", standing[id]),
            ref other => panic!("a side effect happened {other:?} times: {:#}", standing[id]),
        }
        unknown += usize::from(outcome == "outcome_unknown");
    }
    for id in &polishes {
        let runs = runs_of(id);
        assert_eq!(runs.len(), 1, "one run, by one key: {:#}", standing[id]);
        repeated += usize::from(runs[0] > 1);
    }
    eprintln!(
        "{KILLS} kills: {} acknowledged, none lost; of {} that may not be repeated none ran twice, {unknown} of unknown \
         outcome; of {} that may {repeated} were made again",
        all.len(),
        makes.len(),
        polishes.len()
    );
}

#[tokio::test]
async fn a_call_in_the_background_that_was_killed_is_of_unknown_outcome_or_made_again() {
    let dir = dir("{default_policy: grant}", "").with_file(
        "shop/note.sh",
        "echo \"begin $1 $TOOLCRIB_RUN_KEY\" >> ../effects.txt\nwhile [ ! -e ../go ]; do sleep 0.05; done\n",
    );
    let mut served = Served::start(&dir).await;
    let launch = async |served: &mut Served, tool: &str| {
        let launched = served.call("background_run", serde_json::json!({"tool": tool})).await;
        launched["task_id"].as_str().unwrap_or_else(|| panic!("{launched:#}")).to_owned()
    };
    let make = launch(&mut served, "shop.make").await;
    let polish = launch(&mut served, "shop.polish").await;
    until("both calls", || effects(&dir).len() == 2).await;
    served.kill().await;
    dir.assert_nothing_is_left(&[]).await;
    let served = Served::start(&dir).await;
    until("the call that may be made again", || effects(&dir).len() == 3).await;
    std::fs::write(dir.path("go"), "").unwrap();
    let standing = tasks(&dir).await;
    assert_eq!(standing[&make]["status"], "outcome_unknown");
    let begun = begun(&dir);
    assert_eq!((begun[&format!("make {make}")], begun[&format!("polish {polish}")]), (1, 2));
    served.end().await;
}

#[tokio::test]
async fn a_watcher_goes_on_after_kill_9() {
    let dir = dir("{default_policy: grant}", "");
    let mut served = Served::start(&dir).await;
    let watch = serde_json::json!({"name": "shop.polish", "interval": 5});
    let id = served.call("watch_start", watch).await["watcher_id"].as_str().unwrap().to_owned();
    until("its first check", || effects(&dir).len() == 2).await;
    served.kill().await;
    let served = Served::start(&dir).await;
    until("a check after it", || effects(&dir).len() >= 4).await;
    assert_eq!(tasks(&dir).await[&id]["status"], "active");
    served.end().await;
}

#[tokio::test]
async fn a_store_that_is_damaged_is_set_aside_and_the_app_goes_on() {
    let dir = dir("{default_policy: grant}", "");
    let mut served = Served::start(&dir).await;
    served.schedule("shop.make", "in 1h").await;
    served.end().await;
    let path = dir.path("tasks.db");
    assert!(!dir.path("tasks.db-wal").exists(), "the write-ahead log was merged into the file at the end");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..64].fill(b'x');
    std::fs::write(&path, &bytes).unwrap();
    let listed = run(&dir, ["tasks", "app.yaml"]).await.expect(0);
    assert!(listed.stderr.contains("damaged"), "{listed:#?}");
    let aside = std::fs::read(dir.path("tasks.db.damaged-1")).unwrap();
    assert_eq!(aside[..64], bytes[..64], "it is there as it was");
    let mut served = Served::start(&dir).await;
    served.schedule("shop.make", "in 1h").await;
    assert_eq!(tasks(&dir).await.len(), 1);
    served.end().await;
}
