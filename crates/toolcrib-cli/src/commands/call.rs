//! `toolcrib call`.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use toolcrib_app::{Extensions, TaskStore};
use toolcrib_document::{Format, Limits, parse};
use toolcrib_io::files::read_bounded;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall, ToolError};

use crate::app_start::{exit_of_rejects, open_with, patient, start_briefly};
use crate::approver::{RuleWriter, approver_of_one_call};
use crate::arguments::{Call, SESSION};
use crate::exit::{Exit, Failure, advice};
use crate::interrupt::Interrupts;
use crate::ui::output;
use crate::ui::printable::{Layout, printable};

/// The most bytes of arguments.
const MAX_ARGUMENTS_BYTES: u64 = 16 * 1024 * 1024;

pub(crate) async fn run(arguments: &Call, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let call = ToolCall::new(arguments.name.as_str(), read(&arguments.arguments)?);
    let mut options = patient();
    if toolcrib_tasks::background::makes_tasks(&call.name) {
        // Schedules and watchers are stored for the process that runs the app later.
        options.tasks = TaskStore::Kept;
    }
    let rules = RuleWriter::new(arguments.app.clone(), extensions.clone());
    let blueprint = open_with(&arguments.app, extensions, options)?;
    let runtime = start_briefly(blueprint, approver_of_one_call(arguments.yes, rules)).await?;
    let interrupts = Interrupts::watch();
    let turn = interrupts.turn();
    let context = arguments.caller.context(SESSION)?.with_message("1");
    let context = context.with_cancel(turn.cancel()).with_full_results();
    let result = runtime.executor().call(call, &context).await;
    // A disabled tool is as if it were not there.
    let is_refused = |error: &ToolError| matches!(error.kind, ErrorKind::Denied | ErrorKind::UnknownTool);
    let is_refused = result.error.as_ref().is_some_and(is_refused);
    let enabling =
        is_refused.then(|| runtime.app().enable_hint(&arguments.name, runtime.overrides())).flatten();
    let rejected = runtime.snapshot().rejected().to_vec();
    crate::app_start::tell_missing_records(&runtime);
    runtime.close().await;
    if json {
        output::json(&result);
    } else {
        for repair in result.repairs() {
            output::tell(&format!("note: {}", repaired(repair)));
        }
    }
    match &result.error {
        None => {
            if !json {
                match &result.result {
                    Value::String(text) => output::result_text(text),
                    other => output::json(other),
                }
            }
            Ok(Exit::Ok)
        }
        Some(error) => {
            output::rejects(&rejected);
            output::tell(&format!("error: {}: {}", error.kind, error.message));
            if let Some(hint) = enabling.map(Cow::Owned).or_else(|| advice(error)) {
                output::tell(&format!("hint: {hint}"));
            }
            // A tool may be missing because its source is.
            let is_source_down = exit_of_rejects(&rejected) == Exit::Unavailable;
            let is_missing = error.kind == ErrorKind::UnknownTool;
            Ok(if is_missing && is_source_down { Exit::Unavailable } else { Exit::of(error.kind) })
        }
    }
}

/// Describes a change that made the arguments fit.
fn repaired(repair: &Value) -> String {
    let path = repair.get("path").and_then(Value::as_str).unwrap_or_default();
    let text = match (repair.get("from"), repair.get("to")) {
        (Some(from), Some(to)) => format!("the argument {path} was changed from {from} to {to}"),
        (None, Some(to)) => format!("the argument {path} was set to {to}"),
        _ => format!("the argument {path} was left out"),
    };
    printable(&text, Layout::Line)
}

/// Returns the arguments: JSON text, `@FILE`, or `-` for standard input.
pub(super) fn read(given: &str) -> Result<JsonObject, Failure> {
    let (name, bytes) = if given == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_ARGUMENTS_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure::bad_input(format!("standard input: {error}")))?;
        ("standard input".to_owned(), bytes)
    } else if let Some(path) = given.strip_prefix('@') {
        let bytes = read_bounded(Path::new(path), MAX_ARGUMENTS_BYTES);
        (path.to_owned(), bytes.map_err(|error| Failure::bad_input(error.to_string()))?)
    } else {
        ("arguments".to_owned(), given.as_bytes().to_vec())
    };
    let document = parse(&bytes, Format::Json, &Limits::default()).map_err(|error| {
        Failure::bad_input(format!("{}; write a JSON object, as '{{\"name\": \"Ada\"}}'", error.at(&name)))
    })?;
    document.refuse_wide_integers().map_err(|error| Failure::bad_input(error.at(&name)))?;
    match document.value {
        Value::Object(arguments) => Ok(arguments),
        other => Err(Failure::bad_input(format!("{name}: the arguments must be a JSON object, not {other}"))),
    }
}
