//! Scripts that wait for an operator.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};
use toolcrib_testkit::wait_until;

use super::ASKED;
use super::operator::{AtTerminal, Client};
use crate::scripts::{TEN_CALLS, assert_each_once_or_unknown, dir, effects};
use crate::serve::client::{app, until_called, was_called};
use crate::support::{PATIENCE, TestDir};

/// The number of times that the server is killed in the middle of a script.
const KILLS: usize = 50;

#[tokio::test]
async fn a_script_that_nobody_approves_goes_on_when_an_operator_comes_also_after_a_crash() {
    let dir = app("serve: {approve: true}\nstore: tasks.db", ASKED);
    let source = "const first = await tools.hello.say_hello({name: 'Ada'}); return [first, await tools.team.ask({what: 'x'})]";
    let script = json!({"source": source});
    let mut client = Client::start(&dir).await;
    // Nobody approves the first call, so the script waits, and its client is told so at once.
    let call = client.tool("run_script", &script).await;
    let paused = client.result(call).await;
    assert!(paused.contains("waiting_for") && paused.contains("hello.say_hello"), "{paused}");
    let mut operator = AtTerminal::attached(&dir).await;
    operator.asked().await;
    operator.types("y\n");
    operator.until("allowed: hello.say_hello").await;
    operator.asked().await;
    assert!(!was_called(&dir));
    // The server is killed while the second question is open.
    client.kill(&dir).await;
    operator.interrupt();
    assert_eq!(operator.end().await, Some(0));
    let client = Client::start(&dir).await;
    let mut operator = AtTerminal::attached(&dir).await;
    let asked = operator.asked().await;
    assert!(
        asked.contains("team.ask") && !asked.contains("say_hello"),
        "the first call is not made again: {asked}"
    );
    operator.types("y\n");
    operator.until("allowed: team.ask").await;
    until_called(&dir).await;
    client.end().await;
    assert_eq!(dir.read("home/called"), "ask\n");
}

/// Approves what is asked for, without end.
async fn approve_all(operator: &mut AtTerminal) {
    loop {
        operator.asked().await;
        operator.types("y\n");
    }
}

/// Waits until this number of calls has begun, and has done so for a moment that differs from case to case: before,
/// during and after a call, and while its result is stored.
async fn until_begun(dir: &TestDir, number: usize, after: usize) {
    let moment = Duration::from_millis(u64::try_from(number % 5).unwrap() * 9);
    let mut began = None;
    let look = || {
        if began.is_none() && effects(dir).values().sum::<usize>() >= after {
            began = Some(Instant::now());
        }
        Ok(began.filter(|began| began.elapsed() >= moment).map(drop))
    };
    wait_until("the calls before the kill", PATIENCE, look).await.unwrap();
}

/// Waits for the report of a script, which is its last call.
async fn report_of(dir: &TestDir) -> Value {
    let look = || Ok(std::fs::read_to_string(dir.path("report.json")).ok());
    serde_json::from_str(&wait_until("the end of the script", PATIENCE, look).await.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_side_effect_of_a_script_happens_twice_when_the_server_is_killed() {
    let end = "await tools.shop.report({ text: JSON.stringify(unknown) });";
    let source = TEN_CALLS.replace("return { unknown };", end);
    let mut unknown = 0;
    for number in 0..KILLS {
        let dir = dir();
        let mut client = Client::start(&dir).await;
        let call = client.tool("run_script", &json!({"source": source})).await;
        let paused = client.result(call).await;
        assert!(paused.contains("waiting_for"), "{paused}");
        let mut operator = AtTerminal::attached(&dir).await;
        tokio::select! {
            () = approve_all(&mut operator) => unreachable!(),
            () = until_begun(&dir, number, number / 5 + 1) => {}
        }
        client.kill(&dir).await;
        operator.interrupt();
        operator.end().await;
        let client = Client::start(&dir).await;
        let mut operator = AtTerminal::attached(&dir).await;
        let report = tokio::select! {
            () = approve_all(&mut operator) => unreachable!(),
            report = report_of(&dir) => report,
        };
        unknown += assert_each_once_or_unknown(&dir, number, &report);
        client.end().await;
    }
    eprintln!("{KILLS} kills: no side effect twice; {unknown} reported as unknown");
}
