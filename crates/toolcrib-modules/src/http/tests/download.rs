//! Files that are downloaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_port::{CallContext, Progress, ProgressListener, ToolEngine as _};
use toolcrib_testkit::{Canary, Hit, RawServer, wait_until};

use super::Place;
use crate::tests::authorized;

/// A file in which each place tells itself from others.
fn file(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from((at * 31 + at / 251) % 251).unwrap()).collect()
}

/// Serves a file as servers do that know parts of it.
fn served(hit: &Hit, file: &[u8], tag: &str) -> Response {
    let tagged = [(header::ETAG, tag.to_owned())];
    let start = hit.header("range").strip_prefix("bytes=").and_then(|range| range.strip_suffix('-'));
    match start.and_then(|start| start.parse::<usize>().ok()) {
        Some(start) if hit.header("if-range") == tag && start < file.len() => {
            let range = format!("bytes {start}-{}/{}", file.len() - 1, file.len());
            (StatusCode::PARTIAL_CONTENT, tagged, [(header::CONTENT_RANGE, range)], file[start..].to_vec())
                .into_response()
        }
        Some(start) if hit.header("if-range") == tag && start >= file.len() => {
            StatusCode::RANGE_NOT_SATISFIABLE.into_response()
        }
        _ => (tagged, [(header::CONTENT_TYPE, "text/csv")], file.to_vec()).into_response(),
    }
}

/// The names in the workspace.
fn names(place: &Place) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A server that breaks off after so many bytes of a file.
async fn breaking_off(file: &[u8], after: usize, headers: &str) -> RawServer {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{headers}\r\n", file.len());
    RawServer::answering([head.as_bytes(), &file[..after]].concat()).await.unwrap()
}

#[tokio::test]
async fn a_file_is_put_in_place_as_a_whole_and_told_on_its_way() {
    #[derive(Default)]
    struct Listener(parking_lot::Mutex<Vec<Progress>>);
    impl ProgressListener for Listener {
        fn progress(&self, progress: &Progress) {
            self.0.lock().push(progress.clone());
        }
    }
    let content = file(3_000_000);
    let sent = content.clone();
    let server = Canary::start(move |hit| served(hit, &sent, "\"1\"")).await.unwrap();
    let place = Place::with(&[server.origin()]);
    let arguments = json!({"url": server.url("/data.csv"), "path": "a/data.csv", "create_parents": true});
    let call = authorized(&place.module, "download", &arguments).await;
    let listener = Arc::new(Listener::default());
    let result = place.module.invoke(&call, &CallContext::new("test").with_progress(listener.clone())).await;
    assert_eq!(result.result, json!({"path": "a/data.csv", "bytes": 3_000_000, "content_type": "text/csv"}));
    assert!(std::fs::read(place.folder.path().join("a/data.csv")).unwrap() == content);
    assert_eq!(std::fs::read_dir(place.folder.path().join("a")).unwrap().count(), 1);
    assert_eq!(server.hits()[0].header("accept-encoding"), "identity");
    let told = listener.0.lock();
    assert!(told.len() > 3 && told.windows(2).all(|two| two[0].done < two[1].done), "{told:?}");
    let last = told.last().unwrap();
    assert_eq!((last.done, last.total), (3_000_000.0, Some(3_000_000.0)));
}

#[tokio::test]
async fn a_download_that_broke_off_goes_on_where_it_was() {
    let content = file(1_000_000);
    let broken = breaking_off(&content, 600_000, "etag: \"1\"\r\n").await;
    let port = broken.port();
    let place = Place::with(&[broken.origin()]);
    let arguments = json!({"url": format!("{}/f", broken.origin()), "path": "f"});
    let error = place.error("download", arguments.clone()).await;
    assert_eq!(
        (error.kind, error.hint.as_deref()),
        (ErrorKind::Unavailable, Some("call it again to continue"))
    );
    assert_eq!(names(&place), ["f.part", "f.part.json"]);
    assert_eq!(std::fs::metadata(place.folder.path().join("f.part")).unwrap().len(), 600_000);

    // The same server, well again.
    drop(broken);
    let (_mended, sent) = mended(port, content.clone(), "\"1\"").await;
    let done = place.ok("download", arguments).await;
    assert_eq!(done, json!({"path": "f", "bytes": 1_000_000, "resumed_from": 600_000}));
    assert!(std::fs::read(place.folder.path().join("f")).unwrap() == content);
    assert_eq!(names(&place), ["f"]);
    assert_eq!(sent.load(Ordering::SeqCst), 400_000);
}

#[tokio::test]
async fn a_file_that_has_changed_meanwhile_is_begun_anew() {
    let (old, new) = (file(1_000_000), file(700_001));
    let broken = breaking_off(&old, 600_000, "etag: \"1\"\r\n").await;
    let port = broken.port();
    let place = Place::with(&[broken.origin()]);
    let arguments = json!({"url": format!("{}/f", broken.origin()), "path": "f"});
    place.error("download", arguments.clone()).await;
    drop(broken);
    let _mended = mended(port, new.clone(), "\"2\"").await;
    let done = place.ok("download", arguments).await;
    assert_eq!((&done["bytes"], done.get("resumed_from")), (&json!(700_001), None));
    assert!(std::fs::read(place.folder.path().join("f")).unwrap() == new);
    assert_eq!(names(&place), ["f"]);
}

#[tokio::test]
async fn of_a_file_without_a_version_nothing_is_kept() {
    let content = file(1000);
    for headers in ["", "etag: W/\"1\"\r\n"] {
        let broken = breaking_off(&content, 600, headers).await;
        let place = Place::with(&[broken.origin()]);
        let error = place.error("download", json!({"url": broken.origin(), "path": "f"})).await;
        assert_eq!(error.hint.as_deref(), Some("call it again to start over"));
        assert_eq!(names(&place), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_part_of_something_else_is_not_gone_on_with() {
    let content = file(1000);
    let sent = content.clone();
    let server = Canary::start(move |hit| served(hit, &sent, "\"1\"")).await.unwrap();
    let place = Place::with(&[server.origin()]);
    for beside in [
        json!({"url": "http://other.example/", "validator": "\"1\""}).to_string(),
        json!({"url": server.url("/f"), "validator": "\"1\"\r\nX: 1"}).to_string(),
        json!({"url": server.url("/f"), "validator": "\"0\""}).to_string(),
        "{".into(),
    ] {
        std::fs::write(place.folder.path().join("f.part"), "something else").unwrap();
        std::fs::write(place.folder.path().join("f.part.json"), beside).unwrap();
        let done =
            place.ok("download", json!({"url": server.url("/f"), "path": "f", "overwrite": true})).await;
        assert_eq!(done["bytes"], 1000);
        assert!(std::fs::read(place.folder.path().join("f")).unwrap() == content);
    }
    // More than there is of it.
    std::fs::write(place.folder.path().join("f.part"), [0; 5000]).unwrap();
    let beside = json!({"url": server.url("/f"), "validator": "\"1\""}).to_string();
    std::fs::write(place.folder.path().join("f.part.json"), beside).unwrap();
    let done = place.ok("download", json!({"url": server.url("/f"), "path": "f", "overwrite": true})).await;
    assert_eq!(done["bytes"], 1000);
    assert_eq!(names(&place), ["f"]);
}

#[tokio::test]
async fn a_file_that_is_there_stays_unless_it_is_to_be_replaced() {
    let server = Canary::start(|hit| served(hit, b"new", "\"1\"")).await.unwrap();
    let place = Place::with(&[server.origin()]);
    std::fs::write(place.folder.path().join("f"), "old").unwrap();
    let error = place.error("download", json!({"url": server.url("/f"), "path": "f"})).await;
    assert!(error.hint.unwrap().contains("`overwrite`"));
    assert_eq!(server.hits().len(), 0, "it is not even fetched");
    place.ok("download", json!({"url": server.url("/f"), "path": "f", "overwrite": true})).await;
    assert_eq!(std::fs::read_to_string(place.folder.path().join("f")).unwrap(), "new");
}

#[tokio::test]
async fn a_download_stays_in_the_workspace_and_within_its_bounds() {
    let server = Canary::start(|hit| match hit.uri.as_str() {
        "/missing" => (StatusCode::NOT_FOUND, "no such file").into_response(),
        _ => served(hit, &file(2000), "\"1\""),
    })
    .await
    .unwrap();
    let place = Place::of(json!({"private_origins": [server.origin()], "max_download_bytes": 1999}));
    std::os::unix::fs::symlink("/tmp", place.folder.path().join("out")).unwrap();
    for path in ["../f", "/etc/f", "out/f", "", "a/", "missing/f", "/proc/self/root/tmp/f"] {
        let error = place.error("download", json!({"url": server.url("/f"), "path": path})).await;
        assert!(matches!(error.kind, ErrorKind::ToolFailed | ErrorKind::InvalidArgs), "{path}: {error}");
        assert!(error.hint.is_some() || path == "/etc/f", "{path}: {error}");
    }
    assert_eq!(server.hits().len(), 0);
    let error = place.error("download", json!({"url": server.url("/f"), "path": "f"})).await;
    assert_eq!(error.kind, ErrorKind::LimitReached, "{error}");
    let error = place.error("download", json!({"url": server.url("/missing"), "path": "f"})).await;
    assert!(error.message.contains("404 Not Found: no such file"), "{error}");
    assert_eq!(names(&place), ["out"]);
}

#[tokio::test]
async fn a_file_is_downloaded_by_one_call_at_a_time() {
    let silent = RawServer::start(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await
    .unwrap();
    let place = Place::with(&[silent.origin()]);
    let arguments = json!({"url": silent.origin(), "path": "f"});
    let first = place.call("download", arguments.clone());
    let second = async {
        tokio::task::yield_now().await;
        place.error("download", json!({"url": silent.origin(), "path": "./f"})).await
    };
    tokio::select! {
        biased;
        result = first => panic!("it ended: {result:?}"),
        error = second => assert!(error.message.contains("already"), "{error}"),
    }
    // The first one was given up, and so it is free again.
    let place = &place;
    let again =
        tokio::time::timeout(std::time::Duration::from_millis(50), place.call("download", arguments)).await;
    assert!(again.is_err(), "it waits for the server");
}

/// Serves a file at this port, and counts the bytes of its bodies.
async fn mended(port: u16, file: Vec<u8>, tag: &'static str) -> (Canary, Arc<AtomicUsize>) {
    let bind = || Ok(std::net::TcpListener::bind(("127.0.0.1", port)).ok());
    let listener = wait_until("the port", std::time::Duration::from_secs(20), bind).await.unwrap();
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let answer = move |hit: &Hit| {
        let start =
            hit.header("range").trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap_or(0);
        counted.fetch_add(file.len().saturating_sub(start), Ordering::SeqCst);
        let mut response = served(hit, &file, tag);
        response.headers_mut().remove(header::CONTENT_TYPE);
        response
    };
    (Canary::serve(listener, answer).unwrap(), sent)
}
