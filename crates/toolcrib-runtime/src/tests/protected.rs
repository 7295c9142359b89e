//! The files that an app is made of, and the tools that write in its folder.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_app::Blueprint;
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, ToolCall, ToolResult};
use toolcrib_port::CallContext;

use crate::Runtime;

const APP: &str = "
modules:
  filesystem: {}
  database: {config: {allow_writes: true}}
audit: {path: audit.jsonl}
store: tasks.db
tools:
  registry:
    - {type: file, path: tools.yaml}
    - {type: exec, path: ./programs, namespace: programs}
    - {type: rest, namespace: api, spec: api.json}
  engines:
    scripts: {type: command, argv: [sh, scripts/run.sh]}
  channels:
    log: {type: file, path: channel.log}
  capabilities: {default_policy: grant, grant: [{module: filesystem, actions: [delete]}]}
hooks:
  - {name: check, when: before, tools: [notes.*], run: [sh, hooks/check.sh]}
agents:
  - {id: one, brain: {provider: recorded, recording: turns.jsonl}}
";

fn folder(app: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("app.yaml", app),
        ("tools.yaml", "tools: []"),
        ("programs/toolcrib.yaml", "{name: programs, tools: []}"),
        ("programs/run.py", "print(1)"),
        ("scripts/run.sh", "true"),
        ("hooks/check.sh", "true"),
        ("api.json", r#"{"openapi": "3.0.0", "servers": [{"url": "https://api.example"}], "paths": {}}"#),
        ("skills/greet/SKILL.md", "---\nname: greet\ndescription: Greets.\n---\nSay hello."),
        ("turns.jsonl", ""),
        ("notes/a.txt", "a"),
        ("server.py", ""),
    ] {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

async fn start(dir: &Path) -> Runtime {
    Runtime::start(Blueprint::open(dir.join("app.yaml")).unwrap(), Arc::new(DenyAll)).await.unwrap()
}

async fn call(runtime: &Runtime, tool: &str, arguments: Value) -> ToolResult {
    let Value::Object(arguments) = arguments else { unreachable!() };
    runtime.executor().call(ToolCall::new(tool, arguments), &CallContext::new("one")).await
}

#[tokio::test]
async fn no_tool_changes_what_the_app_is_made_of() {
    let dir = folder(APP);
    let runtime = start(dir.path()).await;
    for path in [
        "app.yaml",
        "app.yaml.lock",
        "tools.yaml",
        "programs/toolcrib.yaml",
        "programs/run.py",
        "programs/new.py",
        "scripts/run.sh",
        "hooks/check.sh",
        "hooks/new.sh",
        "api.json",
        "skills/greet/SKILL.md",
        "skills/new/SKILL.md",
        "audit.jsonl",
        "audit.jsonl.1",
        "tasks.db",
        "tasks.db-wal",
        "channel.log",
        "turns.jsonl",
    ] {
        let before = fs::read(dir.path().join(path)).ok();
        for (tool, arguments) in [
            ("write", json!({"path": path, "content": "mine", "create_parents": true})),
            ("append", json!({"path": path, "content": "mine", "create_parents": true})),
            ("move", json!({"from": path, "to": "notes/gone"})),
            ("move", json!({"from": "notes/a.txt", "to": path, "overwrite": true})),
            ("copy", json!({"from": "notes/a.txt", "to": path, "overwrite": true})),
            ("delete", json!({"path": path, "recursive": true})),
        ] {
            if before.is_none() && tool == "delete" {
                continue;
            }
            let error = call(&runtime, &format!("filesystem.{tool}"), arguments.clone()).await.error;
            let error = error.unwrap_or_else(|| panic!("{tool} {arguments} did it"));
            assert_eq!(error.kind, ErrorKind::Denied, "{tool} {arguments}: {error}");
        }
        let connect = json!({"driver": "sqlite", "database": path, "create": true});
        let error = call(&runtime, "database.connect", connect).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Denied, "{path}: {error}");
        if path != "audit.jsonl" {
            assert_eq!(fs::read(dir.path().join(path)).ok(), before, "{path}");
        }
    }
    let edit = json!({"path": "app.yaml", "old_text": "default_policy: grant", "new_text": "deny"});
    let error = call(&runtime, "filesystem.edit", edit).await.error.unwrap();
    insta::assert_snapshot!(
        format!("{error}"),
        @"denied: may not write `app.yaml`: the running app depends on it, and only its operator may change it (use another path, or ask the user to change it)"
    );
    for folder in ["programs", "skills"] {
        let moved = call(&runtime, "filesystem.move", json!({"from": folder, "to": "old"})).await;
        assert_eq!(moved.error.unwrap().kind, ErrorKind::Denied, "{folder}");
    }
    assert_eq!(call(&runtime, "filesystem.read", json!({"path": "app.yaml"})).await.error, None);
    let written = json!({"path": "notes/b.txt", "content": "b"});
    assert_eq!(call(&runtime, "filesystem.write", written).await.error, None);
    runtime.close().await;
}

#[tokio::test]
async fn a_folder_of_programs_around_the_workspace_leaves_it_writable() {
    let dir = folder(
        "modules: {filesystem: {}}\ntools: {registry: [{type: exec, path: .}], capabilities: {default_policy: grant}}",
    );
    let manifest = "name: here\ntools: [{name: run, description: Runs., argv: [sh, notes/run.sh]}]";
    fs::write(dir.path().join("toolcrib.yaml"), manifest).unwrap();
    fs::write(dir.path().join("notes/run.sh"), "true").unwrap();
    let runtime = start(dir.path()).await;
    for path in ["toolcrib.yaml", "notes/run.sh", "app.yaml"] {
        let written = call(&runtime, "filesystem.write", json!({"path": path, "content": "mine"})).await;
        assert_eq!(written.error.unwrap().kind, ErrorKind::Denied, "{path}");
    }
    let beside = call(&runtime, "filesystem.write", json!({"path": "notes/b.txt", "content": "b"})).await;
    assert_eq!(beside.error.unwrap().kind, ErrorKind::Denied, "the script may load it");
    let written = call(&runtime, "filesystem.write", json!({"path": "b.txt", "content": "b"})).await;
    assert_eq!(written.error, None);
    runtime.close().await;
}

#[tokio::test]
async fn no_tool_changes_the_module_of_a_worker() {
    let dir = folder(
        "modules: {filesystem: {}}
tools:
  registry: [{type: exec, worker: [python3, -m, toolcrib.worker, modules/texts]}]
  capabilities: {default_policy: grant}",
    );
    fs::create_dir_all(dir.path().join("modules/texts/tools")).unwrap();
    fs::write(dir.path().join("modules/texts/tools/words.py"), "").unwrap();
    let runtime = start(dir.path()).await;
    for path in [
        "modules/texts/tools/words.py",
        "modules/texts/tools/new.py",
        "modules/texts/models.py",
        "modules/__init__.py",
    ] {
        let written = call(&runtime, "filesystem.write", json!({"path": path, "content": "mine"})).await;
        assert_eq!(written.error.map(|error| error.kind), Some(ErrorKind::Denied), "{path}");
    }
    let written = json!({"path": "notes/b.txt", "content": "b"});
    assert_eq!(call(&runtime, "filesystem.write", written).await.error, None);
    runtime.close().await;
}

#[tokio::test]
async fn no_tool_writes_beside_a_script_that_a_source_starts() {
    let dir = folder(
        "
modules: {filesystem: {config: {roots: {project: {path: project, mode: write}}}}}
tools:
  registry:
    - {type: mcp, name: one, command: [python3, srv/server.py]}
    - {type: mcp, name: two, command: [sqlite-server, --db, notes/data.db]}
    - {type: mcp, name: three, command: [python3, project/server.py]}
    - {type: mcp, name: four, command: [./bin/server]}
  engines:
    scripts: {type: command, tools: {run: [node, scripts/main.mjs]}}
  capabilities: {default_policy: grant}",
    );
    for path in ["srv/server.py", "notes/data.db", "project/server.py", "scripts/main.mjs", "bin/server"] {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let runtime = start(dir.path()).await;
    let write = async |path: &str| {
        let path = dir.path().join(path);
        let arguments = json!({"path": path, "content": "mine", "create_parents": true});
        call(&runtime, "filesystem.write", arguments).await.error.map(|error| error.kind)
    };
    for path in ["srv/json.py", "srv/json/__init__.py", "scripts/util.mjs", "bin/lib.so"] {
        assert_eq!(write(path).await, Some(ErrorKind::Denied), "{path}");
    }
    assert_eq!(write("project/server.py").await, Some(ErrorKind::Denied), "the script itself");
    // Neither a file beside data nor one in a folder that tools are to write in is taken away.
    assert_eq!(write("notes/b.txt").await, None);
    assert_eq!(write("project/b.txt").await, None);
    runtime.close().await;
}

#[tokio::test]
async fn an_app_protects_the_apps_that_it_calls_and_those_protect_it() {
    let outer = "
app: {workspace: work}
modules: {filesystem: {}}
tools: {apps: {helper: {path: work/helper.yaml}}, capabilities: {default_policy: grant}}
";
    let dir = folder(outer);
    fs::create_dir(dir.path().join("work")).unwrap();
    let helper = "app: {workspace: ..}\nmodules: {filesystem: {}}\ntools: {capabilities: {default_policy: grant}}\nagents: [{id: a, brain: {provider: recorded, recording: r.jsonl}}]";
    fs::write(dir.path().join("work/helper.yaml"), helper).unwrap();
    let mut app = Blueprint::open(dir.path().join("app.yaml")).unwrap();
    let helper = app.called.remove("helper").unwrap();
    for (app, path) in [(app, "helper.yaml"), (helper, "app.yaml")] {
        let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
        let written = call(&runtime, "filesystem.write", json!({"path": path, "content": "mine"})).await;
        assert_eq!(written.error.unwrap().kind, ErrorKind::Denied, "{path}");
        runtime.close().await;
    }
}

#[test]
fn a_workspace_that_holds_the_app_is_warned_of() {
    let told = |app: &str| Blueprint::open(folder(app).path().join("app.yaml")).unwrap().workspace_warning();
    insta::assert_snapshot!(
        told("modules: {filesystem: {}, shell: {}}\ntools: {registry: [{type: file, path: tools.yaml}]}").unwrap(),
        @"the workspace holds the app itself; its tools may read and not change `app.yaml`, `tools.yaml`, `skills`; programs of `shell` can change them all the same; set `app.workspace` to a separate folder"
    );
    insta::assert_snapshot!(
        told("modules: {filesystem: {}}").unwrap(),
        @"the workspace holds the app itself; its tools may read and not change `app.yaml`, `skills`; set `app.workspace` to a separate folder"
    );
    insta::assert_snapshot!(
        told("modules: {filesystem: {}}\ntools: {registry: [{type: exec, worker: [python3, -m, toolcrib.worker, notes]}, \
              {type: mcp, name: a, command: [python3, server.py]}]}").unwrap(),
        @"the workspace holds the app itself; its tools may read and not change `app.yaml`, `notes`, `server.py`, `skills`; programs of `exec` and `command` can change them all the same; what `server.py` and workers import from the workspace itself can be changed; set `app.workspace` to a separate folder"
    );
    assert_eq!(told("modules: {hello: {}}"), None);
    assert_eq!(told("app: {workspace: notes}\nmodules: {filesystem: {}, shell: {}}"), None);
}
