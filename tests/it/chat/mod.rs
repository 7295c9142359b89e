//! `toolcrib chat` in a terminal multiplexer, which shows what a person sees.

mod screen;

use serde_json::{Value, json};
use toolcrib_testkit::{ModelServer, Turn};

use crate::support::{TestDir, mcp_script, shop_app, tmux};
use screen::ChatScreen;

const ANSWER: &str = "# Lamps\n\nThere are **two lamps** in stock, and the cheaper one of them costs twenty euro, which is \
                      less than the table on which it stands in the window of the shop.\n\n- a desk lamp\n- a floor lamp";

/// Looking takes until there is a file `go`; the list of items is long.
fn dir(server: &ModelServer) -> TestDir {
    let script = r#"while [ \"$1\" = slow ] && [ ! -e go ]; do sleep 0.05; done; seq -s , 1 200"#;
    shop_app(server, script, "high")
}

/// Returns what the user said last, in the last request to the model.
fn said(server: &ModelServer) -> String {
    let request: Value = server.requests().last().unwrap().json().unwrap();
    let messages = request["messages"].as_array().unwrap();
    let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    last["content"].as_str().unwrap_or_else(|| panic!("{last}")).to_owned()
}

/// Types, pastes, approves, interrupts, and resumes at a width.
async fn converses_at(columns: u16) {
    let Some(tmux) = tmux() else { return };
    let turns = [
        Turn::text(ANSWER),
        Turn::text("Twenty lines."),
        Turn::call("shop__order", &json!({"item": "lamp"})),
        Turn::text("Ordered."),
        Turn::call("shop__look", &json!({"item": "slow"})),
        Turn::text("Here again."),
        Turn::text("Welcome back."),
    ];
    let server = ModelServer::start(turns).await.unwrap();
    let dir = dir(&server);
    let arguments = ["chat", "app.yaml", "--session", "monday"];
    let chat = ChatScreen::start(&dir, &tmux, columns, &arguments);
    chat.prompt().await;

    chat.types("hello");
    chat.key("Enter");
    let shown = chat.until("floor lamp").await;
    chat.prompt().await;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "There are two lamps in stock, and the cheaper one of them costs twenty euro, which is less than \
                    the table on which it stands in the window of the shop.";
    assert!(words.contains(sentence), "no word is broken: {shown}");
    assert!(shown.contains("• a desk lamp"), "{shown}");

    let pasted = (1..=20).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
    chat.pastes(&pasted);
    chat.until("line 20").await;
    assert_eq!(server.requests().len(), 1, "what is pasted is not sent yet");
    chat.key("Enter");
    chat.until("Twenty lines.").await;
    assert!(said(&server).contains(&pasted), "{}", said(&server));
    chat.prompt().await;

    chat.types("order a lamp");
    chat.key("Enter");
    let question = chat.until("say why not]").await;
    assert!(question.contains("shop.order wants to run"), "{question}");
    assert!(!question.contains("running shop.order"), "the question owns the screen: {question}");
    chat.types("y");
    chat.key("Enter");
    chat.until("Ordered.").await;
    chat.prompt().await;
    chat.types("/expand");
    chat.key("Enter");
    chat.until("199,200").await;
    chat.prompt().await;

    chat.types("look for it");
    chat.key("Enter");
    chat.until("running shop.look").await;
    chat.key("C-c");
    chat.until("stopping").await;
    chat.prompt().await;
    chat.types("and now?");
    chat.key("Enter");
    chat.until("Here again.").await;
    chat.prompt().await;
    chat.key("C-c");
    chat.until("ends the conversation)").await;
    chat.prompt().await;
    chat.key("C-c");
    chat.ended().await;
    chat.close().await;

    let chat = ChatScreen::start(&dir, &tmux, columns, &arguments);
    let resumed = chat.until("Here again.").await;
    assert!(resumed.contains("> and now?"), "what was said is shown: {resumed}");
    chat.prompt().await;
    chat.key("Up");
    chat.until("> and now?\n").await;
    chat.key("C-u");
    chat.types("hello again");
    chat.key("Enter");
    chat.until("Welcome back.").await;
    chat.prompt().await;
    chat.key("C-d");
    chat.ended().await;
    chat.close().await;
    dir.assert_nothing_is_left(&[]).await;
}

#[tokio::test]
async fn a_person_types_pastes_approves_interrupts_and_resumes_at_60_columns() {
    converses_at(60).await;
}

#[tokio::test]
async fn a_person_types_pastes_approves_interrupts_and_resumes_at_80_columns() {
    converses_at(80).await;
}

#[tokio::test]
async fn a_person_types_pastes_approves_interrupts_and_resumes_at_200_columns() {
    converses_at(200).await;
}

#[tokio::test]
async fn commands_tell_of_the_conversation_and_an_exchange_is_taken_back() {
    let Some(tmux) = tmux() else { return };
    let server = ModelServer::start(["One.", "Two.", "Three."].map(Turn::text)).await.unwrap();
    let dir = dir(&server);
    let chat = ChatScreen::start(&dir, &tmux, 80, &["chat", "app.yaml", "--session", "s"]);
    for (message, answer) in [("first", "One."), ("second", "Two.")] {
        chat.prompt().await;
        chat.types(message);
        chat.key("Enter");
        chat.until(answer).await;
    }
    for (command, told) in [
        ("/tool", "did you mean `/tools`?"),
        ("/tools", "shop.order  high  approve"),
        ("/policy shop.order", "decided by: high risk"),
        ("/plan", "wire name"),
        ("/sessions", "first prompt"),
        ("/cost", "2 messages, 2 turns, 0 calls"),
        ("/undo", "the last exchange is forgotten"),
    ] {
        chat.prompt().await;
        chat.types(command);
        chat.key("Enter");
        chat.until(told).await;
    }
    chat.prompt().await;
    chat.types("third");
    chat.key("Enter");
    chat.until("Three.").await;
    chat.prompt().await;
    let request = server.requests()[2].json().unwrap().to_string();
    assert!(request.contains("first") && request.contains("third"), "{request}");
    assert!(!request.contains("second"), "it is forgotten: {request}");
    chat.types("/quit");
    chat.key("Enter");
    chat.ended().await;
    chat.close().await;
    let shown = dir.run(["sessions", "app.yaml", "show", "s"]).await.expect(0);
    assert!(shown.stdout.contains("third") && !shown.stdout.contains("second"), "{}", shown.stdout);
}

/// A server that starts when there is a file `go`, and ends its calls when there is a file `on`.
const SLOW: &str = r#"
on_start() { until [ -e go ]; do sleep 0.05; done; }
on_call() {
  token=${line#*\"progressToken\":}; token=${token%%[,\}]*}
  printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":3,"total":5,"message":"counting"}}\n' "$token"
  until [ -e on ]; do sleep 0.05; done
  text five
}
"#;

#[tokio::test]
async fn the_servers_that_start_and_the_progress_of_tools_are_shown_while_they_are_waited_for() {
    let Some(tmux) = tmux() else { return };
    let turns = [Turn::call("slow__ask", &json!({"what": "x"})), Turn::text("Five.")];
    let server = ModelServer::start(turns).await.unwrap();
    let app = json!({
        "agents": [{"id": "clerk", "brain": {"provider": "openai", "model": "m", "base_url": server.base_url()}}],
        "tools": {
            "registry": [{"type": "mcp", "namespace": "slow", "command": ["sh", "server.sh"]}],
            "capabilities": {"default_policy": "grant"},
        },
    });
    let dir = TestDir::with_app(&app.to_string())
        .with_file("server.sh", mcp_script(SLOW))
        .with_variable("OPENAI_API_KEY", "test");
    let chat = ChatScreen::start(&dir, &tmux, 80, &["chat", "app.yaml"]);
    chat.until("waiting for mcp slow").await;
    std::fs::write(dir.path("go"), "").unwrap();
    chat.prompt().await;
    chat.types("count");
    chat.key("Enter");
    let shown = chat.until("counting (3 of 5)").await;
    assert!(shown.contains("running slow.ask ("), "{shown}");
    std::fs::write(dir.path("on"), "").unwrap();
    let shown = chat.until("Five.").await;
    assert!(!shown.contains("counting"), "what has ended is shown no more: {shown}");
    chat.prompt().await;
    chat.key("C-d");
    chat.ended().await;
    chat.close().await;
}

#[tokio::test]
async fn lines_are_messages_where_there_is_no_terminal_and_nothing_is_coloured() {
    let server = ModelServer::start(["**One.**", "Two."].map(Turn::text)).await.unwrap();
    let dir = dir(&server);
    let output = dir.run_with_input(&["chat", "app.yaml"], "first\n/cost\nsecond\n").await.expect(0);
    assert_eq!(server.requests().len(), 2);
    assert!(output.stdout.contains("**One.**\n") && output.stdout.contains("Two.\n"), "{}", output.stdout);
    assert!(output.stdout.contains("since the start: 1 messages"), "{}", output.stdout);
    assert!(!(output.stdout + &output.stderr).contains('\u{1b}'));
}
