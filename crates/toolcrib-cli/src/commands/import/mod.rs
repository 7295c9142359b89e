//! `toolcrib import`.

mod app;
mod entries;
mod server;
mod texts;
mod variables;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::arguments::Import;
use crate::exit::{Exit, Failure};
use crate::file_edit::Target;
use crate::ui::output;
use crate::ui::printable::excerpt;
use entries::All;
use server::{ImportedServer, Transport};
use variables::{Variable, Variables};

/// The most servers that are taken over at once.
const MAX_SERVERS: usize = 200;

/// The most bytes of servers in the app file, which may have a mebibyte in all.
const MAX_ENTRIES_BYTES: usize = 900 * 1024;

/// The most bytes of a command or URL that are shown.
const MAX_SHOWN_BYTES: usize = 60;

/// The most bytes of a reason, a note or a place that are told.
const MAX_TOLD_BYTES: usize = 400;

/// The outcome of an import.
struct Imported {
    servers: Vec<ImportedServer>,
    /// The servers that an app cannot have, each with the reason.
    left_out: Vec<(String, String)>,
    variables: Vec<Variable>,
}

pub(crate) fn run(arguments: &Import, json: bool) -> Result<Exit, Failure> {
    let all = if arguments.files.is_empty() {
        All::of_clients(arguments.from)?
    } else {
        All::of_files(&arguments.files, arguments.from)?
    };
    if all.servers.is_empty() {
        return Err(Failure::bad_input(nothing_found(&all)));
    }
    let output = std::path::absolute(&arguments.output).ok();
    let imported = imported(&all, output.as_deref().and_then(Path::parent));
    let target = Target::read(arguments.output.clone())?;
    let path = arguments.output.display();
    if target.text.is_some() && !arguments.yes {
        return Err(Failure::bad_input(format!(
            "{path} is there already; nothing was written. Name another file with --output, or write over it with --yes, \
             which keeps a copy"
        )));
    }
    let text = app::text(&imported.servers, &imported.left_out);
    let backup = target.write(Some(&text), true, None)?;
    if json {
        output::json(&imported.json(&all, &arguments.output, backup.as_deref()));
    } else {
        imported.tell(&all, &path.to_string());
        if let Some(backup) = backup {
            output::tell(&format!("what was there before: {}", backup.display()));
        }
        imported.next(&path.to_string());
    }
    Ok(Exit::Ok)
}

fn nothing_found(all: &All) -> String {
    let ours = if all.ours > 0 { " but `toolcrib serve` itself" } else { "" };
    if !all.unreadable.is_empty() {
        return all.unreadable.join("\n");
    }
    match all.files.as_slice() {
        [] => "no configuration of a client was found here; name a file: toolcrib import FILE, or begin with `toolcrib init`".to_owned(),
        files => format!("no MCP server was found{ours} in {}", files.join(", ")),
    }
}

fn imported(all: &All, folder: Option<&Path>) -> Imported {
    let lookup = |name: &str| std::env::var(name).ok();
    let mut variables = Variables::new(&lookup);
    let mut taken = BTreeSet::new();
    let (mut servers, mut left_out, mut bytes) = (Vec::new(), Vec::new(), 0);
    for found in &all.servers {
        let namespace = app::namespace(&found.name, &mut taken);
        let mut tried = variables.clone();
        let server = if servers.len() < MAX_SERVERS {
            ImportedServer::new(found, &namespace, folder, &mut tried)
        } else {
            Err(format!("there are more than {MAX_SERVERS}"))
        };
        let server = server.and_then(|server| {
            bytes += app::entry(&server).len();
            if bytes <= MAX_ENTRIES_BYTES {
                Ok(server)
            } else {
                Err("the app file would be too large".to_owned())
            }
        });
        match server {
            Ok(server) => {
                // What is switched off wants no variables.
                if !server.is_disabled {
                    variables = tried;
                }
                servers.push(server);
            }
            Err(reason) if left_out.len() < MAX_SERVERS => left_out.push((found.source(), reason)),
            Err(_) => {}
        }
    }
    Imported { servers, left_out, variables: variables.all }
}

impl Imported {
    fn json(&self, all: &All, app: &Path, backup: Option<&Path>) -> Value {
        let server = |server: &ImportedServer| {
            json!({
                "namespace": server.namespace,
                "name": server.name,
                "from": server.files,
                "disabled": server.is_disabled,
                "notes": server.notes,
            })
        };
        let variable = |variable: &Variable| json!({"name": variable.name, "from": variable.from, "set": variable.is_set});
        json!({
            "app": app,
            "backup": backup,
            "servers": self.servers.iter().map(server).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(|(server, reason)| json!({"server": server, "reason": reason})).collect::<Vec<_>>(),
            "unreadable": all.unreadable,
            "variables": self.variables.iter().map(variable).collect::<Vec<_>>(),
        })
    }

    fn tell(&self, all: &All, path: &str) {
        let rows: Vec<[String; 3]> = self
            .servers
            .iter()
            .map(|server| {
                let what = match &server.transport {
                    Transport::Stdio { command, .. } => command.join(" "),
                    Transport::Remote { url, .. } => url.clone(),
                };
                let off = if server.is_disabled { " (switched off)" } else { "" };
                let what = excerpt(&what, MAX_SHOWN_BYTES);
                [server.namespace.clone(), format!("{what}{off}"), server.files.join(", ")]
            })
            .collect();
        output::table(&["namespace", "server", "from"], &rows);
        for server in &self.servers {
            for note in &server.notes {
                output::tell(&format!("{}: {}", server.namespace, excerpt(note, MAX_TOLD_BYTES)));
            }
        }
        for (server, reason) in &self.left_out {
            let line = excerpt(&format!("{server}: {reason}"), MAX_TOLD_BYTES);
            output::tell(&format!("left out: {line}"));
        }
        for problem in &all.unreadable {
            output::tell(&format!(
                "left out: {}; mend the file and import again",
                excerpt(problem, MAX_TOLD_BYTES)
            ));
        }
        if all.ours > 0 {
            output::tell("left out: `toolcrib serve` itself");
        }
        output::say(&format!("wrote {path}"));
    }

    fn next(&self, path: &str) {
        let missing: Vec<&Variable> = self.variables.iter().filter(|variable| !variable.is_set).collect();
        if !missing.is_empty() {
            output::tell("keys are not in it; set these variables first, to the values at the given places:");
            for variable in missing {
                output::tell(&format!("  {}: {}", variable.name, excerpt(&variable.from, MAX_TOLD_BYTES)));
            }
        }
        let path = shell_words::quote(path);
        output::tell(&format!(
            "next: toolcrib tools {path}\n      toolcrib install CLIENT --app {path}   (toolcrib install --list names the clients)"
        ));
    }
}
