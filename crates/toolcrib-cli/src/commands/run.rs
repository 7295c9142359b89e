//! `toolcrib run`.

use std::fs::File;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::sync::Arc;

use serde_json::json;
use toolcrib_agent::{Agent, ChatModel, Conversation, Outcome, Recorder, RunReport};
use toolcrib_port::CallContext;
use toolcrib_runtime::{AgentSetup, ChosenModel, Runtime};

use super::start;
use crate::approver::approver;
use crate::arguments::Run;
use crate::exit::{Exit, Failure};
use crate::interrupt::cancel_on_interrupt;
use crate::observer::Watcher;
use crate::output;

/// The session of one process.
const SESSION: &str = "run";

/// The most bytes of a prompt from standard input.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;

pub(crate) async fn run(arguments: Run, json: bool) -> Result<Exit, Failure> {
    let runtime = start(&arguments.app, approver(arguments.yes)).await?;
    let outcome = drive(&runtime, arguments, json).await;
    runtime.close().await;
    outcome
}

async fn drive(runtime: &Runtime, arguments: Run, json: bool) -> Result<Exit, Failure> {
    output::rejects(runtime.snapshot().rejected());
    if runtime.app().config.agents.is_empty() {
        let file = &runtime.app().file;
        return Err(Failure::bad_input(format!(
            "{file} has no `agents`; `toolcrib init` shows how one is written"
        )));
    }
    let setup = runtime.agent(arguments.agent.as_deref())?;
    let model = model(runtime, &setup, &arguments)?;
    let agent = Agent::new(setup.settings.clone());
    let cancel = cancel_on_interrupt();
    let context = CallContext::new(SESSION).with_agent(setup.id.as_str()).with_cancel(cancel);
    let entrance = runtime.executor().entrance();
    let mut conversation = Conversation::new();
    let ask = async |prompt: &str, conversation: &mut Conversation| {
        let (model, entrance) = (model.as_ref(), entrance.as_ref());
        if json {
            agent.run(prompt, conversation, model, entrance, &context, &mut ()).await
        } else {
            let mut watcher = Watcher::new();
            agent.run(prompt, conversation, model, entrance, &context, &mut watcher).await
        }
    };
    let prompt = arguments.prompt.or_else(|| runtime.app().config.app.prompt.clone());
    if prompt.is_none() && std::io::stdin().is_terminal() && !json {
        eprintln!("talk to {}; an empty line or Ctrl-D ends the conversation", setup.id);
        while let Some(line) = next_line().await {
            report(&ask(&line, &mut conversation).await);
        }
        return Ok(Exit::Ok);
    }
    let prompt = prompt.map_or_else(prompt_from_stdin, Ok)?;
    if !json {
        eprintln!("> {}", prompt.trim());
    }
    let finished = ask(&prompt, &mut conversation).await;
    if json {
        output::json(&finished);
    } else {
        report(&finished);
    }
    Ok(match &finished.outcome {
        Outcome::Completed => Exit::Ok,
        Outcome::Failed { error } if error.is_unavailable() => Exit::Unavailable,
        Outcome::LimitReached { .. } | Outcome::Failed { .. } => Exit::Failed,
    })
}

fn model(runtime: &Runtime, setup: &AgentSetup, arguments: &Run) -> Result<Arc<dyn ChatModel>, Failure> {
    let ChosenModel { model, notice } = match &arguments.replay {
        Some(path) => setup.replay(path)?,
        None => runtime.model(setup)?,
    };
    if let Some(notice) = notice {
        eprintln!("note: {notice}");
    }
    let Some(path) = &arguments.record else { return Ok(model) };
    let file = File::create(path)
        .map_err(|error| Failure::bad_input(format!("cannot record to {}: {error}", path.display())))?;
    Ok(Arc::new(Recorder::new(model, setup.style, file)))
}

fn report(report: &RunReport) {
    match &report.outcome {
        Outcome::Completed => {}
        Outcome::LimitReached { limit } => eprintln!("stopped: limit reached ({})", json!(limit)),
        Outcome::Failed { error } => eprintln!("error: {error}"),
    }
    let failed = report.calls.iter().filter(|call| !call.ok).count();
    let usage = &report.usage;
    eprintln!(
        "{} turns, {} calls ({failed} failed), {} + {} tokens",
        report.turns,
        report.calls.len(),
        usage.prompt_tokens,
        usage.completion_tokens
    );
}

/// The next line that a person types; `None` at the end of the conversation.
async fn next_line() -> Option<String> {
    let read = tokio::task::spawn_blocking(|| {
        eprint!("> ");
        let _ = std::io::stderr().flush();
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    read.await.ok()?.ok().filter(|line| !line.trim().is_empty())
}

fn prompt_from_stdin() -> Result<String, Failure> {
    let mut prompt = String::new();
    let read = std::io::stdin().lock().take(MAX_PROMPT_BYTES).read_to_string(&mut prompt);
    read.map_err(|error| Failure::bad_input(format!("standard input: {error}")))?;
    if prompt.trim().is_empty() {
        return Err(Failure::bad_input(
            "there is no prompt; give one behind the app file, or set `app.prompt`",
        ));
    }
    Ok(prompt)
}
