//! The tools of a coordinator.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_port::CallContext;
use toolcrib_sdk::FunctionTool;
use tracing::Instrument as _;

use super::arguments::{Cancel, MAX_TASK_CHARS, MAX_WAIT, RunStatus, Runs, Spawn, Wait};
use super::runs::{Run, RunTable};
use super::{AgentFactory, MAX_SPAWN_DEPTH};
use crate::Conversation;

/// The time that a call may take in addition to its wait.
const WAIT_SLACK: Duration = Duration::from_secs(30);

/// The time that the pool waits for its agents when it closes.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// The agents that coordinators have started. Clones share them.
#[derive(Clone)]
pub struct AgentPool {
    factory: Arc<dyn AgentFactory>,
    pub(super) runs: Arc<RunTable>,
}

impl AgentPool {
    /// The bare name of the tool that starts an agent.
    pub const SPAWN: &str = "agent_spawn";

    const WAIT: &str = "agent_wait";

    const CANCEL: &str = "agent_cancel";

    /// The bare names of all tools.
    pub const TOOLS: [&str; 3] = [Self::SPAWN, Self::WAIT, Self::CANCEL];

    /// Creates a pool of the agents that a factory makes.
    pub fn new(factory: Arc<dyn AgentFactory>) -> Self {
        Self { factory, runs: Arc::default() }
    }

    /// `agent_spawn`, `agent_wait` and `agent_cancel`, as functions that belong into the namespace of the runtime's own
    /// tools. Who may call them is for the policy to say.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let (spawn, wait, cancel) = (self.clone(), self.clone(), self.clone());
        let own = |tool: FunctionTool| {
            let tool = tool.with_risk(Risk::Low).with_metadata("operational", true);
            tool.with_metadata("presence", "essential")
        };
        let spawn = FunctionTool::new(
            Self::SPAWN,
            "Start another agent on a task, and go on while it works.",
            move |arguments: Spawn, context: CallContext| {
                let started = spawn.spawn(&arguments, &context);
                async move { started }
            },
        );
        let wait = FunctionTool::new(
            Self::WAIT,
            "Wait for agents that were started, and read their reports.",
            move |arguments: Wait, context: CallContext| {
                let pool = wait.clone();
                async move { pool.wait(&arguments, &context).await }
            },
        );
        let cancel = FunctionTool::new(
            Self::CANCEL,
            "End an agent that was started.",
            move |arguments: Cancel, context: CallContext| {
                let pool = cancel.clone();
                async move { pool.cancel(&arguments, &context).await }
            },
        );
        vec![
            own(spawn)
                .with_output::<RunStatus>()
                .with_metadata("runs_others", true)
                .with_side_effects(["starts an agent"])
                .with_aliases(["delegate", "subagent", "déléguer", "lancer un agent"]),
            own(wait)
                .with_output::<Runs>()
                .with_metadata("timeout_seconds", (MAX_WAIT + WAIT_SLACK).as_secs())
                .with_aliases(["await agents", "attendre les agents"]),
            own(cancel)
                .with_output::<RunStatus>()
                .with_side_effects(["ends an agent"])
                .with_aliases(["stop agent", "arrêter un agent"]),
        ]
    }

    /// Ends the agents of a session, and drops their reports.
    pub async fn end_session(&self, session: &str) {
        end(self.runs.take(Some(session))).await;
    }

    /// Ends all agents.
    pub async fn close(&self) {
        end(self.runs.take(None)).await;
    }

    fn spawn(&self, arguments: &Spawn, context: &CallContext) -> Result<RunStatus, ToolError> {
        let Spawn { agent: id, task } = arguments;
        let mut superiors = context.on_behalf_of.to_vec();
        superiors.extend(context.agent.clone());
        if superiors.len() > MAX_SPAWN_DEPTH {
            let message = format!("an agent that {MAX_SPAWN_DEPTH} others stand above starts no more");
            return Err(ToolError::new(ErrorKind::LimitReached, message).with_hint("do the task yourself"));
        }
        let known = self.factory.ids();
        if !known.contains(id) || context.agent.as_deref() == Some(id) {
            let others = known.iter().filter(|known| context.agent.as_deref() != Some(known.as_str()));
            let others: Vec<&str> = others.map(String::as_str).collect();
            let message = if known.contains(id) {
                "an agent does not start itself".to_owned()
            } else {
                format!("there is no agent `{id}`")
            };
            return Err(ToolError::new(ErrorKind::InvalidArgs, message)
                .with_hint(format!("the agents are {}", others.join(", "))));
        }
        let count = task.chars().count();
        if count > MAX_TASK_CHARS || task.trim().is_empty() {
            let message = format!("`task` has {count} characters, and has to have 1 to {MAX_TASK_CHARS}");
            return Err(ToolError::new(ErrorKind::InvalidArgs, message)
                .with_hint("put what is long into a file, and name it in the task"));
        }
        let Some(caller) = context.caller.clone() else {
            return Err(ToolError::new(
                ErrorKind::Internal,
                "agents cannot be started here: there is no entrance for their calls",
            ));
        };
        let cancel = context.cancel.child_token();
        let mut own = CallContext::new(Arc::clone(&context.session))
            .with_agent(id.as_str())
            .with_on_behalf_of(superiors)
            .with_cancel(cancel.clone())
            .with_caller_of(context);
        own.detached = true;
        own.trace.clone_from(&context.trace);
        own.budget.clone_from(&context.budget);
        let made =
            self.factory.make(id, &own).map_err(|error| ToolError::new(ErrorKind::Unavailable, error))?;
        let (run, reporter) = self.runs.begin(context, id, own.phase.clone(), cancel)?;
        // Within the conversation, what the agent says and calls is a separate thread.
        let own = own.with_thread(run.id());
        let task = task.clone();
        let working = async move {
            let mut conversation = Conversation::new();
            let report =
                made.agent.run(&task, &mut conversation, &*made.model, &*caller, &own, &mut ()).await;
            reporter.tell(&report);
        };
        tokio::spawn(working.in_current_span());
        Ok(run.status())
    }

    async fn wait(&self, arguments: &Wait, context: &CallContext) -> Result<Runs, ToolError> {
        let runs = self.runs.find(context, &arguments.runs)?;
        let end = Instant::now() + Duration::from_secs(arguments.timeout_seconds).min(MAX_WAIT);
        // Time to tell how they stand, where the call itself has to be over sooner.
        let end = context
            .deadline
            .map_or(end, |deadline| end.min(deadline.checked_sub(TELLING).unwrap_or(deadline)));
        // What is still at work then is told to be.
        let _ = tokio::time::timeout_at(end, join_all(runs.iter().map(Run::over))).await;
        Ok(Runs { runs: runs.iter().map(Run::status).collect() })
    }

    async fn cancel(&self, arguments: &Cancel, context: &CallContext) -> Result<RunStatus, ToolError> {
        let runs = self.runs.find(context, std::slice::from_ref(&arguments.run))?;
        end(runs.clone()).await;
        runs.first().map(Run::status).ok_or_else(|| {
            ToolError::new(ErrorKind::NotFound, format!("there is no run `{}`", arguments.run))
        })
    }
}

/// The part of its deadline that a call reserves for its result.
const TELLING: Duration = Duration::from_millis(500);

async fn end(runs: Vec<Run>) {
    runs.iter().for_each(Run::cancel);
    // One that does not end in time is left to end later.
    let _ = tokio::time::timeout(CLOSE_WAIT, join_all(runs.iter().map(Run::over))).await;
}
