//! The entries that configurations hold, before anything is made of them.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use toolcrib_app::serve_arguments;

use crate::arguments::Client;
use crate::commands::install::{CLIENTS, Edit, Places};
use crate::exit::Failure;
use crate::file_edit::Target;

/// The keys under which servers stand, with the client that has it where it is one alone.
const KEYS: [(&str, Option<Client>); 3] =
    [("mcpServers", None), ("servers", Some(Client::VsCode)), ("mcp_servers", Some(Client::Codex))];

/// The entry of a server.
#[derive(Clone, Debug)]
pub(super) struct ServerEntry {
    pub(super) name: String,
    /// The files that it stands in, as people write them.
    pub(super) files: Vec<String>,
    pub(super) client: Option<Client>,
    /// The folder of the project that the file belongs to.
    pub(super) project: Option<PathBuf>,
    pub(super) entry: Value,
    /// True if the client does not start it.
    pub(super) is_disabled: bool,
}

impl ServerEntry {
    /// As people are told of it.
    pub(super) fn source(&self) -> String {
        format!("`{}` in {}", self.name, self.files.join(" and "))
    }
}

/// The configurations that were read.
#[derive(Debug, Default)]
pub(super) struct All {
    pub(super) servers: Vec<ServerEntry>,
    /// The files that were read.
    pub(super) files: Vec<String>,
    /// The number of entries that start `toolcrib serve`.
    pub(super) ours: usize,
    /// The error of each file that could not be read.
    pub(super) unreadable: Vec<String>,
}

impl All {
    /// Of the clients that are found here, or of the one that is named: what they know everywhere, and in the project
    /// of the current folder.
    pub(super) fn of_clients(only: Option<Client>) -> Result<Self, Failure> {
        let places = Places::of_this_user()?;
        let folder = std::env::current_dir().ok();
        let mut all = Self::default();
        for client in CLIENTS.into_iter().filter(|client| only.is_none_or(|only| only == *client)) {
            let user = places.user_file(client);
            let project = folder.as_ref().zip(client.project_file()).map(|(folder, file)| folder.join(file));
            // In the home of the user both may be the same file.
            let project = project.filter(|project| *project != user);
            // The file of one client says nothing about those of the others.
            if let Err(failure) = all.add_file(&user, client, None, folder.as_deref(), &places) {
                all.unreadable.push(failure.message);
            }
            if let Some(file) = project
                && let Err(failure) = all.add_file(&file, client, folder.as_deref(), None, &places)
            {
                all.unreadable.push(failure.message);
            }
        }
        Ok(all)
    }

    /// Reads the given files.
    pub(super) fn of_files(files: &[PathBuf], client: Option<Client>) -> Result<Self, Failure> {
        let mut all = Self::default();
        for file in files {
            let shown = file.display().to_string();
            let Some(text) = Target::read(file.clone())?.text else {
                return Err(Failure::bad_input(format!("{shown} is not there")));
            };
            let is_toml = file.extension().is_some_and(|ending| ending == "toml");
            let guess = if is_toml { Client::Codex } else { Client::ClaudeCode };
            let edit = client.unwrap_or(guess).edit();
            let read = edit.read(&text).map_err(|problem| Failure::bad_input(problem.in_file(&shown)))?;
            let found = KEYS.iter().find_map(|(key, owner)| {
                let servers = read.get(*key).or_else(|| read.get("mcp")?.get(*key))?;
                Some((servers.as_object()?, *owner))
            });
            let Some((servers, owner)) = found else {
                let message = "there are no servers in it, under `mcpServers`, `servers` or `mcp_servers`";
                return Err(Failure::bad_input(format!("{shown}: {message}")));
            };
            let folder = std::path::absolute(file).ok();
            let project = folder.as_deref().and_then(project_of);
            let client = client.or(owner).or_else(|| client_of(file));
            all.add(servers, &read, client, project.as_deref(), &shown);
            all.files.push(shown);
        }
        Ok(all)
    }

    fn add_file(
        &mut self,
        file: &Path,
        client: Client,
        project: Option<&Path>,
        current: Option<&Path>,
        places: &Places,
    ) -> Result<(), Failure> {
        let Some(text) = Target::read(file.to_owned())?.text else { return Ok(()) };
        let edit: Edit = client.edit();
        let shown = match project {
            Some(folder) => file.strip_prefix(folder).unwrap_or(file).display().to_string(),
            None => places.shown(file),
        };
        let read = edit.read(&text).map_err(|problem| Failure::bad_input(problem.in_file(&shown)))?;
        if let Some(servers) = read.get(edit.servers).and_then(Value::as_object) {
            self.add(servers, &read, Some(client), project, &shown);
        }
        // Claude Code stores the servers of one project and user in the same file as those of all projects.
        let own = current.and_then(|folder| read.get("projects")?.get(folder.to_str()?)?.as_object());
        if let Some(own) = own.filter(|_| client == Client::ClaudeCode)
            && let Some(servers) = own.get("mcpServers").and_then(Value::as_object)
        {
            self.add(servers, own, Some(client), current, &format!("{shown} for this folder"));
        }
        self.files.push(shown);
        Ok(())
    }

    /// Adds the servers of one file. The same entry of several files is one server.
    fn add(
        &mut self,
        servers: &Map<String, Value>,
        around: &Map<String, Value>,
        client: Option<Client>,
        project: Option<&Path>,
        file: &str,
    ) {
        let listed = |pointer: &[&str], name: &str| {
            let (first, rest) = pointer.split_first()?;
            let value = rest.iter().try_fold(around.get(*first)?, |value, key| value.get(*key))?;
            Some(value.as_array()?.iter().any(|item| item.as_str() == Some(name)))
        };
        for (name, entry) in servers {
            if serves_us(entry) {
                self.ours += 1;
                continue;
            }
            let says = |key: &str, value: bool| entry.get(key).and_then(Value::as_bool) == Some(value);
            let is_excluded = [&["mcp", "excluded"][..], &["excludeMCPServers"], &["disabledMcpServers"]]
                .iter()
                .any(|pointer| listed(pointer, name) == Some(true));
            let is_disabled = says("disabled", true)
                || says("enabled", false)
                || is_excluded
                || listed(&["mcp", "allowed"], name) == Some(false);
            let same = self.servers.iter_mut().find(|known| {
                known.name == *name && is_same(&known.entry, entry) && known.is_disabled == is_disabled
            });
            match same {
                Some(known) => known.files.push(file.to_owned()),
                None => self.servers.push(ServerEntry {
                    name: name.clone(),
                    files: vec![file.to_owned()],
                    client,
                    project: project.map(Path::to_owned),
                    entry: entry.clone(),
                    is_disabled,
                }),
            }
        }
    }
}

/// Returns true if an entry starts this program to serve an app, in any form.
fn serves_us(entry: &Value) -> bool {
    let texts = |value: Option<&Value>| -> Vec<String> {
        match value {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    };
    let words: Vec<String> = ["command", "args"].into_iter().flat_map(|key| texts(entry.get(key))).collect();
    serve_arguments(&words.iter().map(String::as_str).collect::<Vec<_>>()).is_some()
}

/// Returns true if two entries start the same server.
fn is_same(one: &Value, other: &Value) -> bool {
    let kept = |entry: &Value| {
        let entry = entry.as_object().into_iter().flatten();
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        let mut kept: Vec<_> = entry
            .filter(|(key, value)| key.as_str() != "type" && !is_empty(value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        kept.sort_by(|(one, _), (other, _)| one.cmp(other));
        kept
    };
    kept(one) == kept(other)
}

/// Returns the folder of the project that a configuration is of, by its place.
fn project_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    let is_inner = folder
        .file_name()
        .is_some_and(|name| [".cursor", ".vscode", ".gemini", ".codex"].iter().any(|inner| name == *inner));
    match (is_inner, file.file_name()?.to_str()?) {
        (true, _) => folder.parent().map(Path::to_owned),
        (false, ".mcp.json") => Some(folder.to_owned()),
        _ => None,
    }
}

/// Returns the client that a file is of, by its place.
fn client_of(file: &Path) -> Option<Client> {
    let name = file.file_name()?.to_str()?;
    let folder =
        file.parent().and_then(Path::file_name).and_then(|folder| folder.to_str()).unwrap_or_default();
    match (folder, name) {
        (_, ".claude.json" | ".mcp.json") => Some(Client::ClaudeCode),
        (_, "claude_desktop_config.json") => Some(Client::ClaudeDesktop),
        (".cursor", _) => Some(Client::Cursor),
        (".vscode", _) => Some(Client::VsCode),
        (".gemini", _) => Some(Client::Gemini),
        _ => None,
    }
}
