//! Tools in memory for scripts, and the run of a script over them.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, QualifiedName, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ToolCaller};
use toolcrib_script::{
    JavaScriptEngine, Outcome, Script, ScriptError, ScriptHost, ScriptJournal, ScriptLimits, ScriptLog,
    ScriptReport, ScriptRunner,
};

/// A test and its name.
pub(crate) type Test = (&'static str, fn());

/// Runs a test of a script.
pub(crate) fn block_on<R>(test: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build();
    runtime.expect("a runtime").block_on(test)
}

/// The tools of the tests: `math.add` and `math.slow` may be repeated, `notes.write` may not, and `secret.*` needs approval.
#[derive(Default)]
pub(crate) struct Tools {
    /// The calls that ran, in the order in which they began.
    pub(crate) calls: Mutex<Vec<ToolCall>>,
    /// True if a person approves calls.
    pub(crate) approves: Mutex<bool>,
    /// The number of calls of `math.slow` that run, and the most at once.
    running: Mutex<(usize, usize)>,
    /// The names that mean another schema than at first.
    pub(crate) changed: Mutex<Vec<String>>,
}

impl Tools {
    /// Returns the names of the tools that ran.
    pub(crate) fn ran(&self) -> Vec<String> {
        self.calls.lock().iter().map(|call| call.name.clone()).collect()
    }

    /// Returns the most calls that ran at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.running.lock().1
    }

    async fn run(&self, call: &ToolCall) -> Result<Value, ToolError> {
        let number = |key: &str| call.arguments.get(key).and_then(Value::as_f64).unwrap_or_default();
        match call.name.as_str() {
            "math.add" => Ok(json!(number("a") + number("b"))),
            "math.slow" => {
                {
                    let mut running = self.running.lock();
                    running.0 += 1;
                    running.1 = running.1.max(running.0);
                }
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                self.running.lock().0 -= 1;
                Ok(json!(number("n")))
            }
            "notes.write" | "secret.send" => Ok(json!({"written": call.arguments})),
            "text.repeat" => {
                let count = call.arguments.get("count").and_then(Value::as_u64).unwrap_or_default();
                Ok(Value::String("x".repeat(usize::try_from(count).unwrap_or_default())))
            }
            "text.hostile" => {
                Ok(serde_json::from_str(r#"{"__proto__": {"polluted": true}, "then": "no", "toJSON": 1}"#)
                    .expect("JSON"))
            }
            "math.fail" => {
                Err(ToolError::new(ErrorKind::ToolFailed, "it always fails").with_hint("do not call it"))
            }
            name => Err(ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"))),
        }
    }
}

#[async_trait]
impl ToolCaller for Tools {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        let (id, name) = (call.call_id.clone(), call.name.clone());
        let failed = |error| ToolResult::failed(id.clone(), name.clone(), error);
        if call.name.starts_with("secret.") && !*self.approves.lock() {
            return failed(ToolError::new(ErrorKind::ApprovalRequired, "it needs approval"));
        }
        if let Some(journal) = &context.journal
            && let Err(error) = journal.record_start().await
        {
            return failed(error);
        }
        self.calls.lock().push(call.clone());
        match self.run(&call).await {
            Ok(result) => ToolResult::ok(id.clone(), name.clone(), result),
            Err(error) => failed(error),
        }
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Tools {
    fn find_tools(&self, name: &str, _context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let (namespace, tool) = name.split_once('.').unwrap_or(("tools", name));
        let name_of_tool = QualifiedName::new(namespace, tool)
            .map_err(|error| ToolError::new(ErrorKind::UnknownTool, error.to_string()))?;
        let required = if self.changed.lock().iter().any(|changed| changed == name) {
            json!(["new"])
        } else {
            json!([])
        };
        Ok(vec![Arc::new(
            Tool::new(name_of_tool).with_parameters(json!({"type": "object", "required": required})),
        )])
    }

    fn may_repeat(&self, call: &ToolCall, _context: &CallContext) -> bool {
        !matches!(call.name.as_str(), "notes.write" | "secret.send")
    }
}

/// A journal in memory, with every log that was stored.
#[derive(Default)]
pub(crate) struct Journal {
    pub(crate) logs: Mutex<Vec<ScriptLog>>,
    /// True if nothing can be stored.
    pub(crate) is_broken: Mutex<bool>,
}

#[async_trait]
impl ScriptJournal for Journal {
    async fn record(&self, log: &ScriptLog) -> Result<(), ToolError> {
        if *self.is_broken.lock() {
            return Err(ToolError::new(ErrorKind::Unavailable, "the disk is full"));
        }
        self.logs.lock().push(log.clone());
        Ok(())
    }
}

/// A host of scripts with tools in memory.
#[derive(Clone)]
pub(crate) struct Lab {
    pub(crate) tools: Arc<Tools>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) limits: ScriptLimits,
    engine: Arc<JavaScriptEngine>,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let engine = JavaScriptEngine::of_current_program().expect("the path of this program");
        let mut limits = ScriptLimits::default();
        limits.cpu_ms = 1_000;
        Self { tools: Arc::default(), journal: Arc::default(), limits, engine: Arc::new(engine) }
    }

    /// Runs a script from its beginning.
    pub(crate) async fn run(&self, source: &str) -> ScriptReport {
        self.resume(&script(source), ScriptLog::default()).await
    }

    /// Resumes a script.
    pub(crate) async fn resume(&self, script: &Script, log: ScriptLog) -> ScriptReport {
        let host = ScriptHost {
            id: "script-1".into(),
            caller: Arc::clone(&self.tools) as _,
            context: CallContext::new("test"),
            journal: Arc::clone(&self.journal) as _,
        };
        ScriptRunner::new(Arc::clone(&self.engine) as _, self.limits).run(script, log, &host).await
    }

    /// Runs a script that returns a value.
    pub(crate) async fn value(&self, source: &str) -> Value {
        ended(self.run(source).await).unwrap_or_else(|error| panic!("the script failed: {error}"))
    }

    /// Runs a script that fails.
    pub(crate) async fn error(&self, source: &str) -> ScriptError {
        ended(self.run(source).await).expect_err("a script that fails")
    }
}

/// Returns a script with fixed random numbers and a fixed time.
pub(crate) fn script(source: &str) -> Script {
    Script { source: source.to_owned(), seed: 7, clock_ms: 1_800_000_000_000 }
}

/// Returns the end of a script.
pub(crate) fn ended(report: ScriptReport) -> Result<Value, ScriptError> {
    match report.outcome {
        Outcome::Ended(result) => result,
        Outcome::Paused(waiting) => panic!("the script waits for {waiting:?}"),
    }
}

/// The worker processes of this program.
pub(crate) mod workers {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use serde_json::{Map, Value, json};

    /// The time that the end of a process may take.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// Returns the folders of the workers in `/proc`.
    fn all() -> Vec<PathBuf> {
        let own = std::process::id().to_string();
        let processes = fs::read_dir("/proc").expect("/proc").flatten().map(|process| process.path());
        let is_worker = |process: &PathBuf| {
            let file = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
            file("cmdline").contains(toolcrib_script::WORKER_ARGUMENT)
                && file("status")
                    .lines()
                    .any(|line| line.strip_prefix("PPid:").is_some_and(|id| id.trim() == own))
        };
        processes.filter(is_worker).collect()
    }

    /// Returns the workers that run a script, which have limited themselves.
    pub(crate) fn of_scripts() -> Vec<PathBuf> {
        let is_limited = |process: &PathBuf| {
            let limits = fs::read_to_string(process.join("limits")).unwrap_or_default();
            limits.lines().any(|line| {
                line.strip_prefix("Max open files").is_some_and(|rest| rest.trim_start().starts_with("3 "))
            })
        };
        all().into_iter().filter(is_limited).collect()
    }

    /// Returns what a process has of its surroundings: the names of its variables, its folder, and its open files.
    pub(crate) fn access(process: &Path) -> Value {
        let variables = fs::read_to_string(process.join("environ")).expect("its environment");
        let names = variables.split('\0').filter_map(|variable| Some(variable.split_once('=')?.0.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        json!({"variables": names, "folder": target(&process.join("cwd")), "files": files(process)})
    }

    /// Returns the open files of a process by their numbers.
    pub(crate) fn files(process: &Path) -> Map<String, Value> {
        let files = fs::read_dir(process.join("fd")).expect("its files").flatten();
        // The file that lists them is gone.
        let files = files.filter(|file| fs::read_link(file.path()).is_ok());
        files.map(|file| (file.file_name().to_string_lossy().into_owned(), target(&file.path()))).collect()
    }

    fn target(path: &Path) -> Value {
        fs::read_link(path).expect("a link").to_string_lossy().into()
    }

    /// Fails if workers remain.
    pub(crate) async fn assert_gone() {
        let gone = async {
            while !all().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, gone).await.expect("all workers end");
    }
}
