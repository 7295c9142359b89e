//! Containers: programs that try to leave them, servers that are downloaded into them, and their end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use toolcrib_testkit::wait_until;

use super::{NAMESPACE, Outside, call, sandbox};
use crate::support::{PATIENCE, TestDir};

/// The variable with a container engine and an image that has `sh`, `python3`, `npx`, `uvx` and `git`, as
/// `podman localhost/servers`. The guide `docs/how-to/sandbox-a-server.md` builds one. Without it, these tests are skipped.
const CONTAINER: &str = "TOOLCRIB_TEST_CONTAINER";

/// Variables of the engine, which has its images elsewhere without them.
const ENGINE_VARIABLES: [&str; 5] =
    ["CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "DOCKER_HOST", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"];

/// Variables with the registries of packages.
const REGISTRIES: [&str; 3] = ["NPM_CONFIG_REGISTRY", "UV_DEFAULT_INDEX", "UV_INDEX_URL"];

/// Variables with a file of certificates, by which registries are trusted.
const CERTIFICATES: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];

/// Ways that end in the network and in the image of a container.
const OWN_NETWORK: &[&str] = &["leave_group", "listen_by_tcp", "read_shadow", "send_by_udp", "send_by_udp_6"];

/// The rounds of a race between the start of a container and the end of Toolcrib.
const ROUNDS: usize = 8;

/// A container engine with an image.
struct Engine {
    program: String,
    image: String,
    variables: Vec<(&'static str, String)>,
}

impl Engine {
    /// The engine of the variable, or nothing without it.
    fn new() -> Option<Self> {
        let Ok(container) = std::env::var(CONTAINER) else {
            eprintln!("skipped: {CONTAINER} is not set");
            return None;
        };
        let (program, image) = container.split_once(' ').expect("an engine and an image");
        Some(Self { program: program.to_owned(), image: image.to_owned(), variables: set(&ENGINE_VARIABLES) })
    }

    /// The settings of a backend.
    fn backend(&self) -> String {
        format!("backend: {}, image: '{}'", self.program, self.image)
    }

    fn dir(&self, app: &str) -> TestDir {
        let mut dir = TestDir::with_app(app).with_file("work/notes.txt", "a note");
        for (name, value) in &self.variables {
            dir = dir.with_variable(name, value.as_str());
        }
        dir.with_file("outside/secret.txt", "secret")
    }

    /// The names of the containers of a process of Toolcrib.
    async fn containers(&self, dir: &TestDir, process: u32) -> String {
        let name = format!("name=toolcrib-{process}-");
        let listed = dir
            .command(&self.program, &dir.path("."))
            .args(["ps", "--all", "--format", "{{.Names}}", "--filter", &name])
            .output()
            .await
            .unwrap();
        assert!(listed.status.success(), "{listed:?}");
        String::from_utf8(listed.stdout).unwrap()
    }

    /// Waits until a process of Toolcrib has no container, and no process names one.
    async fn assert_none_is_left(&self, dir: &TestDir, process: u32) {
        let left = || Ok(processes_that_name(process).is_empty().then_some(()));
        let waited = wait_until("the end of the processes", PATIENCE, left).await;
        assert!(waited.is_ok(), "{:#?}", processes_that_name(process));
        assert_eq!(self.containers(dir, process).await, "");
    }
}

/// The variables of these that are set.
fn set(names: &[&'static str]) -> Vec<(&'static str, String)> {
    names.iter().filter_map(|name| Some((*name, std::env::var(name).ok()?))).collect()
}

/// The command lines that name a container of a process of Toolcrib.
fn processes_that_name(process: u32) -> Vec<String> {
    let name = format!("toolcrib-{process}-");
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(&name)).map(|line| line.replace('\0', " ")).collect()
}

/// An app with a tool that waits in a container.
fn waiting(engine: &Engine) -> TestDir {
    engine.dir(&format!(
        "
app: {{workspace: work}}
tools:
  registry: [{{type: inline, namespace: a, engine: sh, tools: [{{name: wait, description: Waits., timeout_seconds: 100}}]}}]
  engines: {{sh: {{type: command, argv: [sh, -c, 'echo x > started; exec sleep 3600'], {}}}}}
  capabilities: {{default_policy: grant}}
",
        sandbox("offline", &engine.backend())
    ))
}

#[tokio::test]
async fn no_way_leads_out_of_a_container_and_none_is_left() {
    let Some(engine) = Engine::new() else { return };
    for profile in ["read-only", "offline", "workspace"] {
        let outside = Outside::with_variables(&sandbox(profile, &engine.backend()), &engine.variables).await;
        let id = outside.assert_holds(&[NAMESPACE, OWN_NETWORK]).await;
        assert_eq!(engine.containers(&engine.dir(""), id).await, "");
    }
}

#[tokio::test]
async fn a_container_ends_with_toolcrib_even_if_that_is_killed() {
    let Some(engine) = Engine::new() else { return };
    let dir = waiting(&engine);
    assert_ends_while_it_runs(&engine, &dir).await;
}

/// Kills Toolcrib while its program runs.
async fn assert_ends_while_it_runs(engine: &Engine, dir: &TestDir) {
    let mut child = dir.start(&["call", "app.yaml", "a.wait", "{}"]);
    let id = child.id().unwrap();
    wait_until("the program", PATIENCE, || Ok(dir.path("work/started").exists().then_some(())))
        .await
        .unwrap();
    assert!(engine.containers(dir, id).await.contains("toolcrib-"));
    child.kill().await.unwrap();
    engine.assert_none_is_left(dir, id).await;
}

#[tokio::test]
async fn nothing_is_left_if_toolcrib_is_killed_while_the_container_is_created() {
    let Some(engine) = Engine::new() else { return };
    let dir = waiting(&engine);
    for _ in 0..ROUNDS {
        let mut child = dir.start(&["call", "app.yaml", "a.wait", "{}"]);
        let id = child.id().unwrap();
        // The client, the process that removes the container, and the monitor of Podman, which creates it.
        let created = if engine.program == "podman" { 3 } else { 2 };
        let is_created = || Ok((processes_that_name(id).len() >= created).then_some(()));
        wait_until("the container", PATIENCE, is_created).await.unwrap();
        child.kill().await.unwrap();
        engine.assert_none_is_left(&dir, id).await;
    }
    // The containers were not refused.
    let _ = fs::remove_file(dir.path("work/started"));
    assert_ends_while_it_runs(&engine, &dir).await;
}

/// An engine that creates a container only while it is asked to remove it.
const SLOW_ENGINE: &str = r#"#!/bin/sh
cd "$HOME" || exit
await() { while [ ! -e "$1" ]; do sleep 0.01; done; }
case $1 in
  info) echo '[memory pids]' ;;
  image) echo 1 ;;
  run) : > creating; await removing; : > created; await removed ;;
  rm) : > removing; [ ! -e created ] || : > removed ;;
esac
"#;

#[tokio::test]
async fn the_client_of_an_engine_creates_a_container_to_its_end_before_that_is_removed() {
    let engine = Engine { program: "podman".to_owned(), image: "any".to_owned(), variables: Vec::new() };
    let dir = waiting(&engine).with_file("bin/podman", SLOW_ENGINE);
    let program = dir.path("bin/podman");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", dir.path("bin").display(), std::env::var("PATH").unwrap());
    let dir = dir.with_variable("PATH", path);
    let mut child = dir.start(&["call", "app.yaml", "a.wait", "{}"]);
    let exists = |name: &str| dir.path("home").join(name).exists();
    wait_until("the client", PATIENCE, || Ok(exists("creating").then_some(()))).await.unwrap();
    child.kill().await.unwrap();
    wait_until("the removal", PATIENCE, || Ok(exists("removed").then_some(()))).await.unwrap();
    assert!(exists("created"));
    dir.assert_nothing_is_left(&[]).await;
}

/// An app with a server that is downloaded, in a container.
fn server(engine: &Engine, profile: &str, command: &[&str]) -> String {
    let mut variables = set(&REGISTRIES);
    let certificates = set(&CERTIFICATES);
    let files: Vec<_> = certificates.iter().map(|(_, file)| file.clone()).collect();
    variables.extend(certificates);
    let variables: serde_json::Map<String, Value> =
        variables.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    format!(
        "
app: {{workspace: work}}
tools:
  registry:
    - type: mcp
      namespace: peer
      startup_timeout_seconds: 60
      command: {}
      env: {}
      sandbox: {{profile: {profile}, {}, read: {}}}
  capabilities: {{default_policy: grant, grant: [{{module: peer}}]}}
",
        json!(command),
        Value::Object(variables),
        engine.backend(),
        json!(files)
    )
}

/// Replaces the app by one with another profile and command, and approves the command as the guide says.
async fn approve(dir: TestDir, app: String) -> TestDir {
    let dir = dir.with_file("app.yaml", app);
    let changed = dir.run(["tools", "app.yaml", "--changed"]).await;
    let seen = changed.stderr.split("--seen ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let seen = seen.unwrap_or_else(|| panic!("{}{}", changed.stdout, changed.stderr));
    dir.run(["trust", "app.yaml", "--all", "--seen", seen]).await.expect(0);
    dir
}

#[tokio::test]
async fn the_filesystem_server_of_npx_works_in_a_container() {
    let Some(engine) = Engine::new() else { return };
    let package = "@modelcontextprotocol/server-filesystem";
    // The server itself would serve both folders.
    let mut dir = engine.dir(&server(&engine, "workspace", &["npx", "-y", package, ".", "../outside"]));
    for profile in ["workspace", "offline", "read-only"] {
        if profile == "offline" {
            let command = ["npx", "--offline", "-y", package, ".", "../outside"];
            dir = approve(dir, server(&engine, profile, &command)).await;
        } else if profile == "read-only" {
            let app = dir.read("app.yaml").replace("profile: offline", "profile: read-only");
            dir = dir.with_file("app.yaml", app);
        }
        let read = |file: &str| json!({"path": dir.path(file)});
        let write = |file: &str| json!({"path": dir.path(file), "content": profile});
        assert!(call(&dir, "peer.read_text_file", read("work/notes.txt"), 0).await.contains("a note"));
        call(&dir, "peer.read_text_file", read("outside/secret.txt"), 1).await;
        let code = i32::from(profile == "read-only");
        call(&dir, "peer.write_file", write("work/new.txt"), code).await;
        assert_eq!(dir.read("work/new.txt"), if profile == "read-only" { "offline" } else { profile });
    }
}

#[tokio::test]
async fn the_server_everything_of_npx_works_in_a_container() {
    let Some(engine) = Engine::new() else { return };
    let package = "@modelcontextprotocol/server-everything";
    let dir = engine.dir(&server(&engine, "workspace", &["npx", "-y", package]));
    let echo = json!({"message": "hello"});
    assert!(call(&dir, "peer.echo", echo.clone(), 0).await.contains("Echo: hello"));
    let dir = approve(dir, server(&engine, "read-only", &["npx", "--offline", "-y", package])).await;
    assert!(call(&dir, "peer.echo", echo, 0).await.contains("Echo: hello"));
}

#[tokio::test]
async fn the_git_server_of_uvx_works_in_a_container() {
    let Some(engine) = Engine::new() else { return };
    let dir = engine.dir(&server(&engine, "workspace", &["uvx", "mcp-server-git"]));
    let folder = dir.path("work");
    let made = dir.command("git", &folder).args(["init", "--quiet"]).output().await.unwrap();
    assert!(made.status.success(), "{made:?}");
    let repository = json!({"repo_path": folder});
    let add = json!({"repo_path": folder, "files": ["notes.txt"]});
    let status = call(&dir, "peer.git_status", repository.clone(), 0).await;
    assert!(status.contains("Untracked files") && status.contains("notes.txt"), "{status}");
    let dir = approve(dir, server(&engine, "read-only", &["uvx", "--offline", "mcp-server-git"])).await;
    call(&dir, "peer.git_add", add.clone(), 1).await;
    let app = dir.read("app.yaml").replace("profile: read-only", "profile: offline");
    let dir = dir.with_file("app.yaml", app);
    call(&dir, "peer.git_add", add, 0).await;
    let status = call(&dir, "peer.git_status", repository, 0).await;
    assert!(status.contains("new file") && status.contains("notes.txt"), "{status}");
}
