//! Files of sessions.

use toolcrib_agent::Message;

use super::*;

fn opened(folder: &Path, id: &str) -> (SessionFile, Conversation) {
    SessionFile::open_in(folder, id, "clerk").unwrap_or_else(|failure| panic!("{}", failure.message))
}

fn refusal(folder: &Path, id: &str, agent: &str) -> String {
    match SessionFile::open_in(folder, id, agent) {
        Ok(_) => panic!("{id} was opened"),
        Err(failure) => failure.message,
    }
}

fn said(text: &str) -> [Entry; 2] {
    [Entry::Began { prompt: text.to_owned() }, Entry::Said { messages: vec![Message::user(text)] }]
}

#[tokio::test]
async fn what_was_written_is_there_when_the_session_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let (session, conversation) = opened(folder.path(), "a");
    assert!(!conversation.is_open() && conversation.messages().is_empty());
    session.write(&said("Hello."), true).await.unwrap();
    drop(session);
    let (_session, conversation) = opened(folder.path(), "a");
    assert!(conversation.is_open());
    assert_eq!(conversation.messages(), [Message::user("Hello.")]);
}

#[test]
fn a_session_belongs_to_one_run_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let (first, _) = opened(folder.path(), "a");
    assert!(refusal(folder.path(), "a", "clerk").contains("another run works with the session `a`"));
    opened(folder.path(), "b");
    drop(first);
    opened(folder.path(), "a");
}

#[tokio::test]
async fn a_last_line_that_was_cut_is_dropped_and_written_over_wherever_it_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let (session, _) = opened(folder.path(), "a");
    session.write(&said("Schön."), false).await.unwrap();
    drop(session);
    let whole = fs::read(&path).unwrap();
    let before = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for cut in before..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let (session, conversation) = opened(folder.path(), "a");
        assert_eq!(conversation.messages(), []);
        session.write(&said("Again.")[1..], false).await.unwrap();
        drop(session);
        let (_session, conversation) = opened(folder.path(), "a");
        assert_eq!(conversation.messages(), [Message::user("Again.")], "{cut}");
    }
}

#[test]
fn what_is_wrong_is_said_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let (session, _) = opened(folder.path(), "a");
    drop(session);
    assert!(refusal(folder.path(), "a", "other").contains("add --agent clerk"));
    let path = folder.path().join("a.jsonl");
    let head = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{head}{{\"event\":\"ended\"}}\nnonsense\n")).unwrap();
    let refused = refusal(folder.path(), "a", "clerk");
    assert!(refused.contains("a.jsonl:3: this is no entry of a session"), "{refused}");
    fs::write(&path, head.replace("\"version\":1", "\"version\":2")).unwrap();
    let refused = refusal(folder.path(), "a", "clerk");
    assert!(refused.contains("a.jsonl:1:") && refused.contains("of version 2"), "{refused}");
    for id in ["", "../a", "a/b", ".hidden", "a b", &"x".repeat(65)] {
        assert!(refusal(folder.path(), id, "clerk").starts_with("--session: an id has"), "{id}");
    }
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_a_session() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    let _session = opened(&sessions, "a");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&sessions), mode(&sessions.join("a.jsonl"))), (0o700, 0o600));
}

#[tokio::test]
async fn a_session_without_room_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (session, _) = opened(folder.path(), "a");
    session.file.lock().unwrap().bytes = MAX_SESSION_BYTES;
    let error = session.write(&[Entry::Ended], false).await.unwrap_err().to_string();
    assert!(error.contains("go on in another session"), "{error}");
}
