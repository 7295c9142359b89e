//! `toolcrib doctor`.

use std::env;

use serde::Serialize;
use serde_json::json;
use toolcrib_runtime::Runtime;

use super::look;
use crate::arguments::Doctor;
use crate::exit::{Exit, Failure};
use crate::output;

/// One thing that was looked at.
#[derive(Serialize)]
struct Check {
    name: String,
    /// `ok`, `missing` or `failed`.
    status: &'static str,
    detail: String,
    /// What to do about it.
    next: Option<String>,
}

impl Check {
    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), status: "ok", detail: detail.into(), next: None }
    }

    fn not_ok(name: &str, status: &'static str, detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self { name: name.into(), status, detail: detail.into(), next: Some(next.into()) }
    }
}

pub(crate) async fn run(arguments: &Doctor, json: bool) -> Result<Exit, Failure> {
    let mut checks = vec![
        Check::ok("toolcrib", env!("CARGO_PKG_VERSION")),
        Check::ok("search", "keyword"),
        program("npx", "needed only for MCP servers from npm; install Node.js"),
        program("python3", "needed only for MCP servers from PyPI; install Python 3"),
    ];
    let mut exit = Exit::Ok;
    if let Some(path) = &arguments.app {
        match look(path).await {
            Ok(runtime) => {
                exit = app(&runtime, &mut checks);
                runtime.close().await;
            }
            Err(failure) => {
                let next = format!("mend the file; `toolcrib validate {}` checks it again", path.display());
                checks.push(Check::not_ok("app", "failed", failure.message, next));
                exit = failure.exit;
            }
        }
    }
    if json {
        output::json(&json!({"ok": exit == Exit::Ok, "checks": checks}));
    } else {
        for check in &checks {
            output::say(&format!("{:7} {}: {}", check.status, check.name, check.detail));
            if let Some(next) = &check.next {
                output::say(&format!("        next: {next}"));
            }
        }
    }
    Ok(exit)
}

fn program(name: &str, next: &str) -> Check {
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file()) {
        Some(found) => Check::ok(name, found.display().to_string()),
        None => Check::not_ok(name, "missing", "not in PATH", next),
    }
}

/// Whether a variable holds a key. As in a run, an empty one is none, nor is one that is not Unicode.
fn is_set(variable: &str) -> bool {
    env::var(variable).is_ok_and(|key| !key.is_empty())
}

fn app(runtime: &Runtime, checks: &mut Vec<Check>) -> Exit {
    let snapshot = runtime.snapshot();
    checks.push(Check::ok("app", format!("{} tools in {}", snapshot.iter().len(), runtime.app().id())));
    for agent in &runtime.app().config.agents {
        let name = format!("agent {}", agent.id);
        let provider = agent.brain.provider;
        match provider.key_variable() {
            Some(variable) if agent.brain.api_key.is_none() && !is_set(variable) => {
                let next = match &agent.brain.recording {
                    Some(recording) => {
                        format!("set {variable} to talk to {provider}; until then {recording} is played")
                    }
                    None => format!("set {variable}"),
                };
                checks.push(Check::not_ok(&name, "missing", format!("{variable} is not set"), next));
            }
            _ => checks.push(Check::ok(name, format!("{provider} {}", agent.brain.model))),
        }
    }
    for reject in snapshot.rejected() {
        let next = "see the reason; the other tools work without it";
        let tool = reject.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        checks.push(Check::not_ok(&reject.source, "failed", format!("{tool}{}", reject.reason), next));
    }
    super::exit_of_rejects(snapshot.rejected())
}
