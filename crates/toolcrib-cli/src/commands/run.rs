//! `toolcrib run`.

mod chat;
mod slash;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_agent::chat::OutputSchema;
use toolcrib_agent::recorded::Recorder;
use toolcrib_agent::{
    Agent, ChatModel, Conversation, Journal, Message, Observer, Outcome, Provider, RunReport,
};
use toolcrib_app::sections::output_schema::read_output_schema;
use toolcrib_app::{AgentSetup, App, ChosenModel, Extensions};
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_runtime::Runtime;

use crate::app_start::{name_app, start, tell_missing_records};
use crate::approver::{RuleWriter, approver};
use crate::arguments::{Chat, Reasoning, Run, RunOptions};
use crate::delegated_calls::DelegatedCalls;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::session::{SessionFile, recalled};
use crate::terminal::console;
use crate::trace::TraceJournal;
use crate::ui::activity::Activity;
use crate::ui::observer::Watcher;
use crate::ui::output::{self, tell};
use crate::ui::results::Results;
use crate::ui::style::Meaning;

/// The session of one process.
pub(super) const SESSION: &str = "run";

/// The most bytes of a prompt from standard input.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;

/// The form of a run.
#[derive(Clone, Debug)]
enum Form {
    /// One prompt, where there is one.
    Prompt(Option<String>),
    Chat,
}

/// An app, and what to do with it.
struct RunRequest {
    app: PathBuf,
    form: Form,
    options: RunOptions,
}

pub(crate) async fn run(arguments: Run, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let Run { app, prompt, options } = arguments;
    start_and_drive(RunRequest { app, form: Form::Prompt(prompt), options }, extensions, json).await
}

/// Runs `toolcrib chat`.
pub(crate) async fn chat(arguments: Chat, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let Chat { app, options } = arguments;
    if json {
        let app = shell_words::quote(&app.to_string_lossy()).into_owned();
        return Err(Failure::bad_input(format!(
            "`chat` is for people; `toolcrib run {app} PROMPT --json` prints a document"
        )));
    }
    start_and_drive(RunRequest { app, form: Form::Chat, options }, extensions, json).await
}

async fn start_and_drive(task: RunRequest, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let interrupts = Interrupts::watch();
    let rules = RuleWriter::new(task.app.clone(), extensions.clone());
    name_app(&task.app);
    let mut app = App::open_with(&task.app, extensions.clone())?;
    let first = app.config.agents.first().map(|agent| agent.id.as_str());
    if let Some(agent) = task.options.agent.as_deref().or(first).filter(|_| !json) {
        let observer = Arc::new(DelegatedCalls::new(agent));
        Arc::make_mut(&mut app.extensions).observers.push(observer);
    }
    let starting = (!json).then(|| Activity::start_slow(&format!("starting {}", task.app.display())));
    if let Some(starting) = &starting {
        Arc::make_mut(&mut app.extensions).load_observer = Some(starting.detail());
    }
    let runtime = tokio::select! {
        biased;
        () = interrupts.left() => return Err(interrupted()),
        runtime = start(app, approver(task.options.yes, Some(rules))) => runtime?,
    };
    drop(starting);
    let mut kept = None;
    let outcome = drive(&runtime, &interrupts, task, json, &mut kept).await;
    if let Some(session) = kept {
        session.close().await;
    }
    tell_missing_records(&runtime);
    runtime.close().await;
    outcome
}

async fn drive(
    runtime: &Runtime,
    interrupts: &Interrupts,
    task: RunRequest,
    json: bool,
    session_file: &mut Option<SessionFile>,
) -> Result<Exit, Failure> {
    let RunRequest { app, form, options: arguments } = task;
    output::rejects(runtime.snapshot().rejected());
    check_agents(runtime)?;
    let id = arguments.session.as_deref().unwrap_or(SESSION);
    if arguments.session.is_none() {
        // This run does not continue an earlier one without a name.
        runtime.end_session(id).await;
    }
    let schema = arguments.schema.as_deref().map(read_output_schema).transpose()?;
    if arguments.replay.is_none() {
        runtime.ask_server_profiles().await;
    }
    let setup = runtime.agent_in(arguments.agent.as_deref(), id)?;
    for warning in setup.warnings() {
        tell(&format!("note: {warning}"));
    }
    let model = model(runtime, &setup, &arguments)?;
    let mut file = None;
    let mut conversation = Conversation::new();
    if let Some(id) = &arguments.session {
        let (kept_in, kept) = SessionFile::open(&app, runtime.app().shared_store(), id, &setup.id).await?;
        *session_file = Some(kept_in.clone());
        conversation = kept;
        if let Some(last) = recalled(id, &conversation).filter(|_| !json) {
            tell(last.trim_end());
        }
        let results = kept_in.results();
        runtime.executor().store_results_in(id, &results).map_err(|error| {
            Failure::bad_input(format!("{}: results cannot be kept there: {error}", results.display()))
        })?;
        file = Some(kept_in);
    }
    let stored = file.clone().map(|file| Arc::new(file) as Arc<dyn Journal>);
    let trace = arguments.trace.map(|path| (path, Arc::new(TraceJournal::new(stored))));
    let caller = arguments.caller.context(id)?;
    let turn =
        conversation.messages().iter().filter(|message| matches!(message, Message::User { .. })).count();
    let mut session = Session {
        id,
        caller,
        turn,
        runtime,
        setup,
        app,
        file,
        trace,
        results: Results::default(),
        is_chat: false,
        is_recorded: arguments.record.is_some(),
        model,
        entrance: runtime.entrance(),
        conversation,
        interrupts,
        json,
        reasoning: arguments.reasoning,
        schema,
    };
    if matches!(form, Form::Chat | Form::Prompt(None)) && session.conversation.is_open() {
        if !json {
            tell(&format!("going on with the session `{id}`"));
        }
        let finished = session.resume().await;
        session.tell(&finished);
        if matches!(form, Form::Prompt(_)) {
            return Ok(exit_of(&finished));
        }
    }
    let Form::Prompt(prompt) = form else { return Ok(session.talk().await) };
    let prompt = prompt.or_else(|| runtime.app().config.app.prompt.clone());
    if prompt.is_none() && std::io::stdin().is_terminal() && !json {
        return Ok(session.talk().await);
    }
    let prompt = first_prompt(prompt, interrupts).await?;
    if !json {
        tell(&format!("> {}", prompt.trim()));
    }
    let finished = session.ask(&prompt).await;
    session.tell(&finished);
    Ok(exit_of(&finished))
}

/// An agent, and what was said so far.
struct Session<'a> {
    id: &'a str,
    /// On whose behalf its calls are made.
    caller: CallContext,
    /// The number of messages of the user.
    turn: usize,
    runtime: &'a Runtime,
    setup: Arc<AgentSetup>,
    app: PathBuf,
    /// The file that the conversation is kept in.
    file: Option<SessionFile>,
    /// The file for a trace, and what it shows.
    trace: Option<(PathBuf, Arc<TraceJournal>)>,
    /// The results that can be shown whole.
    results: Results,
    /// True if the person can ask for more.
    is_chat: bool,
    /// True if the model's turns are written to a file.
    is_recorded: bool,
    model: Arc<dyn ChatModel>,
    entrance: Arc<dyn ToolCaller>,
    conversation: Conversation,
    interrupts: &'a Interrupts,
    json: bool,
    reasoning: Reasoning,
    /// The schema of answers in place of that of the app.
    schema: Option<Arc<OutputSchema>>,
}

impl Session<'_> {
    /// One turn of the conversation. Ctrl-C ends this one only.
    async fn ask(&mut self, prompt: &str) -> RunReport {
        self.go(Some(prompt)).await
    }

    /// Returns the turn that was broken off.
    async fn resume(&mut self) -> RunReport {
        self.go(None).await
    }

    /// Plans the tools of the agent again if they have changed. If that fails, the plan stays as it was.
    fn renew(&mut self) {
        let renewed = self.runtime.agent_in(Some(&self.setup.id), self.id);
        let Ok(setup) = renewed.inspect_err(|error| tell(&format!("note: {error}"))) else { return };
        if Arc::ptr_eq(&setup, &self.setup) {
            return;
        }
        // A recording continues at its position.
        if !self.is_recorded && self.model.provider() != Provider::Recorded.as_str() {
            match self.runtime.model(&setup) {
                Ok(chosen) => self.model = chosen.model,
                Err(error) => return tell(&format!("note: {error}")),
            }
        }
        self.setup = setup;
    }

    async fn go(&mut self, prompt: Option<&str>) -> RunReport {
        self.renew();
        let turn = self.interrupts.turn();
        self.turn += usize::from(prompt.is_some());
        let context = self.caller.clone().with_message(self.turn.to_string());
        let context = context.with_agent(&*self.setup.id).with_cancel(turn.cancel());
        let mut settings = self.setup.settings.clone();
        if let Some(schema) = &self.schema {
            settings.output_schema = Some(Arc::clone(schema));
        }
        let has_schema = self.has_schema();
        let agent = Agent::new(settings).with_notifications(self.runtime.notifications());
        let agent = match (&self.trace, &self.file) {
            (Some((_, trace)), _) => agent.with_journal(Arc::clone(trace) as _),
            (None, Some(file)) => agent.with_journal(Arc::new(file.clone())),
            (None, None) => agent,
        };
        let (mut nobody, mut watcher) =
            ((), Watcher::new(self.reasoning, self.is_chat.then_some(&mut self.results), has_schema));
        let context = if self.json { context } else { context.with_progress(watcher.progress()) };
        let observer: &mut dyn Observer = if self.json { &mut nobody } else { &mut watcher };
        let (model, entrance) = (self.model.as_ref(), self.entrance.as_ref());
        let conversation = &mut self.conversation;
        let finished = match prompt {
            Some(prompt) => agent.run(prompt, conversation, model, entrance, &context, observer).await,
            None => agent.resume(conversation, model, entrance, &context, observer).await,
        };
        // A question that is open belongs to this turn: what the person types next must not meet it.
        let no_question = async {
            self.runtime.tasks().background().wait_for_approvals(self.id).await;
            console().no_dialogue().await;
        };
        tokio::select! {
            () = no_question => {}
            () = context.cancel.cancelled() => {}
        }
        finished
    }

    fn has_schema(&self) -> bool {
        self.schema.is_some() || self.setup.settings.output_schema.is_some()
    }

    /// Tells how a turn of the conversation ended.
    fn tell(&self, finished: &RunReport) {
        if let Some((path, trace)) = &self.trace {
            let written = crate::trace::write(path, &trace.timeline(&self.setup.id));
            if let Err(failure) = written {
                tell(&format!("warning: {}", failure.message));
            }
        }
        if self.json {
            output::json(finished);
        } else {
            match &finished.output {
                Some(value) => output::json(value),
                None if self.has_schema() => tell(&finished.text),
                None => {}
            }
            report(finished, &self.setup.settings.model);
        }
    }
}

fn exit_of(finished: &RunReport) -> Exit {
    match &finished.outcome {
        Outcome::Completed => Exit::Ok,
        Outcome::Truncated => Exit::Truncated,
        Outcome::Refused | Outcome::ContentFilter => Exit::Refused,
        Outcome::InvalidOutput { .. } => Exit::InvalidOutput,
        Outcome::Failed { error } if error.is_unavailable() => Exit::Unavailable,
        Outcome::LimitReached { .. } | Outcome::Failed { .. } => Exit::Failed,
    }
}

fn interrupted() -> Failure {
    Failure::new(Exit::Failed, "interrupted before the run began")
}

/// Checks that the app has an agent to run.
fn check_agents(runtime: &Runtime) -> Result<(), Failure> {
    if runtime.app().config.agents.is_empty() {
        let file = &runtime.app().file.name;
        return Err(Failure::bad_input(format!(
            "{file} has no `agents`; `toolcrib init` shows how one is written"
        )));
    }
    Ok(())
}

fn model(
    runtime: &Runtime,
    setup: &AgentSetup,
    arguments: &RunOptions,
) -> Result<Arc<dyn ChatModel>, Failure> {
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
    Ok(Arc::new(Recorder::new(model, file)))
}

/// Tells how a run of an agent with this model ended, and what it took.
fn report(report: &RunReport, model: &str) {
    if let Some(why) = report.outcome.explanation() {
        let (what, meaning) = match report.outcome {
            Outcome::Failed { .. } => ("error", Meaning::Failure),
            _ => ("stopped", Meaning::Caution),
        };
        output::tell_meaning(meaning, &format!("{what}: {why}"));
    }
    let failed = report.calls.iter().filter(|call| !call.ok).count();
    let usage = &report.usage;
    let mut summary = format!(
        "{} turns, {} calls ({failed} failed{}), {} + {} tokens",
        report.turns,
        report.calls.len(),
        if report.calls_left_out > 0 {
            format!(", and {} before them", report.calls_left_out)
        } else {
            String::new()
        },
        usage.prompt_tokens,
        usage.completion_tokens
    );
    if usage.cost > 0 {
        #[expect(clippy::cast_precision_loss, reason = "exact up to nine thousand million units")]
        let cost = usage.cost as f64 / 1e6;
        // Writing to a string cannot fail.
        let _ = write!(summary, ", cost {cost:.4}");
    }
    let below = &report.spent_below;
    if !below.is_nothing() {
        let _ = write!(
            summary,
            "; {} tokens and {} calls by those that it gave work to",
            below.tokens, below.calls
        );
    }
    if report.models.iter().any(|other| other != model) {
        let _ = write!(summary, "; answered by {}", report.models.join(", "));
    }
    tell(&summary);
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
