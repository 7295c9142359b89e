//! `toolcrib generate`.

mod check;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use toolcrib_app::Extensions;
use toolcrib_datagen::pipeline::{
    EarlierRun, GenerateSettings, NamedModel, Pipeline, PipelineError, Progress, Report, ToolPool,
};
use toolcrib_datagen::session::SessionEngine;
use toolcrib_datagen::writer::Format;
use toolcrib_exec::DenyAll;
use toolcrib_io::files::read_bounded;
use toolcrib_model::QualifiedName;
use toolcrib_port::{CallContext, ToolCaller};
use toolcrib_runtime::Runtime;

use crate::app_start::{open_with, patient, start_briefly, tell_missing_records};
use crate::arguments::{DataFormat, Generate, GenerateCommand};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::ui::output;

/// The session in which the tools are listed.
const SESSION: &str = "generate";

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
    if let Some(number) = arguments.num_outputs {
        settings.num_outputs = number;
    }
    if let Some(format) = arguments.format {
        settings.format = format.into();
    }
    let in_folder = settings.output.as_ref().map(|output| folder.join(output));
    let Some(path) = arguments.output.clone().or(in_folder) else {
        return Err(Failure::bad_input(format!(
            "{file}: name the file to write by --output or `generate.output`"
        )));
    };
    let runtime = start_briefly(blueprint, Arc::new(DenyAll)).await?;
    let done = generate(&runtime, settings, (&folder, &path), arguments).await;
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

async fn generate(
    runtime: &Runtime,
    settings: GenerateSettings,
    (folder, path): (&Path, &PathBuf),
    arguments: &Generate,
) -> Result<Report, Failure> {
    let pipeline = pipeline(runtime, settings, folder).map_err(|error| failure(&error))?;
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
fn pipeline(runtime: &Runtime, settings: GenerateSettings, folder: &Path) -> Result<Pipeline, PipelineError> {
    let caller = runtime.executor().tool_caller();
    let sessions = SessionEngine::new(Arc::clone(&caller), runtime.app().session_states.clone());
    let opened: RefCell<BTreeMap<String, NamedModel>> = RefCell::default();
    let model = |id: Option<&str>| {
        let agent = runtime.agent(id).map_err(|error| error.to_string())?;
        if let Some(model) = opened.borrow().get(&agent.id) {
            return Ok(model.clone());
        }
        let mut agents = runtime.app().config.agents.iter();
        let name = agents.find(|other| other.id == agent.id).map(|agent| agent.brain.model.clone());
        let model = runtime.model(&agent).map_err(|error| error.to_string())?.model;
        let model = NamedModel { name: name.unwrap_or_default(), model };
        opened.borrow_mut().insert(agent.id.clone(), model.clone());
        Ok(model)
    };
    let prompt = |file: &str| {
        let bytes = read_bounded(folder.join(file), MAX_PROMPT_BYTES).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8"))
    };
    Pipeline::new(settings, pool(runtime, &caller), (caller, sessions), model, prompt)
}

/// Returns the tools of the app: those that a caller may use, and those that the policy denies.
fn pool(runtime: &Runtime, caller: &Arc<dyn ToolCaller>) -> ToolPool {
    let context = CallContext::new(SESSION);
    let visible = caller.catalogue().visible_tools(&context);
    let snapshot = runtime.snapshot();
    let all: Vec<_> = snapshot.iter().map(|entry| Arc::clone(&entry.tool)).collect();
    ToolPool::new(&all, |tool| {
        let is_same = |name: &QualifiedName| *name == tool.name;
        visible.iter().any(|other| is_same(&other.name) && other.fingerprint() == tool.fingerprint())
    })
}

/// Shows the progress on a terminal.
fn show(progress: Progress) {
    let Progress { kept, dropped, active, .. } = progress;
    output::progress(&format!("{kept} kept, {dropped} dropped, {active} in progress   "), active == 0);
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
