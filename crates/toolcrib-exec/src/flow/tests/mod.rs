//! What flow control promises. Time is paused throughout: what takes a minute here takes none.

mod breaker;
mod cache;
mod drops;
mod exact;
mod flight;
mod gate;
mod nested;
mod retry;
mod settings;

use std::future::{Future, pending};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use toolcrib_model::{ErrorKind, QualifiedName, Risk, Tool, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call, Policy, Verdict};
use toolcrib_port::CallContext;

use super::{CallChain, FlowControl, FlowSettings};

/// Everything that a flow holds for calls that are under way.
#[derive(Debug, Default, PartialEq, Eq)]
struct Usage {
    permits: usize,
    waiting: usize,
    flights: usize,
    probes: usize,
}

impl FlowControl {
    fn usage(&self) -> Usage {
        let mut usage = Usage { flights: self.flights.count(), ..Usage::default() };
        for source in self.sources.all() {
            usage.probes += usize::from(source.is_probing());
            for limit in source.limits() {
                usage.permits += limit.taken();
                usage.waiting += limit.waiting();
            }
        }
        usage
    }

    /// How many sources and tools it knows.
    fn known(&self) -> usize {
        self.sources.all().iter().map(|source| source.limits().len()).sum()
    }

    /// Runs a call of the session `s` that nothing stands above.
    async fn go<F: Future<Output = ToolResult>>(
        &self,
        call: &Authorized<Call>,
        deadline: Option<Instant>,
        mut attempt: impl FnMut() -> F,
    ) -> ToolResult {
        let context = CallContext::new("s");
        self.run(call, &context, &CallChain::default(), deadline, false, |_| attempt()).await
    }
}

/// A flow with settings as an app file has them.
fn flow(settings: Value) -> FlowControl {
    FlowControl::new(serde_json::from_value::<FlowSettings>(settings).unwrap())
}

fn tool(name: &str) -> Tool {
    Tool::new(QualifiedName::new("t", name).unwrap())
}

/// A tool that may be tried again.
fn idempotent(name: &str) -> Tool {
    tool(name).with_metadata("idempotent", true)
}

/// A tool whose results may be used again.
fn cacheable(declared: Value) -> Tool {
    tool("look").with_risk(Risk::Low).with_metadata("cacheable", declared)
}

/// A call that may run, with arguments.
fn call_with(tool: Tool, source: &str, generation: u64, arguments: Value) -> Authorized<Call> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let mut call = Call::new(Arc::new(tool), source.into(), generation);
    call.arguments = arguments;
    authorized(call)
}

/// Grants everything, and `t.look` by its name, so that it may run whatever its risk.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let capabilities = json!({"default_policy": "grant", "grant": [{"module": "t", "actions": ["look"]}]});
    Policy::new(&serde_json::from_value(capabilities).unwrap(), []).unwrap()
});

fn authorized(call: Call) -> Authorized<Call> {
    let Verdict::Granted(call) = POLICY.authorize(call, "s") else { panic!("it is granted") };
    call
}

fn call(tool: Tool, source: &str) -> Authorized<Call> {
    call_with(tool, source, 1, json!({}))
}

/// A call of a tool that says nothing of itself.
fn plain(source: &str) -> Authorized<Call> {
    call(tool("plain"), source)
}

/// Nothing, for a while.
async fn pass(time: Duration) {
    let _ = timeout(time, pending::<()>()).await;
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// In so many seconds.
fn within(count: u64) -> Option<Instant> {
    Instant::now().checked_add(seconds(count))
}

fn failure(call: &Call, kind: ErrorKind) -> ToolResult {
    call.error(kind, "as told")
}

fn kind_of(result: &ToolResult) -> Option<ErrorKind> {
    result.error.as_ref().map(|error| error.kind)
}

fn error_of(result: ToolResult) -> ToolError {
    result.error.expect("the call fails")
}

/// Counts attempts.
#[derive(Debug, Default)]
struct Count(AtomicUsize);

impl Count {
    fn up(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}
