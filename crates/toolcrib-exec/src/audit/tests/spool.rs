//! Spools, and the records in them.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::begun;
use crate::audit::{
    Audit, JsonLines, MIN_AUDIT_BYTES, SpoolDestination, SpoolReader, SpoolSender, SpooledRecord,
};

fn spool(path: &Path) -> Arc<JsonLines> {
    Arc::new(JsonLines::spool(path).unwrap())
}

fn write(sink: &Arc<JsonLines>) {
    drop(begun(&Audit::new(sink.clone())));
}

fn reader(path: &Path) -> SpoolReader {
    SpoolReader::open(path).unwrap().expect("no other reader")
}

/// Returns the ids of a batch.
fn ids(batch: &[SpooledRecord]) -> Vec<String> {
    batch.iter().map(|record| record.id.clone()).collect()
}

#[tokio::test]
async fn a_spool_gives_each_record_of_several_writers_once_and_is_empty_then() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.spool");
    let sinks = [spool(&path), spool(&path)];
    let mut reader = reader(&path);
    let mut all = BTreeSet::new();
    let mut count = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> =
            sinks.iter().map(|sink| scope.spawn(|| (0..500).for_each(|_| write(sink)))).collect();
        while count < 1_000
            && !(writers.iter().all(std::thread::ScopedJoinHandle::is_finished) && is_empty(&path))
        {
            let batch = reader.next_batch().unwrap();
            for record in &batch {
                let json: Value = serde_json::from_str(&record.json).unwrap();
                assert_eq!((json["time"].as_str().unwrap(), &json["v"]), (record.time.as_str(), &1.into()));
            }
            count += batch.len();
            all.extend(ids(&batch));
            reader.finish_batch().unwrap();
        }
    });
    assert_eq!((count, all.len()), (1_000, 1_000));
    assert!(is_empty(&path), "what was sent takes no room");
    assert_eq!(reader.next_batch().unwrap(), []);
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).unwrap().len() == 0
}

#[tokio::test]
async fn records_that_were_not_finished_are_given_again_with_the_same_ids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.spool");
    let sink = spool(&path);
    (0..3).for_each(|_| write(&sink));
    let mut first = reader(&path);
    let given = ids(&first.next_batch().unwrap());
    assert!(SpoolReader::open(&path).unwrap().is_none(), "there is one reader");
    assert_eq!(ids(&first.next_batch().unwrap()), given);
    drop(first);
    let mut second = reader(&path);
    assert_eq!(ids(&second.next_batch().unwrap()), given);
    write(&sink);
    second.finish_batch().unwrap();
    assert_eq!(second.next_batch().unwrap().len(), 1, "what came in between is the next batch");
}

#[tokio::test]
async fn a_full_spool_takes_no_more_until_it_is_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.spool");
    let sink = Arc::new(JsonLines::spool(&path).unwrap().with_max_bytes(0));
    let strict = Arc::new(JsonLines::spool(&path).unwrap().with_max_bytes(0).required());
    while sink.lost() == 0 {
        write(&sink);
    }
    assert!(fs::metadata(&path).unwrap().len() <= MIN_AUDIT_BYTES);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is renamed");
    write(&strict);
    assert_eq!(strict.lost(), 1);
    let problem = Audit::new(sink.clone()).problem().unwrap();
    assert!(
        problem.contains("that were not sent, and may hold 1048576; 1 of its records are missing"),
        "{problem}"
    );
    let mut reader = reader(&path);
    while !reader.next_batch().unwrap().is_empty() {
        reader.finish_batch().unwrap();
    }
    assert_eq!(Audit::new(strict.clone()).check(), Ok(()));
    write(&sink);
    assert_eq!((sink.lost(), strict.lost(), reader.next_batch().unwrap().len()), (0, 0, 1));
}

#[tokio::test]
async fn a_damaged_line_is_left_out_and_spoils_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.spool");
    let sink = spool(&path);
    write(&sink);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"1-1 {\"v\": 1, \"ti").unwrap();
    let mut reader = reader(&path);
    assert_eq!(reader.next_batch().unwrap().len(), 1, "an unfinished line is not read");
    write(&sink);
    assert_eq!(reader.next_batch().unwrap().len(), 2);
    reader.finish_batch().unwrap();
    file.write_all(b"no record\n").unwrap();
    assert_eq!(reader.next_batch().unwrap(), []);
    assert!(is_empty(&path));
}

#[cfg(unix)]
#[tokio::test]
async fn a_spool_that_was_removed_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.spool");
    let sink = spool(&path);
    let mut reader = reader(&path);
    (0..2).for_each(|_| write(&sink));
    assert_eq!(reader.next_batch().unwrap().len(), 2);
    fs::remove_file(&path).unwrap();
    write(&sink);
    assert_eq!(reader.next_batch().unwrap().len(), 1);
}

/// A destination that does not answer the first time.
struct Flaky {
    sent: tokio::sync::mpsc::UnboundedSender<Vec<SpooledRecord>>,
    failures: u32,
}

#[async_trait]
impl SpoolDestination for Flaky {
    async fn append(&mut self, records: Vec<SpooledRecord>) -> Result<(), String> {
        if self.failures > 0 {
            self.failures -= 1;
            return Err("it does not answer".to_owned());
        }
        self.sent.send(records).map_err(|error| error.to_string())
    }

    async fn close(&mut self) {}
}

#[tokio::test(start_paused = true)]
async fn records_wait_for_their_destination_and_the_last_are_sent_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.spool");
    let sink = spool(&path);
    write(&sink);
    let (sent, mut received) = tokio::sync::mpsc::unbounded_channel();
    let sender = SpoolSender::start(path.clone(), Flaky { sent, failures: 2 });
    assert_eq!(received.recv().await.unwrap().len(), 1);
    write(&sink);
    write(&sink);
    sender.close().await;
    assert_eq!(received.recv().await.unwrap().len(), 2);
    assert!(received.recv().await.is_none(), "the destination is dropped");
    assert!(is_empty(&path), "what was sent takes no room");
}
