//! `toolcrib generate`.

mod check;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Handle;
use toolcrib_agent::Provider;
use toolcrib_app::Extensions;
use toolcrib_datagen::hygiene::Contamination;
use toolcrib_datagen::pipeline::{
    EarlierRun, ForbiddenTexts, GenerateSettings, NamedModel, Pipeline, PipelineError, Progress, Report,
    ToolPool,
};
use toolcrib_datagen::sampler::{Catalogue, Samplers};
use toolcrib_datagen::session::SessionEngine;
use toolcrib_datagen::writer::{Format, NameStyle};
use toolcrib_document::without_byte_order_mark;
use toolcrib_exec::DenyAll;
use toolcrib_io::files::read_bounded;
use toolcrib_model::Tool;
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_runtime::Runtime;

use crate::app_start::{open_with, patient, start_briefly, tell_missing_records};
use crate::arguments::{DataFormat, Generate, GenerateCommand, NameSpelling};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::ui::activity::Activity;
use crate::ui::output;

/// The session in which the tools are listed.
const SESSION: &str = "generate";

/// The most bytes of a file with texts that models are evaluated with.
const MAX_EVALUATION_BYTES: u64 = 64 * 1024 * 1024;

/// The most bytes of a prompt file.
const MAX_PROMPT_BYTES: u64 = 256 * 1024;

pub(crate) async fn run(arguments: &Generate, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let task = match (&arguments.command, &arguments.task) {
        (Some(GenerateCommand::Check { file }), _) => return check::run(file, json),
        (None, Some(task)) => task,
        (None, None) => return Err(Failure::bad_input("name the task file")),
    };
    let blueprint = open_with(task, extensions, patient())?;
    let file = blueprint.app.file.name.clone();
    let folder = blueprint.app.file.folder.clone();
    let Some(mut settings) = blueprint.app.config.generate.clone() else {
        return Err(Failure::bad_input(format!(
            "{file}: the section `generate` is missing; `generate: {{}}` has defaults"
        )));
    };
    if blueprint.app.config.agents.is_empty() {
        return Err(Failure::bad_input(format!(
            "{file}: no agent is there whose model writes the conversations; add one under `agents`"
        )));
    }
    if let Some(number) = arguments.num_outputs {
        settings.num_outputs = number;
    }
    if let Some(format) = arguments.format {
        settings.format = format.into();
    }
    settings.names = arguments.names.map(NameStyle::from).or(settings.names);
    let in_folder = settings.output.as_ref().map(|output| folder.join(output));
    let Some(path) = arguments.output.clone().or(in_folder) else {
        return Err(Failure::bad_input(format!(
            "{file}: name the file to write by --output or `generate.output`"
        )));
    };
    let starting = Activity::start_slow(&format!("starting {file}"));
    let runtime = start_briefly(blueprint, Arc::new(DenyAll)).await?;
    drop(starting);
    let task = Task { settings, folder, samplers: extensions.samplers.clone() };
    let done = generate(&runtime, task, &path, arguments).await;
    tell_missing_records(&runtime);
    runtime.close().await;
    let report = done?;
    if json {
        output::json(&json!(report));
    } else {
        output::say(report.to_string().trim_end());
        output::say(&format!("written to {}", path.display()));
    }
    Ok(match report.stopped {
        None => Exit::Ok,
        Some(_) => Exit::Failed,
    })
}

/// A task of data generation.
struct Task {
    settings: GenerateSettings,
    /// The folder of its file.
    folder: PathBuf,
    samplers: Samplers,
}

async fn generate(
    runtime: &Runtime,
    task: Task,
    path: &Path,
    arguments: &Generate,
) -> Result<Report, Failure> {
    let pipeline = pipeline(runtime, task).map_err(|error| failure(&error))?;
    let earlier = match (arguments.resume, arguments.restart) {
        (true, _) => EarlierRun::Resume,
        (_, true) => EarlierRun::Restart,
        _ => EarlierRun::Refuse,
    };
    let interrupts = Interrupts::watch();
    let turn = interrupts.turn();
    let cancel = turn.cancel();
    let done = pipeline.run(path, earlier, &cancel, show).await;
    done.map_err(|error| failure(&error))
}

/// Builds the pipeline. Stages with the same agent share its model, so that a recording has the turns of all of them.
fn pipeline(runtime: &Runtime, task: Task) -> Result<Pipeline, PipelineError> {
    let Task { settings, folder, samplers } = task;
    let evaluation = evaluation_texts(&settings, &folder)?;
    let secrets = runtime.app().file.secrets().clone();
    let caller = runtime.executor().tool_caller();
    let sessions = sessions(runtime, &caller);
    let opened: RefCell<BTreeMap<String, NamedModel>> = RefCell::default();
    let model = |id: Option<&str>| {
        let agent = runtime.agent(id).map_err(|error| error.to_string())?;
        if let Some(model) = opened.borrow().get(&agent.id) {
            return Ok(model.clone());
        }
        let mut agents = runtime.app().config.agents.iter();
        let name = agents.find(|other| other.id == agent.id).map(|agent| agent.brain.model.clone());
        let model = runtime.model(&agent).map_err(|error| error.to_string())?.model;
        // The data card must not name a model that wrote nothing.
        let is_recorded = model.provider() == Provider::Recorded.as_str();
        let name = if is_recorded { model.provider().to_owned() } else { name.unwrap_or_default() };
        let model = NamedModel { name, model };
        opened.borrow_mut().insert(agent.id.clone(), model.clone());
        Ok(model)
    };
    let prompt = |file: &str| read_text(&folder, file, MAX_PROMPT_BYTES);
    let pool = pool(runtime, &caller, samplers);
    let pipeline = Pipeline::new(settings, pool, (caller, sessions), model, prompt)?;
    Ok(pipeline.with_forbidden_texts(ForbiddenTexts { evaluation, secrets }))
}

/// Returns the sessions in which calls run. What engines and stores keep for one ends with it.
fn sessions(runtime: &Runtime, caller: &Arc<dyn ToolCaller>) -> SessionEngine {
    let executor = Arc::clone(runtime.executor());
    let sessions = SessionEngine::new(Arc::clone(caller), runtime.app().session_states.clone());
    sessions.with_teardown(move |session| {
        let (executor, session) = (Arc::clone(&executor), session.to_owned());
        if let Ok(handle) = Handle::try_current() {
            handle.spawn(async move { executor.end_session(&session).await });
        }
    })
}

/// Reads the texts that models are evaluated with.
fn evaluation_texts(settings: &GenerateSettings, folder: &Path) -> Result<Contamination, PipelineError> {
    let mut texts = Vec::new();
    for (at, file) in settings.hygiene.decontamination.iter().enumerate() {
        let text = read_text(folder, file, MAX_EVALUATION_BYTES);
        texts.push(text.map_err(|message| PipelineError::Setting {
            key: format!("hygiene.decontamination[{at}]"),
            message,
        })?);
    }
    Ok(Contamination::of_lines(texts.iter().flat_map(|text| text.lines())))
}

fn read_text(folder: &Path, file: &str, most: u64) -> Result<String, String> {
    let bytes = read_bounded(folder.join(file), most).map_err(|error| format!("{file}: {error}"))?;
    let text = std::str::from_utf8(without_byte_order_mark(&bytes));
    text.map(str::to_owned).map_err(|_| format!("{file} is not UTF-8"))
}

/// Returns the tools of the app: those that a caller may use, and those that the policy denies.
fn pool(runtime: &Runtime, caller: &Arc<dyn ToolCaller>, samplers: Samplers) -> ToolPool {
    let context = CallContext::new(SESSION);
    let key = |tool: &Tool| (tool.name.clone(), tool.fingerprint());
    let visible: HashSet<_> =
        caller.catalogue().visible_tools(&context).iter().map(|tool| key(tool)).collect();
    let snapshot = runtime.snapshot();
    let all: Vec<_> = snapshot.iter().map(|entry| Arc::clone(&entry.tool)).collect();
    let pool = ToolPool::new(&all, |tool| visible.contains(&key(tool)));
    pool.with_samplers(samplers, Catalogue::new(&snapshot))
}

/// Shows the progress on a terminal as a bar.
fn show(progress: Progress) {
    output::progress(&bar(progress), progress.active == 0);
}

fn bar(progress: Progress) -> String {
    /// The characters of the bar.
    const WIDTH: u64 = 30;
    let Progress { needed, kept, dropped, active, .. } = progress;
    let filled = (kept * WIDTH).checked_div(needed).unwrap_or(WIDTH).min(WIDTH);
    let filled = usize::try_from(filled).unwrap_or_default();
    let empty = usize::try_from(WIDTH).unwrap_or_default() - filled;
    let (filled, empty) = ("#".repeat(filled), " ".repeat(empty));
    // The spaces hide the end of a longer line before.
    format!("[{filled}{empty}] {kept}/{needed} kept, {dropped} dropped, {active} in progress   ")
}

fn failure(error: &PipelineError) -> Failure {
    let exit = match error {
        PipelineError::Model { .. } => Exit::Unavailable,
        PipelineError::Setting { .. }
        | PipelineError::NoTools { .. }
        | PipelineError::Exists { .. }
        | PipelineError::OtherTask { .. } => Exit::BadInput,
        _ => Exit::Failed,
    };
    Failure::new(exit, error.to_string())
}

impl From<NameSpelling> for NameStyle {
    fn from(spelling: NameSpelling) -> Self {
        match spelling {
            NameSpelling::Qualified => Self::Qualified,
            NameSpelling::Dotted => Self::Dotted,
            NameSpelling::Wire => Self::Wire,
        }
    }
}

impl From<DataFormat> for Format {
    fn from(format: DataFormat) -> Self {
        match format {
            DataFormat::Openai => Self::Openai,
            DataFormat::Hermes => Self::Hermes,
            DataFormat::Sharegpt => Self::Sharegpt,
            DataFormat::Xlam => Self::Xlam,
            DataFormat::Bfcl => Self::Bfcl,
            DataFormat::Preferences => Self::Preferences,
            DataFormat::Retrieval => Self::Retrieval,
        }
    }
}
