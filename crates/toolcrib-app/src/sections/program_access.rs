//! Programs that an app starts, and the `access` that they keep to.

use serde_json::Value;
use toolcrib_loader_mcp::MODULE_ID;
use toolcrib_policy::access::{AccessRules, PathRule};
use toolcrib_tasks::Skills;

use crate::App;
use crate::protected_files::SHELL;
use crate::sections::skills;

/// Programs of one kind.
struct ProgramKind {
    name: &'static str,
    /// True if some have a sandbox.
    has_sandboxed: bool,
    /// True if some have none.
    has_others: bool,
}

impl ProgramKind {
    /// Creates a kind of programs, each of which may have a `sandbox`.
    fn new<'a>(name: &'static str, settings: impl Iterator<Item = Option<&'a Value>>) -> Self {
        let mut kind = Self { name, has_sandboxed: false, has_others: false };
        for sandbox in settings {
            if sandbox.is_none_or(Value::is_null) {
                kind.has_others = true;
            } else {
                kind.has_sandboxed = true;
            }
        }
        kind
    }
}

/// Warns of `access` that started programs do not keep to: once for each place that sets it.
pub(crate) fn warn(app: &App, all_skills: &Skills, warnings: &mut Vec<String>) {
    let (shell, mcp) = (of_module(app, SHELL), of_module(app, MODULE_ID));
    let own = |id: &str| app.config.modules.get(id).and_then(|module| module.access.as_ref());
    let places = [
        ("modules.shell.access", own(SHELL), shell.into_iter().collect()),
        ("modules.mcp.access", own(MODULE_ID), mcp.into_iter().collect()),
        ("tools.capabilities.access", app.config.tools.capabilities.access.as_ref(), kinds(app, all_skills)),
    ];
    for (place, rules, kinds) in places {
        let Some(rules) = rules else { continue };
        let named = |is_in: fn(&ProgramKind) -> bool| {
            let names: Vec<&str> = kinds.iter().filter(|kind| is_in(kind)).map(|kind| kind.name).collect();
            (!names.is_empty()).then(|| names.join(", of "))
        };
        if let Some(programs) = named(|kind| kind.has_others) {
            let parts = [("network", rules.network.is_some()), ("filesystem", rules.filesystem.is_some())];
            let parts = parts.into_iter().filter(|(_, is_set)| *is_set);
            let parts: Vec<_> = parts.map(|(part, _)| format!("`{place}.{part}`")).collect();
            if !parts.is_empty() {
                warnings.push(format!(
                    "programs of {programs} do not keep to {}: they reach what their user may reach; set `sandbox`",
                    parts.join(" and ")
                ));
            }
        }
        if let Some(programs) = named(|kind| kind.has_sandboxed) {
            let gaps = gaps(place, rules);
            if !gaps.is_empty() {
                warnings.push(format!("for sandboxed programs of {programs}, {}", gaps.join("; ")));
            }
        }
    }
}

/// Returns the kinds of programs that an app starts.
fn kinds(app: &App, all_skills: &Skills) -> Vec<ProgramKind> {
    let tools = &app.config.tools;
    let of_type = |kind: &'static str| {
        let entries = tools.registry.iter();
        entries.filter(move |entry| entry.get("type").and_then(Value::as_str) == Some(kind))
    };
    let engines = tools.engines.values();
    let engines = engines.filter(|engine| engine.get("type").and_then(Value::as_str) == Some("command"));
    let servers = of_type("mcp").filter(|entry| entry.get("command").is_some());
    let of_skills = app.config.skills.sandbox.is_some();
    let mut of_skills = ProgramKind { name: "skills", has_sandboxed: of_skills, has_others: !of_skills };
    if skills::namespaces(all_skills).next().is_none() {
        of_skills = ProgramKind::new("skills", std::iter::empty());
    }
    let of_entries = [
        ProgramKind::new("sources of `type: exec`", of_type("exec").map(|entry| entry.get("sandbox"))),
        ProgramKind::new("engines of `type: command`", engines.map(|engine| engine.get("sandbox"))),
        ProgramKind::new("MCP servers by `command`", servers.map(|entry| entry.get("sandbox"))),
        of_skills,
    ];
    of_module(app, SHELL).into_iter().chain(of_module(app, MODULE_ID)).chain(of_entries).collect()
}

/// Returns the programs of a module that starts some, if the app has it.
fn of_module(app: &App, id: &str) -> Option<ProgramKind> {
    let module = app.config.modules.get(id)?;
    let name = if id == SHELL { "the module `shell`" } else { "the module `mcp`" };
    Some(ProgramKind::new(name, std::iter::once(module.config.get("sandbox"))))
}

/// Returns the parts of access rules that sandboxes do not enforce.
fn gaps(place: &str, rules: &AccessRules) -> Vec<String> {
    let mut gaps = Vec::new();
    if rules.network.as_ref().is_some_and(|hosts| hosts.iter().any(|host| !host.starts_with('*'))) {
        gaps.push(match rules.ports() {
            Some(_) => format!("the hosts of `{place}.network` are not enforced, only their ports"),
            None => format!("`{place}.network` is not enforced, since it names a host without a port"),
        });
    }
    let globs = rules.filesystem.iter().flatten().filter(|rule| rule.is_glob());
    let globs: Vec<String> = globs.map(|PathRule { path, .. }| format!("`{path}`")).collect();
    if !globs.is_empty() {
        gaps.push(format!(
            "of {} in `{place}.filesystem`, only the folder before the first glob is enforced",
            globs.join(", ")
        ));
    }
    gaps
}
