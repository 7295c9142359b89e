//! Lines in a file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::begun;
use crate::audit::{Audit, JsonLines, MIN_AUDIT_BYTES};

fn lines(path: impl AsRef<Path>) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn audit(sink: &Arc<JsonLines>) -> Audit {
    Audit::new(sink.clone())
}

#[tokio::test]
async fn records_of_many_threads_are_lines_of_their_own_in_a_private_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let sinks = [0, 1].map(|_| Arc::new(JsonLines::open(&path).unwrap()));
    std::thread::scope(|scope| {
        for sink in sinks.iter().cycle().take(8) {
            scope.spawn(|| (0..50).for_each(|_| drop(begun(&audit(sink)))));
        }
    });
    assert_eq!(lines(&path).len(), 400);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn two_processes_keep_the_file_within_its_bound_and_lose_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    // Room for one more line than there is.
    fs::write(&path, vec![b'\n'; usize::try_from(MIN_AUDIT_BYTES).unwrap() - 1000]).unwrap();
    let sinks = [0, 1].map(|_| Arc::new(JsonLines::open(&path).unwrap().with_max_bytes(0)));
    for _ in 0..3 {
        for sink in &sinks {
            drop(begun(&audit(sink)));
        }
    }
    let older = folder.path().join("audit.jsonl.1");
    assert!(fs::metadata(&older).unwrap().len() <= MIN_AUDIT_BYTES);
    assert!(!lines(&path).is_empty());
    assert_eq!(lines(&path).len() + lines(&older).len(), 6);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_file_that_was_moved_away_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let sink = Arc::new(JsonLines::open(&path).unwrap());
    drop(begun(&audit(&sink)));
    fs::rename(&path, folder.path().join("kept")).unwrap();
    drop(begun(&audit(&sink)));
    assert_eq!((lines(&path).len(), lines(folder.path().join("kept")).len()), (1, 1));
}

#[tokio::test]
async fn a_line_that_a_killed_process_left_unfinished_spoils_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    fs::write(&path, r#"{"v": 1, "ti"#).unwrap();
    drop(begun(&audit(&Arc::new(JsonLines::open(&path).unwrap()))));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(serde_json::from_str::<Value>(text.lines().last().unwrap()).is_ok(), "{text}");
}

#[tokio::test]
async fn when_it_cannot_be_written_calls_go_on_unless_records_are_required() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let path = inner.join("audit.jsonl");
    let lenient = Arc::new(JsonLines::open(&path).unwrap());
    let strict = Arc::new(JsonLines::open(&path).unwrap().required());
    assert_eq!(audit(&strict).check(), Ok(()));
    fs::remove_dir_all(&inner).unwrap();
    for sink in [&lenient, &strict] {
        drop(begun(&audit(sink)));
        assert_eq!(sink.lost(), 1);
    }
    assert_eq!(audit(&lenient).check(), Ok(()));
    let error = audit(&strict).check().unwrap_err();
    assert!(!error.retryable && error.message.contains("cannot be written"), "{error:?}");
    fs::create_dir(&inner).unwrap();
    assert_eq!(audit(&strict).check(), Ok(()));
    drop(begun(&audit(&lenient)));
    assert_eq!((lines(&path).len(), lenient.lost(), strict.lost()), (1, 0, 0));
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(JsonLines::open(folder.path()).is_err());
    assert!(JsonLines::open(folder.path().join("absent/audit.jsonl")).is_err());
    assert!(JsonLines::open("/dev/full").is_err());
}
