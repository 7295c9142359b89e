//! `toolcrib registry`.

mod bundle;
mod client;
mod inputs;
mod plan;
mod server_json;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_app::Extensions;
use toolcrib_io::files::read_bounded;

use super::add::{NewSource, add};
use crate::arguments::{RegistryArguments, RegistryCommand, ServerArgument};
use crate::exit::{Exit, Failure};
use crate::ui::output;
use crate::ui::printable::excerpt;
use bundle::{Bundle, MAX_BUNDLE_BYTES};
use client::Registry;
use inputs::{Inputs, Needs};
use plan::{BUNDLE, Choice, choose, kinds, package_entry, remote_entry};
use server_json::ServerJson;

/// The largest `server.json`, in bytes.
const MAX_DESCRIPTION_BYTES: u64 = 1024 * 1024;

/// The most bytes of a text of the registry that are shown.
const MAX_SHOWN_BYTES: usize = 200;

/// The longest namespace that is made of the name of a server, in characters.
const MAX_NAMESPACE_CHARS: usize = 48;

/// The description of a server.
enum ServerDescription {
    Described(Box<ServerJson>),
    Bundled(Box<Bundle>),
}

pub(crate) async fn run(
    arguments: &RegistryArguments,
    extensions: &Extensions,
    json: bool,
) -> Result<Exit, Failure> {
    let registry = Registry::open(arguments.registry.as_ref())?;
    match &arguments.command {
        RegistryCommand::Search { query, limit } => search(&registry, query, *limit, json).await,
        RegistryCommand::Show { server } => show(&registry, server, json).await,
        RegistryCommand::Add { server, namespace, kind, set, target } => {
            let found = find(&registry, server).await?;
            let namespace = match namespace {
                Some(namespace) => namespace.clone(),
                None => namespace_of(found.short_name()),
            };
            let mut inputs = Inputs::parse(set, &namespace)?;
            let (source, bundle) = source(&registry, found, &namespace, kind.as_deref(), &mut inputs).await?;
            let unpack = || bundle.as_ref().map_or(Ok(()), Bundle::unpack);
            add(&source, target, unpack, extensions, json).await
        }
    }
}

async fn search(registry: &Registry, query: &str, limit: u8, json: bool) -> Result<Exit, Failure> {
    let servers = registry.search(query, limit).await?;
    if json {
        let row = |server: &ServerJson| {
            json!({
                "name": server.name, "version": server.version, "description": server.description, "types": kinds(server),
            })
        };
        output::json(&json!({"servers": servers.iter().map(row).collect::<Vec<_>>()}));
        return Ok(Exit::Ok);
    }
    if servers.is_empty() {
        output::tell(&format!(
            "the registry has no server with `{}` in its name",
            excerpt(query, MAX_SHOWN_BYTES)
        ));
        return Ok(Exit::Ok);
    }
    let shown = |text: &str| excerpt(text, MAX_SHOWN_BYTES);
    let rows: Vec<[String; 4]> = servers
        .iter()
        .map(|server| {
            [
                shown(&server.name),
                shown(&server.version),
                shown(&kinds(server).join(", ")),
                shown(&server.description),
            ]
        })
        .collect();
    output::table(&["name", "version", "types", "description"], &rows);
    output::tell("next: toolcrib registry show NAME, or toolcrib registry add NAME");
    Ok(Exit::Ok)
}

async fn show(registry: &Registry, server: &ServerArgument, json: bool) -> Result<Exit, Failure> {
    let found = find(registry, server).await?;
    let namespace = namespace_of(found.short_name());
    let plans: Vec<(String, Result<PlannedEntry, String>)> = match &found {
        ServerDescription::Bundled(bundle) => {
            vec![(BUNDLE.to_owned(), planned(&namespace, |inputs| bundle.entry(&namespace, inputs)))]
        }
        ServerDescription::Described(server) => kinds(server)
            .into_iter()
            .map(|kind| {
                let plan = planned(&namespace, |inputs| match choose(server, Some(&kind))? {
                    Choice::Remote(remote) => remote_entry(remote, &namespace, inputs),
                    Choice::Package(package) if package.registry_type == BUNDLE => Err(format!(
                        "a bundle, at {}; `toolcrib registry add` downloads and checks it",
                        package.identifier
                    )),
                    Choice::Package(package) => package_entry(package, &namespace, inputs),
                });
                (kind, plan)
            })
            .collect(),
    };
    let (name, version, description, repository) = found.summary();
    if json {
        let row = |(kind, plan): &(String, Result<PlannedEntry, String>)| match plan {
            Ok(plan) => json!({"type": kind, "entry": plan.entry, "needs": plan.needs}),
            Err(problem) => json!({"type": kind, "problem": problem}),
        };
        output::json(&json!({
            "name": name, "version": version, "description": description, "repository": repository,
            "plans": plans.iter().map(row).collect::<Vec<_>>(),
        }));
        return Ok(Exit::Ok);
    }
    let shown = |text: &str| excerpt(text, MAX_SHOWN_BYTES);
    output::say(&format!("{} {}", shown(name), shown(version)));
    output::say(&shown(description));
    if let Some(repository) = repository {
        output::say(&format!("source code: {}", shown(repository)));
    }
    for (kind, plan) in &plans {
        match plan {
            Ok(plan) => {
                output::say(&format!("{}: {}", shown(kind), what_runs(&plan.entry)));
                plan.needed_lines().iter().for_each(|line| output::say(&shown(line)));
            }
            Err(problem) => {
                output::say(&format!("{}: {}", shown(kind), excerpt(problem, MAX_SHOWN_BYTES * 4)));
            }
        }
    }
    Ok(Exit::Ok)
}

/// The entry that would be written, with a placeholder for each value that the user has to give.
struct PlannedEntry {
    entry: Value,
    needs: Needs,
}

impl PlannedEntry {
    /// Returns the variables and headers of the entry, and the values that `add` needs and takes, one on each line.
    fn needed_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (key, what) in [("env", "variable"), ("headers", "header")] {
            for (name, value) in self.entry.get(key).and_then(Value::as_object).into_iter().flatten() {
                lines.push(format!("  {what} {name}: {}", value.as_str().unwrap_or_default()));
            }
        }
        let about = |description: &str| match description {
            "" => String::new(),
            description => format!(" ({description})"),
        };
        for (name, description) in &self.needs.values {
            lines.push(format!("  needs --set {name}=…{}", about(description)));
        }
        for name in &self.needs.variables {
            lines.push(format!("  needs the variable {name} where the app runs"));
        }
        for (name, description) in &self.needs.optional_values {
            lines.push(format!("  takes --set {name}=…{}", about(description)));
        }
        for (name, description) in &self.needs.optional_secrets {
            let about = about(description);
            lines.push(format!(
                "  takes the secret {name}{about}; add it to the entry by hand, as a variable"
            ));
        }
        lines
    }
}

/// Returns the entry that would be written, and what it needs, or the reason against it.
fn planned(
    namespace: &str,
    plan: impl FnOnce(&mut Inputs) -> Result<Value, String>,
) -> Result<PlannedEntry, String> {
    let mut inputs = Inputs::placeholders(namespace);
    let entry = plan(&mut inputs)?;
    Ok(PlannedEntry { entry, needs: inputs.needs() })
}

/// Returns what an entry runs or connects to.
fn what_runs(entry: &Value) -> String {
    match (entry.get("command").and_then(Value::as_array), entry.get("url").and_then(Value::as_str)) {
        (Some(words), _) => {
            let words = words.iter().filter_map(Value::as_str);
            format!("runs {}", shell_words::join(words))
        }
        (None, Some(url)) => format!("connects to {url}"),
        (None, None) => entry.to_string(),
    }
}

async fn find(registry: &Registry, server: &ServerArgument) -> Result<ServerDescription, Failure> {
    let path = Path::new(&server.name);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("mcpb" | "dxt") => {
            let most = u64::try_from(MAX_BUNDLE_BYTES).unwrap_or(u64::MAX);
            let bytes = read_bounded(path, most).map_err(|error| Failure::bad_input(error.to_string()))?;
            Ok(ServerDescription::Bundled(Box::new(Bundle::read(bytes, None)?)))
        }
        Some("json") => {
            let bytes = read_bounded(path, MAX_DESCRIPTION_BYTES)
                .map_err(|error| Failure::bad_input(error.to_string()))?;
            let server = serde_json::from_slice(&bytes)
                .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
            Ok(ServerDescription::Described(Box::new(server)))
        }
        _ => Ok(ServerDescription::Described(Box::new(
            registry.server(&server.name, server.version.as_deref()).await?,
        ))),
    }
}

/// Returns the source that is to be added, with the bundle that has to be unpacked for it.
async fn source(
    registry: &Registry,
    found: ServerDescription,
    namespace: &str,
    kind: Option<&str>,
    inputs: &mut Inputs,
) -> Result<(NewSource, Option<Bundle>), Failure> {
    let (name, version, _, repository) = found.summary();
    let shown = |text: &str| excerpt(text, MAX_SHOWN_BYTES);
    let mut notes = vec![format!("{} {}", shown(name), shown(version))];
    notes.extend(repository.map(|url| format!("source code: {}", shown(url))));
    let (entry, bundle) = match found {
        ServerDescription::Bundled(bundle) => (bundle.entry(namespace, inputs), Some(*bundle)),
        ServerDescription::Described(server) => match choose(&server, kind).map_err(Failure::bad_input)? {
            Choice::Remote(remote) => (remote_entry(remote, namespace, inputs), None),
            Choice::Package(package) if package.registry_type == BUNDLE => {
                let sha256 = package.file_sha256.as_deref().ok_or_else(|| {
                    Failure::bad_input(
                        "the registry does not say the digest of the bundle, so it cannot be checked",
                    )
                })?;
                let bytes = registry.download(&package.identifier, MAX_BUNDLE_BYTES).await?;
                let bundle = Bundle::read(bytes, Some(sha256))?;
                (bundle.entry(namespace, inputs), Some(bundle))
            }
            Choice::Package(package) => (package_entry(package, namespace, inputs), None),
        },
    };
    let entry = entry.map_err(Failure::bad_input)?;
    inputs.finish().map_err(Failure::bad_input)?;
    notes.push(what_runs(&entry));
    notes.extend(
        bundle.as_ref().map(|bundle| format!("unpacks the bundle into {}", bundle.folder().display())),
    );
    let (namespace, other_namespace) = (namespace.to_owned(), "with `--namespace NAME`");
    Ok((NewSource { namespace, other_namespace, entry, notes }, bundle))
}

impl ServerDescription {
    fn short_name(&self) -> &str {
        match self {
            Self::Described(server) => server.short_name(),
            Self::Bundled(bundle) => &bundle.manifest().name,
        }
    }

    /// Returns the name, the version, the description, and the URL of the source code.
    fn summary(&self) -> (&str, &str, &str, Option<&str>) {
        match self {
            Self::Described(server) => {
                let repository = server.repository.as_ref().map(|repository| repository.url.as_str());
                (&server.name, &server.version, &server.description, repository)
            }
            Self::Bundled(bundle) => {
                let manifest = bundle.manifest();
                (&manifest.name, &manifest.version, &manifest.description, None)
            }
        }
    }
}

/// Returns a namespace for a server of this name.
fn namespace_of(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .take(MAX_NAMESPACE_CHARS)
        .collect();
    match plain.trim_matches('_') {
        "" => "server".to_owned(),
        plain => plain.to_owned(),
    }
}
