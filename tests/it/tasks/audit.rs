//! Audit records in the store of several processes.

use std::net::SocketAddr;

use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::{Served, lab_with_store, run, until};
use crate::support::{TestDir, kill_server, new_database, new_database_of_victim, query, until_rows};

/// The records by call: how many calls there are, and how many records of them.
const RECORDS: &str = "SELECT COUNT(DISTINCT record->>'arguments_hash'), COUNT(*) FROM toolcrib_audit
    WHERE record->>'tool' = 'hello::say_hello'";

/// A server that passes connections on to the server of a database while it runs.
struct Forwarder {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Forwarder {
    async fn start(address: &str, database: &str) -> Self {
        let (_, host) = database.rsplit_once('@').unwrap();
        let server = host.split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = tokio::spawn(async move {
            // They end with the task that accepts them.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let server = server.clone();
                connections.spawn(async move {
                    let mut server = TcpStream::connect(server).await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self { address, accepting }
    }

    /// The URL of the database behind it.
    fn url(&self, database: &str) -> String {
        let (credentials, host) = database.rsplit_once('@').unwrap();
        let (_, name) = host.split_once('/').unwrap();
        format!("{credentials}@{}/{name}", self.address)
    }

    async fn stop(self) -> String {
        self.accepting.abort();
        let _ = self.accepting.await;
        self.address.to_string()
    }
}

/// An app whose audit records are in its store.
fn dir(url: &str, audit: &str) -> TestDir {
    let dir = lab_with_store("{default_policy: grant}", "'${STORE_URL}'", "");
    let app = dir.read("app.yaml").replace(
        "audit: {path: audit.jsonl}",
        &format!("audit: {{path: audit.spool, store: true{audit}}}\nmodules: {{hello: {{}}}}"),
    );
    dir.with_file("app.yaml", app).with_variable("STORE_URL", url)
}

/// Makes calls with different arguments.
async fn greet(served: &mut Served, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let greeted = served.call("hello__say_hello", json!({"name": format!("Ada {number}")})).await;
        assert_eq!(greeted, format!("Hello, Ada {number}!"), "calls continue without the store");
    }
}

fn spooled(dir: &TestDir) -> usize {
    dir.read("audit.spool").lines().count()
}

#[tokio::test]
async fn the_records_of_all_processes_are_in_the_store_once() {
    let Some(url) = new_database() else { return };
    let dirs = [dir(&url, ""), dir(&url, ", required: true")];
    let mut served = [Served::start(&dirs[0]).await, Served::start(&dirs[1]).await];
    greet(&mut served[0], 0..20).await;
    greet(&mut served[1], 20..40).await;
    let called = run(&dirs[0], ["call", "app.yaml", "hello.say_hello", r#"{"name": "Grace"}"#]).await;
    called.expect(0);
    for served in served {
        served.end().await;
    }
    assert!(dirs.iter().all(|dir| spooled(dir) == 0), "what is in the store is not in the file");
    // A digest has the key of its process. Required records are there before and behind the call.
    assert_eq!(query(&url, RECORDS).unwrap(), ["41|61"]);
    let tools = "SELECT DISTINCT record->>'tool', time = (record->>'time')::TIMESTAMPTZ FROM toolcrib_audit";
    assert_eq!(query(&url, tools).unwrap(), ["hello::say_hello|t"]);
}

#[tokio::test]
async fn records_wait_while_the_store_is_away_and_survive_the_process() {
    let Some(database) = new_database() else { return };
    let forwarder = Forwarder::start("127.0.0.1:0", &database).await;
    let dir = dir(&forwarder.url(&database), "");
    let mut served = Served::start(&dir).await;
    greet(&mut served, 0..10).await;
    until_rows(&database, RECORDS, |rows| rows == ["10|10"]).await;
    until("an empty spool", || spooled(&dir) == 0).await;
    let address = forwarder.stop().await;
    greet(&mut served, 10..30).await;
    assert_eq!(spooled(&dir), 20);
    served.kill().await;
    let forwarder = Forwarder::start(&address, &database).await;
    let mut served = Served::start(&dir).await;
    until_rows(&database, RECORDS, |rows| rows == ["30|30"]).await;
    greet(&mut served, 30..31).await;
    served.end().await;
    assert_eq!((query(&database, RECORDS).unwrap(), spooled(&dir)), (vec!["31|31".to_owned()], 0));
    forwarder.stop().await;
}

#[tokio::test]
async fn a_full_spool_is_as_a_full_disk() {
    let Some(database) = new_database() else { return };
    let forwarder = Forwarder::start("127.0.0.1:0", &database).await;
    let dir = dir(&forwarder.url(&database), ", required: true, max_bytes: 1048576");
    let mut served = Served::start(&dir).await;
    let address = forwarder.stop().await;
    let line = format!(
        "waiting-{} {{\"time\": \"2026-03-01T09:00:00Z\", \"text\": \"{}\"}}\n",
        1,
        "x".repeat(1_048_000)
    );
    std::fs::write(dir.path("audit.spool"), line).unwrap();
    let mut refused = json!(null);
    // There is room for few records.
    for _ in 0..10 {
        refused = served.call("hello__say_hello", json!({"name": "Ada"})).await;
    }
    assert!(refused.to_string().contains("no call runs without a record of it"), "{refused}");
    let forwarder = Forwarder::start(&address, &database).await;
    until("an empty spool", || spooled(&dir) == 0).await;
    greet(&mut served, 0..1).await;
    served.end().await;
    forwarder.stop().await;
}

#[tokio::test]
async fn records_are_in_the_store_once_though_its_server_is_killed_while_they_are_sent() {
    let Some(url) = new_database_of_victim() else { return };
    let dir = dir(&url, "");
    let mut served = Served::start(&dir).await;
    for round in 0..3 {
        greet(&mut served, round * 100..round * 100 + 50).await;
        kill_server(&url);
        greet(&mut served, round * 100 + 50..round * 100 + 100).await;
        let all = (round + 1) * 100;
        until_rows(&url, RECORDS, |rows| rows == [format!("{all}|{all}")]).await;
    }
    served.end().await;
    assert_eq!(spooled(&dir), 0);
}
