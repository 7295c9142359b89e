//! The manifest of a program folder.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_document::{Document, Error};
use toolcrib_io::process::{Command, find_program};
use toolcrib_model::text::pointer_part;
use toolcrib_model::{JsonObject, QualifiedName, Risk, Schema, Tool};
use toolcrib_policy::Access;
use toolcrib_port::{LoadOutcome, Reject, RejectKind};

use crate::command::ArgvItem;
use crate::command::template::Template;
use crate::{ModuleSettings, ProgramSandbox};

/// The largest manifest, in bytes.
pub const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The largest number of tools in one manifest.
pub(crate) const MAX_EXEC_TOOLS: usize = 256;

/// The prefix of the variables with the context of a call.
const RESERVED_PREFIX: &str = "TOOLCRIB_";

/// The variable that a manifest cannot set, since it determines the program that a name refers to.
const SEARCH_PATH: &str = "PATH";

/// The contents of a manifest.
pub(super) struct Manifest {
    pub(super) namespace: String,
    pub(super) description: Option<String>,
    pub(super) programs: BTreeMap<String, Arc<Program>>,
    pub(super) loaded: LoadOutcome,
}

/// The command line and environment of a tool.
#[derive(Debug)]
pub(super) struct Program {
    /// The program and its arguments.
    pub(super) argv: Template,
    /// The variables that the manifest sets.
    pub(super) env: BTreeMap<String, String>,
}

/// The manifest, with its tools unparsed. They are parsed one by one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a module, which is a mapping with `name` and `tools`")]
struct ManifestHead {
    name: String,
    description: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    tools: Vec<Value>,
}

/// A tool in the manifest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a tool, which is a mapping")]
struct ManifestTool {
    name: String,
    description: String,
    argv: Vec<ArgvItem>,
    #[serde(alias = "input_schema", alias = "inputSchema")]
    parameters: Option<JsonObject>,
    #[serde(default)]
    output_parameters: JsonObject,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout: Option<f64>,
    title: Option<String>,
    risk: Option<Risk>,
    aliases: Option<Vec<String>>,
    tags: Option<Vec<String>>,
    side_effects: Option<Vec<String>>,
    examples: Option<Vec<JsonObject>>,
    access: Option<Value>,
    cacheable: Option<Value>,
    confirmation_required: Option<bool>,
    user_selectable: Option<bool>,
    idempotent: Option<bool>,
}

/// The reason that a tool cannot be used.
type Rejection = (RejectKind, Error);

impl Manifest {
    /// Reads a manifest. A problem of one tool is a reject with its position; an error concerns the whole manifest.
    pub(super) fn read(
        document: &Document,
        namespace: Option<&str>,
        source: &str,
        file: &str,
        folder: &Path,
        settings: &ModuleSettings,
    ) -> Result<Self, Error> {
        let head: ManifestHead = document.deserialize()?;
        check_env(&head.env, document, "/env")?;
        if head.tools.len() > MAX_EXEC_TOOLS {
            let message = format!("there are {} tools, at most {MAX_EXEC_TOOLS} are taken", head.tools.len());
            return Err(document.error_at("/tools", message));
        }
        let namespace = namespace.unwrap_or(&head.name).to_owned();
        if let Err(error) = QualifiedName::new(&namespace, "tool") {
            return Err(document.error_at("/name", error.to_string()));
        }
        let reader = ToolReader { document, folder, settings, namespace: &namespace, shared: &head.env };
        let (mut loaded, mut programs) = (LoadOutcome::default(), BTreeMap::new());
        for (position, value) in head.tools.iter().enumerate() {
            let pointer = format!("/tools/{position}");
            let read = reader.tool(value, &pointer).and_then(|(tool, program)| {
                let name = tool.name.name().to_owned();
                if programs.contains_key(&name) {
                    return Err(
                        reader.invalid(&format!("{pointer}/name"), format!("`{name}` is there twice"))
                    );
                }
                programs.insert(name, program.into());
                Ok(tool)
            });
            match read {
                Ok(tool) => loaded.tools.push(tool),
                Err((kind, error)) => {
                    let name = value.get("name").and_then(Value::as_str).unwrap_or(&pointer);
                    loaded.rejected.push(Reject::tool(source, name, kind, error.at(file)));
                }
            }
        }
        Ok(Self { namespace, description: head.description, programs, loaded })
    }
}

/// The context for parsing tools.
struct ToolReader<'a> {
    document: &'a Document,
    folder: &'a Path,
    settings: &'a ModuleSettings,
    namespace: &'a str,
    /// The variables for all programs.
    shared: &'a BTreeMap<String, String>,
}

impl ToolReader<'_> {
    fn tool(&self, value: &Value, pointer: &str) -> Result<(Tool, Program), Rejection> {
        let document = self.document;
        let invalid = |error| (RejectKind::InvalidTool, error);
        let mut declared_tool: ManifestTool = document.deserialize_value(value, pointer).map_err(invalid)?;
        let at = |key: &str| format!("{pointer}/{key}");
        let (argv, own) = (std::mem::take(&mut declared_tool.argv), std::mem::take(&mut declared_tool.env));
        check_env(&own, document, &at("env")).map_err(invalid)?;
        let name = QualifiedName::new(self.namespace, &declared_tool.name)
            .map_err(|error| self.invalid(&at("name"), error.to_string()))?;
        if declared_tool.timeout.is_some_and(|seconds| !(seconds.is_finite() && seconds > 0.0)) {
            return Err(self.invalid(&at("timeout"), "`timeout` should be a number of seconds, more than 0"));
        }
        let tool = self.tool_of(declared_tool, name, &at("parameters"));
        let declared =
            Access::of_tool(&tool).map_err(|error| self.invalid(&at("access"), error.to_string()))?;
        let argv = self.argv(argv, &tool, &declared.and(&self.settings.access), &at("argv"))?;
        let mut env = self.shared.clone();
        env.extend(own);
        Ok((tool, Program { argv, env }))
    }

    fn tool_of(&self, declared_tool: ManifestTool, name: QualifiedName, parameters_at: &str) -> Tool {
        let nothing = || json!({"type": "object", "properties": {}, "additionalProperties": false});
        let parameters = declared_tool.parameters.map_or_else(nothing, Value::Object);
        let exact = self.document.exact_integers(parameters_at);
        let mut tool = Tool::new(name)
            .with_description(declared_tool.description)
            .with_parameters(Schema::exact(parameters, &exact))
            .with_output_parameters(Value::Object(declared_tool.output_parameters));
        let metadata = [
            ("title", declared_tool.title.map(Value::from)),
            ("risk", declared_tool.risk.map(|risk| risk.as_str().into())),
            ("aliases", declared_tool.aliases.map(Value::from)),
            ("tags", declared_tool.tags.map(Value::from)),
            ("side_effects", declared_tool.side_effects.map(Value::from)),
            ("examples", declared_tool.examples.map(Value::from)),
            ("access", declared_tool.access),
            ("cacheable", declared_tool.cacheable),
            ("confirmation_required", declared_tool.confirmation_required.map(Value::from)),
            ("user_selectable", declared_tool.user_selectable.map(Value::from)),
            ("idempotent", declared_tool.idempotent.map(Value::from)),
            ("timeout_seconds", declared_tool.timeout.map(Value::from)),
        ];
        for (key, value) in metadata {
            if let Some(value) = value {
                tool = tool.with_metadata(key, value);
            }
        }
        tool
    }

    /// Parses the command line. Its program has to exist and be permitted, and its placeholders have to be arguments of
    /// the tool.
    fn argv(
        &self,
        mut argv: Vec<ArgvItem>,
        tool: &Tool,
        access: &Access,
        pointer: &str,
    ) -> Result<Template, Rejection> {
        if let Some(ArgvItem::Word(program)) = argv.first_mut()
            && program.contains('/')
        {
            // The full path, under which `access` names it too.
            let path = self.folder.join(&*program);
            let path: PathBuf = path.components().filter(|step| *step != Component::CurDir).collect();
            *program = path.to_string_lossy().into_owned();
        }
        let argv = Template::parse(&argv).map_err(|error| self.invalid(pointer, error.to_string()))?;
        let Some(program) = argv.program().filter(|program| !program.is_empty()) else {
            return Err(self.invalid(pointer, "`argv` is empty; its first word names the program"));
        };
        if let Some(message) = argv.unknown_placeholder(tool) {
            return Err(self.invalid(pointer, message));
        }
        self.check_program(program, access, &format!("{pointer}/0"))?;
        Ok(argv)
    }

    fn check_program(&self, program: &str, access: &Access, pointer: &str) -> Result<(), Rejection> {
        let command = Command::new([program])
            .with_cwd(self.folder)
            .with_guard(access.program_guard())
            .with_sandbox(self.settings.sandbox.as_ref().map(ProgramSandbox::shared));
        let found = find_program(&command);
        let Err(error) = found else { return Ok(()) };
        let (kind, message) = match error {
            toolcrib_io::Error::ProgramNotAllowed { .. } => (
                RejectKind::InvalidTool,
                format!("`{program}` may not be started: `access.system` does not name it"),
            ),
            toolcrib_io::Error::ProgramNotFound { .. } => (RejectKind::Unavailable, error.to_string()),
            error => (RejectKind::InvalidTool, error.to_string()),
        };
        Err((kind, self.document.error_at(pointer, message)))
    }

    fn invalid(&self, pointer: &str, message: impl Into<String>) -> Rejection {
        (RejectKind::InvalidTool, self.document.error_at(pointer, message))
    }
}

/// Rejects variables that a manifest may not set.
fn check_env(env: &BTreeMap<String, String>, document: &Document, pointer: &str) -> Result<(), Error> {
    for (name, value) in env {
        let message = if name.starts_with(RESERVED_PREFIX) || name == SEARCH_PATH {
            format!("a manifest cannot set `{name}`")
        } else if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            format!("`{name}` cannot be a variable with this value: no `=` and no NUL character")
        } else if value.contains("${") {
            format!(
                "`{name}` stays as it is written, `${{…}}` included: give it under `env` of the source instead"
            )
        } else {
            continue;
        };
        return Err(document.error_at(&format!("{pointer}/{}", pointer_part(name)), message));
    }
    Ok(())
}
