//! The apps that `toolcrib init` writes: each is valid, and runs or is served as it is.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;
use tokio::time::timeout;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_schema::CompiledSchema;

use crate::support::{PATIENCE, TestDir, binary};

/// The line that tells editors the schema of the file.
const SCHEMA_LINE: &str = "# yaml-language-server: $schema=app.schema.json";

/// A folder with a starter, which is checked.
async fn starter(template: &str) -> TestDir {
    let dir = TestDir::new().with_variable("PYTHONPATH", package());
    let init = dir.run(["init", "my", "--template", template, "--json"]).await.expect(0).json();
    assert_eq!(init["app"], "my/app.yaml");
    let files: Vec<&str> =
        init["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert!(
        files.contains(&"my/app.schema.json") && files.iter().all(|file| dir.path(file).is_file()),
        "{files:?}"
    );
    assert_eq!(dir.read("my/app.yaml").lines().next(), Some(SCHEMA_LINE));
    dir.run(["validate", "my/app.yaml", "--strict"]).await.expect(0);
    dir
}

/// The folder of the Python package.
fn package() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/src").canonicalize().unwrap().display().to_string()
}

#[tokio::test]
async fn a_starter_is_written_whole_or_not_at_all() {
    let dir = TestDir::new().with_file("my/lead.yaml", "mine");
    dir.run(["init", "my", "--template", "team"]).await.expect(2);
    assert!(!dir.path("my/app.yaml").exists() && dir.read("my/lead.yaml") == "mine");
}

#[tokio::test]
async fn the_schema_of_a_starter_is_that_of_the_program() {
    let dir = starter("agent").await;
    let schema = dir.run(["schema", "app", "--json"]).await.expect(0).json();
    let written: serde_json::Value = serde_json::from_str(&dir.read("my/app.schema.json")).unwrap();
    assert_eq!(written, schema);
}

#[tokio::test]
async fn an_editor_finds_no_fault_in_a_starter() {
    for template in ["agent", "gateway", "openapi", "python", "team"] {
        let dir = starter(template).await;
        let schema: serde_json::Value = serde_json::from_str(&dir.read("my/app.schema.json")).unwrap();
        let schema = CompiledSchema::compile(&schema).unwrap();
        let app = parse(dir.read("my/app.yaml").as_bytes(), Format::Yaml, &Limits::default()).unwrap();
        assert_eq!(schema.validate(&app.value).map_err(|wrong| wrong.to_string()), Ok(()), "{template}");
    }
}

#[tokio::test]
async fn an_agent_and_a_team_run_without_a_key() {
    for (template, calls) in [("agent", 2), ("team", 2)] {
        let dir = starter(template).await;
        let report = dir.run(["run", "my/app.yaml", "--json"]).await.expect(0).json();
        assert_eq!(report["outcome"], "completed", "{report}");
        assert_eq!(report["calls"].as_array().unwrap().len(), calls, "{report}");
        assert!(report["text"].as_str().unwrap().contains("welcome.txt"), "{report}");
    }
}

#[tokio::test]
async fn a_gateway_serves_the_tools_of_its_sources() {
    let dir = starter("gateway").await;
    let line = format!("{} serve my/app.yaml --stdio", binary().display());
    let listed = dir.run(["load", "--mcp", &line, "--namespace", "served", "--json"]).await.expect(0).json();
    let tools = listed["tools"].as_array().unwrap();
    for name in ["hello__say_hello", "notes__filesystem__read"] {
        assert!(tools.iter().any(|tool| tool["name"] == name), "{name}: {listed}");
    }
    let note = ["call", "my/app.yaml", "notes.filesystem__read", r#"{"path": "monday.txt"}"#];
    assert_eq!(dir.run(note).await.expect(0).stdout.trim_end(), "Ship the parcel of Ada on Monday.");
}

#[tokio::test]
async fn the_tools_of_an_openapi_document_call_its_server() {
    let dir = starter("openapi").await;
    let server = FileServer::start(&dir).await;
    let dir = dir.with_variable("LIBRARY_URL", server.url.as_str());
    let call = async |tool, arguments, code| {
        dir.run(["call", "my/app.yaml", tool, arguments, "--json"]).await.expect(code).json()
    };
    let books = call("library.listBooks", "{}", 0).await;
    assert_eq!(books["result"][1], json!({"id": 2, "title": "Dune"}), "{books}");
    let book = call("library.getBook", r#"{"id": 1}"#, 0).await;
    assert_eq!(book["result"]["copies"], 2, "{book}");
    call("library.deleteBook", r#"{"id": 1}"#, 4).await;
}

/// The server that the starter names, at a free port.
struct FileServer {
    url: String,
    /// Ends with it.
    _process: Child,
    _lab: TestDir,
}

impl FileServer {
    /// Serves a copy of the files of the starter, in another folder.
    async fn start(starter: &TestDir) -> Self {
        let files = ["api/books.json", "api/books/1.json"];
        let dir = files
            .iter()
            .fold(TestDir::new(), |dir, file| dir.with_file(file, starter.read(&format!("my/{file}"))));
        let words = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", "api"];
        let mut command = dir.command("python3", &dir.path(""));
        let mut process = command.args(words).stderr(Stdio::null()).spawn().expect("Python starts");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = timeout(PATIENCE, lines.next_line()).await.expect("it serves").unwrap().expect("a line");
        let url =
            line.split_once('(').and_then(|(_, rest)| rest.split_once("/)")).expect("a URL").0.to_owned();
        Self { url, _process: process, _lab: dir }
    }
}

#[tokio::test]
async fn tools_in_python_are_called() {
    let dir = starter("python").await;
    let call = ["call", "my/app.yaml", "texts.count_words", r#"{"text": "one two three"}"#];
    assert_eq!(dir.run(call).await.expect(0).stdout, "3\n");
}
