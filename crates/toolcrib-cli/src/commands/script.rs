//! `toolcrib script`.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_app::{Extensions, TaskStore};
use toolcrib_document::without_byte_order_mark;
use toolcrib_io::files::read_bounded;
use toolcrib_model::ErrorKind;
use toolcrib_tasks::scripts::{ScriptOutcome, ScriptState};

use crate::app_start::{open_with, patient, start_briefly, tell_missing_records};
use crate::approver::approver;
use crate::arguments::{SESSION, Script};
use crate::exit::{Exit, Failure, advice};
use crate::interrupt::Interrupts;
use crate::ui::output;
use crate::ui::printable::{Layout, printable};

/// The largest file that is read. The limit of a script itself is lower, and has a better message.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

pub(crate) async fn run(arguments: &Script, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let source = arguments.file.as_deref().map(read).transpose()?;
    let mut options = patient();
    // A paused script is stored, and resumed by another process.
    options.tasks = TaskStore::Kept;
    let blueprint = open_with(&arguments.app, extensions, options)?;
    let runtime = start_briefly(blueprint, approver(arguments.yes, None)).await?;
    let interrupts = Interrupts::watch();
    let turn = interrupts.turn();
    let context = arguments.caller.context(SESSION)?.with_message("1").with_cancel(turn.cancel());
    let outcome = match (runtime.tasks().scripts(), source, &arguments.resume) {
        (None, ..) => {
            Err(Failure::bad_input("scripts are off in this app; set `serve.scripts` to `auto` or `on`"))
        }
        (Some(scripts), None, Some(id)) => scripts.resume(id, &context).await.map_err(Failure::from),
        (Some(scripts), source, _) => {
            let running = scripts.run(source.as_deref().unwrap_or_default(), &context);
            match turn.cancel().run_until_cancelled(running).await {
                Some(outcome) => outcome.map_err(Failure::from),
                None => Err(Failure::new(Exit::Failed, "the script was interrupted")),
            }
        }
    };
    tell_missing_records(&runtime);
    runtime.close().await;
    let outcome = outcome?;
    if json {
        output::json(&as_json(&outcome));
    } else {
        show(&outcome, &arguments.app, arguments.explain);
    }
    Ok(match (&outcome.error, outcome.state) {
        (Some(error), _) => Exit::of(error.kind),
        (None, ScriptState::Paused) => Exit::of(ErrorKind::ApprovalRequired),
        (None, _) => Exit::Ok,
    })
}

/// Shows an outcome to a person: the result on standard output, everything else on standard error.
fn show(outcome: &ScriptOutcome, app: &Path, explain: bool) {
    for line in outcome.console.lines() {
        output::tell(&printable(line, Layout::Line));
    }
    if explain {
        output::tell(&tree(outcome));
    }
    if let Some(error) = &outcome.error {
        output::tell(&format!("error: {}: {}", error.kind, printable(&error.message, Layout::Lines)));
        if let Some(hint) = advice(error) {
            output::tell(&format!("hint: {}", printable(&hint, Layout::Lines)));
        }
    } else if outcome.state == ScriptState::Paused {
        let tools: Vec<_> =
            outcome.waiting_for.iter().map(|call| printable(&call.tool, Layout::Line)).collect();
        output::tell(&format!(
            "the script {} is paused: it waits for the approval of {}",
            outcome.id,
            tools.join(", ")
        ));
        output::tell(&format!(
            "hint: run `toolcrib script {} --resume {}` at a terminal",
            app.display(),
            outcome.id
        ));
    } else {
        match &outcome.result {
            Value::Null => {}
            Value::String(text) => output::result_text(text),
            other => output::json(other),
        }
    }
}

/// Returns the calls of a script as a tree, in the order in which they were made.
fn tree(outcome: &ScriptOutcome) -> String {
    let mut traces: Vec<_> = outcome.traces.iter().collect();
    traces.sort_by_key(|trace| trace.id);
    let end = traces.iter().map(|trace| trace.started + trace.took).max().unwrap_or_default();
    let mut lines = vec![format!("{}: {} calls, {}", outcome.id, outcome.calls, milliseconds(end))];
    for (place, trace) in traces.iter().enumerate() {
        let branch = if place + 1 == traces.len() { "└─" } else { "├─" };
        let tool = printable(&trace.tool, Layout::Line);
        let error = trace.error.map(|kind| format!("  {kind}")).unwrap_or_default();
        let (started, took) = (milliseconds(trace.started), milliseconds(trace.took));
        lines.push(format!("{branch} {tool}  at {started}, took {took}{error}"));
    }
    lines.join("\n")
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn as_json(outcome: &ScriptOutcome) -> Value {
    let calls = outcome.traces.iter().map(|trace| {
        json!({
            "id": trace.id,
            "tool": trace.tool,
            "started_ms": trace.started.as_secs_f64() * 1e3,
            "took_ms": trace.took.as_secs_f64() * 1e3,
            "error": trace.error,
        })
    });
    json!({
        "script_id": outcome.id,
        "status": outcome.state,
        "result": outcome.result,
        "error": outcome.error,
        "console": outcome.console,
        "calls": calls.collect::<Vec<_>>(),
        "waiting_for": outcome.waiting_for,
    })
}

/// Reads a script from a file, or from standard input.
fn read(file: &str) -> Result<String, Failure> {
    let bytes = if file == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_FILE_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| Failure::bad_input(format!("standard input: {error}")))?;
        bytes
    } else {
        read_bounded(Path::new(file), MAX_FILE_BYTES)
            .map_err(|error| Failure::bad_input(error.to_string()))?
    };
    std::str::from_utf8(without_byte_order_mark(&bytes))
        .map(str::to_owned)
        .map_err(|_| Failure::bad_input(format!("{file}: the script is not UTF-8")))
}
