//! `toolcrib init`.

use std::fs;
use std::path::Path;

use serde_json::json;
use toolcrib_app::Extensions;
use toolcrib_io::files::replace;

use crate::arguments::{Init, Template};
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The JSON Schema of the app file, which the first line of each app file names for editors.
const SCHEMA: &str = "app.schema.json";

/// The files of a starter, and the command to run next, in which `{app}` is the path of its app file.
struct StarterFiles {
    files: &'static [(&'static str, &'static str)],
    next: &'static str,
}

/// Returns files below a folder of `starter/init`, with their paths relative to it.
macro_rules! files {
    ($template:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../starter/init/", $template, "/", $path)))),+]
    };
}

impl Template {
    fn starter(self) -> StarterFiles {
        match self {
            Self::Agent => StarterFiles {
                files: files!("agent": "app.yaml", "turns.yaml", "work/welcome.txt"),
                next: "toolcrib run {app}",
            },
            Self::Gateway => StarterFiles {
                files: files!("gateway": "app.yaml", "notes.yaml", "notes/monday.txt"),
                next: "toolcrib serve {app} --http 8080",
            },
            Self::Openapi => StarterFiles {
                files: files!("openapi": "app.yaml", "library.yaml", "api/books.json", "api/books/1.json"),
                next: "toolcrib tools {app}",
            },
            Self::Python => StarterFiles {
                files: files!("python": "app.yaml", "modules/texts/tools/words.py", "work/.gitkeep"),
                next: "install the Python package, see {app}; then toolcrib call {app} texts.count_words '{\"text\": \"one two\"}'",
            },
            Self::Team => StarterFiles {
                files: files!("team": "app.yaml", "lead.yaml", "reader.yaml", "work/welcome.txt"),
                next: "toolcrib run {app}",
            },
        }
    }
}

pub(crate) fn run(arguments: &Init, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let StarterFiles { files, next } = arguments.template.starter();
    let schema = format!("{:#}\n", extensions.app_schema());
    let files: Vec<(&str, &str)> = files.iter().copied().chain([(SCHEMA, schema.as_str())]).collect();
    write(&arguments.folder, &files)?;
    let paths: Vec<_> = files.iter().map(|(file, _)| arguments.folder.join(file)).collect();
    let app = arguments.folder.join("app.yaml");
    if json {
        output::json(&json!({"app": app, "files": paths}));
    } else {
        for path in paths {
            output::say(&format!("wrote {}", path.display()));
        }
        output::tell(&format!("next: {}", next.replace("{app}", &app.display().to_string())));
    }
    Ok(Exit::Ok)
}

/// Writes all files or none.
fn write(folder: &Path, files: &[(&str, &str)]) -> Result<(), Failure> {
    // Nothing is written if one of the files exists, so that no project gets half of a starter.
    if let Some((file, _)) = files.iter().find(|(file, _)| folder.join(file).exists()) {
        let path = folder.join(file);
        return Err(Failure::bad_input(format!("{} is there already; nothing was written", path.display())));
    }
    let mut written = Vec::new();
    for (file, text) in files {
        let path = folder.join(file);
        if let Err(error) = replace(&path, text.as_bytes()) {
            // A part of a starter would keep the next try from writing it.
            for file in &written {
                let _ = fs::remove_file(file);
            }
            return Err(Failure::bad_input(format!("{error}; nothing was written, choose another folder")));
        }
        written.push(path);
    }
    Ok(())
}
