//! `toolcrib new`.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::arguments::NewCommand;
use crate::exit::{Exit, Failure};
use crate::output;

/// What is written, below the folder.
const FILES: [(&str, &str); 2] = [
    ("Cargo.toml", include_str!("../../starter/module/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("../../starter/module/lib.rs.txt")),
];

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

pub(crate) fn run(command: &NewCommand, json: bool) -> Result<Exit, Failure> {
    let NewCommand::Module { name, toolcrib } = command;
    check(name)?;
    let folder = Path::new(name);
    if folder.exists() {
        return Err(Failure::bad_input(format!("{name} is there already; nothing was written")));
    }
    let source = source(toolcrib)?;
    let filled = |text: &str| {
        text.replace("@name@", name)
            .replace("@crate@", &name.replace('-', "_"))
            .replace("@type@", &type_name(name))
            .replace("@source@", &source)
    };
    for (file, text) in FILES {
        let path = folder.join(file);
        let written =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, filled(text)));
        written.map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))?;
    }
    if json {
        output::json(&json!({"module": name, "files": FILES.map(|(file, _)| folder.join(file))}));
    } else {
        for (file, _) in FILES {
            output::say(&format!("wrote {}", folder.join(file).display()));
        }
        output::tell(&format!("next: cd {name} && cargo test"));
    }
    Ok(Exit::Ok)
}

/// A name is that of a crate, of a Rust type and of a namespace at once.
fn check(name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !name.chars().all(is_plain)
        || name.len() > MAX_NAME_CHARS
        // Two underscores stand between the parts of a tool's name where a model calls it.
        || name.contains("__")
    {
        return Err(Failure::bad_input(format!(
            "`{name}` cannot be the name of a module: it begins with a letter from a to z, and has up to {MAX_NAME_CHARS} of \
             these, digits, `-` and `_`, with no `__`; as `weather`"
        )));
    }
    if TAKEN.contains(&name.replace('-', "_").as_str()) {
        return Err(Failure::bad_input(format!(
            "`{name}` is the name of something else; choose another one"
        )));
    }
    Ok(())
}

/// The dependency on `toolcrib-sdk`: in a folder with its sources, or from a Git repository.
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
