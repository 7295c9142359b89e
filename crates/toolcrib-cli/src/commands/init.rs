//! `toolcrib init`.

use std::fs;

use serde_json::json;
use toolcrib_io::files::replace;

use crate::arguments::Init;
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The files to write.
const FILES: [(&str, &str); 3] = [
    ("app.yaml", include_str!("../../starter/app.yaml")),
    ("turns.yaml", include_str!("../../starter/turns.yaml")),
    ("work/welcome.txt", include_str!("../../starter/work/welcome.txt")),
];

pub(crate) fn run(arguments: &Init, json: bool) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    // Nothing is written if one of the files exists, so that no project gets half of a starter.
    if let Some((file, _)) = FILES.iter().find(|(file, _)| folder.join(file).exists()) {
        let path = folder.join(file);
        return Err(Failure::bad_input(format!("{} is there already; nothing was written", path.display())));
    }
    let mut written = Vec::new();
    for (file, text) in FILES {
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
    let app = folder.join("app.yaml");
    if json {
        output::json(&json!({"app": app, "files": FILES.map(|(file, _)| folder.join(file))}));
    } else {
        for (file, _) in FILES {
            output::say(&format!("wrote {}", folder.join(file).display()));
        }
        output::tell(&format!("next: toolcrib run {}", app.display()));
    }
    Ok(Exit::Ok)
}
