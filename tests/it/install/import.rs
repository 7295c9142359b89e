//! What clients have becomes an app, without their keys.

use serde_json::{Value, json};

use super::fixtures::{CONFIGURATIONS, SESAME};
use super::{backups, install, user_file};
use crate::support::{TestDir, error_texts};

/// The variables that the app of all fixtures wants.
const VARIABLES: [&str; 4] = ["CRM_TOKEN", "GITHUB_TOKEN", "FIGMA_TOKEN", "WEB_KEY"];

fn dir() -> TestDir {
    CONFIGURATIONS
        .into_iter()
        .fold(TestDir::new(), |dir, (client, text)| dir.with_file(user_file(client), text))
}

/// The dir with all variables set that an import has named.
fn with_variables(dir: TestDir, imported: &Value) -> TestDir {
    let variables = imported["variables"].as_array().unwrap();
    variables
        .iter()
        .fold(dir, |dir, variable| dir.with_variable(variable["name"].as_str().unwrap(), "set-for-the-test"))
}

#[tokio::test]
async fn the_servers_of_all_clients_become_one_app_that_is_valid_and_holds_no_key() {
    let dir = dir();
    let told = dir.run(["import"]).await.expect(0);
    let app = dir.read("app.yaml");
    assert!(!app.contains(SESAME), "{app}");
    assert!(!told.report().contains(SESAME), "{told:?}");
    snapshot!(dir, format!("{}\n--- app.yaml\n{app}", told.report()));

    let imported = dir.run(["import", "--output", "again.yaml", "--json"]).await.expect(0).json();
    assert!(!imported.to_string().contains(SESAME), "{imported}");
    let names: Vec<&str> = imported["variables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    for name in VARIABLES {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(dir.read("again.yaml"), app, "it does not depend on how it is told");
    let dir = with_variables(dir, &imported);
    let valid = dir.run(["validate", "app.yaml", "--json"]).await.expect(0).json();
    assert_eq!(valid["ok"], true, "{valid}");
}

#[tokio::test]
async fn an_app_that_was_imported_can_be_installed_and_is_not_imported_again() {
    let dir = TestDir::new().with_file(user_file("codex"), CONFIGURATIONS[4].1);
    let imported = dir.run(["import", "--json"]).await.expect(0).json();
    let dir = with_variables(dir, &imported);
    let done = install(&dir, "codex", &[]).await.expect(0).json();
    let named: Vec<&str> =
        done["entry"]["env_vars"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(named.contains(&"GITHUB_TOKEN"), "Codex gives no variable that is not named: {named:?}");
    let again = dir.run(["import", "--output", "again.yaml", "--json"]).await.expect(0).json();
    let of = |imported: &Value| {
        imported["servers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|server| server["namespace"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&again), of(&imported));
}

#[tokio::test]
async fn a_file_that_is_there_is_written_over_only_on_a_yes_and_kept() {
    let dir = dir().with_file("app.yaml", "mine: 1\n");
    let refused = error_texts(&dir, ["import", "--from", "codex"], 2).await;
    assert_eq!(dir.read("app.yaml"), "mine: 1\n");
    snapshot!(dir, refused);
    dir.run(["import", "--from", "codex", "--yes"]).await.expect(0);
    assert!(dir.read("app.yaml").contains("figma") && !dir.read("app.yaml").contains("crm"));
    let kept = backups(&dir, "app.yaml");
    assert_eq!(std::fs::read_to_string(&kept[0]).unwrap(), "mine: 1\n");
}

#[tokio::test]
async fn hostile_entries_are_taken_as_texts_or_left_out_with_the_reason() {
    let servers = json!({
        "": {"command": "empty name"},
        "a\n- {type: mcp, namespace: evil, command: [evil]}": {"command": "x", "args": ["\"]\n    - evil", "${", "\u{85}\u{2028}\u{feff}", "# no comment"]},
        "dollar": {"command": "x", "args": ["$${A}"]},
        "both": {"command": "x", "url": "https://x.example"},
        "neither": {"env": {}},
        "number": 7,
        "list": {"command": ["x"]},
        "nul": {"command": "x\u{0}y"},
        "socket": {"type": "ws", "url": "wss://x.example"},
        "file": {"url": "file:///etc/passwd"},
        "env": {"command": "x", "env": {"A=B": "x"}},
        "folder": {"command": "x", "cwd": "/a$b"},
        "huge": {"command": "x", "args": ["y".repeat(100_000)]},
        "numbers": {"command": "x", "args": [1, true], "env": {"PORT": 80, "ON": true, "NOT": null}},
        "\u{202e}gnp.exe": {"command": "x", "surprise": {"a": 1}},
    });
    let dir = TestDir::new().with_file("servers.json", json!({"mcpServers": servers}).to_string());
    let run_output = dir.run(["import", "servers.json"]).await.expect(0);
    let app = dir.read("app.yaml");
    snapshot!(dir, format!("{}\n--- app.yaml\n{app}", run_output.report()));
    let imported =
        dir.run(["import", "servers.json", "--output", "again.yaml", "--json"]).await.expect(0).json();
    let dir = with_variables(dir, &imported);
    let valid = dir.run(["validate", "app.yaml", "--json"]).await.expect(0).json();
    assert_eq!(valid["ok"], true, "{valid}");
}

#[tokio::test]
async fn very_many_servers_are_taken_up_to_a_bound_and_the_app_still_opens() {
    let entry = |number: usize| (format!("s{number}"), json!({"command": "x", "args": ["y".repeat(8000)]}));
    let servers: serde_json::Map<String, Value> = (0..300).map(entry).collect();
    let dir = TestDir::new().with_file("servers.json", json!({"mcpServers": servers}).to_string());
    let imported = dir.run(["import", "servers.json", "--json"]).await.expect(0).json();
    let (taken, left) =
        (imported["servers"].as_array().unwrap().len(), imported["left_out"].as_array().unwrap().len());
    assert!(taken > 50 && taken < 200 && left >= 100, "{taken} {left}");
    dir.run(["validate", "app.yaml"]).await.expect(0);
}

#[tokio::test]
async fn a_project_is_where_its_servers_run_and_the_same_server_twice_is_one() {
    let entry = json!({"mcpServers": {"a": {"command": "./a.sh", "cwd": "tools"}, "b": {"command": "b", "args": ["${workspaceFolder}/x"]}}});
    let dir = TestDir::new()
        .with_file("project/.mcp.json", entry.to_string())
        .with_file("project/.cursor/mcp.json", entry.to_string());
    dir.run(["import", "project/.mcp.json", "project/.cursor/mcp.json"]).await.expect(0);
    snapshot!(dir, dir.read("app.yaml"));
    dir.run(["validate", "app.yaml"]).await.expect(0);
}

#[tokio::test]
async fn where_there_is_nothing_to_import_it_says_where_it_looked() {
    let dir = TestDir::new();
    let mut shown = error_texts(&dir, ["import"], 2).await;
    let dir =
        dir.with_file("home/.claude.json", "{}").with_file("x.json", "{\"a\": 1}").with_file("y.toml", "= 1");
    for words in [["import", "--yes"], ["import", "x.json"], ["import", "y.toml"], ["import", "z.json"]] {
        shown += &error_texts(&dir, words, 2).await;
    }
    assert!(!dir.path("app.yaml").exists());
    snapshot!(dir, shown);
}
