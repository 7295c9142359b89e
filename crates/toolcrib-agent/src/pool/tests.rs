//! What a pool of agents promises.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib_model::{Amount, ErrorKind, QualifiedName, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::{CallContext, ToolCaller, ToolEngine, ToolLoader};
use toolcrib_prompt::system_prompt::CallStyle;
use toolcrib_prompt::{InjectionSettings, Plan, WireNames};
use toolcrib_sdk::Module;

use super::arguments::MAX_TASK_CHARS;
use super::runs::MAX_RUNNING;
use super::{AgentFactory, AgentPool, SpawnedAgent};
use crate::recorded::RecordedModel;
use crate::{Agent, AgentSettings, Budget};

/// Agents that call `desk.look` once, and say what came of it.
struct Office;

impl AgentFactory for Office {
    fn ids(&self) -> Vec<String> {
        ["lead", "helper", "writer", "absent"].map(str::to_owned).to_vec()
    }

    fn make(&self, id: &str, _context: &CallContext) -> Result<SpawnedAgent, String> {
        if id == "absent" {
            return Err("the model of `absent` cannot be reached".to_owned());
        }
        let tools = [Tool::new(QualifiedName::new("desk", "look").unwrap())];
        let names = WireNames::new(&tools, "context_builder", &[]);
        let plan = Plan::new(&tools, &InjectionSettings::default(), &names).unwrap();
        let turns = format!(
            "turns:\n  - calls: [{{name: desk__look, arguments: {{}}}}]\n  - text: \"{id} is done.\"\n"
        );
        let model = RecordedModel::new("office.yaml", turns.as_bytes(), CallStyle::Native).unwrap();
        Ok(SpawnedAgent {
            agent: Agent::new(AgentSettings::new(id, "recorded", &plan, names)),
            model: Arc::new(model),
        })
    }
}

/// The entrance: lets a call through when it is told to, and notes who called.
struct Door {
    open: Semaphore,
    callers: Mutex<Vec<(String, Vec<String>)>>,
    threads: Mutex<Vec<Option<String>>>,
}

impl Door {
    fn new(open: usize) -> Arc<Self> {
        Arc::new(Self { open: Semaphore::new(open), callers: Mutex::default(), threads: Mutex::default() })
    }
}

#[async_trait]
impl ToolCaller for Door {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        let above = context.on_behalf_of.iter().map(ToString::to_string).collect();
        let agent = context.agent.as_deref().unwrap_or_default().to_owned();
        assert_ne!(agent, "writer", "the writer's entrance is broken");
        self.callers.lock().push((agent, above));
        self.threads.lock().push(context.thread.as_deref().map(str::to_owned));
        tokio::select! {
            permit = self.open.acquire() => permit.unwrap().forget(),
            () = context.cancel.cancelled() => {
                return ToolResult::failed(call.call_id, call.name, ToolError::new(ErrorKind::Cancelled, "given up"));
            }
        }
        ToolResult::ok(call.call_id, call.name, json!("seen"))
    }
}

struct Desk {
    pool: AgentPool,
    module: Module,
    door: Arc<Door>,
}

impl Desk {
    /// A pool whose agents may make so many calls.
    fn new(open: usize) -> Self {
        let pool = AgentPool::new(Arc::new(Office));
        let module =
            pool.tools().into_iter().fold(Module::new("context_builder", "Runs agents."), Module::with_tool);
        Self { pool, module, door: Door::new(open) }
    }

    fn lead(&self) -> CallContext {
        let mut context = CallContext::new("s").with_agent("lead").with_user("ada");
        context.caller = Some(self.door.clone());
        context
    }

    async fn result(&self, name: &str, arguments: Value, context: &CallContext) -> ToolResult {
        let tools = self.module.load().await.tools;
        let tool = tools.into_iter().find(|tool| tool.name.name() == name).unwrap();
        let mut call = Call::new(Arc::new(tool), self.module.source().into(), 1);
        call.arguments = arguments.as_object().unwrap().clone();
        let capabilities = Capabilities { default_policy: Effect::Grant, ..Capabilities::default() };
        let Verdict::Granted(call) = Policy::new(&capabilities, []).unwrap().authorize(call, "s") else {
            panic!("not granted")
        };
        let call: Authorized<Call> = call;
        self.module.invoke(&call, context).await
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        let result = self.result(name, arguments, &self.lead()).await;
        assert_eq!(result.error, None);
        result.result
    }

    async fn failure(&self, name: &str, arguments: Value, context: &CallContext) -> ToolError {
        self.result(name, arguments, context).await.error.unwrap()
    }
}

#[tokio::test]
async fn tools_that_a_started_agent_calls_see_its_run_as_the_thread() {
    let desk = Desk::new(2);
    for run in ["helper-1", "helper-2"] {
        desk.call("agent_spawn", json!({"agent": "helper", "task": "Look."})).await;
        desk.call("agent_wait", json!({"runs": [run]})).await;
    }
    let threads = desk.door.threads.lock().clone();
    assert_eq!(threads, [Some("helper-1".to_owned()), Some("helper-2".to_owned())]);
}

#[tokio::test]
async fn a_started_agent_works_beside_its_coordinator_which_waits_for_its_report() {
    let desk = Desk::new(0);
    let started = desk.call("agent_spawn", json!({"agent": "helper", "task": "Look."})).await;
    assert_eq!(started, json!({"run": "helper-1", "agent": "helper", "status": "running"}));
    let still = desk.call("agent_wait", json!({"timeout_seconds": 0})).await;
    assert_eq!(still, json!({"runs": [started]}));
    desk.door.open.add_permits(1);
    let done = desk.call("agent_wait", json!({"runs": ["helper-1"]})).await;
    insta::assert_json_snapshot!(done, @r#"
    {
      "runs": [
        {
          "run": "helper-1",
          "agent": "helper",
          "status": "completed",
          "report": {
            "text": "helper is done.",
            "turns": 2,
            "calls": 1,
            "usage": {
              "prompt_tokens": 0,
              "completion_tokens": 0
            }
          }
        }
      ]
    }
    "#);
    assert_eq!(desk.call("agent_wait", json!({})).await, done, "it can be read again");
}

#[tokio::test]
async fn what_it_calls_is_called_on_behalf_of_its_coordinators_too() {
    let desk = Desk::new(2);
    let below = desk.lead().with_agent("chief").with_on_behalf_of(["lead".into()]);
    desk.result("agent_spawn", json!({"agent": "helper", "task": "Look."}), &below).await;
    desk.result("agent_wait", json!({}), &below).await;
    desk.call("agent_spawn", json!({"agent": "helper", "task": "Look."})).await;
    desk.call("agent_wait", json!({})).await;
    let callers = desk.door.callers.lock().clone();
    let helper = |above: &[&str]| ("helper".to_owned(), above.iter().map(ToString::to_string).collect());
    assert_eq!(callers, [helper(&["lead", "chief"]), helper(&["lead"])]);
}

#[tokio::test]
async fn what_cannot_be_started_is_said_with_what_can() {
    let desk = Desk::new(0);
    let lead = desk.lead();
    let deep = desk.lead().with_agent("chief").with_on_behalf_of(["lead".into(), "vice".into()]);
    let nowhere = CallContext::new("s").with_agent("lead");
    let long = "x".repeat(MAX_TASK_CHARS + 1);
    for (context, arguments, kind, says) in [
        (
            &lead,
            json!({"agent": "x", "task": "t"}),
            ErrorKind::InvalidArgs,
            "there is no agent `x`; the agents are helper, writer, absent",
        ),
        (
            &lead,
            json!({"agent": "lead", "task": "t"}),
            ErrorKind::InvalidArgs,
            "an agent does not start itself; the agents are helper",
        ),
        (
            &lead,
            json!({"agent": "helper", "task": long}),
            ErrorKind::InvalidArgs,
            "`task` has 20001 characters",
        ),
        (&lead, json!({"agent": "helper", "task": " "}), ErrorKind::InvalidArgs, "has to have 1 to 20000"),
        (&lead, json!({"agent": "absent", "task": "t"}), ErrorKind::Unavailable, "cannot be reached"),
        (
            &deep,
            json!({"agent": "helper", "task": "t"}),
            ErrorKind::LimitReached,
            "2 others stand above starts no more",
        ),
        (&nowhere, json!({"agent": "helper", "task": "t"}), ErrorKind::Internal, "no entrance"),
    ] {
        let error = desk.failure("agent_spawn", arguments, context).await;
        let text = format!("{}; {}", error.message, error.hint.unwrap_or_default());
        assert_eq!(error.kind, kind, "{text}");
        assert!(text.contains(says), "{text}");
    }
    assert_eq!(desk.call("agent_wait", json!({})).await, json!({"runs": []}));
}

#[tokio::test]
async fn those_that_a_coordinator_starts_share_what_it_has_left() {
    let desk = Desk::new(2);
    let mut lead = desk.lead();
    let most = Amount { tokens: 1_000, cost: 1_000, calls: 1 };
    let budget = Arc::new(Budget::new(most));
    lead.budget = Some(budget.clone());
    for _ in 0..2 {
        desk.result("agent_spawn", json!({"agent": "helper", "task": "Look."}), &lead).await;
    }
    let runs = desk.call("agent_wait", json!({})).await;
    let mut status = [0, 1].map(|run| runs["runs"][run]["status"].as_str().unwrap());
    status.sort_unstable();
    assert_eq!(status, ["completed", "limit_reached"], "{runs}");
    assert_eq!(budget.spent().calls, 1);
}

#[tokio::test]
async fn so_many_work_at_once_and_the_next_one_may_when_one_is_over() {
    let desk = Desk::new(0);
    for _ in 0..MAX_RUNNING {
        assert_eq!(
            desk.call("agent_spawn", json!({"agent": "helper", "task": "Look."})).await["status"],
            "running"
        );
    }
    let lead = desk.lead();
    let error = desk.failure("agent_spawn", json!({"agent": "helper", "task": "Look."}), &lead).await;
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::LimitReached, "8 agents are at work, and no more can be")
    );
    let ended = desk.call("agent_cancel", json!({"run": "helper-3"})).await;
    assert_eq!((&ended["status"], &ended["report"]["text"]), (&json!("failed"), &json!("")));
    assert_eq!(
        desk.call("agent_spawn", json!({"agent": "helper", "task": "Look."})).await["run"],
        "helper-9"
    );
}

#[tokio::test]
async fn it_ends_with_the_run_that_started_it_with_its_session_and_with_the_pool() {
    for end in ["run", "session", "pool"] {
        let desk = Desk::new(0);
        let lead = desk.lead();
        desk.result("agent_spawn", json!({"agent": "helper", "task": "Look."}), &lead).await;
        let run = desk.pool.runs.find(&lead, &[]).unwrap().remove(0);
        match end {
            "run" => lead.cancel.cancel(),
            "session" => {
                desk.pool.end_session("another").await;
                assert_eq!(run.status().status, "running");
                desk.pool.end_session("s").await;
            }
            _ => desk.pool.close().await,
        }
        run.over().await;
        assert_eq!(run.status().status, "failed", "{end}");
    }
}

#[tokio::test]
async fn an_agent_that_stops_by_a_fault_is_told_to_have_failed() {
    let desk = Desk::new(1);
    desk.call("agent_spawn", json!({"agent": "writer", "task": "Write."})).await;
    let done = desk.call("agent_wait", json!({})).await;
    assert_eq!(done["runs"][0]["status"], "failed");
    assert!(
        done["runs"][0]["report"]["error"]
            .as_str()
            .unwrap()
            .starts_with("the agent stopped because of a fault")
    );
}

#[tokio::test]
async fn nobody_sees_or_ends_the_runs_of_another_agent_or_session() {
    let desk = Desk::new(0);
    desk.call("agent_spawn", json!({"agent": "helper", "task": "Look."})).await;
    for other in
        [desk.lead().with_agent("chief"), CallContext::new("t").with_agent("lead"), CallContext::new("s")]
    {
        assert_eq!(desk.result("agent_wait", json!({}), &other).await.result, json!({"runs": []}));
        for (name, arguments) in
            [("agent_wait", json!({"runs": ["helper-1"]})), ("agent_cancel", json!({"run": "helper-1"}))]
        {
            let error = desk.failure(name, arguments, &other).await;
            assert_eq!(
                (error.kind, error.message.as_str()),
                (ErrorKind::NotFound, "there is no run `helper-1`")
            );
        }
    }
    assert_eq!(desk.call("agent_wait", json!({"timeout_seconds": 0})).await["runs"][0]["status"], "running");
}
