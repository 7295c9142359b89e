//! The same twelve tasks by calls, by discovery, and by scripts.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolcrib_agent::{Agent, Conversation, Outcome};
use toolcrib_app::{Blueprint, EntryContext, Extensions};
use toolcrib_bench::catalogue;
use toolcrib_bench::report::title;
use toolcrib_bench::timings::Timings;
use toolcrib_exec::DenyAll;
use toolcrib_modules::NoConfig;
use toolcrib_port::CallContext;
use toolcrib_prompt::Tokenizer;
use toolcrib_runtime::Runtime;
use toolcrib_script::JavaScriptEngine;
use toolcrib_sdk::Module;

mod cases;
mod model;
mod shop;

use cases::Task;
use model::{Mode, ModelServer, Scripts};
use shop::{Shop, Updates};

/// The number of tools that no task needs.
const OTHER_TOOLS: usize = 30;

/// The number of measured runs of each task, after one that is not measured.
const RUNS: usize = 5;

/// The modes, in the order of the columns.
const MODES: [Mode; 6] = [
    Mode { name: "direct", discovery: false, scripts: Scripts::Never },
    Mode { name: "direct, scripts where they suit", discovery: false, scripts: Scripts::Suitable },
    Mode { name: "direct, scripts only", discovery: false, scripts: Scripts::Always },
    Mode { name: "discovery", discovery: true, scripts: Scripts::Never },
    Mode { name: "discovery, scripts where they suit", discovery: true, scripts: Scripts::Suitable },
    Mode { name: "discovery, scripts only", discovery: true, scripts: Scripts::Always },
];

/// The figures of one task in one mode.
#[derive(Clone, Copy)]
struct Figures {
    is_solved: bool,
    turns: u32,
    calls: usize,
    tokens: u64,
    took: Duration,
}

/// An app in one mode.
struct Lab {
    runtime: Runtime,
    server: ModelServer,
    updates: Updates,
}

/// Prints a table of all tasks in all modes. Fails if a task is not solved in one of them.
pub(crate) fn compare() -> Result<(), Box<dyn Error>> {
    title("twelve tasks by calls, by discovery, and by scripts: turns / calls / tokens / ms");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let other = serde_json::json!({"other": catalogue::tools(OTHER_TOOLS)});
        std::fs::write(folder.path().join("other.json"), other.to_string())?;
        let mut labs = Vec::new();
        for mode in MODES {
            labs.push(Lab::start(folder.path(), mode).await?);
        }
        table(&labs).await
    })
}

#[expect(clippy::print_stdout, reason = "a bench owns its terminal")]
async fn table(labs: &[Lab]) -> Result<(), Box<dyn Error>> {
    println!("| task | {} |", MODES.map(|mode| mode.name).join(" | "));
    println!("|---|{}", "---|".repeat(MODES.len()));
    let mut totals = vec![(0, 0, 0, 0, Duration::ZERO); labs.len()];
    let tasks = cases::all();
    let number = tasks.len();
    for task in tasks.into_iter().map(Arc::new) {
        let mut cells = Vec::new();
        for (lab, total) in labs.iter().zip(&mut totals) {
            let figures = lab.measure(&task).await?;
            let Figures { is_solved, turns, calls, tokens, took } = figures;
            total.0 += usize::from(is_solved);
            total.1 += turns;
            total.2 += calls;
            total.3 += tokens;
            total.4 += took;
            let failed = if is_solved { "" } else { "**failed** " };
            cells.push(format!("{failed}{turns} / {calls} / {tokens} / {:.1}", took.as_secs_f64() * 1e3));
        }
        println!("| {} | {} |", task.name, cells.join(" | "));
    }
    let sums = totals.iter().map(|(solved, turns, calls, tokens, took)| {
        format!("{solved} solved; {turns} / {calls} / {tokens} / {:.1}", took.as_secs_f64() * 1e3)
    });
    println!("| all | {} |", sums.collect::<Vec<_>>().join(" | "));
    if totals.iter().all(|total| total.0 == number) { Ok(()) } else { Err("a task was not solved".into()) }
}

impl Lab {
    async fn start(folder: &std::path::Path, mode: Mode) -> Result<Self, Box<dyn Error>> {
        let (server, base) = ModelServer::start(mode).await?;
        let updates = Updates::default();
        let shop = Arc::clone(&updates);
        let extensions = Extensions::default()
            .with_script_engine(Arc::new(JavaScriptEngine::of_current_program()?))
            .with_module("shop", move |_: NoConfig, _: &EntryContext<'_>| {
                Ok(Module::from(Shop(Arc::clone(&shop))))
            });
        // `on` also declares the tools in the prompt of the direct mode. `auto` does not, and never offers scripts in
        // discovery.
        let scripts = match (mode.scripts, mode.discovery) {
            (Scripts::Never, _) => "off",
            (Scripts::Suitable, false) => "auto",
            _ => "on",
        };
        let app = serde_json::json!({
            "agents": [{"id": "assistant", "brain": {"provider": "openai", "model": "gpt-4o", "api_key": "bench",
                "base_url": base, "context_window": 128_000}}],
            "modules": {"shop": {}},
            "tools": {"registry": [{"type": "file", "path": folder.join("other.json")}],
                "capabilities": {"default_policy": "grant"}},
            "runtime": {"tool_injection": if mode.discovery { "discovery" } else { "direct" },
                "scripts": scripts},
        });
        let app = Blueprint::from_text_with("app.yaml", &app.to_string(), extensions)?;
        let runtime = Runtime::start(app, Arc::new(DenyAll)).await?;
        Ok(Self { runtime, server, updates })
    }

    /// Runs a task several times. Its duration is the median.
    async fn measure(&self, task: &Arc<Task>) -> Result<Figures, Box<dyn Error>> {
        let mut figures = self.run(task).await?;
        let mut timings = Timings::default();
        for _ in 0..RUNS {
            let next = self.run(task).await?;
            figures.is_solved &= next.is_solved;
            timings.add(next.took);
        }
        figures.took = timings.median();
        Ok(figures)
    }

    async fn run(&self, task: &Arc<Task>) -> Result<Figures, Box<dyn Error>> {
        self.server.prepare(Arc::clone(task));
        self.updates.lock().clear();
        let setup = self.runtime.agent(None)?;
        let model = self.runtime.model(&setup)?.model;
        let (agent, entrance) = (Agent::new(setup.settings.clone()), self.runtime.entrance());
        let mut conversation = Conversation::new();
        let context = CallContext::new("bench").with_agent("assistant");
        let began = Instant::now();
        let report = agent.run(task.name, &mut conversation, &*model, &*entrance, &context, &mut ()).await;
        let took = began.elapsed();
        let traffic = self.server.take_traffic();
        let texts = traffic.requests.iter().map(|body| String::from_utf8_lossy(body).into_owned());
        let tokens = texts.chain(traffic.replies).map(|text| u64::from(Tokenizer::O200k.count(&text))).sum();
        let answer: Value = serde_json::from_str(&report.text).unwrap_or_default();
        let updates = self.updates.lock();
        let each_once = updates.values().all(|number| *number == 1) && updates.keys().eq(&task.reordered);
        let is_solved = matches!(report.outcome, Outcome::Completed) && answer == task.result && each_once;
        Ok(Figures { is_solved, turns: report.turns, calls: report.calls.len(), tokens, took })
    }
}
