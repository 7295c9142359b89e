//! `cargo xtask conformance`: the official MCP conformance suite against the project's client and server.
//!
//! A scenario of the suite is a server or a client with a list of checks of the other side. Each scenario runs
//! separately, including those that a revision does not score. It must fail exactly the checks that `conformance.toml`
//! lists for it.

mod expected;
mod served;
mod suite;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::env::consts::EXE_SUFFIX;
use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use self::expected::Expected;
use self::served::Served;
use self::suite::Suite;
use crate::process::{cargo, in_ci, run as run_command};
use crate::workspace::Workspace;

/// The tested revisions.
const REVISIONS: &[&str] = &["2025-11-25", "2026-07-28"];

/// The client that the suite tests: an example of `toolcrib-loader-mcp`.
const CLIENT: &str = "conformance_client";

/// The server that the suite tests: an example of `toolcrib-server`.
const SERVER: &str = "conformance_server";

/// The proxy before replicas: a program of `toolcrib-testkit`.
const PROXY: &str = "round-robin";

/// The option with the number of replicas of the server.
const REPLICAS: &str = "--replicas";

/// The tested side of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Client,
    Server,
}

impl Side {
    const ALL: [Self; 2] = [Self::Client, Self::Server];

    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// The file of the known failures, relative to the root.
const EXPECTED: &str = "xtask/conformance.toml";

/// The width of the column with the name of a scenario.
const NAME_WIDTH: usize = 40;

/// Runs all scenarios, or those whose names contain one of the arguments. An argument that is a revision or a side
/// selects it. With `--replicas N`, the server is N processes behind a proxy.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let (replicas, arguments) = replicas(arguments)?;
    let arguments = arguments.iter().map(String::as_str);
    let (revisions, names): (Vec<_>, Vec<_>) = arguments.partition(|argument| REVISIONS.contains(argument));
    let is_side = |argument: &&str| Side::ALL.iter().any(|side| side.name() == *argument);
    let (mut sides, names): (Vec<_>, Vec<_>) = names.into_iter().partition(is_side);
    if replicas.is_some() {
        sides = vec![Side::Server.name()];
    }
    let is_wanted = |side: &Side| sides.is_empty() || sides.contains(&side.name());
    let revisions = if revisions.is_empty() { REVISIONS.to_vec() } else { revisions };
    let expected = Expected::read(&workspace.root.join(EXPECTED))?;
    let suite = match Suite::install(workspace) {
        Ok(suite) => suite,
        Err(error) if !in_ci() => {
            println!("conformance: left out: {error:#}");
            return Ok(());
        }
        Err(error) => return Err(error.context("CI=true leaves nothing out")),
    };
    // Built with the whole workspace, so that dependencies have the same features as for the tests.
    let mut build = cargo(&workspace.root);
    build.args([
        "build",
        "--locked",
        "--workspace",
        "--example",
        CLIENT,
        "--example",
        SERVER,
        "--bin",
        PROXY,
    ]);
    run_command(&mut build)?;
    let built = |name: &str| workspace.target.join("debug").join(format!("{name}{EXE_SUFFIX}"));
    let example = |name: &str| built(&format!("examples/{name}"));
    let served = match replicas {
        None => Served::single(&example(SERVER))?,
        Some(count) => Served::replicas(&example(SERVER), &built(PROXY), count)?,
    };
    let suite = suite.with_client(example(CLIENT)).with_server(served.url());

    let mut wrong = Vec::new();
    for side in Side::ALL.into_iter().filter(is_wanted) {
        for revision in &revisions {
            let mut scenarios = suite.scenarios(side, revision)?;
            if names.is_empty() {
                let unknown = expected
                    .scenarios(side, revision)
                    .filter(|name| !scenarios.iter().any(|known| known == name));
                wrong.extend(unknown.map(|name| {
                    format!("{} {revision} {name}: is in {EXPECTED}, and not in the suite", side.name())
                }));
            } else {
                scenarios.retain(|scenario| names.iter().any(|name| scenario.contains(name)));
            }
            wrong.extend(run_all(&suite, side, revision, &scenarios, &expected)?);
        }
    }
    ensure!(wrong.is_empty(), "not as {EXPECTED} says:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// Returns the number of replicas, if it is given, and the other arguments.
fn replicas(arguments: &[String]) -> Result<(Option<usize>, Vec<String>)> {
    let mut others = arguments.to_vec();
    let Some(at) = others.iter().position(|argument| argument == REPLICAS) else { return Ok((None, others)) };
    let option: Vec<String> = others.drain(at..others.len().min(at + 2)).collect();
    let count = option.get(1).with_context(|| format!("{REPLICAS} takes a number"))?;
    let count = count.parse().with_context(|| format!("{count:?} is no number of replicas"))?;
    ensure!(count > 0, "there is one replica at least");
    Ok((Some(count), others))
}

/// Runs the scenarios, some in parallel, prints each outcome, and returns the unexpected ones.
fn run_all(
    suite: &Suite,
    side: Side,
    revision: &str,
    scenarios: &[String],
    expected: &Expected,
) -> Result<Vec<String>> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let queue = Mutex::new(scenarios.iter());
    let work = || {
        let mut done = Vec::new();
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some(scenario) = next else { return done };
            done.push((scenario, suite.run(side, revision, scenario)));
        }
    };
    let mut outcomes = Vec::new();
    thread::scope(|scope| {
        let started: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in started {
            match worker.join() {
                Ok(done) => outcomes.extend(done),
                Err(_) => bail!("a worker panicked"),
            }
        }
        Ok(())
    })?;
    outcomes.sort_by_key(|(scenario, _)| scenarios.iter().position(|known| known == *scenario));

    let mut wrong = Vec::new();
    for (scenario, outcome) in outcomes {
        let failed = outcome.with_context(|| format!("{revision} {scenario}"))?;
        let known = expected.of(side, revision, scenario);
        let (verdict, complaint) =
            judge(&failed, known.map(|failure| (&failure.checks, failure.reason.as_str())));
        let side = side.name();
        println!("{side}  {revision}  {scenario:NAME_WIDTH$}  {verdict}");
        wrong.extend(complaint.map(|complaint| format!("{side} {revision} {scenario}: {complaint}")));
    }
    Ok(wrong)
}

/// Returns the verdict on a scenario with these failed checks and these expected failures, and the complaint if they
/// differ.
fn judge(failed: &BTreeSet<String>, known: Option<(&BTreeSet<String>, &str)>) -> (String, Option<String>) {
    let none = BTreeSet::new();
    let (expected, reason) = known.unwrap_or((&none, ""));
    let list =
        |checks: BTreeSet<&String>| checks.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let unexpected = list(failed.difference(expected).collect());
    let passed = list(expected.difference(failed).collect());
    if !unexpected.is_empty() {
        let complaint = format!("fails {unexpected}");
        return (format!("FAILS {unexpected}"), Some(complaint));
    }
    if !passed.is_empty() {
        let complaint = format!("was expected to fail {passed}, and does not");
        return ("PASSES unexpectedly".to_owned(), Some(complaint));
    }
    (if known.is_some() { format!("fails as expected: {reason}") } else { "passes".to_owned() }, None)
}
