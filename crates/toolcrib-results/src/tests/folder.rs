//! Results that outlive the process with their session.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use toolcrib_port::{CallContext, Media, ResultStore as _};

use super::{handle, reading, results, shaped};
use crate::Results;
use crate::limits::{MAX_STORED_SESSION_RESULTS, RESULT_LIFETIME};

fn context() -> CallContext {
    CallContext::new("s").with_agent("a").with_user("u")
}

/// Results as the next process has them.
fn opened(folder: &Path) -> Results {
    let results = results();
    results.store_in("s", folder).unwrap();
    results
}

fn long(word: &str) -> String {
    format!("{word}\n").repeat(5_000)
}

#[tokio::test(start_paused = true)]
async fn the_next_process_reads_what_the_one_before_kept_and_only_for_whom_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path());
    let text = handle(&shaped(&first, long("lamp"), &context()));
    let list = handle(&shaped(&first, json!(vec!["chair"; 2_000]), &context()));
    drop(first);

    let next = opened(folder.path());
    let told = reading(&next, &text, json!({"lines": "7"}), &context()).await.unwrap();
    assert!(told.as_str().unwrap().contains("lamp"), "{told}");
    let told = reading(&next, &list, json!({"jsonpath": "$[1999]"}), &context()).await.unwrap();
    assert!(told.to_string().contains("chair"), "{told}");
    tokio::time::advance(RESULT_LIFETIME + Duration::from_secs(1)).await;
    assert!(reading(&next, &text, json!({}), &context()).await.is_ok(), "the session has no end");

    for other in [
        CallContext::new("other").with_agent("a").with_user("u"),
        CallContext::new("s").with_agent("b").with_user("u"),
        CallContext::new("s").with_agent("a"),
    ] {
        assert!(reading(&next, &text, json!({}), &other).await.is_err());
    }
    let wrong = reading(&next, &format!("{text}x"), json!({}), &context()).await.unwrap_err();
    assert_eq!(wrong.hint.unwrap(), format!("did you mean {text:?}?"));
}

#[test]
fn pictures_are_kept_too() {
    let folder = tempfile::tempdir().unwrap();
    let data = "iVBORw0KGgo=".repeat(1_000);
    let picture = json!([{"type": "image", "mimeType": "image/png", "data": data}]);
    let shown = shaped(&opened(folder.path()), picture, &context());
    let handle = shown.result[0]["handle"].as_str().unwrap();
    let media = opened(folder.path()).media(handle, &context());
    assert_eq!(media, Some(Media { media_type: "image/png".to_owned(), data }));
}

#[test]
fn the_oldest_files_go_first_and_what_is_not_ours_stays_and_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let broken = folder.path().join(format!("r_{}", "a".repeat(26)));
    std::fs::write(&broken, "{\"agent\":").unwrap();
    let results = opened(folder.path());
    let first = handle(&shaped(&results, long("first"), &context()));
    for _ in 0..MAX_STORED_SESSION_RESULTS {
        shaped(&results, long("next"), &context());
    }
    assert!(!folder.path().join(first).exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), MAX_STORED_SESSION_RESULTS + 2);
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt")).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results");
    let stored = handle(&shaped(&opened(&path), long("lamp"), &context()));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join(stored))), (0o700, 0o600));
}
