//! Scripts that attack the engine, its limits, or the host. Each states in its head how it has to end; after each, the host
//! runs a normal script.
//!
//! The scripts follow the public lists of vulnerabilities of embedded engines and the descriptions of escapes from
//! sandboxes: `QuickJS`, Duktape, mujs, `JerryScript`, V8, vm2, isolated-vm, and SES. None copies a published exploit.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, QualifiedName, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ToolCaller};
use toolcrib_script::{
    JavaScriptEngine, Outcome, ScriptError, ScriptHost, ScriptLimits, ScriptLog, ScriptReport, ScriptRunner,
};

use super::support::{Journal, Test, ended, script, workers};
use crate::tests;

pub(crate) const TESTS: &[Test] = tests![
    hostile_scripts_reach_nothing_outside_of_their_language,
    hostile_scripts_change_nothing_that_the_host_relies_on,
    hostile_scripts_end_within_their_time,
    hostile_scripts_end_within_their_memory,
    hostile_sources_and_values_end_in_a_defined_result,
    the_process_of_a_script_has_its_pipes_and_nothing_else_of_the_host,
];

/// The fewest scripts of all folders.
const SCRIPTS: usize = 150;

/// The folders, each the subject of a test.
const FOLDERS: [&str; 5] = ["escape", "pollution", "time", "memory", "parser"];

/// The processor time of a script.
const CPU_MS: u64 = 500;

/// The longest time of a script: its processor time, the grace of the system's limit, and a loaded machine.
const MAX_TIME: Duration = Duration::from_secs(20);

/// The memory that the host may need for all scripts, in addition to what it has before, in kB.
const MAX_HOST_KB: u64 = 64 * 1024;

/// The size of a large result of a tool.
const LARGE: usize = 900_000;

/// A way in which a script may end.
#[derive(Debug, PartialEq)]
enum End {
    /// Any result or error of the script.
    Defined,
    /// This value.
    Value(Value),
    /// An error of the script.
    Refused,
    /// One of its limits.
    Limit,
}

/// A script of the corpus.
struct Hostile {
    name: String,
    source: String,
    /// True if the source is the value of this expression.
    is_made: bool,
    ends: Vec<End>,
}

impl Hostile {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a script");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let of = |key: &str| text.lines().find_map(|line| line.strip_prefix("// ")?.strip_prefix(key));
        let ends = of("ends: ").unwrap_or_else(|| panic!("`{name}` does not state how it ends")).split('|');
        let ends = ends.map(|end| match end {
            "defined" => End::Defined,
            "refused" => End::Refused,
            "limit" => End::Limit,
            end => {
                let value = end.strip_prefix("value ").unwrap_or_else(|| panic!("`{name}` ends in `{end}`"));
                End::Value(serde_json::from_str(value).expect("JSON"))
            }
        });
        let ends = ends.collect();
        let made = of("made: ").map(|expression| format!("return {expression};"));
        let is_made = made.is_some();
        // A script begins behind its head, so that what has to be first is first.
        let body = text.lines().skip_while(|line| line.starts_with("// ")).collect::<Vec<_>>().join("\n");
        Self { name, source: made.unwrap_or(body), is_made, ends }
    }

    fn of_folder(folder: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/hostile/corpus").join(folder);
        let entries = fs::read_dir(folder).expect("a folder of scripts");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// Returns true if a script may end like this.
    fn allows(&self, result: &Result<Value, ScriptError>) -> bool {
        self.ends.iter().any(|end| match (end, result) {
            // The failure of a process is an end that no script may bring about.
            (_, Err(ScriptError::Worker { .. })) => false,
            (End::Defined, _) => true,
            (End::Value(expected), Ok(value)) => expected == value,
            (End::Refused, Err(error)) => {
                matches!(error, ScriptError::Thrown { .. } | ScriptError::Result { .. })
            }
            (End::Limit, Err(error)) => is_limit(error),
            _ => false,
        })
    }
}

fn is_limit(error: &ScriptError) -> bool {
    matches!(
        error,
        ScriptError::CpuTime { .. }
            | ScriptError::Memory { .. }
            | ScriptError::SourceTooLong { .. }
            | ScriptError::Stalled
    )
}

/// The tools of the host; all others are denied.
#[derive(Default)]
struct Host {
    /// The number of calls.
    made: AtomicUsize,
}

#[async_trait]
impl ToolCaller for Host {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        let (id, name) = (call.call_id.clone(), call.name.clone());
        self.made.fetch_add(1, Ordering::Relaxed);
        let hostile = r#"{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}, "then": 1}"#;
        let result = match name.as_str() {
            "host.echo" => Ok(Value::Object(call.arguments)),
            "host.large" => Ok(json!({"text": "x".repeat(LARGE)})),
            "host.hostile" => Ok(serde_json::from_str(hostile).expect("JSON")),
            "host.slow" => {
                for _ in 0..1_000 {
                    tokio::task::yield_now().await;
                }
                Ok(json!({}))
            }
            "host.inspect" => {
                Ok(workers::of_scripts().iter().map(|process| workers::access(process)).collect())
            }
            "host.strict" => Err(ToolError::new(ErrorKind::InvalidArgs, "`a` is missing")),
            "host.fail" => Err(ToolError::new(ErrorKind::ToolFailed, "it always fails")),
            name => Err(ToolError::new(ErrorKind::Denied, format!("`{name}` is denied"))),
        };
        match result {
            Ok(value) => ToolResult::ok(id, name, value),
            Err(error) => ToolResult::failed(id, name, error),
        }
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Host {
    fn find_tools(&self, name: &str, _context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let unknown = |error: &dyn fmt::Display| ToolError::new(ErrorKind::UnknownTool, error.to_string());
        let (namespace, name) = name.split_once('.').ok_or_else(|| unknown(&"no namespace"))?;
        Ok(vec![Arc::new(Tool::new(QualifiedName::new(namespace, name).map_err(|error| unknown(&error))?))])
    }

    fn may_repeat(&self, _call: &ToolCall, _context: &CallContext) -> bool {
        true
    }
}

/// A host with an engine that runs all scripts of a test.
struct Arena {
    engine: Arc<JavaScriptEngine>,
    host: Arc<Host>,
}

impl Arena {
    async fn run(&self, source: &str, cpu_ms: u64) -> ScriptReport {
        let mut limits = ScriptLimits::default();
        limits.cpu_ms = cpu_ms;
        let host = ScriptHost {
            id: "script-1".into(),
            caller: Arc::clone(&self.host) as _,
            context: CallContext::new("test"),
            journal: Arc::new(Journal::default()),
        };
        let runner = ScriptRunner::new(Arc::clone(&self.engine) as _, limits);
        runner.run(&script(source), ScriptLog::default(), &host).await
    }

    /// Runs a script of the corpus, then a normal one. Returns what is wrong with its end, if something is.
    async fn attack(&self, hostile: &Hostile) -> Option<String> {
        let source = if hostile.is_made {
            let made = ended(self.run(&hostile.source, 5_000).await).expect("the source of a script");
            made.as_str().expect("a text").to_owned()
        } else {
            hostile.source.clone()
        };
        let begun = Instant::now();
        let report = self.run(&source, CPU_MS).await;
        let took = begun.elapsed();
        let mut problems = Vec::new();
        let Outcome::Ended(result) = &report.outcome else { return Some("it waits".to_owned()) };
        if !hostile.allows(result) {
            problems.push(format!("it ends in {}", cut(&format!("{result:?}"))));
        }
        if took > MAX_TIME {
            problems.push(format!("it takes {took:?}"));
        }
        if report.console.len() > ScriptLimits::default().console_bytes + 100 {
            problems.push(format!("its console has {} bytes", report.console.len()));
        }
        let told = format!("{result:?} {}", report.console);
        if let Some(secret) = secrets().find(|secret| told.contains(secret.as_str())) {
            problems.push(format!("it tells `{secret}`"));
        }
        let normal =
            self.run("const {text} = await tools.host.echo({text: 'a'}); return text + 1", CPU_MS).await;
        if normal.outcome != Outcome::Ended(Ok(json!("a1"))) {
            problems.push(format!("a normal script after it ends in {:?}", normal.outcome));
        }
        (!problems.is_empty()).then(|| problems.join("; "))
    }
}

/// Returns texts that only the host knows.
fn secrets() -> impl Iterator<Item = String> {
    let variables = ["PATH", "HOME", "CARGO_MANIFEST_DIR", "USER"].into_iter();
    variables
        .filter_map(|name| std::env::var(name).ok())
        .filter(|value| value.len() > 4)
        .chain(["root:x:0".into()])
}

fn cut(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Returns a figure of this process, in kB.
fn memory(figure: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix(figure)).expect("the figure");
    line.trim_matches([':', '\t', ' ', 'k', 'B']).parse().expect("a number")
}

/// Runs all scripts of a folder.
async fn attack(folder: &str) {
    let engine = JavaScriptEngine::of_current_program().expect("the path of this program");
    let arena = Arena { engine: Arc::new(engine), host: Arc::default() };
    let corpus = Hostile::of_folder(folder);
    // The maximum is that of the scripts, not of the start.
    fs::write("/proc/self/clear_refs", "5").expect("the maximum is reset");
    let before = memory("VmRSS");
    let mut problems = Vec::new();
    for hostile in &corpus {
        if let Some(problem) = arena.attack(hostile).await {
            problems.push(format!("{folder}/{}: {problem}", hostile.name));
        }
    }
    let more = memory("VmHWM").saturating_sub(before);
    let made = arena.host.made.load(Ordering::Relaxed);
    eprintln!("{} scripts of `{folder}`: {more} kB more, {made} calls", corpus.len());
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), corpus.len(), problems.join("\n"));
    assert!(more <= MAX_HOST_KB, "{more} kB");
    drop(arena);
    workers::assert_gone().await;
}

async fn hostile_scripts_reach_nothing_outside_of_their_language() {
    let all: usize = FOLDERS.into_iter().map(|folder| Hostile::of_folder(folder).len()).sum();
    assert!(all >= SCRIPTS, "{all} scripts");
    attack("escape").await;
}

async fn hostile_scripts_change_nothing_that_the_host_relies_on() {
    attack("pollution").await;
}

async fn hostile_scripts_end_within_their_time() {
    attack("time").await;
}

async fn hostile_scripts_end_within_their_memory() {
    attack("memory").await;
}

async fn hostile_sources_and_values_end_in_a_defined_result() {
    attack("parser").await;
}

async fn the_process_of_a_script_has_its_pipes_and_nothing_else_of_the_host() {
    // Whatever started this program may have left files open for all of its descendants.
    let inherited = workers::files(Path::new("/proc/self"));
    let open = fs::File::open(own("hostile.rs")).expect("a file");
    let engine = JavaScriptEngine::of_current_program().expect("the path of this program");
    let arena = Arena { engine: Arc::new(engine), host: Arc::default() };
    let report = arena.run("return await tools.host.inspect({})", CPU_MS).await;
    drop(open);
    let processes = ended(report).expect("a result");
    let [process] = processes.as_array().expect("a list").as_slice() else {
        panic!("expected one process, found {processes}")
    };
    assert_eq!(process["variables"], json!(["TOOLCRIB_CHILD", "TOOLCRIB_DEPTH", "TZ"]));
    assert_eq!(process["folder"], "/");
    for (number, file) in process["files"].as_object().expect("its files") {
        let is_stream = matches!(number.as_str(), "0" | "1" | "2") && is_pipe(file);
        assert!(is_stream || inherited.get(number) == Some(file), "{number}: {file} of {process}");
    }
}

/// Returns the path of a file of these tests.
fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name)
}

/// Returns true for a pipe, and for the empty device in place of one.
fn is_pipe(file: &Value) -> bool {
    file.as_str().is_some_and(|file| file.starts_with("pipe:") || file == "/dev/null")
}
