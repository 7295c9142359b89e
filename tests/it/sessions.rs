//! Conversations that outlive the process: `toolcrib run --session`.

use serde_json::{Value, json};
use toolcrib_testkit::{ModelServer, Turn, wait_until};

use crate::support::{AgentApp, PATIENCE, TestDir, new_database, query, shop_app};

/// Both note that they were called, and then wait for a file.
fn dir(server: &ModelServer) -> TestDir {
    let script = r#"echo \"$1\" >> effects.txt; while [ ! -e go ]; do sleep 0.05; done; echo done"#;
    shop_app(server, script, "medium")
}

/// Starts a run, and kills it when the tool has noted that it was called.
async fn killed_in_the_midst(dir: &TestDir) {
    let mut child = dir.start(&["run", "app.yaml", "Get me a lamp.", "--session", "monday", "--json"]);
    let effects = dir.path("effects.txt");
    let has_begun =
        || Ok(std::fs::read_to_string(&effects).is_ok_and(|text| text.ends_with('\n')).then_some(()));
    wait_until("the call", PATIENCE, has_begun).await.unwrap();
    child.kill().await.unwrap();
    dir.assert_nothing_is_left(&[]).await;
}

fn sent_messages(server: &ModelServer) -> Vec<Value> {
    let last = server.requests().last().unwrap().json().unwrap();
    last["messages"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_run_that_was_killed_during_a_call_goes_on_and_does_not_call_again() {
    let turns = [Turn::call("shop__order", &json!({"item": "lamp"})), Turn::text("I do not know.")];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = dir(&server);
    killed_in_the_midst(&dir).await;
    std::fs::write(dir.path("go"), "").unwrap();
    let report = dir.run(["run", "app.yaml", "--session", "monday", "--json"]).await.expect(0).json();
    assert_eq!(report["text"], "I do not know.");
    assert_eq!(dir.read("effects.txt"), "lamp\n", "the item was ordered once");
    let told = sent_messages(&server);
    let result = told.last().unwrap();
    assert_eq!((&result["role"], told.len()), (&"tool".into(), 4));
    assert!(result["content"].as_str().unwrap().contains("outcome_unknown"), "{result}");
}

#[tokio::test]
async fn a_call_that_only_looks_is_made_again() {
    let turns = [Turn::call("shop__look", &json!({"item": "lamp"})), Turn::text("There it is.")];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = dir(&server);
    killed_in_the_midst(&dir).await;
    std::fs::write(dir.path("go"), "").unwrap();
    let report = dir.run(["run", "app.yaml", "--session", "monday", "--json"]).await.expect(0).json();
    assert_eq!(report["text"], "There it is.");
    assert_eq!(dir.read("effects.txt"), "lamp\nlamp\n");
    assert_eq!(sent_messages(&server).last().unwrap()["content"], "done");
}

#[tokio::test]
async fn a_conversation_goes_on_in_the_next_process_and_belongs_to_one_at_a_time() {
    let turns = [Turn::text("Hello Ada."), Turn::text("You are Ada.")];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = dir(&server);
    dir.run(["run", "app.yaml", "I am Ada.", "--session", "a", "--json"]).await.expect(0);
    dir.run(["run", "app.yaml", "Who am I?", "--session", "a", "--json"]).await.expect(0);
    let said: Vec<_> = sent_messages(&server).iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said[1..], ["I am Ada.", "Hello Ada.", "Who am I?"]);
    let bad = dir.run(["run", "app.yaml", "Hello?", "--session", "../a"]).await.expect(2);
    assert!(bad.stderr.contains("--session: an id has"), "{bad:#?}");
}

#[tokio::test]
async fn two_runs_of_one_session_do_not_mix() {
    let turns = [Turn::call("shop__order", &json!({"item": "lamp"})), Turn::text("Done.")];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = dir(&server);
    let first = dir.start(&["run", "app.yaml", "Get me a lamp.", "--session", "monday", "--json"]);
    let begun = || Ok(dir.path("effects.txt").exists().then_some(()));
    wait_until("the call", PATIENCE, begun).await.unwrap();
    let output =
        dir.start(&["run", "app.yaml", "And me.", "--session", "monday"]).wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("another run works with the session `monday`"), "{told}");
    std::fs::write(dir.path("go"), "").unwrap();
    assert_eq!(dir.finish(first).await.expect(0).json()["text"], "Done.");
}

/// What a search and a look cost is paid once: the tool is still offered in the next process.
#[tokio::test]
async fn a_tool_that_was_looked_at_is_offered_in_the_next_process_too() {
    let turns =
        [Turn::call("get_tool", &json!({"name": "shop.price"})), Turn::text("Found."), Turn::text("3 euro.")];
    let server = ModelServer::start(turns).await.unwrap();
    let desk = AgentApp { runtime: ", tool_injection: discovery, reveal: append", ..AgentApp::default() };
    let dir = desk.dir(&server);
    for prompt in ["Look.", "And now?"] {
        dir.run(["run", "app.yaml", prompt, "--session", "a", "--json"]).await.expect(0);
    }
    let requests = server.requests();
    let tools: Vec<Value> = requests.iter().map(|request| request.json().unwrap()["tools"].take()).collect();
    assert!(!tools[0].to_string().contains("shop__price"));
    assert_eq!(tools[1].as_array().unwrap().last().unwrap()["function"]["name"], "shop__price");
    assert_eq!(tools[2], tools[1], "the next process begins as the one before ended");
}

/// An app whose tool has a long result, and a model that calls it.
async fn lab_with_long_results() -> (TestDir, ModelServer) {
    let model =
        ModelServer::start([Turn::call("shop__list", &json!({})), Turn::text("Much.")]).await.unwrap();
    let app = r#"
agents:
  - id: clerk
    brain: {provider: openai, model: m, base_url: "${MODEL_URL}"}
tools:
  registry: [{type: file, path: tools.yaml, engine: shop}]
  engines: {shop: {type: command, argv: [seq, "100000", "109999"]}}
  capabilities: {default_policy: grant}
"#;
    let tools = "shop: [{name: list, description: Lists all prices., parameters: {type: object}}]";
    let dir = TestDir::with_app(app).with_file("tools.yaml", tools).with_variable("OPENAI_API_KEY", "test");
    (dir.with_variable("MODEL_URL", model.base_url()), model)
}

/// The call that reads on in the last result that the model was told.
fn read_on(model: &ModelServer) -> Turn {
    let told = sent_messages(model);
    let shown = told.last().unwrap()["content"].as_str().unwrap();
    let (_, rest) = shown.split_once("read_result(handle=\"").unwrap();
    let handle = &rest[..rest.find('"').unwrap()];
    Turn::call("read_result", &json!({"handle": handle, "lines": "5000"}))
}

/// The last message of a request to the model.
fn last_of(model: &ModelServer, request: usize) -> String {
    let request = model.requests()[request].json().unwrap();
    request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_result_that_was_too_long_is_read_on_in_the_next_process_and_by_no_other_session() {
    let (dir, first) = lab_with_long_results().await;
    dir.run(["run", "app.yaml", "What is there?", "--session", "a", "--json"]).await.expect(0);
    let answers = [read_on(&first), Turn::text("There."), read_on(&first), Turn::text("No.")];
    let next = ModelServer::start(answers).await.unwrap();
    let dir = dir.with_variable("MODEL_URL", next.base_url());
    dir.run(["run", "app.yaml", "The middle?", "--session", "a", "--json"]).await.expect(0);
    dir.run(["run", "app.yaml", "The middle?", "--session", "b", "--json"]).await.expect(0);
    let results = [1, 3].map(|number| last_of(&next, number));
    assert!(results[0].contains("104999"), "{results:#?}");
    assert!(results[1].contains("not_found") && results[1].contains("call the tool again"), "{results:#?}");
}

#[tokio::test]
async fn a_result_that_was_too_long_is_read_on_on_another_machine_until_its_session_is_removed() {
    let Some(url) = new_database() else { return };
    let (dir, first) = lab_with_long_results().await;
    let dir = dir.with_variable("TOOLCRIB_STORE", url.clone());
    dir.run(["run", "app.yaml", "What is there?", "--session", "a", "--json"]).await.expect(0);
    // As after the time for which results behind handles are shared.
    query(&url, "DELETE FROM toolcrib_records WHERE kind = 'result'").unwrap();
    let next = ModelServer::start([read_on(&first), Turn::text("There.")]).await.unwrap();
    let (other, _unused) = lab_with_long_results().await;
    let other = other.with_variable("TOOLCRIB_STORE", url.clone());
    let other = other.with_variable("MODEL_URL", next.base_url());
    other.run(["run", "app.yaml", "The middle?", "--session", "a", "--json"]).await.expect(0);
    let read = last_of(&next, 1);
    assert!(read.contains("104999"), "{read}");
    let stored = "SELECT count(*) FROM toolcrib_records WHERE kind = 'session_result'";
    assert_ne!(query(&url, stored).unwrap(), ["0"]);
    other.run(["sessions", "app.yaml", "rm", "a"]).await.expect(0);
    assert_eq!(query(&url, stored).unwrap(), ["0"]);
}

#[tokio::test]
async fn sessions_are_listed_shown_exported_and_removed() {
    let server = ModelServer::start([Turn::text("A lamp."), Turn::text("A chair.")]).await.unwrap();
    let dir = dir(&server);
    assert!(dir.run(["sessions", "app.yaml"]).await.expect(0).stderr.contains("there are no sessions"));
    dir.run(["run", "app.yaml", "What is there?", "--session", "monday"]).await.expect(0);
    let again = dir.run(["run", "app.yaml", "What else?", "--session", "monday"]).await.expect(0);
    let recalled = "session `monday`, 1 prompt so far:\n> What is there?\n  A lamp.\n";
    assert!(again.stderr.contains(recalled), "{again:?}");

    let listed = dir.run(["sessions", "app.yaml", "--json"]).await.expect(0).json();
    let session = &listed["sessions"][0];
    assert_eq!((&session["id"], &session["agent"]), (&json!("monday"), &json!("clerk")));
    assert_eq!((&session["prompt"], &listed["count"]), (&json!("What is there?"), &json!(1)));
    let table = dir.run(["sessions", "app.yaml", "list"]).await.expect(0).stdout;
    assert!(table.contains("monday") && table.contains("What is there?"), "{table}");
    let shown = dir.run(["sessions", "app.yaml", "show", "monday"]).await.expect(0).stdout;
    assert!(shown.contains("> What else?") && shown.contains("A chair."), "{shown}");
    dir.run(["sessions", "app.yaml", "export", "monday", "--output", "monday.md"]).await.expect(0);
    assert!(dir.read("monday.md").contains("## User\n\nWhat else?\n\n## Agent\n\nA chair.\n"));
    dir.run(["sessions", "app.yaml", "export", "monday", "--output", "monday.md"]).await.expect(2);
    let exported = dir.run(["sessions", "app.yaml", "export", "monday", "--json"]).await.expect(0).json();
    assert_eq!(exported["messages"].as_array().unwrap().len(), 4);

    dir.run(["sessions", "app.yaml", "rm", "monday"]).await.expect(0);
    assert!(
        dir.run(["sessions", "app.yaml", "show", "monday"])
            .await
            .expect(2)
            .stderr
            .contains("there is no session")
    );
    dir.run(["sessions", "app.yaml", "rm", "../../x"]).await.expect(2);
}

#[tokio::test]
async fn a_run_a_session_and_an_audit_log_are_pages_with_the_same_calls() {
    let turns = [Turn::call("shop__look", &json!({"item": "<lamp>"})), Turn::text("There it is.")];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = dir(&server).with_file("go", "");
    let app = format!("{}audit: {{path: audit.jsonl}}\n", dir.read("app.yaml"));
    let dir = dir.with_file("app.yaml", app);
    let run = ["run", "app.yaml", "Get me a lamp.", "--session", "monday", "--trace", "run.html"];
    dir.run(run).await.expect(0);
    dir.run(["trace", "app.yaml", "--session", "monday", "--output", "session.html"]).await.expect(0);
    let written = dir.run(["trace", "audit.jsonl", "--session", "monday", "--json"]).await.expect(0).json();
    assert_eq!(written, json!({"written": "trace.html", "events": 1}));
    for (file, call) in
        [("run.html", "shop__look"), ("session.html", "shop__look"), ("trace.html", "shop.look")]
    {
        let page = dir.read(file);
        assert!(page.contains(call) && page.contains("<rect"), "{file}: {page}");
        assert!(!page.contains("<lamp>"), "{file}");
    }
    let without = dir.run(["trace", "app.yaml"]).await.expect(2);
    assert!(without.stderr.contains("expected `--session ID`"), "{}", without.stderr);
}

#[tokio::test]
async fn a_conversation_goes_on_on_another_machine_and_belongs_to_one_run_at_a_time() {
    let Some(url) = new_database() else { return };
    let turns =
        [Turn::text("Hello Ada."), Turn::call("shop__order", &json!({"item": "lamp"})), Turn::text("Done.")];
    let server = ModelServer::start(turns).await.unwrap();
    // Each has a home of its own.
    let dirs = [(); 2].map(|()| dir(&server).with_variable("TOOLCRIB_STORE", url.clone()));
    dirs[0].run(["run", "app.yaml", "I am Ada.", "--session", "a", "--json"]).await.expect(0);
    let second = dirs[1].start(&["run", "app.yaml", "Get me a lamp.", "--session", "a", "--json"]);
    let begun = || Ok(dirs[1].path("effects.txt").exists().then_some(()));
    wait_until("the call", PATIENCE, begun).await.unwrap();
    let refused = dirs[0].run(["run", "app.yaml", "Hello?", "--session", "a"]).await.expect(2);
    assert!(refused.stderr.contains("another run works with the session `a`"), "{refused:?}");
    let refused = dirs[0].run(["sessions", "app.yaml", "rm", "a"]).await.expect(2);
    assert!(refused.stderr.contains("nothing was removed"), "{refused:?}");
    std::fs::write(dirs[1].path("go"), "").unwrap();
    dirs[1].finish(second).await.expect(0);
    let said: Vec<_> = sent_messages(&server).iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said[1..4], ["I am Ada.", "Hello Ada.", "Get me a lamp."]);
    for dir in &dirs {
        let listed = dir.run(["sessions", "app.yaml", "--json"]).await.expect(0).json();
        assert_eq!((&listed["count"], &listed["sessions"][0]["prompt"]), (&1.into(), &"I am Ada.".into()));
        let shown = dir.run(["sessions", "app.yaml", "show", "a", "--json"]).await.expect(0).json();
        assert_eq!((shown["messages"].as_array().unwrap().len(), &shown["unfinished"]), (6, &false.into()));
    }
    dirs[1].run(["sessions", "app.yaml", "rm", "a"]).await.expect(0);
    // What the other machine has of it is not taken for a session.
    let gone = dirs[0].run(["sessions", "app.yaml", "show", "a"]).await.expect(2);
    assert!(gone.stderr.contains("there is no session `a`"), "{gone:?}");
}

#[tokio::test]
async fn a_session_in_a_file_is_taken_over_by_the_store_and_once_removed_does_not_come_back() {
    let Some(url) = new_database() else { return };
    let turns = [Turn::text("Hello Ada."), Turn::text("You are Ada."), Turn::text("I do not know.")];
    let server = ModelServer::start(turns).await.unwrap();
    let [before, other] = [dir(&server), dir(&server)];
    before.run(["run", "app.yaml", "I am Ada.", "--session", "a", "--json"]).await.expect(0);
    let dirs = [before, other].map(|dir| dir.with_variable("TOOLCRIB_STORE", url.clone()));
    dirs[0].run(["run", "app.yaml", "Who am I?", "--session", "a", "--json"]).await.expect(0);
    let said: Vec<_> = sent_messages(&server).iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said[1..], ["I am Ada.", "Hello Ada.", "Who am I?"]);
    let listed = dirs[1].run(["sessions", "app.yaml", "--json"]).await.expect(0).json();
    assert_eq!(listed["sessions"][0]["prompt"], "I am Ada.");
    dirs[1].run(["sessions", "app.yaml", "rm", "a"]).await.expect(0);
    dirs[0].run(["run", "app.yaml", "Who am I?", "--session", "a", "--json"]).await.expect(0);
    let said: Vec<_> = sent_messages(&server).iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said[1..], ["Who am I?"]);
}
