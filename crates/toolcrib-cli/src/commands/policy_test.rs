//! `toolcrib policy test`.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use toolcrib_app::{AppConfig, Extensions};
use toolcrib_document::{Format, Limits, parse};
use toolcrib_io::files::read_bounded;
use toolcrib_model::JsonObject;
use toolcrib_policy::{Decision, Effect, Policy};
use toolcrib_registry::Snapshot;

use super::why;
use crate::app_start::look;
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The most bytes of a table.
const MAX_TABLE_BYTES: u64 = 4 * 1024 * 1024;

/// A call and the expected decision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    tool: String,
    expect: Expectation,
    /// The arguments; any if absent.
    #[serde(default)]
    arguments: Option<JsonObject>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    session: Option<String>,
    /// The location of the deciding rule; any if absent.
    #[serde(default)]
    rule: Option<String>,
}

/// The expected decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expectation {
    Grant,
    Approve,
    Deny,
    /// There is no tool of this name.
    Absent,
}

impl From<Effect> for Expectation {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Grant => Self::Grant,
            Effect::Approve => Self::Approve,
            Effect::Deny => Self::Deny,
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grant => Effect::Grant.as_str(),
            Self::Approve => Effect::Approve.as_str(),
            Self::Deny => Effect::Deny.as_str(),
            Self::Absent => "absent",
        })
    }
}

pub(crate) async fn run(
    app: &Path,
    cases: &Path,
    extensions: &Extensions,
    json: bool,
) -> Result<Exit, Failure> {
    let table = read(cases)?;
    let runtime = look(app, extensions).await?;
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy().clone());
    runtime.close().await;
    let checked =
        |case| check_caller(case, &runtime.app().config).and_then(|()| check(case, &snapshot, &policy));
    let results: Vec<(&Case, Result<(), String>)> = table.iter().map(|case| (case, checked(case))).collect();
    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    if json {
        let rows = results.iter().map(|(case, result)| {
            json!({"tool": case.tool, "ok": result.is_ok(), "problem": result.as_ref().err()})
        });
        output::json(&json!({"cases": rows.collect::<Vec<_>>(), "failed": failed}));
    } else {
        for (number, (case, result)) in results.iter().enumerate() {
            match result {
                Ok(()) => output::say(&format!("ok      {}: {}", case.tool, case.expect)),
                Err(problem) => {
                    output::say(&format!("FAILED  {} (case {}): {problem}", case.tool, number + 1));
                }
            }
        }
        output::say(&format!("{} of {} cases hold", results.len() - failed, results.len()));
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

/// Reads the table.
fn read(path: &Path) -> Result<Vec<Case>, Failure> {
    let name = path.display();
    let bytes = read_bounded(path, MAX_TABLE_BYTES)
        .map_err(|error| Failure::bad_input(format!("could not read {name}: {error}")))?;
    let format = if path.extension().is_some_and(|end| end == "json") { Format::Json } else { Format::Yaml };
    let document =
        parse(&bytes, format, &Limits::default()).map_err(|error| Failure::bad_input(error.at(&name)))?;
    let table: Vec<Case> = document.deserialize().map_err(|error| Failure::bad_input(error.at(&name)))?;
    if table.is_empty() {
        return Err(Failure::bad_input(format!("{name}: expected a list of cases, found none")));
    }
    Ok(table)
}

/// Checks that the app has the agent and the client of a case. A mistyped name would be denied everything, and a case
/// that expects a denial would hold.
fn check_caller(case: &Case, config: &AppConfig) -> Result<(), String> {
    let known = |what: &str, name: Option<&String>, names: Vec<&str>| match name {
        Some(name) if !names.contains(&name.as_str()) => {
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(format!("the app has no {what} `{name}`; it has: {names}"))
        }
        _ => Ok(()),
    };
    known("agent", case.agent.as_ref(), config.agents.iter().map(|agent| agent.id.as_str()).collect())?;
    let tokens = config.serve.tokens.iter().map(|token| token.name.as_str());
    let clients = config.serve.oauth.iter().flat_map(|oauth| &oauth.clients);
    let clients = tokens.chain(clients.map(|client| client.name.as_str()));
    known("client", case.token.as_ref(), clients.collect())
}

/// Compares the decisions about all overloads of the tool with the expected one.
fn check(case: &Case, snapshot: &Snapshot, policy: &Policy) -> Result<(), String> {
    let overloads = match snapshot.find(&case.tool, |_| true) {
        Ok(overloads) => overloads,
        Err(_) if case.expect == Expectation::Absent => return Ok(()),
        Err(error) => return Err(format!("expected {}, found no such tool: {error}", case.expect)),
    };
    let session = why::session(case.session.as_deref(), case.token.as_deref());
    let principal = why::principal(&session, case.agent.as_deref());
    for entry in overloads.iter() {
        let decision = policy.decide_call(&entry.tool, &entry.source, principal, case.arguments.as_ref());
        hold(case, &decision)?;
    }
    Ok(())
}

fn hold(case: &Case, decision: &Decision) -> Result<(), String> {
    let found = Expectation::from(decision.effect);
    if found != case.expect {
        return Err(format!("expected {}, found {found}, decided by {}", case.expect, decision.rule));
    }
    if decision.depends_on_arguments {
        return Err(format!("{found} for some arguments only; add `arguments` to the case"));
    }
    match &case.rule {
        Some(rule) if *rule != *decision.rule => {
            Err(format!("expected `{rule}` to decide, found `{}`", decision.rule))
        }
        _ => Ok(()),
    }
}
