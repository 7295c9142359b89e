//! The tools of a server, which one of several processes loads for all.

use serde_json::json;
use tokio::time::timeout;

use super::Served;
use crate::support::{PATIENCE, TestDir, mcp_script, new_database};

const APP: &str = "
tools:
  registry: [{type: mcp, namespace: team, command: [sh, server.sh]}]
  capabilities: {default_policy: grant}
store: '${STORE_URL}'
";

/// Notes each start, and lists the tools of a file of all replicas.
fn server(tools: &std::path::Path) -> String {
    let functions = format!(
        r#"on_start() {{ echo x >> "$HOME/starts"; }}
list() {{ reply "$(cat '{}')"; }}"#,
        tools.display()
    );
    mcp_script(&functions)
}

fn list(names: &[&str]) -> String {
    let tool =
        |name: &&str| json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object"}});
    json!({"tools": names.iter().map(tool).collect::<Vec<_>>()}).to_string()
}

fn starts(dir: &TestDir) -> usize {
    std::fs::read_to_string(dir.path("home/starts")).map_or(0, |text| text.lines().count())
}

async fn names(served: &mut Served) -> Vec<String> {
    let listed = served.request("tools/list", &json!({})).await;
    let names = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    names.filter_map(|name| Some(name.strip_prefix("team__")?.to_owned())).collect()
}

#[tokio::test]
async fn a_new_replica_takes_the_tools_of_the_others_and_loads_them_when_it_is_left_alone() {
    let Some(url) = new_database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    std::fs::write(&tools, list(&["one"])).unwrap();
    let dirs = [(); 2].map(|()| {
        let dir = TestDir::with_app(APP).with_file("server.sh", server(&tools));
        dir.with_variable("STORE_URL", url.clone())
    });
    let mut first = Served::start(&dirs[0]).await;
    assert_eq!((names(&mut first).await, starts(&dirs[0])), (vec!["one".to_owned()], 1));
    std::fs::write(&tools, list(&["one", "two"])).unwrap();
    let mut second = Served::start(&dirs[1]).await;
    assert_eq!(names(&mut second).await, ["one"], "all replicas have the same tools");
    assert_eq!(starts(&dirs[1]), 0, "it is ready without the server");
    let called = second.call("team__one", json!({})).await;
    assert_eq!(called, "one was called");
    assert_eq!(names(&mut second).await, ["one"]);
    first.kill().await;
    let has_both = async { while names(&mut second).await != ["one", "two"] {} };
    timeout(PATIENCE, has_both).await.expect("the other replica loads the tools");
    second.end().await;
}
