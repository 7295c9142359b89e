//! The cost of the text that an agent reads: tasks for a scripted agent, checked against bounds.
//!
//! `toolcrib-evaluation --binary PATH [--json FILE] [--only TASK]…` runs `toolcrib serve` over standard input and
//! output, as `cargo xtask eval-agent` does. `TOOLCRIB_SHARED` names the folder of the labelled sets and OpenAPI
//! documents,
//! `TOOLCRIB_PEERS` that of the MCP servers.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program owns its terminal")]

mod agent;
mod app;
mod client;
mod large;
mod parameters;
mod repair;
mod report;
mod shown;
mod signature;
mod tasks;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::app::{Places, World};
use crate::client::Client;
use crate::parameters::Form;
use crate::report::{Outcome, Report};
use crate::usage::TOKENIZER;

/// The bounds of the figures.
const BOUNDS: &str = include_str!("../bounds.json");

/// The fewest tools that the app has.
const MIN_TOOLS: u64 = 2_000;

/// The longest wait for the sources of the app to start.
const START_LIMIT: Duration = Duration::from_mins(2);

/// The interval between two looks at a source that is starting.
const POLL: Duration = Duration::from_millis(200);

/// A tool of each source that starts a program.
const SLOW_SOURCES: [&str; 7] = [
    "everything.get-sum",
    "files.read_text_file",
    "graph.search_nodes",
    "time.convert_time",
    "git.git_log",
    "depot.book_dock",
    "shop.get_price",
];

/// The exit code of bad usage, as in the project's own command line.
const BAD_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("evaluation: {error:#}");
            return ExitCode::from(BAD_USAGE);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("evaluation: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, PartialEq)]
struct Options {
    binary: PathBuf,
    /// The file that the figures are written to as JSON.
    json: Option<PathBuf>,
    /// The tasks that are run; all where none is named.
    only: Vec<String>,
}

impl Options {
    fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        let (mut binary, mut json, mut only) = (None, None, Vec::new());
        let mut words = words;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--binary" => binary = Some(words.next().context("--binary takes a path")?.into()),
                "--json" => json = Some(words.next().context("--json takes the path of a file")?.into()),
                "--only" => only.push(words.next().context("--only takes the name of a task")?),
                other => {
                    bail!("there is no option {other:?}; there is: --binary PATH, --json FILE, --only TASK")
                }
            }
        }
        let known: Vec<&str> = tasks::all().iter().map(|task| task.id).collect();
        for name in &only {
            ensure!(
                known.contains(&name.as_str()),
                "there is no task {name:?}; there is: {}",
                known.join(", ")
            );
        }
        Ok(Self { binary: binary.context("--binary is missing")?, json, only })
    }
}

/// Runs the tasks and prints the report. Bounds hold for a run of all tasks only.
fn run(options: &Options) -> Result<bool> {
    let report = evaluate(options)?;
    let checks =
        if options.only.is_empty() { report.checks(&serde_json::from_str(BOUNDS)?)? } else { Vec::new() };
    print!("{}", report.text(&checks));
    if let Some(path) = &options.json {
        let text = format!("{:#}\n", report.json(&checks));
        std::fs::write(path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(checks.iter().all(report::Check::holds))
}

fn evaluate(options: &Options) -> Result<Report> {
    let places = Places { shared: named("TOOLCRIB_SHARED")?, peers: named("TOOLCRIB_PEERS")? };
    let binary = options.binary.canonicalize().context("could not find the program")?;
    let world = World::make(&places)?;
    let mut client = Client::start(&binary, world.path())?;
    let result = measure(&mut client, &world, options);
    if result.is_err() {
        let log = std::fs::read_to_string(world.path().join("serve.log")).unwrap_or_default();
        eprintln!("{}", agent::beginning(&log));
    }
    result
}

fn measure(client: &mut Client, world: &World, options: &Options) -> Result<Report> {
    wait_for_sources(client)?;
    let definitions = client.request("tools/list", &json!({}))?;
    let definitions = definitions.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
    let listed: Vec<(String, Form)> = definitions.iter().filter_map(definition).collect();
    let mut report = Report {
        definitions: definitions.iter().map(|one| TOKENIZER.count(&one.to_string())).sum(),
        tools_listed: definitions.len(),
        tools: count_tools(client)?,
        ..Report::default()
    };
    ensure!(report.tools >= MIN_TOOLS, "expected {MIN_TOOLS} tools, found {}", report.tools);
    let is_wanted = |id: &str| options.only.is_empty() || options.only.iter().any(|name| name == id);
    for task in tasks::all().into_iter().filter(|task| is_wanted(task.id)) {
        let mut agent = Agent::new(client, &listed);
        let result = task.run(&mut agent, world);
        let Agent { usage, searched, unanswerable, .. } = agent;
        let unexpected = client.settle();
        let failure = match (result, unexpected.first()) {
            (Err(error), _) => Some(format!("{error:#}")),
            (Ok(()), Some(question)) => {
                Some(format!("the user was asked unexpectedly: {}", agent::beginning(question)))
            }
            (Ok(()), None) => None,
        };
        report.outcomes.push(Outcome {
            id: task.id,
            request: task.request,
            failure,
            usage,
            searched,
            unanswerable,
        });
    }
    Ok(report)
}

/// Returns a tool of the list with its arguments.
fn definition(tool: &Value) -> Option<(String, Form)> {
    let name = tool.get("name")?.as_str()?.to_owned();
    Some((name, Form::of_schema(tool.get("inputSchema")?)))
}

/// Waits until a tool of each source that starts a program is there.
fn wait_for_sources(client: &mut Client) -> Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    for name in SLOW_SOURCES {
        let call = json!({"name": "get_tool", "arguments": {"name": name}});
        while client.request("tools/call", &call)?.get("isError") == Some(&json!(true)) {
            ensure!(Instant::now() < deadline, "the source of {name} does not start");
            thread::sleep(POLL);
        }
    }
    Ok(())
}

/// Adds up the tools of all categories.
fn count_tools(client: &mut Client) -> Result<u64> {
    let (mut tools, mut page, mut pages) = (0, 0, 1);
    while page < pages {
        page += 1;
        let call = json!({"name": "list_categories", "arguments": {"page": page}});
        let result = client.request("tools/call", &call)?;
        let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        let value = shown::leading_json(text).context("list_categories did not answer with JSON")?;
        pages = value.get("pages").and_then(Value::as_u64).unwrap_or(1);
        let categories = value.get("categories").and_then(Value::as_array).into_iter().flatten();
        tools += categories.filter_map(|category| category.get("tools")?.as_u64()).sum::<u64>();
    }
    Ok(tools)
}

fn named(variable: &str) -> Result<PathBuf> {
    let value = std::env::var_os(variable);
    value.map(PathBuf::from).with_context(|| format!("{variable} is not set; run `cargo xtask eval-agent`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options> {
        Options::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read_and_unknown_tasks_refused() {
        let options = read("--json report.json --binary toolcrib --only refund --only crane").unwrap();
        let only = vec!["refund".to_owned(), "crane".to_owned()];
        assert_eq!(options, Options { binary: "toolcrib".into(), json: Some("report.json".into()), only });
        for line in ["", "--binary x --json", "--binary", "--binary x --only fly", "--speed"] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_bounds_name_figures_that_there_are() {
        assert!(!Report::default().checks(&serde_json::from_str(BOUNDS).unwrap()).unwrap().is_empty());
    }
}
