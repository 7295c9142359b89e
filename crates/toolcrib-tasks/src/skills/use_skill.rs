//! `use_skill`: an agent loads a skill.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_document::nearest;
use toolcrib_model::{ErrorKind, Risk, ToolError};
use toolcrib_sdk::{CallContext, FunctionTool};

use super::front_matter::SkillFile;
use super::{MAX_SKILL_BYTES, Skill, Skills, without_slash};

/// The bare name of the tool.
pub const USE_SKILL: &str = "use_skill";

/// The maximum length of the arguments of a skill in characters.
pub(crate) const MAX_ARGUMENTS_CHARS: usize = 4_000;

/// The placeholder for the arguments in the text of a skill.
const ARGUMENTS_PLACE: &str = "$ARGUMENTS";

/// The maximum number of names in the hint of an unknown skill.
const MAX_SUGGESTED: usize = 30;

const DESCRIPTION: &str = "Load a skill: instructions that were written down for a kind of task. Load the one that fits before \
                           you begin, and when the user names one as `/name`; then follow it";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UseSkill {
    /// The name of the skill.
    name: String,
    /// The input of the skill, in words, if it takes one.
    #[schemars(length(max = MAX_ARGUMENTS_CHARS))]
    arguments: Option<String>,
}

/// A skill that was loaded.
#[derive(Serialize, JsonSchema)]
struct LoadedSkill {
    /// Its name.
    skill: String,
    /// The instructions to follow.
    instructions: String,
    /// The tools that it uses and that you may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tools: Vec<String>,
    /// The number of tools that it uses and that you may not use.
    #[serde(default, skip_serializing_if = "is_none")]
    tools_not_available: usize,
    /// The folder of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Its files, relative to the folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// True if there are more files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more_files: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Skills {
    /// Returns `use_skill`, as a function for the namespace of the runtime's built-in tools. `may_use` decides which
    /// skills a caller may use. All other skills are invisible to the caller.
    pub fn tools(
        self: &Arc<Self>,
        may_use: impl Fn(&CallContext, &Skill) -> bool + Send + Sync + 'static,
    ) -> Vec<FunctionTool> {
        let (skills, may_use) = (Arc::clone(self), Arc::new(may_use));
        let tool =
            FunctionTool::new(USE_SKILL, DESCRIPTION, move |arguments: UseSkill, context: CallContext| {
                let found = skills.find(&arguments.name, |skill| may_use(&context, skill)).cloned();
                async move { load(found?, arguments.arguments, context).await }
            });
        vec![
            tool.with_risk(Risk::Low)
                .with_output::<LoadedSkill>()
                .with_aliases(["skill", "workflow", "load instructions", "utiliser une compétence"])
                .with_metadata("operational", true)
                .with_metadata("former_arguments", json!({"command": "name"})),
        ]
    }

    fn find(&self, name: &str, may_use: impl Fn(&Skill) -> bool) -> Result<&Skill, ToolError> {
        if let Some(skill) = self.get(name).filter(|skill| may_use(skill)) {
            return Ok(skill);
        }
        let known: Vec<&str> =
            self.iter().filter(|skill| may_use(skill)).map(|skill| skill.name.as_str()).collect();
        let shown: String = without_slash(name).chars().take(super::MAX_SKILL_NAME_CHARS).collect();
        let hint = match (nearest(&shown, known.iter().copied()), known.as_slice()) {
            (_, []) => "you may use no skills; continue without".to_owned(),
            (Some(nearest), _) => format!("did you mean `{nearest}`?"),
            (None, known) if known.len() <= MAX_SUGGESTED => format!("there is: {}", known.join(", ")),
            (None, _) => "the system prompt lists the skills".to_owned(),
        };
        let message = format!("there is no skill `{}`", shown.escape_debug());
        Err(ToolError::new(ErrorKind::NotFound, message).with_hint(hint))
    }
}

async fn load(
    skill: Skill,
    arguments: Option<String>,
    context: CallContext,
) -> Result<LoadedSkill, ToolError> {
    let reading = tokio::task::spawn_blocking(move || {
        let read = skill.text();
        let files = skill.files();
        (read, files, skill)
    });
    let (read, (files, more_files), skill) = reading
        .await
        .map_err(|error| ToolError::new(ErrorKind::Internal, format!("the read was aborted: {error}")))?;
    let SkillFile { allowed_tools, text, .. } = read?;
    let (tools, tools_not_available) = available_tools(&allowed_tools, &context);
    Ok(LoadedSkill {
        instructions: insert_arguments(&text, arguments.as_deref().unwrap_or_default())?,
        skill: skill.name,
        tools,
        tools_not_available,
        folder: skill.shown.filter(|_| !files.is_empty()),
        files,
        more_files,
    })
}

/// Replaces the placeholders for the arguments in a text.
fn insert_arguments(text: &str, arguments: &str) -> Result<String, ToolError> {
    let count = arguments.chars().count();
    if count > MAX_ARGUMENTS_CHARS {
        let message = format!("`arguments` has {count} characters; the limit is {MAX_ARGUMENTS_CHARS}");
        return Err(ToolError::new(ErrorKind::InvalidArgs, message));
    }
    let places = text.matches(ARGUMENTS_PLACE).count();
    if text.len() + places * arguments.len() > 2 * MAX_SKILL_BYTES {
        let message = format!("with these arguments in all of its {places} places the skill is too long");
        return Err(ToolError::new(ErrorKind::InvalidArgs, message).with_hint("give shorter ones"));
    }
    Ok(text.replace(ARGUMENTS_PLACE, arguments))
}

/// Returns the names of the listed tools that the caller may use, and the number of the others. The number does not
/// reveal if a tool is denied or does not exist.
fn available_tools(listed: &[String], context: &CallContext) -> (Vec<String>, usize) {
    let Some(tool_caller) = &context.caller else { return (Vec::new(), listed.len()) };
    let catalogue = tool_caller.catalogue();
    let mut tools: Vec<String> = Vec::new();
    let mut absent = 0;
    let visible = std::cell::OnceCell::new();
    for entry in listed {
        // The arguments in `Bash(git:*)` are ignored here: the policy decides about arguments.
        let name = entry.split_once('(').map_or(entry.as_str(), |(name, _)| name).trim();
        let found = match name.strip_suffix(".*") {
            Some(namespace) => {
                let visible = visible.get_or_init(|| catalogue.visible_tools(context));
                visible.iter().any(|tool| tool.name.namespace() == namespace).then(|| name.to_owned())
            }
            None => catalogue
                .find_tools(name, context)
                .ok()
                .and_then(|tools| tools.first().map(|tool| tool.name.dotted())),
        };
        match found {
            Some(found) => tools.push(found),
            None => absent += 1,
        }
    }
    // Several entries may resolve to one tool.
    tools.sort();
    tools.dedup();
    (tools, absent)
}
