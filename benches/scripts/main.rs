//! The start of scripts, the cost of their calls, calls that run at once, and tasks by calls and by scripts.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_bench::report::{Part, Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{JsonObject, Risk, ToolCall, ToolError};
use toolcrib_policy::{Capabilities, Policy};
use toolcrib_port::{CallContext, ToolLoader as _};
use toolcrib_registry::ToolRegistry;
use toolcrib_script::{
    JavaScriptEngine, Outcome, Script, ScriptHost, ScriptJournal, ScriptLimits, ScriptLog, ScriptRunner,
    WORKER_ARGUMENT, run_worker,
};
use toolcrib_sdk::{FunctionTool, Module};

mod tasks;

/// The number of scripts that are started.
const STARTS: usize = 50;

/// The time in which the next worker becomes warm.
const WARM_UP: Duration = Duration::from_millis(50);

/// The number of calls of the script whose calls are measured.
const CALLS: u32 = 2_000;

/// The duration of a slow call, and the number of them.
const SLOW: Duration = Duration::from_millis(20);
const SLOW_CALLS: u32 = 50;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some(WORKER_ARGUMENT) {
        run_worker();
        return Ok(());
    }
    toolcrib_bench::report::run(&[
        Part { name: "start", run: start },
        Part { name: "calls", run: calls },
        Part { name: "parallel", run: parallel },
        Part { name: "tasks", run: tasks::compare },
    ])
}

/// A journal of scripts without side effects, which is not written.
struct NoJournal;

#[async_trait]
impl ScriptJournal for NoJournal {
    async fn record(&self, _log: &ScriptLog) -> Result<(), ToolError> {
        Ok(())
    }
}

/// An executor with tools that do nothing, and a runner of scripts that call them.
struct Lab {
    runtime: tokio::runtime::Runtime,
    executor: Arc<Executor>,
    runner: ScriptRunner,
}

impl Lab {
    fn new() -> Result<Self, Box<dyn Error>> {
        let work =
            |arguments: JsonObject, _: CallContext| async move { Ok::<Value, ToolError>(arguments.into()) };
        let slow = |_: JsonObject, _: CallContext| async {
            tokio::time::sleep(SLOW).await;
            Ok::<Value, ToolError>(true.into())
        };
        let module = Module::new("bench", "Nothing.")
            .with_tool(FunctionTool::new("work", "Returns its arguments.", work).with_risk(Risk::Low))
            .with_tool(FunctionTool::new("slow", "Waits.", slow).with_risk(Risk::Low));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
        let capabilities: Capabilities = serde_json::from_value(json!({"default_policy": "grant"}))?;
        let module = Arc::new(module);
        let executor = runtime.block_on(async {
            let registry = Arc::new(ToolRegistry::new());
            let executor =
                Executor::new(registry, Arc::new(Policy::new(&capabilities, [])?), Arc::new(DenyAll));
            executor.add_engine(module.source(), Arc::clone(&module) as _);
            executor.registry().add_loader(module);
            executor.registry().refresh().await?;
            Ok::<_, Box<dyn Error>>(Arc::new(executor))
        })?;
        let mut limits = ScriptLimits::default();
        limits.calls = CALLS;
        let runner = ScriptRunner::new(Arc::new(JavaScriptEngine::of_current_program()?), limits);
        Ok(Self { runtime, executor, runner })
    }

    /// Runs a script, and returns its result and duration.
    fn run(&self, source: &str) -> Result<(Value, Duration), Box<dyn Error>> {
        let host = ScriptHost {
            id: "script".into(),
            caller: self.executor.tool_caller(),
            context: CallContext::new("bench"),
            journal: Arc::new(NoJournal),
        };
        let script = Script::new(source)?;
        let began = Instant::now();
        let report = self.runtime.block_on(self.runner.run(&script, ScriptLog::default(), &host));
        let took = began.elapsed();
        match report.outcome {
            Outcome::Ended(result) => Ok((result?, took)),
            Outcome::Paused(_) => Err("the script is paused".into()),
        }
    }
}

fn start() -> Result<(), Box<dyn Error>> {
    title("a script without calls, from its source to its result");
    let lab = Lab::new()?;
    let cold = lab.run("return 1")?.1;
    let mut warm = Timings::default();
    for _ in 0..STARTS {
        std::thread::sleep(WARM_UP);
        warm.add(lab.run("return 1")?.1);
    }
    Row::new("with a warm worker, p50", warm.median()).at_most(Duration::from_millis(1)).print();
    Row::new("with a warm worker, p99", warm.percentile(99.0)).print();
    Row::new("with a worker that is started for it", cold).print();
    Ok(())
}

fn calls() -> Result<(), Box<dyn Error>> {
    title("a call from a script, and the same call through the executor");
    let lab = Lab::new()?;
    let source = format!("for (let n = 0; n < {CALLS}; n++) await tools.bench.work({{ n }})");
    let context = CallContext::new("bench");
    lab.run("return 1")?;
    std::thread::sleep(WARM_UP);
    let took = lab.run(&source)?.1 / CALLS;
    let mut direct = Timings::default();
    lab.runtime.block_on(async {
        for number in 0..CALLS {
            let arguments = JsonObject::from_iter([("n".to_owned(), number.into())]);
            let began = Instant::now();
            drop(lab.executor.call(ToolCall::new("bench.work", arguments), &context).await);
            direct.add(began.elapsed());
        }
    });
    let more = took.saturating_sub(direct.median());
    Row::new("a call from a script, mean", took).print();
    Row::new("the same call through the executor, p50", direct.median()).print();
    Row::new("the difference", more).at_most(Duration::from_micros(60)).print();
    Ok(())
}

fn parallel() -> Result<(), Box<dyn Error>> {
    title("50 calls of 20 ms, 8 at once");
    let lab = Lab::new()?;
    lab.run("return 1")?;
    std::thread::sleep(WARM_UP);
    let source = format!(
        "return (await Promise.all([...Array({SLOW_CALLS}).keys()].map(n => tools.bench.slow({{ n }})))).length"
    );
    let (result, took) = lab.run(&source)?;
    if result != SLOW_CALLS {
        return Err(format!("{result} calls have ended").into());
    }
    Row::new("the script", took).at_most(Duration::from_millis(200)).print();
    Ok(())
}
