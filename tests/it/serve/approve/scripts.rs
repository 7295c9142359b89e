//! Scripts that wait for an operator.

use serde_json::json;

use super::ASKED;
use super::operator::{AtTerminal, Client};
use crate::serve::client::{app, until_called, was_called};

#[tokio::test]
async fn a_script_that_nobody_approves_goes_on_when_an_operator_comes_also_after_a_crash() {
    let lab = app("serve: {approve: true}\nexecution: {store: tasks.db}", ASKED);
    let source = "const first = await tools.hello.say_hello({name: 'Ada'}); return [first, await tools.team.ask({what: 'x'})]";
    let script = json!({"source": source});
    let mut client = Client::start(&lab).await;
    // Nobody approves the first call, so the script waits, and its client is told so at once.
    let call = client.tool("run_script", &script).await;
    let paused = client.result(call).await;
    assert!(paused.contains("waiting_for") && paused.contains("hello.say_hello"), "{paused}");
    let mut operator = AtTerminal::attached(&lab).await;
    operator.asked().await;
    operator.types("y\n");
    operator.until("allowed: hello.say_hello").await;
    operator.asked().await;
    assert!(!was_called(&lab));
    // The server is killed while the second question is open.
    client.kill(&lab).await;
    operator.interrupt();
    assert_eq!(operator.end().await, Some(0));
    let client = Client::start(&lab).await;
    let mut operator = AtTerminal::attached(&lab).await;
    let asked = operator.asked().await;
    assert!(
        asked.contains("team.ask") && !asked.contains("say_hello"),
        "the first call is not made again: {asked}"
    );
    operator.types("y\n");
    operator.until("allowed: team.ask").await;
    until_called(&lab).await;
    client.end().await;
    assert_eq!(lab.read("home/called"), "ask\n");
}
