//! `toolcrib new`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolcrib_model::JsonObject;

use crate::arguments::{Language, NewCommand};
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The files of a crate with a module, below its folder.
const MODULE_FILES: [(&str, &str); 2] = [
    ("Cargo.toml", include_str!("../../starter/module/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("../../starter/module/lib.rs.txt")),
];

/// The manifest of a module of programs.
const EXEC_MANIFEST: &str = include_str!("../../starter/exec/toolcrib.yaml");

/// A tool file.
const TOOL_FILE: &str = include_str!("../../starter/tool_file/tools.yaml");

/// A skill.
const SKILL: &str = include_str!("../../starter/skill/skill.md.txt");

/// The most characters of a name, which becomes the name of a crate and part of the names of tools.
const MAX_NAME_CHARS: usize = 40;

/// Names that a crate cannot have, or that would hide what every crate uses.
const TAKEN: [&str; 12] = [
    "alloc",
    "context_builder",
    "core",
    "crate",
    "proc_macro",
    "schemars",
    "self",
    "serde",
    "std",
    "super",
    "test",
    "toolcrib_sdk",
];

/// Something to begin with: its files, and how an app uses them.
struct Starter {
    /// Its kind, as the key of its name in the JSON output.
    kind: &'static str,
    name: String,
    /// Each file with its text.
    files: Vec<(PathBuf, String)>,
    /// The lines of the app file that use it; empty if it is found without any.
    app: String,
    /// The next step.
    next: String,
}

pub(crate) fn run(command: &NewCommand, json: bool) -> Result<Exit, Failure> {
    let starter = match command {
        NewCommand::Module { name, toolcrib } => module(name, toolcrib)?,
        NewCommand::Exec { name, language } => exec(name, *language)?,
        NewCommand::ToolFile { name } => tool_file(name)?,
        NewCommand::Skill { name } => skill(name)?,
    };
    starter.write()?;
    starter.print(json);
    Ok(Exit::Ok)
}

impl Starter {
    fn write(&self) -> Result<(), Failure> {
        for (path, text) in &self.files {
            let written =
                path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
            written
                .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))?;
        }
        Ok(())
    }

    fn print(&self, json: bool) {
        let files: Vec<&PathBuf> = self.files.iter().map(|(path, _)| path).collect();
        if json {
            let mut printed = JsonObject::new();
            printed.insert(self.kind.to_owned(), self.name.as_str().into());
            printed.insert("files".to_owned(), json!(files));
            if !self.app.is_empty() {
                printed.insert("app".to_owned(), self.app.as_str().into());
            }
            return output::json(&printed);
        }
        for file in files {
            output::say(&format!("wrote {}", file.display()));
        }
        output::tell(&format!("next: {}", self.next));
        if !self.app.is_empty() {
            output::tell(&self.app);
        }
    }
}

fn module(name: &str, toolcrib: &str) -> Result<Starter, Failure> {
    check("a module", name)?;
    if TAKEN.contains(&name.replace('-', "_").as_str()) {
        return Err(Failure::bad_input(format!(
            "`{name}` is the name of something else; choose another one"
        )));
    }
    let folder = unused(name)?;
    let source = source(toolcrib)?;
    let filled = |text: &str| {
        text.replace("@name@", name)
            .replace("@crate@", &name.replace('-', "_"))
            .replace("@type@", &type_name(name))
            .replace("@source@", &source)
    };
    let files = MODULE_FILES.map(|(file, text)| (folder.join(file), filled(text)));
    Ok(Starter {
        kind: "module",
        name: name.to_owned(),
        files: files.into(),
        app: String::new(),
        next: format!("cd {name} && cargo test"),
    })
}

fn exec(name: &str, language: Language) -> Result<Starter, Failure> {
    check("a module", name)?;
    let folder = unused(name)?;
    let (program, text, argv) = match language {
        Language::Python => (
            "count_words.py",
            include_str!("../../starter/exec/count_words.py"),
            "[python3, count_words.py]    # the arguments are JSON on standard input",
        ),
        Language::Bash => (
            "count_words.sh",
            include_str!("../../starter/exec/count_words.sh"),
            "[bash, count_words.sh, \"{text}\"]    # the argument is a word: bash does not read JSON",
        ),
    };
    let manifest = EXEC_MANIFEST.replace("@name@", name).replace("@argv@", argv);
    Ok(Starter {
        kind: "exec",
        name: name.to_owned(),
        files: vec![(folder.join("toolcrib.yaml"), manifest), (folder.join(program), text.to_owned())],
        app: format!(
            "tools:\n  registry:\n    - {{type: exec, path: ./{name}}}\n  capabilities:\n    grant: [{{module: {name}}}]\n"
        ),
        next: format!(
            "add this to app.yaml, then `toolcrib call app.yaml {name}.count_words '{{\"text\": \"a b\"}}'`"
        ),
    })
}

fn tool_file(name: &str) -> Result<Starter, Failure> {
    check("a namespace", name)?;
    let path = unused(&format!("{name}.yaml"))?;
    Ok(Starter {
        kind: "tool_file",
        name: name.to_owned(),
        files: vec![(path, TOOL_FILE.replace("@name@", name))],
        app: format!(
            "tools:\n  registry:\n    - {{type: file, path: ./{name}.yaml, engine: {name}}}\n  engines:\n    \
             {name}: {{type: command, argv: [echo, \"{{text}}\"]}}\n  capabilities:\n    grant: [{{module: {name}}}]\n"
        ),
        next: format!(
            "add this to app.yaml, then `toolcrib call app.yaml {name}.echo '{{\"text\": \"hello\"}}'`"
        ),
    })
}

fn skill(name: &str) -> Result<Starter, Failure> {
    check("a skill", name)?;
    let path = unused(&format!("skills/{name}.md"))?;
    Ok(Starter {
        kind: "skill",
        name: name.to_owned(),
        files: vec![(path, SKILL.replace("@name@", name))],
        app: String::new(),
        next: format!("write its steps; agents of the app.yaml next to `skills` load it as `/{name}`"),
    })
}

/// Returns a path where nothing is yet.
fn unused(path: &str) -> Result<PathBuf, Failure> {
    if Path::new(path).exists() {
        return Err(Failure::bad_input(format!("{path} exists already; nothing was written")));
    }
    Ok(path.into())
}

/// Checks a name, which is that of a folder or file, of a namespace and perhaps of a crate at once.
fn check(what: &str, name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !name.chars().all(is_plain)
        || name.len() > MAX_NAME_CHARS
        || name == "context_builder"
        // Two underscores stand between the parts of a tool's name where a model calls it.
        || name.contains("__")
    {
        return Err(Failure::bad_input(format!(
            "`{name}` cannot be the name of {what}: it begins with a letter from a to z, and has up to {MAX_NAME_CHARS} of \
             these, digits, `-` and `_`, with no `__`; as `weather`"
        )));
    }
    Ok(())
}

/// Returns the dependency on `toolcrib-sdk`: in a folder with its sources, or from a Git repository.
fn source(toolcrib: &str) -> Result<String, Failure> {
    if toolcrib.contains("://") {
        return Ok(format!("git = {}", json!(toolcrib)));
    }
    let sdk = Path::new(toolcrib).join("crates/toolcrib-sdk");
    if !sdk.join("Cargo.toml").is_file() {
        return Err(Failure::bad_input(format!(
            "there is no crates/toolcrib-sdk in {toolcrib}; `--toolcrib` names a folder with Toolcrib's sources, or the URL of \
             their Git repository"
        )));
    }
    let sdk =
        sdk.canonicalize().map_err(|error| Failure::bad_input(format!("{}: {error}", sdk.display())))?;
    // A JSON text is a TOML one.
    Ok(format!("path = {}", json!(sdk)))
}

/// `weather-maps` as `WeatherMaps`.
fn type_name(name: &str) -> String {
    let parts = name.split(['-', '_']).filter(|part| !part.is_empty());
    parts
        .flat_map(|part| part.chars().enumerate())
        .map(|(at, c)| if at == 0 { c.to_ascii_uppercase() } else { c })
        .collect()
}
