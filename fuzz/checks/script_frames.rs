//! Any lines as the messages to the worker of a script, and any lines as its pauses to the host.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ToolCaller};
use toolcrib_script::engine::{CallReply, Pause, ScriptRun};
use toolcrib_script::{
    Outcome, Script, ScriptEngine, ScriptError, ScriptHost, ScriptJournal, ScriptLimits, ScriptLog,
    ScriptReport, ScriptRunner, serve_worker,
};

/// The limits of a script in the worker, so that no input takes long: the names, and the largest values.
const MOST: [(&str, u64); 3] = [("cpu_ms", 20), ("heap_bytes", 4 << 20), ("value_bytes", 64 << 10)];

/// The largest console of a script at the host, in bytes, and the most that may come on top: the note that it is full.
const CONSOLE_BYTES: usize = 64;
const CONSOLE_NOTE: usize = 32;

/// Checks what holds for one input, whose first byte selects the side.
pub(crate) fn check(bytes: &[u8]) {
    match bytes.split_first() {
        Some((b'w', bytes)) => worker(bytes),
        Some((b'h', bytes)) => host(bytes),
        _ => {}
    }
}

/// The worker answers each message with one, or ends with an error.
fn worker(bytes: &[u8]) {
    let lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(limited).collect();
    let mut output = Vec::new();
    // An invalid message ends the worker with an error.
    let _ = serve_worker(lines.join(&b'\n').as_slice(), &mut output, |_| Ok(()));
    let answers: Vec<&[u8]> = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let answers: Vec<Value> =
        answers.into_iter().map(|line| serde_json::from_slice(line).expect("an answer is JSON")).collect();
    assert_eq!(answers.first(), Some(&json!("ready")));
    assert!(answers.len() <= lines.len() + 1);
    let pauses: Vec<&Value> = answers.iter().skip(1).map(|answer| &answer["pause"]).collect();
    assert!(pauses.iter().all(|pause| pause.is_object()));
    // Nothing follows the end of a script.
    let ends = pauses.iter().position(|pause| !pause["result"].is_null());
    assert!(ends.is_none_or(|at| at + 1 == pauses.len()));
    let ids = pauses.iter().filter_map(|pause| pause["calls"].as_array()).flatten().map(|call| &call["id"]);
    assert!(ids.enumerate().all(|(at, id)| *id == json!(at)));
}

/// Returns a message that starts a script with limits of which none is large.
fn limited(line: &[u8]) -> Vec<u8> {
    let Ok(mut message) = serde_json::from_slice::<Value>(line) else { return line.to_vec() };
    let Some(limits) = message.pointer_mut("/start/limits").and_then(Value::as_object_mut) else {
        return line.to_vec();
    };
    for (name, most) in MOST {
        if let Some(limit) =
            limits.get_mut(name).filter(|limit| limit.as_u64().is_some_and(|limit| limit > most))
        {
            *limit = most.into();
        }
    }
    message.to_string().into_bytes()
}

/// The host makes no call that it does not count, keeps its limits, and can resume what it has paused.
fn host(bytes: &[u8]) {
    let pauses = bytes.split(|byte| *byte == b'\n').map(serde_json::from_slice::<Pause>);
    let engine = Frames(pauses.map_while(Result::ok).collect());
    let first = run(&engine, ScriptLog::default());
    assert!(first.calls.len() <= first.log.calls.len());
    let again = run(&engine, first.log.clone());
    if let Outcome::Paused(waiting) = &first.outcome {
        assert!(!waiting.is_empty());
        assert_eq!(again.outcome, first.outcome);
    }
}

fn run(engine: &Frames, log: ScriptLog) -> ScriptReport {
    let mut limits = ScriptLimits::default();
    limits.console_bytes = CONSOLE_BYTES;
    let runner = ScriptRunner::new(Arc::new(engine.clone()), limits);
    let host = ScriptHost {
        id: "script-1".into(),
        caller: Arc::new(Tools),
        context: CallContext::new("fuzz"),
        journal: Arc::new(Tools),
    };
    let script = Script { source: String::new(), seed: 1, clock_ms: 1 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let report = runtime.block_on(runner.run(&script, log, &host));
    assert!(report.console.len() <= CONSOLE_BYTES + CONSOLE_NOTE);
    assert!(report.log.calls.len() <= limits.calls as usize);
    let delivered: BTreeSet<u32> = report.log.deliveries.iter().copied().collect();
    assert_eq!(delivered.len(), report.log.deliveries.len());
    assert!(delivered.iter().all(|id| (*id as usize) < report.log.calls.len()));
    report
}

/// An engine whose pauses are given.
#[derive(Clone)]
struct Frames(VecDeque<Pause>);

impl Frames {
    fn next(&mut self) -> Result<Pause, ScriptError> {
        self.0.pop_front().ok_or_else(|| ScriptError::Worker { problem: "it has ended".to_owned() })
    }
}

#[async_trait]
impl ScriptEngine for Frames {
    fn version(&self) -> &'static str {
        "frames"
    }

    async fn start(
        &self,
        _script: &Script,
        _limits: &ScriptLimits,
    ) -> Result<(Box<dyn ScriptRun>, Pause), ScriptError> {
        let mut frames = self.clone();
        let first = frames.next()?;
        Ok((Box::new(frames), first))
    }
}

#[async_trait]
impl ScriptRun for Frames {
    async fn resume(&mut self, _reply: &CallReply) -> Result<Pause, ScriptError> {
        self.next()
    }
}

/// Tools that return their arguments; one needs an approval, and one may not be repeated.
struct Tools;

#[async_trait]
impl ToolCaller for Tools {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        let (id, name) = (call.call_id.clone(), call.name.clone());
        if call.name == "a.ask" {
            let error = ToolError::new(ErrorKind::ApprovalRequired, "it needs approval");
            return ToolResult::failed(id, name, error);
        }
        if let Some(journal) = &context.journal
            && let Err(error) = journal.record_start().await
        {
            return ToolResult::failed(id, name, error);
        }
        ToolResult::ok(id, name, Value::Object(call.arguments))
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Tools {
    fn find_tools(&self, name: &str, _context: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        Err(ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`")))
    }

    fn may_repeat(&self, call: &ToolCall, _context: &CallContext) -> bool {
        call.name != "a.once"
    }
}

#[async_trait]
impl ScriptJournal for Tools {
    async fn record(&self, _log: &ScriptLog) -> Result<(), ToolError> {
        Ok(())
    }
}
