//! Processes with folders of their own that share a store in PostgreSQL, as on several machines.

use serde_json::{Value, json};

use super::{Served, begun, lab_with_store, run, tasks, until};
use crate::support::{TestDir, new_database};

fn replica(url: &str) -> TestDir {
    lab_with_store("{default_policy: grant}", "'${STORE_URL}'", "").with_variable("STORE_URL", url)
}

#[tokio::test]
async fn each_run_is_made_by_one_of_the_replicas() {
    let Some(url) = new_database() else { return };
    let dirs = [replica(&url), replica(&url), replica(&url)];
    let mut served = Vec::new();
    for dir in &dirs {
        served.push(Served::start(dir).await);
    }
    let mut all = 0;
    for _ in 0..4 {
        for replica in &mut served {
            replica.schedule("shop.make", "in 2s").await;
            all += 1;
        }
    }
    let runs = || dirs.iter().flat_map(begun).collect::<Vec<_>>();
    until("all runs", || runs().len() == all).await;
    for replica in served {
        replica.end().await;
    }
    assert!(runs().iter().all(|(_, times)| *times == 1), "{:#?}", runs());
    assert_eq!(runs().len(), all);
}

#[tokio::test]
async fn a_schedule_of_a_replica_that_was_killed_is_run_once_by_another() {
    let Some(url) = new_database() else { return };
    let (first, second) = (replica(&url), replica(&url));
    let mut killed = Served::start(&first).await;
    killed.schedule("shop.make", "in 3s").await;
    killed.kill().await;
    let survivor = Served::start(&second).await;
    until("the run", || begun(&second).len() == 1).await;
    survivor.end().await;
    assert_eq!(begun(&second).values().copied().collect::<Vec<_>>(), [1]);
    assert!(begun(&first).is_empty());
}

#[tokio::test]
async fn an_operator_on_any_machine_lists_and_cancels() {
    let Some(url) = new_database() else { return };
    let (first, operator) = (replica(&url), replica(&url));
    let mut served = Served::start(&first).await;
    let id = served.schedule("shop.make", "in 1h").await;
    assert_eq!(tasks(&operator).await[&id]["status"], "active");
    run(&operator, ["tasks", "app.yaml", "cancel", &id]).await.expect(0);
    let status = served.call("schedule_status", json!({"schedule_id": id})).await;
    assert_eq!(status["status"], "cancelled", "{status:#}");
    served.end().await;
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_at_start_is_an_error_without_its_password() {
    let dir = replica("postgres://ada:open-sesame-1234@127.0.0.1:1/tasks");
    let served = dir.run(["tasks", "app.yaml", "--json"]).await;
    assert!(served.report().contains("postgres://127.0.0.1:1/tasks"), "{served:?}");
    assert!(!served.report().contains("open-sesame"), "{served:?}");
    assert_ne!(served.json(), Value::Null);
}
