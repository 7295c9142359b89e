//! Files of sessions.

use toolcrib_agent::Message;
use toolcrib_agent::chat::Usage;

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
    session.file.lock().bytes = MAX_SESSION_BYTES;
    let error = session.write(&[Entry::Ended], false).await.unwrap_err().to_string();
    assert!(error.contains("go on in another session"), "{error}");
}

fn exchange(prompt: &str, answer: &str) -> [Entry; 4] {
    [
        Entry::Began { prompt: prompt.to_owned() },
        Entry::Said { messages: vec![Message::user(prompt)] },
        Entry::Replied {
            message: Message::assistant(answer),
            calls: Vec::new(),
            usage: Usage::default(),
            model: None,
        },
        Entry::Ended,
    ]
}

fn failure<T>(result: Result<T, Failure>) -> String {
    result.err().expect("a failure").message
}

#[tokio::test]
async fn sessions_are_listed_with_their_agent_and_first_prompt_and_broken_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let (session, _) = opened(folder.path(), "a");
    session.write(&exchange("Sort\nmy notes.", "Done."), true).await.unwrap();
    session.write(&exchange("And now?", "Nothing."), true).await.unwrap();
    fs::write(folder.path().join("broken.jsonl"), "{").unwrap();
    fs::create_dir(folder.path().join("a.results")).unwrap();
    let (mut sessions, count) = stored::list_in(folder.path()).unwrap_or_default();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    let told: Vec<_> = sessions
        .iter()
        .map(|session| (session.id.as_str(), session.agent.as_deref(), session.prompt.as_deref()))
        .collect();
    assert_eq!(told, [("a", Some("clerk"), Some("Sort\\u{a}my notes.")), ("broken", None, None)]);
    assert_eq!(count, 2);
    assert!(stored::list_in(&folder.path().join("none")).is_ok_and(|(sessions, _)| sessions.is_empty()));
}

#[tokio::test]
async fn a_session_is_read_while_a_run_works_with_it_and_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (session, _) = opened(folder.path(), "a");
    session.write(&exchange("Hello.", "Hi."), true).await.unwrap();
    fs::create_dir(session.results()).unwrap();
    let read = stored::read_in(folder.path(), "a").unwrap_or_else(|failure| panic!("{}", failure.message));
    assert_eq!(read.conversation.messages(), [Message::user("Hello."), Message::assistant("Hi.")]);
    assert!(failure(stored::remove_in(folder.path(), "a")).contains("a run works with the session `a`"));
    let results = session.results();
    assert!(results.exists());
    drop(session);
    assert!(stored::remove_in(folder.path(), "a").is_ok());
    assert!(!results.exists() && !folder.path().join("a.jsonl").exists());
    assert!(failure(stored::remove_in(folder.path(), "a")).contains("there is no session `a`"));
    assert!(failure(stored::read_in(folder.path(), "../a")).contains("an id has up to"));
}

#[tokio::test]
async fn a_session_that_goes_on_shows_its_last_exchange_in_a_few_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (session, conversation) = opened(folder.path(), "a");
    assert_eq!(recalled("a", &conversation), None);
    session.write(&exchange("Hello.", "Hi."), true).await.unwrap();
    session.write(&exchange("Count\u{1b}[2J.", "1\n2\n\n3\n4\n5\n6"), true).await.unwrap();
    drop(session);
    let (_session, conversation) = opened(folder.path(), "a");
    insta::assert_snapshot!(recalled("a", &conversation).unwrap(), @r"
    session `a`, 2 prompts so far:
    > Hello.
      Hi.
    > Count\u{1b}[2J.
      1
      2
      3
      4
      …
    ");
}

#[tokio::test]
async fn of_a_long_session_the_last_exchanges_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (session, _) = opened(folder.path(), "a");
    for number in 1..=5 {
        session.write(&exchange(&format!("Question {number}."), "Yes."), true).await.unwrap();
    }
    drop(session);
    let (_session, conversation) = opened(folder.path(), "a");
    let text = recalled("a", &conversation).unwrap();
    assert!(
        text.starts_with("session `a`, 5 prompts so far; the last 3:\n> Question 3.\n  Yes.\n"),
        "{text}"
    );
}

#[tokio::test]
async fn an_exchange_that_is_undone_is_gone_from_the_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let (session, _) = opened(folder.path(), "a");
    session.write(&exchange("First.", "One."), true).await.unwrap();
    session.write(&exchange("Second.", "Two."), true).await.unwrap();
    let undone = session.undo().await.unwrap().unwrap();
    assert_eq!(undone.messages().len(), 2, "{undone:?}");
    session.write(&exchange("Third.", "Three."), true).await.unwrap();
    drop(session);
    let (session, conversation) = opened(folder.path(), "a");
    let said: Vec<&str> = conversation.messages().iter().map(Message::content).collect();
    assert_eq!(said, ["First.", "One.", "Third.", "Three."]);
    assert!(session.undo().await.unwrap().is_some() && session.undo().await.unwrap().is_some());
    assert!(session.undo().await.unwrap().is_none(), "the head stays");
}
