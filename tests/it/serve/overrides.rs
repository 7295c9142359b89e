//! A running server follows the profile and the tools that its operator switches, without a restart.

use serde_json::json;
use tokio::time::timeout;

use super::client::{SOON, Served, app};
use super::console::{field, operator, send, start};
use crate::support::{Lab, PATIENCE, Ran, binary};

/// Runs the binary beside one that serves.
async fn run(lab: &Lab, arguments: &[&str]) -> Ran {
    let output = lab.command(binary(), &lab.path(".")).args(arguments).output();
    Ran::new(&timeout(PATIENCE, output).await.expect("it ends").unwrap())
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
    let lab = app("profiles: {greet: {namespaces: [hello]}}", "{default_policy: grant}");
    let (served, key) = start(&lab).await;
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

    let listed = run(&lab, &["profile", "list", "app.yaml", "--json"]).await.expect(0).json();
    assert_eq!(listed["profiles"][0]["is_selected"], true, "{listed}");
    run(&lab, &["profile", "use", "app.yaml", "--none"]).await.expect(0);
    until_listed(&served, true).await;
    run(&lab, &["disable", "app.yaml", "team"]).await.expect(0);
    until_listed(&served, false).await;
    let call = run(&lab, &["call", "app.yaml", "team.ask", "{}"]).await;
    assert!(call.report().contains("there is no tool `team.ask`"), "{}", call.report());
    run(&lab, &["enable", "app.yaml", "team.ask"]).await.expect(0);
    until_listed(&served, true).await;
    let refused = run(&lab, &["enable", "app.yaml", "hello.say_hello"]).await.expect(2);
    assert!(refused.report().contains("is not disabled"), "{}", refused.report());
}
