//! The measured agent: ten tools, and calls that return at once.

use std::error::Error;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_agent::api::ApiSettings;
use toolcrib_agent::limits::Limit;
use toolcrib_agent::{Agent, AgentSettings, ApiModel, Conversation, Outcome, Provider, RunLimits, RunReport};
use toolcrib_bench::catalogue;
use toolcrib_io::http::HttpClient;
use toolcrib_model::{Tool, ToolCall, ToolResult};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_prompt::{InjectionSettings, Plan, WireNames};

/// The name of the model.
pub(crate) const MODEL: &str = "bench";

/// The prompt.
pub(crate) const PROMPT: &str = "Read all lines, one by one.";

/// The result of every call, after its number; of typical length.
pub(crate) const RESULT: &str = "the line that was asked for, which says what there is to say about it, as lines of \
    documents do: somewhat more than would be needed, with a name here and a number there, and a remark at its end";

/// The number of offered tools.
const TOOLS: usize = 10;

/// The number of repetitions of one sentence that make a system prompt of typical length.
const SENTENCES: usize = 40;

/// Returns the agent with these limits on turns and context tokens, and the wire name of the tool that its model calls.
pub(crate) fn agent(turns: u32, context_window: u32) -> Result<(Agent, String), Box<dyn Error>> {
    let tools: Vec<Tool> =
        catalogue::tools(TOOLS).into_iter().map(serde_json::from_value).collect::<Result<_, _>>()?;
    let names = WireNames::new(&tools, "context_builder", &[]);
    let plan = Plan::new(&tools, &InjectionSettings::default(), &names)?;
    let tool = plan.offered.first().ok_or("nothing is offered")?.wire_name.clone();
    let limits = RunLimits {
        max_turns: turns,
        max_calls: u32::MAX,
        max_tokens: u64::MAX,
        max_duration: Duration::from_hours(1),
        ..RunLimits::default()
    };
    let settings = AgentSettings::new("assistant", MODEL, &plan, names)
        .with_system_prompt("You read lines, and say what they are about. ".repeat(SENTENCES))
        .with_context_window(context_window)
        .with_limits(limits);
    Ok((Agent::new(settings), tool))
}

/// Returns the client of the model server, in the format of a provider.
pub(crate) fn model(provider: Provider, base: &str, http: &HttpClient) -> Result<ApiModel, Box<dyn Error>> {
    Ok(ApiModel::new(ApiSettings::new(provider).with_base_url(base), http)?)
}

/// Runs the agent until it has completed its turns.
pub(crate) async fn run(
    agent: &Agent,
    model: &ApiModel,
    line: &Line<'_>,
) -> Result<RunReport, Box<dyn Error>> {
    let mut conversation = Conversation::new();
    let context = CallContext::new("bench");
    let report = agent.run(PROMPT, &mut conversation, model, line, &context, &mut ()).await;
    match report.outcome {
        Outcome::LimitReached { limit: Limit::Turns } => Ok(report),
        other => Err(format!("the run ended otherwise: {other:?}").into()),
    }
}

/// The tool. It reports the time of each turn: from the result of a call until the next call.
pub(crate) struct Line<'a> {
    /// Called with the number and the duration of each turn.
    pub(crate) turned: Mutex<&'a mut (dyn FnMut(usize, Duration) + Send)>,
    last: Mutex<(usize, Instant)>,
}

impl<'a> Line<'a> {
    pub(crate) fn new(turned: &'a mut (dyn FnMut(usize, Duration) + Send)) -> Self {
        Self { turned: Mutex::new(turned), last: Mutex::new((0, Instant::now())) }
    }
}

#[async_trait]
impl ToolCaller for Line<'_> {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        let mut last = self.last.lock();
        last.0 += 1;
        (self.turned.lock())(last.0, last.1.elapsed());
        let result = format!("{}: {RESULT}", call.arguments.get("number").unwrap_or(&Value::Null));
        last.1 = Instant::now();
        ToolResult::ok(call.call_id, call.name, json!(result))
    }
}
