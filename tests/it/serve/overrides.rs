//! A running server follows the profile and the tools that its operator switches, without a restart.

use serde_json::json;
use tokio::time::timeout;
use toolcrib_testkit::{processes_of, wait_until};

use super::client::{SOON, Served, app, call_ask};
use super::console::{field, operator, send, start};
use crate::support::{PATIENCE, RunOutput, TestDir, binary, mcp_script};

/// Runs the binary beside one that serves.
async fn run(dir: &TestDir, arguments: &[&str]) -> RunOutput {
    let output = dir.command(binary(), &dir.path(".")).args(arguments).output();
    RunOutput::new(&timeout(PATIENCE, output).await.expect("it ends").unwrap())
}

/// Waits until a client is listed the tool of the server behind the app, or is not.
async fn until_listed(served: &Served, expected: bool) {
    let begun = tokio::time::Instant::now();
    loop {
        let listed = served.modern(&[], "tools/list", json!({})).await.to_string();
        assert!(listed.contains("hello__say_hello"), "{listed}");
        if listed.contains("team__ask") == expected {
            return;
        }
        assert!(begun.elapsed() < SOON, "{expected}: {listed}");
    }
}

#[tokio::test]
async fn a_running_server_follows_the_profile_and_the_tools_that_its_operator_switches() {
    let dir = app("profiles: {greet: {namespaces: [hello]}}", "{default_policy: grant}");
    let (served, key) = start(&dir).await;
    until_listed(&served, true).await;

    let cookie = operator(&served, &key).await;
    let named = [("cookie", cookie.as_str())];
    let page = served.get("/", &named).await.body;
    let form = format!("profile=greet&seal={}", field(&page, "seal"));
    for (headers, form, status) in [
        (&[][..], form.as_str(), 403),
        (&named, "profile=greet&seal=00", 403),
        (&named, "profile=greet", 403),
        (&named, &form.replace("greet", "gone"), 400),
    ] {
        assert_eq!(send(&served, "/profile", headers, form).await.status, status, "{form}");
    }
    until_listed(&served, true).await;
    let selected = send(&served, "/profile", &named, &form).await;
    assert_eq!((selected.status, selected.header("location")), (303, Some("/?told=profile")));
    until_listed(&served, false).await;

    let listed = run(&dir, &["profile", "list", "app.yaml", "--json"]).await.expect(0).json();
    assert_eq!(listed["profiles"][0]["is_selected"], true, "{listed}");
    run(&dir, &["profile", "use", "app.yaml", "--none"]).await.expect(0);
    until_listed(&served, true).await;
    run(&dir, &["disable", "app.yaml", "team"]).await.expect(0);
    until_listed(&served, false).await;
    let call = run(&dir, &["call", "app.yaml", "team.ask", "{}"]).await;
    assert!(call.report().contains("there is no tool `team.ask`"), "{}", call.report());
    let hint =
        "hint: namespace `team` is disabled; `toolcrib enable app.yaml team.ask` enables the tool again";
    assert!(call.report().contains(hint), "{}", call.report());
    run(&dir, &["enable", "app.yaml", "team.ask"]).await.expect(0);
    until_listed(&served, true).await;
    let refused = run(&dir, &["enable", "app.yaml", "hello.say_hello"]).await.expect(2);
    assert!(refused.report().contains("is not disabled"), "{}", refused.report());
}

#[tokio::test]
async fn the_operator_disables_and_enables_tools_and_sources_at_the_page_and_nobody_else_does() {
    let dir = app("profiles: {greet: {namespaces: [hello]}}", "{default_policy: grant}");
    let (served, key) = start(&dir).await;
    until_listed(&served, true).await;
    assert!(!served.get("/", &[]).await.body.contains("action=\"/override\""));
    let cookie = operator(&served, &key).await;
    let named = [("cookie", cookie.as_str())];
    let page = served.get("/", &named).await.body;
    let (_, forms) = page.split_once("action=\"/override\"").unwrap();
    let sealed = format!("seal={}", field(forms, "seal"));
    let of_profile = page.split_once("action=\"/profile\"").unwrap().1;
    let of_profile = format!("seal={}", field(of_profile, "seal"));
    let change = "target=team.ask&say=disable";
    let foreign = [named[0], ("origin", "https://evil.example")];
    for (headers, form, status) in [
        (&[][..], format!("{sealed}&{change}"), 403),
        (&foreign, format!("{sealed}&{change}"), 403),
        (&named, format!("{of_profile}&{change}"), 403),
        (&named, change.to_owned(), 403),
        (&named, format!("{sealed}&target=team.ask&say=perhaps"), 400),
        (&named, format!("{sealed}&target=team.none&say=disable"), 400),
        (&named, format!("{sealed}&target=context_builder&say=disable"), 400),
        (&named, format!("{sealed}&target=team.ask&say=enable"), 400),
        (&named, format!("{sealed}&target=tool:team.ask&say=remove"), 400),
        (&named, format!("{sealed}&say=disable"), 400),
    ] {
        assert_eq!(send(&served, "/override", headers, &form).await.status, status, "{form}");
    }
    until_listed(&served, true).await;
    for (change, is_listed, overrides) in [
        ("target=team__ask&say=disable", false, "tool `team.ask`</td><td data-label=\"State\">disabled"),
        ("target=tool:team.ask&say=enable", true, "Overrides <span class=\"count\">0<"),
        (
            "target=source:mcp team&say=disable",
            false,
            "source `mcp team`</td><td data-label=\"State\">disabled",
        ),
        ("target=team.ask&say=enable", true, "tool `team.ask`</td><td data-label=\"State\">enabled"),
        ("target=tool:team.ask&say=remove", false, "source `mcp team`</td><td data-label=\"State\">disabled"),
        ("target=source:mcp team&say=remove", true, "Overrides <span class=\"count\">0<"),
    ] {
        let changed = send(&served, "/override", &named, &format!("{sealed}&{change}")).await;
        assert_eq!((changed.status, changed.header("location")), (303, Some("/?told=override")), "{change}");
        until_listed(&served, is_listed).await;
        let page = served.get("/", &named).await.body;
        assert!(page.contains(overrides), "{change}: {page}");
        // Other processes follow.
        let call = run(&dir, &["call", "app.yaml", "team.ask", "{}"]).await;
        assert_eq!(call.report().contains("there is no tool `team.ask`"), !is_listed, "{change}: {call:?}");
    }
}

/// A server that leaves the id of its process.
const LEAVES_ITS_ID: &str = r#"echo $$ >> "$HOME/started"
on_call() { text "done"; }"#;

/// Returns the processes of the server that run.
fn servers(dir: &TestDir) -> Vec<u32> {
    let started = std::fs::read_to_string(dir.path("home/started")).unwrap_or_default();
    let alive = processes_of(&dir.path(".")).unwrap();
    let is_alive = |id: &u32| alive.iter().any(|process| process.id == *id);
    started.lines().map(|id| id.parse().unwrap()).filter(is_alive).collect()
}

async fn until_servers_run(dir: &TestDir, count: usize) -> Vec<u32> {
    let look = || Ok(Some(servers(dir)).filter(|servers| servers.len() == count));
    wait_until("the processes of the server", SOON, look).await.unwrap()
}

#[tokio::test]
async fn the_process_of_a_disabled_source_ends_and_starts_again_when_it_is_enabled() {
    let dir = app("", "{default_policy: grant}").with_file("server.sh", mcp_script(LEAVES_ITS_ID));
    let (served, _) = start(&dir).await;
    until_listed(&served, true).await;
    let called = served.modern(&[], "tools/call", call_ask()).await.to_string();
    assert!(called.contains("done"), "{called}");
    let first = until_servers_run(&dir, 1).await;

    run(&dir, &["disable", "app.yaml", "mcp team"]).await.expect(0);
    until_servers_run(&dir, 0).await;
    until_listed(&served, false).await;
    let before = dir.read("home/started");
    let refused = served.modern(&[], "tools/call", call_ask()).await.to_string();
    assert!(!refused.contains("done"), "{refused}");
    // Neither a command of the operator nor a new process starts it.
    run(&dir, &["tools", "app.yaml"]).await.expect(0);
    let (other, _) = start(&dir).await;
    until_listed(&other, false).await;
    drop(other);
    assert_eq!(dir.read("home/started"), before);

    run(&dir, &["enable", "app.yaml", "mcp team"]).await.expect(0);
    until_listed(&served, true).await;
    let called = served.modern(&[], "tools/call", call_ask()).await.to_string();
    assert!(called.contains("done"), "{called}");
    let second = until_servers_run(&dir, 1).await;
    assert_ne!(first, second);

    // An exception of a disabled source keeps its server.
    run(&dir, &["enable", "app.yaml", "team.ask"]).await.expect(2);
    run(&dir, &["disable", "app.yaml", "team"]).await.expect(0);
    until_servers_run(&dir, 0).await;
    run(&dir, &["enable", "app.yaml", "team.ask"]).await.expect(0);
    until_listed(&served, true).await;
    let called = served.modern(&[], "tools/call", call_ask()).await.to_string();
    assert!(called.contains("done"), "{called}");
}
