//! `toolcrib run`.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::sync::Arc;

use serde_json::json;
use toolcrib_agent::{Agent, ChatModel, Conversation, Observer, Outcome, Recorder, RunReport};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_runtime::{AgentSetup, ChosenModel, Runtime};

use super::start;
use crate::approver::approver;
use crate::arguments::Run;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::keyboard::keyboard;
use crate::observer::Watcher;
use crate::output::{self, tell};

/// The session of one process.
pub(super) const SESSION: &str = "run";

/// The most bytes of a prompt from standard input.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;

pub(crate) async fn run(arguments: Run, json: bool) -> Result<Exit, Failure> {
    let interrupts = Interrupts::watch();
    let runtime = tokio::select! {
        biased;
        () = interrupts.left() => return Err(interrupted()),
        runtime = start(&arguments.app, approver(arguments.yes)) => runtime?,
    };
    let outcome = drive(&runtime, &interrupts, arguments, json).await;
    runtime.close().await;
    outcome
}

async fn drive(
    runtime: &Runtime,
    interrupts: &Interrupts,
    arguments: Run,
    json: bool,
) -> Result<Exit, Failure> {
    output::rejects(runtime.snapshot().rejected());
    if runtime.app().config.agents.is_empty() {
        let file = &runtime.app().file;
        return Err(Failure::bad_input(format!(
            "{file} has no `agents`; `toolcrib init` shows how one is written"
        )));
    }
    let setup = runtime.agent_in(arguments.agent.as_deref(), SESSION)?;
    let model = model(runtime, &setup, &arguments)?;
    let mut session = Session {
        agent: Agent::new(setup.settings.clone()),
        model,
        entrance: runtime.executor().entrance(),
        conversation: Conversation::new(),
        interrupts,
        json,
    };
    let prompt = arguments.prompt.or_else(|| runtime.app().config.app.prompt.clone());
    if prompt.is_none() && std::io::stdin().is_terminal() && !json {
        tell(&format!("talk to {}; an empty line or Ctrl-D ends the conversation", setup.id));
        return Ok(session.talk().await);
    }
    let prompt = first_prompt(prompt, interrupts).await?;
    if !json {
        tell(&format!("> {}", prompt.trim()));
    }
    let finished = session.ask(&prompt).await;
    if json {
        output::json(&finished);
    } else {
        report(&finished);
    }
    Ok(exit_of(&finished))
}

/// An agent, and what was said so far.
struct Session<'a> {
    agent: Agent,
    model: Arc<dyn ChatModel>,
    entrance: Arc<dyn ToolCaller>,
    conversation: Conversation,
    interrupts: &'a Interrupts,
    json: bool,
}

impl Session<'_> {
    /// One turn of the conversation. Ctrl-C ends this one only.
    async fn ask(&mut self, prompt: &str) -> RunReport {
        let turn = self.interrupts.turn();
        let agent = self.agent.settings().name.as_str();
        let context = CallContext::new(SESSION).with_agent(agent).with_cancel(turn.cancel());
        let (mut nobody, mut watcher) = ((), Watcher::new());
        let observer: &mut dyn Observer = if self.json { &mut nobody } else { &mut watcher };
        let (model, entrance) = (self.model.as_ref(), self.entrance.as_ref());
        self.agent.run(prompt, &mut self.conversation, model, entrance, &context, observer).await
    }

    /// A conversation with the person at the terminal.
    async fn talk(&mut self) -> Exit {
        loop {
            let line = tokio::select! {
                biased;
                () = self.interrupts.left() => {
                    // What comes next starts on a line of its own.
                    tell("");
                    return Exit::Ok;
                }
                line = keyboard().line("> ") => line,
            };
            let Some(line) = line.filter(|line| !line.trim().is_empty()) else { return Exit::Ok };
            let finished = self.ask(&line).await;
            report(&finished);
            if self.interrupts.has_left() {
                return exit_of(&finished);
            }
        }
    }
}

fn exit_of(finished: &RunReport) -> Exit {
    match &finished.outcome {
        Outcome::Completed => Exit::Ok,
        Outcome::Failed { error } if error.is_unavailable() => Exit::Unavailable,
        Outcome::LimitReached { .. } | Outcome::Failed { .. } => Exit::Failed,
    }
}

fn interrupted() -> Failure {
    Failure::new(Exit::Failed, "interrupted before the run began")
}

fn model(runtime: &Runtime, setup: &AgentSetup, arguments: &Run) -> Result<Arc<dyn ChatModel>, Failure> {
    let ChosenModel { model, notice } = match &arguments.replay {
        Some(path) => setup.replay(path)?,
        None => runtime.model(setup)?,
    };
    if let Some(notice) = notice {
        tell(&format!("note: {notice}"));
    }
    let Some(path) = &arguments.record else { return Ok(model) };
    let file = File::create(path)
        .map_err(|error| Failure::bad_input(format!("cannot record to {}: {error}", path.display())))?;
    Ok(Arc::new(Recorder::new(model, setup.style, file)))
}

fn report(report: &RunReport) {
    match &report.outcome {
        Outcome::Completed => {}
        Outcome::LimitReached { limit } => tell(&format!("stopped: limit reached ({})", json!(limit))),
        Outcome::Failed { error } => tell(&format!("error: {error}")),
    }
    let failed = report.calls.iter().filter(|call| !call.ok).count();
    let usage = &report.usage;
    tell(&format!(
        "{} turns, {} calls ({failed} failed), {} + {} tokens",
        report.turns,
        report.calls.len(),
        usage.prompt_tokens,
        usage.completion_tokens
    ));
}

async fn first_prompt(given: Option<String>, interrupts: &Interrupts) -> Result<String, Failure> {
    if let Some(prompt) = given {
        return Ok(prompt);
    }
    tokio::select! {
        biased;
        () = interrupts.left() => Err(interrupted()),
        prompt = prompt_from_stdin() => prompt,
    }
}

/// Reads all of standard input, in a thread: a read that blocks cannot be ended.
async fn prompt_from_stdin() -> Result<String, Failure> {
    let read = tokio::task::spawn_blocking(|| {
        let mut prompt = String::new();
        std::io::stdin().lock().take(MAX_PROMPT_BYTES).read_to_string(&mut prompt).map(|_| prompt)
    });
    let read = read.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    let prompt = read.map_err(|error| Failure::bad_input(format!("standard input: {error}")))?;
    if prompt.trim().is_empty() {
        return Err(Failure::bad_input(
            "there is no prompt; give one behind the app file, or set `app.prompt`",
        ));
    }
    Ok(prompt)
}
