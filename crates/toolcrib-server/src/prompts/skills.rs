//! The skills of the app as prompts.

use std::fmt::Write as _;

use rmcp::model::{ErrorData, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_model::{JsonObject, ToolCall};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_runtime::Runtime;
use toolcrib_tasks::skills::{Skill, USE_SKILL};

use crate::resources::{invalid, object};

/// The only argument of a skill, which replaces each `$ARGUMENTS` in its text.
const ARGUMENTS: &str = "arguments";

/// The result of `use_skill`.
#[derive(Deserialize)]
struct LoadedSkill {
    instructions: String,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    tools_not_available: usize,
    folder: Option<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    more_files: bool,
}

/// Returns the skills that a client may use.
pub(super) fn prompts(runtime: &Runtime, session: &str) -> Vec<Prompt> {
    let argument = || {
        PromptArgument::new(ARGUMENTS)
            .with_description("What it is used on, in words, where the skill takes something.")
            .with_required(false)
    };
    let prompt = |skill: &Skill| Prompt::new(&skill.name, Some(skill.about()), Some(vec![argument()]));
    runtime.view(session).skills().map(prompt).collect()
}

/// Returns the call that loads a skill.
pub(super) fn call(name: &str, arguments: &JsonObject) -> Result<ToolCall, ErrorData> {
    let mut given = object(json!({"name": name}));
    for (key, value) in arguments {
        if key != ARGUMENTS || !value.is_string() {
            return Err(invalid("a skill takes one argument, the text `arguments`"));
        }
        given.insert(ARGUMENTS.into(), value.clone());
    }
    Ok(ToolCall::new(format!("{RUNTIME_NAMESPACE}::{USE_SKILL}"), given))
}

/// Returns the prompt for the client's model: the text of a skill, with its tools and files.
pub(super) fn told(value: Value) -> Result<GetPromptResult, ErrorData> {
    let LoadedSkill { instructions, tools, tools_not_available, folder, files, more_files } =
        LoadedSkill::deserialize(value).map_err(|error| {
            ErrorData::internal_error(format!("the skill cannot be passed on: {error}"), None)
        })?;
    let mut text = instructions;
    let listed =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if !tools.is_empty() {
        let _ = write!(text, "\n\nIt is written for the tools {}.", listed(&tools));
    }
    if tools_not_available > 0 {
        let _ = write!(
            text,
            "\n\nOf the tools that it is written for, {tools_not_available} cannot be used here."
        );
    }
    if let Some(folder) = folder.filter(|_| !files.is_empty()) {
        let more = if more_files { ", and more" } else { "" };
        let _ = write!(text, "\n\nFiles of it in `{folder}`: {}{more}.", listed(&files));
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
