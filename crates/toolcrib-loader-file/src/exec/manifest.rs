//! What stands in the manifest of a module.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_document::{Document, Error};
use toolcrib_io::process::{Command, find_program};
use toolcrib_model::{JsonObject, QualifiedName, Risk, Tool, pointer_part};
use toolcrib_policy::Access;
use toolcrib_port::{LoadOutcome, Reject, RejectKind};

use crate::ArgvItem;
use crate::template::Template;

/// The largest manifest that is read, in bytes.
pub const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The most tools of one manifest.
pub const MAX_EXEC_TOOLS: usize = 256;

/// Variables that begin so say what a call is part of.
const RESERVED_PREFIX: &str = "TOOLCRIB_";

/// What a manifest cannot set, since it decides which program a name means.
const SEARCH_PATH: &str = "PATH";

/// What came of a manifest.
pub(super) struct Manifest {
    pub(super) namespace: String,
    pub(super) description: Option<String>,
    pub(super) programs: BTreeMap<String, Arc<Program>>,
    pub(super) loaded: LoadOutcome,
}

/// What is started for a tool.
#[derive(Debug)]
pub(super) struct Program {
    /// The program, then its words.
    pub(super) argv: Template,
    /// Variables that the manifest sets.
    pub(super) env: BTreeMap<String, String>,
}

/// All of a manifest but its tools, which are read one by one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a module, which is a mapping with `name` and `tools`")]
struct Head {
    name: String,
    description: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    tools: Vec<Value>,
}

/// One tool of a manifest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a tool, which is a mapping")]
struct Entry {
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

/// Why one tool cannot be used.
type Problem = (RejectKind, Error);

impl Manifest {
    /// Reads a manifest. What is wrong with one tool is a reject with its place; an error is what is wrong with the whole.
    pub(super) fn read(
        document: &Document,
        namespace: Option<&str>,
        source: &str,
        file: &str,
        folder: &Path,
        access: &Access,
    ) -> Result<Self, Error> {
        let head: Head = document.deserialize()?;
        check_env(&head.env, document, "/env")?;
        if head.tools.len() > MAX_EXEC_TOOLS {
            let message = format!("there are {} tools, at most {MAX_EXEC_TOOLS} are taken", head.tools.len());
            return Err(document.error_at("/tools", message));
        }
        let namespace = namespace.unwrap_or(&head.name).to_owned();
        if let Err(error) = QualifiedName::new(&namespace, "tool") {
            return Err(document.error_at("/name", error.to_string()));
        }
        let reader = Reader { document, folder, access, namespace: &namespace, shared: &head.env };
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

/// What tools are read with.
struct Reader<'a> {
    document: &'a Document,
    folder: &'a Path,
    access: &'a Access,
    namespace: &'a str,
    /// The variables of all programs.
    shared: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    fn tool(&self, value: &Value, pointer: &str) -> Result<(Tool, Program), Problem> {
        let document = self.document;
        let invalid = |error| (RejectKind::InvalidTool, error);
        let mut entry: Entry = document.deserialize_value(value, pointer).map_err(invalid)?;
        let at = |key: &str| format!("{pointer}/{key}");
        let (argv, own) = (std::mem::take(&mut entry.argv), std::mem::take(&mut entry.env));
        check_env(&own, document, &at("env")).map_err(invalid)?;
        let name = QualifiedName::new(self.namespace, &entry.name)
            .map_err(|error| self.invalid(&at("name"), error.to_string()))?;
        if entry.timeout.is_some_and(|seconds| !(seconds.is_finite() && seconds > 0.0)) {
            return Err(self.invalid(&at("timeout"), "`timeout` should be a number of seconds, more than 0"));
        }
        let tool = self.tool_of(entry, name, &at("parameters"));
        let declared =
            Access::of_tool(&tool).map_err(|error| self.invalid(&at("access"), error.to_string()))?;
        let argv = self.argv(argv, &tool, declared.and(self.access), &at("argv"))?;
        let mut env = self.shared.clone();
        env.extend(own);
        Ok((tool, Program { argv, env }))
    }

    fn tool_of(&self, entry: Entry, name: QualifiedName, parameters_at: &str) -> Tool {
        let nothing = || json!({"type": "object", "properties": {}, "additionalProperties": false});
        let parameters = entry.parameters.map_or_else(nothing, Value::Object);
        let exact = self.document.exact_integers(parameters_at);
        let mut tool = Tool::new(name)
            .with_description(entry.description)
            .with_exact_parameters(parameters, &exact)
            .with_output_parameters(Value::Object(entry.output_parameters));
        let said = [
            ("title", entry.title.map(Value::from)),
            ("risk", entry.risk.map(|risk| risk.as_str().into())),
            ("aliases", entry.aliases.map(Value::from)),
            ("tags", entry.tags.map(Value::from)),
            ("side_effects", entry.side_effects.map(Value::from)),
            ("examples", entry.examples.map(Value::from)),
            ("access", entry.access),
            ("cacheable", entry.cacheable),
            ("confirmation_required", entry.confirmation_required.map(Value::from)),
            ("user_selectable", entry.user_selectable.map(Value::from)),
            ("idempotent", entry.idempotent.map(Value::from)),
            ("timeout_seconds", entry.timeout.map(Value::from)),
        ];
        for (key, value) in said {
            if let Some(value) = value {
                tool = tool.with_metadata(key, value);
            }
        }
        tool
    }

    /// The command line: its program is there and may be started, and its places are arguments of the tool.
    fn argv(
        &self,
        mut argv: Vec<ArgvItem>,
        tool: &Tool,
        access: Access,
        pointer: &str,
    ) -> Result<Template, Problem> {
        if let Some(ArgvItem::Word(program)) = argv.first_mut()
            && program.contains('/')
        {
            // By its full path, under which `access` names it too.
            let path = self.folder.join(&*program);
            let path: PathBuf = path.components().filter(|step| *step != Component::CurDir).collect();
            *program = path.to_string_lossy().into_owned();
        }
        let argv = Template::parse(&argv).map_err(|error| self.invalid(pointer, error.to_string()))?;
        let Some(program) = argv.program().filter(|program| !program.is_empty()) else {
            return Err(self.invalid(pointer, "`argv` is empty; its first word names the program"));
        };
        if let Some(message) = argv.unknown_place(tool) {
            return Err(self.invalid(pointer, message));
        }
        self.check_program(program, access, &format!("{pointer}/0"))?;
        Ok(argv)
    }

    fn check_program(&self, program: &str, access: Access, pointer: &str) -> Result<(), Problem> {
        let command = Command::new([program]).with_cwd(self.folder);
        let found = find_program(&command.with_guard(move |program| access.allows_program(program)));
        let Err(error) = found else { return Ok(()) };
        let (kind, message) = match error {
            toolcrib_io::Error::ProgramNotAllowed { .. } => (
                RejectKind::InvalidTool,
                format!("`{program}` may not be started; add it to `tools.capabilities.access.system`"),
            ),
            toolcrib_io::Error::ProgramNotFound { .. } => (RejectKind::Unavailable, error.to_string()),
            error => (RejectKind::InvalidTool, error.to_string()),
        };
        Err((kind, self.document.error_at(pointer, message)))
    }

    fn invalid(&self, pointer: &str, message: impl Into<String>) -> Problem {
        (RejectKind::InvalidTool, self.document.error_at(pointer, message))
    }
}

/// Refuses variables that are not a manifest's to set.
fn check_env(env: &BTreeMap<String, String>, document: &Document, pointer: &str) -> Result<(), Error> {
    for (name, value) in env {
        let message = if name.starts_with(RESERVED_PREFIX) || name == SEARCH_PATH {
            format!("`{name}` is not a manifest's to set")
        } else if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            format!("`{name}` cannot be a variable with this value: no `=` and no NUL character")
        } else if value.contains("${") {
            format!("`{name}` stays as it is written, `${{…}}` included: give it under `env` of the app file")
        } else {
            continue;
        };
        return Err(document.error_at(&format!("{pointer}/{}", pointer_part(name)), message));
    }
    Ok(())
}
