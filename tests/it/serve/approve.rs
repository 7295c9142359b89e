//! `toolcrib approve`: who serves is answered from another terminal, and nothing runs before the yes.

mod operator;
mod scripts;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;
use toolcrib_testkit::wait_until;

use self::operator::{AtTerminal, Client};
use super::client::{ASKS_USER, SOON, Served, app, was_called};
use crate::support::{PATIENCE, RunOutput, TestDir, binary, mcp_script};

const ASKED: &str = "{default_policy: approve}";

fn dir() -> TestDir {
    app("serve: {approve: true}", ASKED)
}

/// Runs the binary beside one that serves.
async fn run(dir: &TestDir, arguments: &[&str]) -> RunOutput {
    let output = dir.command(binary(), &dir.path(".")).args(arguments).output();
    RunOutput::new(&timeout(PATIENCE, output).await.expect("it ends").unwrap())
}

async fn listed(dir: &TestDir) -> Value {
    run(dir, &["approve", "app.yaml", "--json"]).await.expect(0).json()
}

/// Waits until so many calls wait.
async fn until_waiting(dir: &TestDir, count: usize) -> Vec<Value> {
    let begun = tokio::time::Instant::now();
    loop {
        let waiting = listed(dir).await["waiting"].as_array().unwrap().clone();
        if waiting.len() == count {
            return waiting;
        }
        assert!(begun.elapsed() < SOON, "{count}: {waiting:#?}");
    }
}

/// The folder of the sockets of the app, and what is in it.
fn sockets(dir: &TestDir) -> (PathBuf, Vec<PathBuf>) {
    let folders = std::fs::read_dir(dir.path("home/.local/state/toolcrib/approve")).unwrap();
    let folder = folders.map(|entry| entry.unwrap().path()).next().unwrap();
    let sockets = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    (folder, sockets)
}

/// A client, and an operator at a terminal who answers for it.
async fn attended() -> (TestDir, Client, AtTerminal) {
    let dir = dir();
    let client = Client::start(&dir).await;
    let operator = AtTerminal::attached(&dir).await;
    (dir, client, operator)
}

#[tokio::test]
async fn a_call_waits_for_the_operator_and_runs_after_the_yes() {
    let (dir, mut client, mut operator) = attended().await;
    let call = client.call("\u{1b}[2Jx\u{202e}\nrun it? [y").await;
    let shown = operator.asked().await;
    assert!(!was_called(&dir));
    dir.snapshot_settings().bind(|| {
        let mut settings = insta::Settings::clone_current();
        settings.add_filter(r"process \d+", "process [process]");
        settings.add_filter(r"[0-9a-f]{32}", "[session]");
        settings.add_filter(r"call [0-9a-f]{8}-\d+", "call [call]");
        settings.bind(|| insta::assert_snapshot!("approve_asks", shown));
    });
    // What means nothing is no answer.
    operator.types("e\n");
    operator.until("expected y to run it").await;
    operator.asked().await;
    assert!(!was_called(&dir));
    operator.types("y\n");
    assert!(client.result(call).await.contains("done"));
    operator.until("allowed: team.ask").await;
    assert_eq!(dir.read("home/called"), "ask\n");
    // The next one is asked about anew.
    let call = client.call("again").await;
    operator.asked().await;
    operator.types("not today\n");
    let denied = client.result(call).await;
    assert!(denied.contains("approval_denied") && denied.contains("said: not today"), "{denied}");
    operator.until("denied: team.ask").await;
    assert_eq!(dir.read("home/called"), "ask\n");
}

#[tokio::test]
async fn a_tool_that_is_allowed_in_its_session_is_not_asked_about_again_there() {
    let (dir, mut client, mut operator) = attended().await;
    let call = client.call("first").await;
    operator.asked().await;
    operator.types("s\n");
    assert!(client.result(call).await.contains("done"));
    let call = client.call("second").await;
    assert!(client.result(call).await.contains("done"));
    assert_eq!(dir.read("home/called"), "ask\nask\n");
    // Another session is another one.
    let mut other = Client::start(&dir).await;
    operator.until("you answer for").await;
    let call = other.call("third").await;
    operator.asked().await;
    operator.types("n\n");
    assert!(other.result(call).await.contains("approval_denied"));
}

#[tokio::test]
async fn nobody_waits_for_an_operator_who_is_not_there_or_leaves() {
    let dir = dir();
    let mut client = Client::start(&dir).await;
    let call = client.call("x").await;
    let denied = client.result(call).await;
    assert!(
        denied.contains("approval_required") && denied.contains("no one is available to approve it"),
        "{denied}"
    );
    // Who only lists does not stay.
    assert_eq!(listed(&dir).await["serving"].as_array().unwrap().len(), 1);
    let call = client.call("x").await;
    assert!(client.result(call).await.contains("approval_required"));

    let mut operator = AtTerminal::attached(&dir).await;
    let call = client.call("y").await;
    operator.asked().await;
    operator.interrupt();
    assert!(client.result(call).await.contains("approval_required"));
    operator.until("you have left").await;
    assert_eq!(operator.end().await, Some(0));
    // So it is when the terminal goes, or the process is killed.
    let mut operator = AtTerminal::attached(&dir).await;
    let call = client.call("z").await;
    operator.asked().await;
    drop(operator);
    assert!(client.result(call).await.contains("approval_required"));
    assert!(!was_called(&dir));
}

#[tokio::test]
async fn the_first_answer_counts_and_a_later_one_is_told_so() {
    let dir = dir();
    let served = Served::start(&dir, &[]).await;
    let mut operator = AtTerminal::attached(&dir).await;
    let mut second = AtTerminal::attached(&dir).await;
    let (denied, seen) = tokio::join!(served.modern(&[], "tools/call", super::client::call_ask()), async {
        let waiting = until_waiting(&dir, 1).await;
        assert_eq!(
            (&waiting[0]["tool"], &waiting[0]["arguments"]),
            (&json!("team.ask"), &json!({"what": "x"}))
        );
        let id = waiting[0]["id"].as_str().unwrap().to_owned();
        operator.asked().await;
        second.asked().await;
        let words = ["approve", "app.yaml", "--deny", &id, "--feedback", "ask me on Monday"];
        run(&dir, &words).await.expect(0);
        id
    });
    assert!(denied.to_string().contains("said: ask me on Monday"), "{denied}");
    operator.until("it was answered elsewhere, or given up").await;
    second.until("it was answered elsewhere, or given up").await;
    let late = run(&dir, &["approve", "app.yaml", "--allow", &seen]).await.expect(1);
    assert!(late.stderr.contains("no longer waits for an answer"), "{late:#?}");
    let late = run(&dir, &["approve", "app.yaml", "--allow", &seen, "--json"]).await.expect(1).json();
    assert_eq!((&late["taken"], &late["id"]), (&json!(false), &json!(seen)));
    assert!(!was_called(&dir));
    // Of two that answer at the same time one is too late, and the call runs once.
    let (done, ()) = tokio::join!(served.modern(&[], "tools/call", super::client::call_ask()), async {
        operator.asked().await;
        second.asked().await;
        // A yes may have been meant for the question that was withdrawn.
        operator.types("y\n");
        operator.until("nothing else approves this call").await;
        operator.asked().await;
        operator.types("team.ask\n");
        second.types("team.ask\n");
    });
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
    assert_eq!(dir.read("home/called"), "ask\n");
    for wrong in ["7", "x-y", "-", "../../x-1"] {
        let wrong = run(&dir, &["approve", "app.yaml", "--allow", wrong]).await;
        assert!(matches!(wrong.code, Some(2 | 5)), "{wrong:#?}");
    }
}

#[tokio::test]
async fn the_operator_answers_for_all_that_serve_the_app_and_for_those_that_come() {
    let dir = dir();
    let mut operator = AtTerminal::start(&dir);
    operator.until("no process that can be answered serves the app now").await;
    let mut one = Client::start(&dir).await;
    operator.until("you answer for").await;
    let mut two = Client::start(&dir).await;
    operator.until("you answer for").await;
    assert_eq!(listed(&dir).await["serving"].as_array().unwrap().len(), 2);
    let first = one.call("of the first").await;
    operator.until("of the first").await;
    let second = two.call("of the second").await;
    until_waiting(&dir, 2).await;
    operator.asked().await;
    operator.types("y\n");
    assert!(one.result(first).await.contains("done"));
    operator.until("of the second").await;
    operator.asked().await;
    operator.types("n\n");
    assert!(two.result(second).await.contains("approval_denied"));
    assert_eq!(dir.read("home/called"), "ask\n");
    one.end().await;
    operator.until("does not serve the app any more").await;
    two.end().await;
    operator.until("no process that can be answered serves the app now").await;
    assert_eq!(sockets(&dir).1, Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_process_that_hangs_keeps_no_other_from_being_answered() {
    let dir = dir();
    let hung = Client::start(&dir).await;
    let process = listed(&dir).await["serving"][0]["process"].as_i64().unwrap();
    operator::send(process, rustix::process::Signal::STOP);
    let mut client = Client::start(&dir).await;
    let mut operator = AtTerminal::attached(&dir).await;
    let call = client.call("x").await;
    operator.asked().await;
    operator.types("y\n");
    assert!(client.result(call).await.contains("done"));
    operator.until("it did not identify itself").await;
    operator::send(process, rustix::process::Signal::CONT);
    operator.until("you answer for").await;
    hung.end().await;
}

#[tokio::test]
async fn the_socket_of_a_process_that_was_killed_is_taken_away() {
    let (dir, mut client, mut operator) = attended().await;
    client.call("x").await;
    operator.asked().await;
    client.kill(&dir).await;
    operator.until("it was answered elsewhere, or given up").await;
    assert_eq!(sockets(&dir).1.len(), 1, "it had no time to clean up");
    let gone = || Ok(sockets(&dir).1.is_empty().then_some(()));
    wait_until("the operator takes it away", SOON, gone).await.unwrap();
    drop(operator);
    // Whoever serves next does so, too.
    let client = Client::start(&dir).await;
    client.kill(&dir).await;
    let client = Client::start(&dir).await;
    assert_eq!(sockets(&dir).1.len(), 1);
    assert_eq!(listed(&dir).await["serving"].as_array().unwrap().len(), 1);
    client.end().await;
}

#[tokio::test]
async fn the_sockets_are_in_a_folder_of_the_user_alone() {
    let dir = dir();
    Client::start(&dir).await.end().await;
    let (folder, _) = sockets(&dir);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let client = Client::start(&dir).await;
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    client.end().await;
    std::fs::remove_dir(&folder).unwrap();
    std::os::unix::fs::symlink(dir.path("."), &folder).unwrap();
    let refused = run(&dir, &["serve", "app.yaml", "--stdio"]).await.expect(1);
    assert!(refused.stderr.contains("it is not a folder of this user"), "{refused:#?}");
    let refused = run(&dir, &["approve", "app.yaml", "--json"]).await.expect(1);
    assert!(refused.stderr.contains("it is not a folder of this user"), "{refused:#?}");
}

/// What a server says to these lines before it hangs up, or goes on.
async fn answer_to(dir: &TestDir, lines: &[u8]) -> String {
    let mut stream = UnixStream::connect(&sockets(dir).1[0]).await.unwrap();
    // It may hang up in the middle of it.
    let _ = stream.write_all(lines).await;
    let _ = stream.shutdown().await;
    let mut said = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut said)).await.expect("it hangs up").ok();
    String::from_utf8(said).unwrap()
}

#[tokio::test]
async fn what_is_no_operator_is_refused_and_others_are_still_answered() {
    let dir = dir();
    let mut client = Client::start(&dir).await;
    let (folder, _) = sockets(&dir);
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let mut operator = AtTerminal::attached(&dir).await;
    let call = client.call("x").await;
    operator.asked().await;
    let id = until_waiting(&dir, 1).await[0]["id"].as_str().unwrap().rsplit_once('-').unwrap().1.to_owned();

    let hello = "{\"type\":\"hello\",\"version\":2,\"attends\":false}\n";
    let yes = format!("{{\"type\":\"answer\",\"id\":{id},\"say\":\"once\"}}\n");
    for (lines, said) in [
        ("this is no JSON\n".to_owned(), "invalid message of an operator"),
        ("{}\n".to_owned(), "invalid message of an operator"),
        (yes.clone(), "expected `hello` as the first line"),
        ("{\"type\":\"hello\",\"version\":1,\"attends\":true}\n".to_owned(), "use one `toolcrib` for both"),
        (format!("{hello}{hello}"), "found a second `hello`"),
        (format!("{hello}{}\n", yes.replace("once", "perhaps").trim()), "invalid message of an operator"),
        (format!("{hello}{}\n", yes.trim().replace("\"id\"", "\"edit\":{},\"id\"")), "unknown field"),
        (format!("{hello}{}\n", "x".repeat(1024 * 1024)), "a line is longer than 262144 bytes"),
        ("x".repeat(1024 * 1024), "a line is longer than 262144 bytes"),
        (format!("{hello}{}", yes.replace(&format!("\"id\":{id}"), "\"id\":987654")), "no longer waits"),
    ] {
        let answer = answer_to(&dir, lines.as_bytes()).await;
        // What hangs up with something unread may take its last words with it.
        assert!(answer.contains(said) || lines.len() > 262_144, "{lines:.200} {answer}");
    }
    assert!(!was_called(&dir));

    // No more than sixteen come in.
    let mut many = Vec::new();
    for _ in 0..40 {
        many.push(BufReader::new(UnixStream::connect(&sockets(&dir).1[0]).await.unwrap()).lines());
    }
    let mut refused = 0;
    for lines in &mut many {
        let line = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
        refused += usize::from(line.contains("16 operators are connected already"));
    }
    assert_eq!(refused, 25, "one of sixteen is the operator");
    drop(many);
    operator.types("y\n");
    assert!(client.result(call).await.contains("done"));
    assert_eq!(dir.read("home/called"), "ask\n");
}

#[tokio::test]
async fn arguments_that_are_too_long_to_be_shown_can_only_be_denied() {
    let (dir, mut client, mut operator) = attended().await;
    let call = client.call(&"x".repeat(70_000)).await;
    operator.until("it can only be denied here").await;
    operator.until("run it? [n no, or say why not]").await;
    operator.types("y\n");
    operator.until("not taken: team.ask: its arguments are too long").await;
    operator.asked().await;
    assert!(!was_called(&dir));
    operator.types("n\n");
    assert!(client.result(call).await.contains("approval_denied"));
}

#[tokio::test]
async fn it_is_off_unless_the_app_says_so() {
    let dir = app("", ASKED);
    let mut client = Client::start(&dir).await;
    assert!(!dir.path("home/.local/state/toolcrib/approve").exists());
    let call = client.call("x").await;
    assert!(client.result(call).await.contains("approval_required"));
    for words in [&["approve", "app.yaml"][..], &["approve", "app.yaml", "--json"]] {
        let off = run(&dir, words).await.expect(2);
        assert!(off.stderr.contains("set `serve.approve: true`"), "{off:#?}");
    }
    // On, it wants a terminal.
    let dir = self::dir();
    let unattended = run(&dir, &["approve", "app.yaml"]).await.expect(2);
    assert!(unattended.stderr.contains("expected a terminal"), "{unattended:#?}");
    assert_eq!(listed(&dir).await, json!({"serving": [], "waiting": [], "questions": []}));
    run(&dir, &["approve", "app.yaml", "--allow", "01234567-1"]).await.expect(5);
}

/// A server whose tool tries to answer for the model: as it is, and from a session of its own.
const ANSWERS_ITSELF: &str = r#"on_call() {
  "$BIN" approve app.yaml --json >"$HOME/listed" 2>"$HOME/refused"
  setsid "$BIN" approve app.yaml --json >"$HOME/listed-too" 2>"$HOME/refused-too"
  text "done"
}"#;

#[tokio::test]
async fn what_a_tool_or_the_client_has_started_is_no_operator() {
    let script = mcp_script(ANSWERS_ITSELF).replace("$BIN", &binary().display().to_string());
    let dir = dir().with_file("server.sh", script);
    let mut client = Client::start(&dir).await;
    let mut operator = AtTerminal::attached(&dir).await;
    let call = client.call("x").await;
    operator.asked().await;
    operator.types("y\n");
    assert!(client.result(call).await.contains("done"));
    for (refused, listed) in [("refused", "listed"), ("refused-too", "listed-too")] {
        let refused = dir.read(&format!("home/{refused}"));
        assert!(refused.contains("a program that a tool has started may not answer"), "{refused}");
        let listed: Value = serde_json::from_str(&dir.read(&format!("home/{listed}"))).unwrap();
        assert_eq!(listed, json!({"serving": [], "waiting": [], "questions": []}));
    }
    client.end().await;
    drop(operator);
    // Of this one the test is the client, and whatever it starts.
    let client = Client::of_this_process(&dir).await;
    let refused = run(&dir, &["approve", "app.yaml", "--json"]).await.expect(0);
    assert_eq!(refused.json()["serving"], json!([]));
    assert!(refused.stderr.contains("a program that the client has started may not answer"), "{refused:#?}");
    let mut operator = AtTerminal::start(&dir);
    operator.until("a program that the client has started may not answer").await;
    client.end().await;
}

#[tokio::test]
async fn a_question_to_the_user_is_answered_from_another_terminal_and_a_late_answer_is_told_so() {
    let dir = app("serve: {approve: true}", ASKS_USER);
    let mut client = Client::start(&dir).await;
    let mut operator = AtTerminal::attached(&dir).await;
    let fields = json!([{"name": "count", "type": "integer", "required": true}]);
    let asked = json!({"question": "Which **one**?", "choices": ["red", "blue"], "fields": fields});
    let call = client.tool("ask_user", &asked).await;
    operator.until("Which one?").await;
    let waiting = listed(&dir).await["questions"].as_array().unwrap().clone();
    let id = waiting[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(waiting[0]["form"]["choices"], json!(["red", "blue"]));
    assert_eq!(waiting[0]["form"]["fields"][0]["type"], "integer");

    let allow = ["approve", "app.yaml", "--allow", &id];
    let incomplete = run(&dir, &allow).await.expect(1);
    assert!(incomplete.stderr.contains("pick one of the choices"), "{incomplete:?}");
    let with = |json: &'static str| [&allow[..], &["--with", json]].concat();
    let wrong = run(&dir, &with(r#"{"choice": "blue", "fields": {"count": "many"}}"#)).await.expect(1);
    assert!(wrong.stderr.contains("the field `count` cannot hold that"), "{wrong:?}");
    run(&dir, &with(r#"{"colour": "blue"}"#)).await.expect(2);
    run(&dir, &with(r#"{"choice": "blue", "fields": {"count": 3}}"#)).await.expect(0);
    let result = client.result(call).await;
    assert!(result.contains("blue") && result.contains("approved"), "{result}");
    let late = run(&dir, &with(r#"{"choice": "red", "fields": {"count": 3}}"#)).await.expect(1);
    assert!(late.stderr.contains("too late"), "{late:?}");

    let call = client.tool("ask_user", &json!({"question": "Sure?"})).await;
    operator.until("Sure?").await;
    let id = listed(&dir).await["questions"][0]["id"].as_str().unwrap().to_owned();
    run(&dir, &["approve", "app.yaml", "--deny", &id, "--feedback", "not today"]).await.expect(0);
    let result = client.result(call).await;
    assert!(result.contains("denied") && result.contains("not today"), "{result}");
}

#[tokio::test]
async fn a_question_to_the_user_is_asked_line_by_line_at_the_terminal_of_the_operator() {
    let dir = app("serve: {approve: true}", ASKS_USER);
    let mut client = Client::start(&dir).await;
    let mut operator = AtTerminal::attached(&dir).await;
    let fields = json!([{"name": "count", "type": "integer", "required": true}]);
    let plan = "# Plan\n1. Move the **notes**\n2. Delete the rest";
    let asked =
        json!({"question": "Which one?", "content": plan, "choices": ["red", "blue"], "fields": fields});
    let call = client.tool("ask_user", &asked).await;
    let shown = operator.until("agreed? [").await;
    assert!(shown.contains("question ") && shown.contains("session: serve/"), "{shown}");
    assert!(shown.contains("Move the notes") && !shown.contains("**"), "markdown is rendered: {shown}");
    operator.until("] ").await;
    operator.types("y\n");
    operator.until("which one? [1-2").await;
    operator.until("] ").await;
    operator.types("2\n");
    operator.until("(1 of 1)").await;
    operator.until("> ").await;
    operator.types("many\n");
    operator.until("expected an integer").await;
    operator.until("> ").await;
    operator.types("3\n");
    operator.until("answered: question").await;
    let result = client.result(call).await;
    assert!(result.contains("blue") && result.contains("approved") && result.contains("count"), "{result}");

    let call = client.tool("ask_user", &json!({"question": "What is it called?"})).await;
    operator.until("your answer? [y, n, or in words] ").await;
    operator.types("Ada's list\n");
    let result = client.result(call).await;
    assert!(result.contains("approved") && result.contains("Ada's list"), "{result}");

    // A question that is answered elsewhere is taken back.
    let call = client.tool("ask_user", &json!({"question": "Sure?"})).await;
    operator.until("your answer? [y, n, or in words] ").await;
    let id = listed(&dir).await["questions"][0]["id"].as_str().unwrap().to_owned();
    run(&dir, &["approve", "app.yaml", "--deny", &id, "--feedback", "not today"]).await.expect(0);
    operator.until("(withdrawn: ").await;
    operator.until("it was answered elsewhere, or given up").await;
    assert!(client.result(call).await.contains("not today"));

    // The end of the input is no answer to a question: the operator has left.
    let call = client.tool("ask_user", &json!({"question": "Still there?"})).await;
    operator.until("your answer? [y, n, or in words] ").await;
    operator.types("\u{4}");
    operator.until("you have left").await;
    assert_eq!(operator.end().await, Some(0));
    let result = client.result(call).await;
    assert!(!result.contains("approved"), "{result}");
    client.end().await;
}
