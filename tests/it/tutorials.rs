//! The tutorials of the documentation, and recipes that can be run, followed as a reader does: files are written, commands
//! run in one shell, and the output that a page shows is compared with the real one.

mod page;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;
use toolcrib_testkit::{ModelServer, Turn, teach};

use self::page::{Step, matches, steps};
use crate::support::{PATIENCE, TestDir, binary, peer, repository};

/// The line before the output of a step. No command prints it.
const MARK: &str = "@@ step ";

/// The ports that pages use for servers of the reader. Tests replace them by ones that are free.
const PORTS: [&str; 2] = ["8765", "8766"];

/// The folder that a reader works in. The clone of the repository is beside it.
const FOLDER: &str = "tutorial";

/// The time that a build of a module with all its dependencies may take.
const BUILD_MINUTES: u32 = 15;

/// A folder with the reader's programs: `toolcrib`, and the package runners, which start the packages that are installed
/// for tests and download nothing.
struct Reader {
    dir: TestDir,
}

impl Reader {
    fn new() -> Self {
        let dir = TestDir::new();
        for folder in ["bin", FOLDER] {
            fs::create_dir(dir.path(folder)).unwrap();
        }
        symlink(binary(), dir.path("bin/toolcrib")).unwrap();
        symlink(repository(), dir.path("toolcrib")).unwrap();
        let path = format!("{}:{}", dir.path("bin").display(), std::env::var("PATH").unwrap());
        Self { dir: dir.with_variable("PATH", path) }
    }

    fn with_variable(self, name: &str, value: impl Into<String>) -> Self {
        Self { dir: self.dir.with_variable(name, value) }
    }

    /// Adds a program, as the text of a shell script.
    fn with_program(self, name: &str, script: &str) -> Self {
        let path = self.dir.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Follows a page to its end.
    async fn follow(&self, name: &str) {
        let page = repository().join("docs").join(format!("{name}.md"));
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        let text = PORTS.iter().fold(text, |text, port| text.replace(port, &free_port().to_string()));
        let steps = steps(&text);
        let script = self.script(&steps);
        let mut shell: Command = self.dir.command("sh", &self.dir.path(FOLDER));
        let child = shell.arg("-c").arg(script).spawn().expect("the shell starts");
        let output = timeout(PATIENCE * BUILD_MINUTES, child.wait_with_output()).await;
        let output = output.expect("the tutorial ends").unwrap();
        self.dir.assert_nothing_is_left(&[]).await;
        let said = String::from_utf8(output.stdout).expect("the output is UTF-8");
        assert!(output.status.success(), "{name}: {}:\n{said}", output.status);
        let outputs: Vec<&str> = said.split(MARK).skip(1).collect();
        let runs = steps.iter().filter_map(|step| match step {
            Step::Run { line, expected, .. } => Some((line, expected)),
            Step::Write { .. } => None,
        });
        for ((line, expected), output) in runs.zip(outputs) {
            let (_, output) = output.split_once('\n').unwrap();
            if let Some(expected) = expected {
                let shown = output.trim_end();
                assert!(matches(expected, shown), "{name}.md:{line}: expected\n{expected}\nfound\n{shown}");
            }
        }
    }

    /// One script for all steps, so that variables and background jobs last as they do for a reader.
    fn script(&self, steps: &[Step]) -> String {
        let mut script = "exec 2>&1\nset -e\n".to_owned();
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Write { path, text, is_added, .. } => {
                    let staged = self.dir.path(&format!("staged-{number}"));
                    fs::write(&staged, text).unwrap();
                    let target = format!("\"$(dirname '{path}')\"");
                    let operator = if *is_added { ">>" } else { ">" };
                    let _ =
                        writeln!(script, "mkdir -p {target}\ncat '{}' {operator} '{path}'", staged.display());
                }
                Step::Run { script: commands, .. } => {
                    let _ = writeln!(script, "echo '{MARK}{number}'\n{commands}");
                }
            }
        }
        script
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn the_quickstart_runs_as_it_is_written() {
    Reader::new().follow("tutorials/quickstart").await;
}

#[tokio::test]
async fn the_recipe_that_denies_the_shell_to_guests_decides_as_it_says() {
    Reader::new().follow("how-to/deny-the-shell-to-guests").await;
}

#[tokio::test]
async fn the_recipe_for_parts_of_results_shows_what_it_says() {
    Reader::new().follow("how-to/get-only-what-you-need").await;
}

#[tokio::test]
async fn the_recipe_that_shapes_tools_shows_and_calls_what_it_says() {
    Reader::new().follow("how-to/shape-tools").await;
}

#[tokio::test]
async fn the_recipe_for_profiles_limits_and_disables_what_it_says() {
    Reader::new().follow("how-to/profiles").await;
}

#[tokio::test]
async fn the_recipe_for_hooks_checks_calls_and_results_as_it_says() {
    Reader::new().follow("how-to/hooks").await;
}

#[tokio::test]
async fn ten_servers_are_served_as_one_as_the_tutorial_says() {
    let Some(reader) = with_package_runners() else { return };
    reader.follow("tutorials/ten-mcp-servers").await;
}

#[tokio::test]
async fn servers_and_an_api_are_one_entry_as_the_tutorial_says() {
    let Some(reader) = with_package_runners() else { return };
    reader.follow("tutorials/gateway").await;
}

/// A reader with `npx` and `uvx`, or nothing where the packages are not installed.
fn with_package_runners() -> Option<Reader> {
    let (npm, python) = (peer("npm")?, peer("python")?);
    let npx = format!(
        "shift\nname=${{1##*/}}\nshift\nexec '{}/node_modules/.bin/mcp-'\"$name\" \"$@\"\n",
        npm.display()
    );
    let uvx = format!(
        "name=$(echo \"$1\" | tr - _)\nshift\nPYTHONPATH='{}' exec python3 -m \"$name\" \"$@\"\n",
        python.display()
    );
    Some(Reader::new().with_program("npx", &npx).with_program("uvx", &uvx))
}

#[tokio::test]
async fn an_openapi_document_becomes_tools_as_the_tutorial_says() {
    Reader::new().follow("tutorials/openapi").await;
}

#[tokio::test]
async fn the_first_tools_in_bash_and_python_work_as_the_tutorial_says() {
    Reader::new().follow("tutorials/bash-and-python").await;
}

#[tokio::test]
async fn the_first_rust_module_builds_and_runs_as_the_tutorial_says() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let target = binary().parent().and_then(Path::parent).unwrap().display().to_string();
    // The versions that are here already: nothing is downloaded.
    let script =
        format!("cp '{}' .\nexec '{cargo}' --offline \"$@\"\n", repository().join("Cargo.lock").display());
    let mut reader = Reader::new().with_program("cargo", &script);
    for (name, value) in [
        ("CARGO_TARGET_DIR", target),
        ("CARGO_PROFILE_DEV_DEBUG", "false".into()),
        ("CARGO_INCREMENTAL", "0".into()),
    ] {
        reader = reader.with_variable(name, value);
    }
    for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        // Both default to folders of the home, which is another one here.
        let home = std::env::var("HOME").unwrap();
        let default = match name {
            "CARGO_HOME" => Some(format!("{home}/.cargo")),
            "RUSTUP_HOME" => Some(format!("{home}/.rustup")),
            _ => None,
        };
        if let Some(value) = std::env::var(name).ok().or(default) {
            reader = reader.with_variable(name, value);
        }
    }
    reader.follow("tutorials/rust-module").await;
}

#[tokio::test]
async fn an_agent_works_with_a_model_server_as_the_tutorial_says() {
    let turns = [
        Turn::call("tickets__open", &json!({})).saying("I will look at the open tickets."),
        Turn::call("tickets__close", &json!({"id": "7"})),
        Turn::text("Ticket 7 is a duplicate of 3. I may not close it without your approval."),
    ];
    let server = ModelServer::start(turns).await.unwrap();
    Reader::new().with_variable("MODEL_URL", server.base_url()).follow("tutorials/own-model").await;
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn training_data() {
    let reply = |request: &serde_json::Value| {
        Turn::text(teach(request["messages"][0]["content"].as_str().unwrap_or_default()))
    };
    let server = ModelServer::answering(reply).await.unwrap();
    Reader::new().with_variable("MODEL_URL", server.base_url()).follow("tutorials/training-data").await;
    assert!(!server.requests().is_empty());
}
