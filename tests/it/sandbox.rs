//! Sandboxes: real programs that try to leave them, and real servers that work in them.

mod containers;

use std::collections::BTreeSet;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use serde_json::{Value, json};
use tokio::process::Child;
use toolcrib_testkit::wait_until;

use crate::support::{PATIENCE, TestDir, binary, peer};

const ESCAPES: &str = include_str!("sandbox/escapes.py");

/// The processes that the program can have in these tests.
const MAX_PROCESSES: u64 = 40;

/// The processes that a bomb tries to start.
const BOMB: u64 = 200;

/// Ways that lead to the network, which the profile `workspace` has.
const NETWORK: &[&str] = &[
    "connect_by_tcp",
    "connect_by_fast_open",
    "connect_by_multipath_tcp",
    "send_by_udp",
    "send_by_udp_6",
    "listen_by_tcp",
];

/// The change of modes and times, which the backend `kernel` cannot confine where the program is to write.
const MODES: &[&str] = &["change_mode_outside", "change_times_outside"];

/// Ways that end inside of a namespace: the parent is `bwrap`, and files that are not shared are in memory.
const NAMESPACE: &[&str] =
    &["read_environment_of_toolcrib", "signal_toolcrib", "write_app_file", "write_shared_memory"];

/// What is outside of a sandbox: files, sockets, and a process.
struct Outside {
    dir: TestDir,
    targets: Value,
    victim: Child,
    leftover: String,
    _sockets: (TcpListener, UdpSocket, UnixListener, UnixListener, UnixDatagram),
}

impl Outside {
    async fn new(sandbox: &str) -> Self {
        Self::with_variables(sandbox, &[]).await
    }

    /// The same for a program that has these variables.
    async fn with_variables(sandbox: &str, variables: &[(&str, String)]) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let app = format!(
            r#"
app: {{workspace: work}}
tools:
  registry:
    - type: inline
      namespace: probe
      engine: probe
      tools:
        - name: escape
          description: Tries to leave.
          timeout_seconds: 100
          parameters: {{type: object, properties: {{targets: {{type: string}}}}, required: [targets]}}
  engines:
    probe:
      type: command
      cwd: work
      argv: [python3, escapes.py, "{{targets}}"]
      output: json
      {}
  capabilities: {{default_policy: grant}}
"#,
            sandbox.replace("PORT", &port.to_string())
        );
        let mut dir = TestDir::with_app(&app)
            .with_file("work/escapes.py", ESCAPES)
            .with_file("home/.ssh/id_ed25519", "secret")
            .with_file("shared/README", "");
        for (name, value) in variables {
            dir = dir.with_variable(name, value.as_str());
        }
        for name in ["secret", "moved", "swap", "append", "truncate", "remove", "rename"] {
            dir = dir.with_file(&format!("outside/{name}.txt"), "secret");
        }
        let outside = dir.path("outside");
        fs::create_dir(outside.join("empty")).unwrap();
        std::os::unix::fs::symlink(outside.join("secret.txt"), dir.path("work/planted")).unwrap();
        let udp = UdpSocket::bind("[::]:0").unwrap();
        let leftover = format!("9{:08}", u64::from(port) * 1000 + u64::from(std::process::id() % 1000));
        let name = format!("toolcrib-test-{leftover}");
        let abstract_socket = SocketAddr::from_abstract_name(&name).unwrap();
        let victim = dir
            .command("sh", &outside)
            .args(["-c", "trap '' USR1; exec sleep 3600"])
            .env("VICTIM_KEY", "x")
            .spawn()
            .unwrap();
        let id = victim.id().unwrap();
        let is_asleep = || {
            let name = fs::read_to_string(format!("/proc/{id}/comm"))?;
            Ok((name.trim() == "sleep").then_some(()))
        };
        wait_until("the victim", PATIENCE, is_asleep).await.unwrap();
        let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
        let address = u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap();
        let targets = json!({
            "outside": outside, "work": dir.path("work"), "home": dir.path("home"), "app": dir.path("app.yaml"),
            "shared": dir.path("shared"), "tcp": port, "udp": udp.local_addr().unwrap().port(), "abstract": name,
            "victim": id, "address": address, "bomb": BOMB, "leftover": leftover,
        });
        let sockets = (
            tcp,
            udp,
            UnixListener::bind(outside.join("stream")).unwrap(),
            UnixListener::bind_addr(&abstract_socket).unwrap(),
            UnixDatagram::bind(outside.join("datagram")).unwrap(),
        );
        Self { dir, targets, victim, leftover, _sockets: sockets }
    }

    /// The ways that led out.
    async fn escapes(&self) -> BTreeSet<String> {
        self.escapes_of_process().await.1
    }

    /// The process id of Toolcrib, and the ways that led out.
    async fn escapes_of_process(&self) -> (u32, BTreeSet<String>) {
        let arguments = json!({"targets": self.targets.to_string()}).to_string();
        // Descriptor 9 is one that Toolcrib has inherited, and its program should not.
        let child = self
            .dir
            .command("sh", &self.dir.path("."))
            .args(["-c", "exec 9<outside/secret.txt; exec \"$0\" \"$@\""])
            .arg(binary())
            .args(["call", "app.yaml", "probe.escape", &arguments, "--json"])
            .spawn()
            .unwrap();
        let id = child.id().unwrap();
        let output = child.wait_with_output().await.unwrap();
        let shown = String::from_utf8_lossy(&output.stderr);
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{shown}", String::from_utf8_lossy(&output.stdout)));
        let Value::Object(ways) = &report["result"] else { panic!("{report:#}{shown}") };
        assert!(ways.len() >= 85, "{report:#}");
        (id, ways.iter().filter(|(_, led_out)| **led_out == true).map(|(way, _)| way.clone()).collect())
    }

    /// The processes that the program left, which this ends.
    fn end_leftover(&self) -> usize {
        let mut count = 0;
        for process in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            if line.split(|byte| *byte == 0).nth(1) == Some(self.leftover.as_bytes()) {
                count += 1;
                let id = process
                    .file_name()
                    .to_str()
                    .and_then(|id| rustix::process::Pid::from_raw(id.parse().ok()?));
                rustix::process::kill_process(id.unwrap(), rustix::process::Signal::KILL).unwrap();
            }
        }
        count
    }

    /// Asserts that no other way leads out, and returns the process id of Toolcrib.
    async fn assert_holds(mut self, allowed: &[&[&str]]) -> u32 {
        let (id, escapes) = self.escapes_of_process().await;
        let allowed: BTreeSet<String> = allowed.concat().into_iter().map(String::from).collect();
        let escaped: Vec<_> = escapes.difference(&allowed).collect();
        assert_eq!(escaped, Vec::<&String>::new());
        assert_eq!(self.end_leftover(), 0, "processes are left");
        assert!(!self.dir.read("app.yaml").ends_with("\n\n"), "the app file is as it was");
        assert!(self.victim.try_wait().unwrap().is_none(), "the victim runs");
        self.victim.kill().await.unwrap();
        id
    }
}

fn sandbox(profile: &str, more: &str) -> String {
    format!("sandbox: {{profile: {profile}, max_processes: {MAX_PROCESSES}, {more}}}")
}

#[tokio::test]
async fn without_a_sandbox_most_ways_lead_out() {
    let mut outside = Outside::new("").await;
    let escapes = outside.escapes().await;
    let is_root = rustix::process::getuid().is_root();
    assert!(escapes.len() >= if is_root { 65 } else { 40 }, "{}: {escapes:#?}", escapes.len());
    assert_eq!(outside.end_leftover(), 1, "what leaves its group and drops its environment is left");
    outside.victim.kill().await.unwrap();
}

#[tokio::test]
async fn no_way_leads_out_of_the_profile_read_only() {
    Outside::new(&sandbox("read-only", "")).await.assert_holds(&[]).await;
}

#[tokio::test]
async fn no_way_leads_out_of_the_profile_offline() {
    Outside::new(&sandbox("offline", "")).await.assert_holds(&[MODES]).await;
}

#[tokio::test]
async fn no_way_but_the_network_leads_out_of_the_profile_workspace() {
    Outside::new(&sandbox("workspace", "")).await.assert_holds(&[MODES, NETWORK]).await;
}

#[tokio::test]
async fn no_way_leads_to_a_port_that_is_not_listed() {
    Outside::new(&sandbox("workspace", "network: [1]")).await.assert_holds(&[MODES]).await;
    let listed = Outside::new(&sandbox("offline", "network: [PORT]")).await;
    assert!(listed.escapes().await.contains("connect_by_tcp"), "a listed port is reached");
    listed.assert_holds(&[MODES, &["connect_by_tcp"]]).await;
}

#[tokio::test]
async fn no_way_leads_out_of_namespaces() {
    if !is_installed("bwrap") {
        eprintln!("skipped: `bwrap` is not installed");
        return;
    }
    for (profile, allowed) in
        [("read-only", &[NAMESPACE][..]), ("offline", &[NAMESPACE]), ("workspace", &[NAMESPACE, NETWORK])]
    {
        Outside::new(&sandbox(profile, "backend: bubblewrap")).await.assert_holds(allowed).await;
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// A dir with a sandboxed server, whose tools are granted.
fn server(transport: &str) -> TestDir {
    let app = format!(
        "
app: {{workspace: work}}
tools:
  registry: [{{type: mcp, namespace: peer, startup_timeout_seconds: 60, {transport}}}]
  capabilities: {{default_policy: grant, grant: [{{module: peer}}]}}
"
    );
    TestDir::with_app(&app).with_file("work/notes.txt", "a note").with_file("outside/secret.txt", "secret")
}

async fn call(dir: &TestDir, tool: &str, arguments: Value, code: i32) -> String {
    let run_output = dir.run(["call", "app.yaml", tool, &arguments.to_string(), "--yes", "--json"]).await;
    run_output.expect(code).json().to_string()
}

#[tokio::test]
async fn the_filesystem_server_works_in_a_sandbox_and_has_no_other_files() {
    let Some(npm) = peer("npm") else { return };
    let program = npm.join("node_modules/.bin/mcp-server-filesystem");
    for backend in ["kernel", "bubblewrap"] {
        if backend == "bubblewrap" && !is_installed("bwrap") {
            continue;
        }
        // The server itself would serve both folders.
        let dir = server(&format!(
            "command: ['{}', ., ../outside], sandbox: {{profile: offline, backend: {backend}, read: ['{}']}}",
            program.display(),
            npm.canonicalize().unwrap().display()
        ));
        let read = |file: &str| json!({"path": dir.path(file)});
        let write = |file: &str| json!({"path": dir.path(file), "content": "written"});
        assert!(call(&dir, "peer.read_text_file", read("work/notes.txt"), 0).await.contains("a note"));
        call(&dir, "peer.write_file", write("work/new.txt"), 0).await;
        assert_eq!(dir.read("work/new.txt"), "written");
        call(&dir, "peer.read_text_file", read("outside/secret.txt"), 1).await;
        call(&dir, "peer.write_file", write("outside/new.txt"), 1).await;
        assert!(!dir.path("outside/new.txt").exists());
    }
}

#[tokio::test]
async fn the_server_everything_and_the_git_server_work_in_a_sandbox() {
    let Some(npm) = peer("npm") else { return };
    let everything = format!(
        "command: ['{}'], sandbox: {{profile: read-only, read: ['{}']}}",
        npm.join("node_modules/.bin/mcp-server-everything").display(),
        npm.canonicalize().unwrap().display()
    );
    let sum = call(&server(&everything), "peer.get-sum", json!({"a": 2, "b": 3}), 0).await;
    assert!(sum.contains('5'), "{sum}");
    let Some(python) = peer("python") else { return };
    let python = python.canonicalize().unwrap();
    let git = server(&format!(
        "command: [python3, -m, mcp_server_git], env: {{PYTHONPATH: '{0}'}}, sandbox: {{profile: offline, read: ['{0}']}}",
        python.display()
    ));
    let folder = git.path("work");
    let made = git.command("git", &folder).args(["init", "--quiet"]).output().await.unwrap();
    assert!(made.status.success(), "{made:?}");
    let arguments = json!({"repo_path": folder});
    let status = call(&git, "peer.git_status", arguments, 0).await;
    assert!(status.contains("notes.txt"), "{status}");
    call(&git, "peer.git_add", json!({"repo_path": folder, "files": ["notes.txt"]}), 0).await;
    let staged =
        git.command("git", &folder).args(["diff", "--cached", "--name-only"]).output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&staged.stdout).trim(), "notes.txt");
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_enforced_is_an_error_before_anything_starts() {
    let mut shown = String::new();
    for (sandbox, workspace) in [
        ("offline", "."),
        ("{profile: workspace, network: [443], backend: bubblewrap}", "work"),
        ("{profile: offline, read: [absent]}", "work"),
        ("{profile: airtight}", "work"),
        ("{profile: offline, network: some}", "work"),
    ] {
        let dir = server(&format!("command: [sh, -c, 'echo x > ran.txt'], sandbox: {sandbox}"));
        let app = dir.read("app.yaml").replace("workspace: work", &format!("workspace: {workspace}"));
        let dir = dir.with_file("app.yaml", app);
        for command in ["validate", "tools"] {
            let run_output = dir.run([command, "app.yaml"]).await;
            assert_ne!(run_output.code, Some(0), "{sandbox}: {}{}", run_output.stdout, run_output.stderr);
            if command == "validate" {
                let text = format!("{}{}", run_output.stdout, run_output.stderr);
                let folder = dir.path(".").display().to_string();
                let text = text.replace(folder.trim_end_matches("/."), "[dir]");
                shown = format!("{shown}{sandbox}\n{text}\n");
            }
        }
        assert!(!dir.path("ran.txt").exists() && !dir.path("work/ran.txt").exists());
    }
    insta::assert_snapshot!(shown);
}

#[tokio::test]
async fn modules_and_the_shell_have_sandboxes_that_access_narrows() {
    let manifest = r"
name: notes
description: Notes.
tools:
  - {name: both, description: Writes both files., argv: [sh, write.sh]}
  - name: one
    description: Writes one file.
    argv: [sh, write.sh]
    access: {network: [], filesystem: [{path: data, mode: write}]}
";
    let app = "
app: {workspace: work}
modules: {shell: {config: {sandbox: {profile: offline, max_processes: 50}}}}
tools:
  registry: [{type: exec, path: notes, sandbox: workspace}]
  capabilities: {default_policy: grant, grant: [{module: shell}]}
";
    let script = "for file in work/data/a work/b outside/c; do
  if echo x > ../$file; then echo \"$file\" >> \"$TMPDIR/written\"; fi
done 2>/dev/null
printf '\"%s\"' \"$(tr '\\n' ' ' < \"$TMPDIR/written\")\"; rm \"$TMPDIR/written\"
";
    let dir = TestDir::with_app(app)
        .with_file("notes/toolcrib.yaml", manifest)
        .with_file("notes/write.sh", script)
        .with_file("work/data/README", "")
        .with_file("outside/README", "");
    let both = call(&dir, "notes.both", json!({}), 0).await;
    assert!(both.contains("work/data/a work/b ") && !both.contains("outside"), "{both}");
    let one = call(&dir, "notes.one", json!({}), 0).await;
    assert!(one.contains("work/data/a ") && !one.contains("work/b"), "{one}");
    let run = |words: &[&str]| json!({"argv": words});
    let read = call(&dir, "shell.run", run(&["cat", "../app.yaml"]), 0).await;
    assert!(read.contains("Permission denied") && !read.contains("registry"), "{read}");
    let listed = call(&dir, "shell.run", run(&["ls", "data"]), 0).await;
    assert!(listed.contains("README"), "{listed}");
}

#[tokio::test]
async fn programs_of_skills_and_servers_that_a_session_connects_to_have_sandboxes_that_access_narrows() {
    let manifest = "
name: sort
description: Sorts.
tools: [{name: run, description: Writes files., argv: [sh, write.sh]}]
";
    let app = "
app: {workspace: work}
skills: {sandbox: offline}
modules: {mcp: {config: {sandbox: offline}}}
tools:
  capabilities:
    default_policy: grant
    grant: [{module: mcp}, {module: sort}]
    access: {filesystem: [{path: ., mode: read}, {path: data, mode: write}]}
";
    let script = "written=
for file in work/data/$1 work/$1 outside/$1; do
  if echo x > \"$WORK/../$file\"; then written=\"$written $file\"; fi
done 2>/dev/null
printf '\"%s\"' \"$written\"
";
    let dir = TestDir::with_app(app)
        .with_file("skills/sort/SKILL.md", "---\ndescription: Sorts.\n---\nSort.\n")
        .with_file("skills/sort/toolcrib.yaml", manifest)
        .with_file("skills/sort/write.sh", format!("WORK=$TOOLCRIB_WORKSPACE; set skill; {script}"))
        .with_file("work/write.sh", format!("WORK=.; {script}"))
        .with_file("work/data/README", "")
        .with_file("outside/README", "");
    let written = call(&dir, "sort.run", json!({}), 0).await;
    assert!(written.contains("work/data/skill") && !written.contains("work/skill"), "{written}");
    // It is no server, and has ended when this is said.
    let command = json!({"server": "s", "command": ["sh", "write.sh", "server"]});
    call(&dir, "mcp.connect", command, 5).await;
    for name in ["skill", "server"] {
        assert!(dir.path(&format!("work/data/{name}")).exists(), "{name}");
        for refused in ["work", "outside"] {
            assert!(!dir.path(&format!("{refused}/{name}")).exists(), "{refused}/{name}");
        }
    }
}
