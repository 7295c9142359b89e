//! `toolcrib install --list`.

use serde_json::{Value, json};

use super::clients::{CLIENTS, Places};
use super::entry::is_ours;
use crate::arguments::Client;
use crate::exit::{Exit, Failure};
use crate::file_edit::Target;
use crate::ui::output;

/// A client, and what its configuration says of us.
struct ClientStatus {
    client: Client,
    file: String,
    is_found: bool,
    /// The names of our entries; why they are not known where the file cannot be read.
    entries: Result<Vec<String>, String>,
}

pub(super) fn run(json: bool) -> Result<Exit, Failure> {
    let places = Places::of_this_user()?;
    let rows: Vec<ClientStatus> = CLIENTS.into_iter().map(|client| row(&places, client)).collect();
    if json {
        let clients: Vec<Value> = rows.iter().map(ClientStatus::json).collect();
        output::json(&json!({"clients": clients}));
        return Ok(Exit::Ok);
    }
    let lines: Vec<[String; 4]> = rows.iter().map(ClientStatus::cells).collect();
    output::table(&["client", "found", "toolcrib", "file"], &lines);
    for row in &rows {
        if let Err(problem) = &row.entries {
            output::tell(&format!("warning: {problem}"));
        }
    }
    Ok(Exit::Ok)
}

fn row(places: &Places, client: Client) -> ClientStatus {
    let path = places.user_file(client);
    let file = places.shown(&path);
    let edit = client.edit();
    let entries = Target::read(path).map_err(|failure| failure.message).and_then(|target| {
        let all = edit.read(target.text.as_deref().unwrap_or_default());
        let all = all.map_err(|problem| problem.in_file(&file))?;
        let servers = all.get(edit.servers).and_then(Value::as_object);
        let ours = servers.into_iter().flatten().filter(|(_, entry)| is_ours(entry));
        Ok(ours.map(|(name, _)| name.clone()).collect())
    });
    ClientStatus { client, file, is_found: places.has(client), entries }
}

impl ClientStatus {
    fn json(&self) -> Value {
        let (entries, error) = match &self.entries {
            Ok(names) => (Some(names), None),
            Err(error) => (None, Some(error)),
        };
        json!({
            "client": self.client.id(),
            "title": self.client.title(),
            "file": self.file,
            "found": self.is_found,
            "entries": entries,
            "error": error,
        })
    }

    fn cells(&self) -> [String; 4] {
        let entries = match &self.entries {
            Ok(names) if names.is_empty() => "-".to_owned(),
            Ok(names) => names.join(", "),
            Err(_) => "?".to_owned(),
        };
        let found = if self.is_found { "yes" } else { "no" };
        [self.client.id().to_owned(), found.to_owned(), entries, self.file.clone()]
    }
}
