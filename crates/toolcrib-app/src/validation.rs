//! Checks of an app file beyond its types.

use std::collections::BTreeSet;

use serde_json::Value;
use toolcrib_document::{Error, nearest};
use toolcrib_model::pointer_part;
use toolcrib_policy::{Access, Policy, RUNTIME_NAMESPACE};
use toolcrib_sdk::Module;
use toolcrib_tasks::SCHEDULER;

use crate::agent::factory::{ASSISTANT, COORDINATOR};
use crate::agent::injection::brains;
use crate::protected_files::SHELL;
use crate::{App, BrainConfig, ModuleConfig};
use crate::{
    config::audit, config::channels, config::former_names, config::limits, config::search, config::serve,
    config::skills, setup, sources,
};

/// The actions of a module that agents may not call.
const BLOCKED: &str = "blocked_actions";

/// The list of rules that grant.
const GRANT: &str = "grant";

/// Everything that is wrong, and warnings about what is probably a mistake.
pub(crate) fn check(app: &App) -> (Vec<Error>, Vec<String>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    workspace(app, &mut errors);
    agents(app, &mut errors);
    let built = modules(app, &mut errors, &mut warnings);
    engines(app, &mut errors);
    registry(app, &mut errors);
    rules(app, &built, &mut errors, &mut warnings);
    programs(app, &mut warnings);
    audit::check(app, &mut errors);
    budget(app, &mut errors);
    scheduler(app, &mut errors);
    limits::check(app, &mut errors);
    search::check(app, &mut errors);
    serve::check(app, &mut errors);
    channels::check(app, &built, &mut errors);
    skills::check(app, &mut errors);
    let constraints = app.config.modules.iter().map(|(id, module)| (id.as_str(), &module.constraints));
    if let Err(error) = Policy::new(&app.config.tools.capabilities, constraints) {
        errors.push(app.document.error_at(error.place().pointer(), error.to_string()));
    }
    if errors.is_empty() {
        match sources::sources(app) {
            Ok(sources) => errors.extend(limits::flow(app, &built, &sources).err()),
            Err(wrong) => errors.extend(wrong),
        }
    }
    (errors, warnings)
}

/// A folder that tools are to work in and that is not one. It may be made later where the app was not read from a file.
fn workspace(app: &App, errors: &mut Vec<Error>) {
    let (Some(_), Ok(path)) = (&app.config.app.workspace, app.workspace()) else { return };
    let problem = if path.is_file() {
        "is a file; name a folder"
    } else if app.is_in_file() && !path.exists() {
        "is not there; make it, or name another folder"
    } else {
        return;
    };
    let message = format!("the workspace `{}` {problem}", path.display());
    errors.push(app.document.error_at("/app/workspace", message));
}

/// Checks the addresses of models that are literal.
fn brain(app: &App, brain: &BrainConfig, place: &str, errors: &mut Vec<Error>) {
    let url = brain.base_url.as_deref().map(str::trim).filter(|url| !url.is_empty() && !url.contains("${"));
    if let Some(url) = url.filter(|url| !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)))
    {
        let message = format!("`base_url` begins with `http://` or `https://`, as `http://{url}`");
        errors.push(app.document.error_at(&format!("{place}/base_url"), message));
    }
    for (position, fallback) in brain.fallback.iter().enumerate() {
        self::brain(app, fallback, &format!("{place}/fallback/{position}"), errors);
    }
}

fn agents(app: &App, errors: &mut Vec<Error>) {
    let mut ids = BTreeSet::new();
    for (position, agent) in app.config.agents.iter().enumerate() {
        if !ids.insert(&agent.id) {
            let place = format!("/agents/{position}/id");
            errors.push(app.document.error_at(&place, format!("there are two agents `{}`", agent.id)));
        }
        brain(app, &agent.brain, &format!("/agents/{position}/brain"), errors);
        if ![ASSISTANT, COORDINATOR].contains(&agent.role.as_str()) {
            let message = unknown("role", &agent.role, &[ASSISTANT, COORDINATOR]);
            errors.push(app.document.error_at(&format!("/agents/{position}/role"), message));
        }
        for (number, brain) in brains(agent).enumerate() {
            let place = match number.checked_sub(1) {
                None => format!("/agents/{position}/brain"),
                Some(number) => format!("/agents/{position}/brain/fallback/{number}"),
            };
            if let Some((key, message)) = brain.parameters().problem() {
                errors.push(app.document.error_at(&format!("{place}/{key}"), message));
            }
        }
    }
}

fn budget(app: &App, errors: &mut Vec<Error>) {
    if app.config.runtime.tool_budget.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
        let message = "`tool_budget` is a share of the context window, from 0 to 1";
        errors.push(app.document.error_at("/runtime/tool_budget", message));
    }
}

fn scheduler(app: &App, errors: &mut Vec<Error>) {
    if app.config.execution.scheduler && app.config.modules.contains_key(SCHEDULER) {
        let message =
            "the module `scheduler` and `execution.scheduler` are the same tools; name one of the two";
        errors.push(app.document.error_at("/modules/scheduler", message));
    }
}

/// Modules and actions that rules name and nothing has. A tool file may hold any namespace, and a module of programs may name
/// itself, so only a name that is near to a known one is taken for a mistake while there is one.
fn rules(app: &App, modules: &[Module], errors: &mut Vec<Error>, warnings: &mut Vec<String>) {
    let tools = &app.config.tools;
    let namespace = |entry: &Value| entry.get("namespace").and_then(Value::as_str).map(str::to_owned);
    let mut known: Vec<String> =
        app.config.modules.keys().cloned().chain([RUNTIME_NAMESPACE.to_owned()]).collect();
    known.extend(tools.registry.iter().filter_map(namespace));
    known.extend(skills::namespaces(app).map(str::to_owned));
    let is_open = tools.registry.iter().any(|entry| match entry.get("type").and_then(Value::as_str) {
        Some("file") => true,
        Some("exec") => namespace(entry).is_none(),
        _ => false,
    });
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let lists = [
        (GRANT, &tools.capabilities.grant),
        ("approve", &tools.capabilities.approve),
        ("deny", &tools.capabilities.deny),
    ];
    for (list, rules) in lists {
        for (position, rule) in rules.iter().enumerate() {
            agent(
                app,
                &format!("/tools/capabilities/{list}/{position}/agent"),
                rule.agent.as_deref(),
                errors,
            );
            let Some(module) = rule.module.as_deref().filter(|module| is_literal(module)) else { continue };
            let place = format!("/tools/capabilities/{list}/{position}");
            let is_unknown = !known.contains(&module)
                && app.extensions.modules().all(|id| id != module)
                && !crate::modules::may_be_of_session(app, module);
            if is_unknown && (!is_open || nearest(module, known.iter().copied()).is_some()) {
                errors.push(
                    app.document.error_at(&format!("{place}/module"), unknown("module", module, &known)),
                );
                continue;
            }
            let built = modules.iter().find(|built| built.id() == module);
            let actions: Option<Vec<&str>> = built.map(|built| built.actions().collect());
            for (at, action) in rule.actions.iter().flatten().enumerate() {
                let place = format!("{place}/actions/{at}");
                if let Some(present) = former_names::present_action(module, action) {
                    let holds = if list == GRANT {
                        "a grant holds for that name alone"
                    } else {
                        "the rule holds for it"
                    };
                    let message = format!("`{module}.{action}` is called `{module}.{present}` now; {holds}");
                    warnings.push(app.document.error_at(&place, message).to_string());
                } else if let Some(actions) =
                    actions.as_deref().filter(|actions| !actions.contains(&action.as_str()))
                    && is_literal(action)
                {
                    let message = format!("in the module `{module}`: {}", unknown("action", action, actions));
                    errors.push(app.document.error_at(&place, message));
                }
            }
        }
    }
}

/// Warns of `access` that programs do not keep to, which the app starts: once for each place that sets it.
fn programs(app: &App, warnings: &mut Vec<String>) {
    let tools = &app.config.tools;
    let is = |entry: &Value, kind: &str| entry.get("type").and_then(Value::as_str) == Some(kind);
    let starters = [
        ("the module `shell`", app.config.modules.contains_key(SHELL)),
        ("sources of `type: exec`", tools.registry.iter().any(|entry| is(entry, "exec"))),
        ("engines of `type: command`", tools.engines.values().any(|engine| is(engine, "command"))),
        (
            "MCP servers by `command`",
            tools.registry.iter().any(|entry| is(entry, "mcp") && entry.get("command").is_some()),
        ),
    ];
    let started: Vec<&str> =
        starters.into_iter().filter_map(|(what, is_there)| is_there.then_some(what)).collect();
    let of_shell = app.config.modules.get(SHELL).and_then(|shell| shell.access.as_ref());
    let places = [
        ("tools.capabilities.access", tools.capabilities.access.as_ref(), started.join(", of ")),
        ("modules.shell.access", of_shell, "the module".to_owned()),
    ];
    for (place, rules, started) in places {
        let Some(rules) = rules.filter(|_| !started.is_empty()) else { continue };
        let parts = [("network", rules.network.is_some()), ("filesystem", rules.filesystem.is_some())];
        let parts = parts.into_iter().filter(|(_, is_set)| *is_set);
        let parts: Vec<_> = parts.map(|(part, _)| format!("`{place}.{part}`")).collect();
        if !parts.is_empty() {
            warnings.push(format!(
                "programs of {started} do not keep to {}: they reach what their user may reach; limit them from outside, \
                 as by a container",
                parts.join(" and ")
            ));
        }
    }
}

/// An agent that a rule names and the app does not have.
fn agent(app: &App, place: &str, named: Option<&str>, errors: &mut Vec<Error>) {
    let known: Vec<&str> = app.config.agents.iter().map(|agent| agent.id.as_str()).collect();
    if let Some(name) = named.filter(|name| is_literal(name) && !known.contains(name)) {
        errors.push(app.document.error_at(place, unknown("agent", name, &known)));
    }
}

/// Returns true if a pattern is a literal name.
fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', '{'])
}

fn modules(app: &App, errors: &mut Vec<Error>, warnings: &mut Vec<String>) -> Vec<Module> {
    if let Err(error) = app.workspace() {
        errors.push(error);
        return Vec::new();
    }
    if Access::of_app(app.config.tools.capabilities.access.as_ref()).is_err() {
        // It is said once, with the rules, and not for each module.
        return Vec::new();
    }
    let known: Vec<&str> = app.extensions.modules().collect();
    let mut modules = Vec::new();
    for (id, entry) in &app.config.modules {
        if !known.contains(&id.as_str()) {
            let place = format!("/modules/{}", pointer_part(id));
            let message = match former_names::instead_of_module(id) {
                Some(advice) => format!("there is no module `{id}`: {advice}"),
                None => unknown("module", id, &known),
            };
            errors.push(app.document.error_at(&place, message));
            continue;
        }
        let module = crate::modules::module(app, id, entry).or_else(|error| {
            errors.push(error);
            // What it does can often be told without its configuration.
            let plain = ModuleConfig { config: Value::Null, ..entry.clone() };
            crate::modules::module(app, id, &plain)
        });
        if let Ok(module) = module {
            constraints(app, id, entry, &module, errors, warnings);
            setup::check(app, &module, &entry.setup, errors);
            modules.push(module);
        }
    }
    modules
}

/// Reports the actions that constraints name and the module does not have. Blocking one that does not exist takes nothing away, so
/// it is a warning, which names the nearest action in case of a misspelling.
fn constraints(
    app: &App,
    id: &str,
    module: &ModuleConfig,
    built: &Module,
    errors: &mut Vec<Error>,
    warnings: &mut Vec<String>,
) {
    let place = format!("/modules/{}", pointer_part(id));
    let actions: Vec<&str> = built.actions().collect();
    let constraints = &module.constraints;
    let lists = [
        ("allowed_actions", constraints.allowed_actions.as_deref().unwrap_or_default()),
        (BLOCKED, &constraints.blocked_actions),
    ];
    for (key, named) in lists {
        for (position, action) in named.iter().enumerate() {
            if is_literal(action) && !actions.contains(&action.as_str()) {
                let problem = match former_names::present_action(id, action) {
                    Some(present) => format!("`{action}` is called `{present}` now"),
                    None => unknown("action", action, &actions),
                };
                let message = format!("in the module `{id}`: {problem}");
                let place = format!("{place}/constraints/{key}/{position}");
                if key == BLOCKED {
                    warnings.push(app.document.error_at(&place, message).to_string());
                } else {
                    errors.push(app.document.error_at(&place, message));
                }
            }
        }
    }
}

fn engines(app: &App, errors: &mut Vec<Error>) {
    for (name, engine) in &app.config.tools.engines {
        let known: Vec<_> = app.extensions.engines().collect();
        if let Err(message) = kind(engine, "engine", &known) {
            let kind = engine.get("type").and_then(Value::as_str).unwrap_or_default();
            let message = former_names::instead_of_engine(kind)
                .map_or(message, |advice| format!("there is no engine `{kind}`: {advice}"));
            errors.push(app.document.error_at(&format!("/tools/engines/{name}"), message));
        }
    }
}

fn registry(app: &App, errors: &mut Vec<Error>) {
    let engines: Vec<&str> = app.config.tools.engines.keys().map(String::as_str).collect();
    let loaders: Vec<_> = app.extensions.loaders().collect();
    for (position, entry) in app.config.tools.registry.iter().enumerate() {
        let place = format!("/tools/registry/{position}");
        if let Err(message) = kind(entry, "loader", &loaders) {
            errors.push(app.document.error_at(&place, message));
            continue;
        }
        let message = match entry.get("engine") {
            None | Some(Value::Null) => continue,
            Some(Value::String(engine)) if engines.contains(&engine.as_str()) => continue,
            Some(Value::String(engine)) => unknown("engine", engine, &engines),
            Some(other) => format!("`engine` should be the name of one of `tools.engines`, not {other}"),
        };
        errors.push(app.document.error_at(&format!("{place}/engine"), message));
    }
}

/// Checks the `type` of an entry.
fn kind(entry: &Value, what: &str, known: &[&str]) -> Result<(), String> {
    match entry.get("type").and_then(Value::as_str) {
        Some(kind) if known.contains(&kind) => Ok(()),
        Some(kind) => Err(unknown(what, kind, known)),
        None => Err(format!("the {what} needs a `type`, one of: {}", known.join(", "))),
    }
}

pub(crate) fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    match nearest(given, known.iter().copied()) {
        Some(nearest) => format!("unknown {what} `{given}`, did you mean `{nearest}`?"),
        None if known.is_empty() => format!("unknown {what} `{given}`; none is defined"),
        None => format!("unknown {what} `{given}`; there is: {}", known.join(", ")),
    }
}
