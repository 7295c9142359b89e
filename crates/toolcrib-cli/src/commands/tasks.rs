//! `toolcrib tasks`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib_app::{Extensions, TaskStore};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_tasks::store::StoreError;
use toolcrib_tasks::{TaskSummary, Tasks};

use crate::app_start::{app_word, open};
use crate::arguments::{Tasks as Arguments, TasksCommand};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::ui::output::{self, say, tell};

pub(crate) async fn run(arguments: &Arguments, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let app = open(&arguments.app, extensions)?.app;
    let settings = app.task_settings(TaskStore::Operator)?;
    let tasks = Tasks::look(settings).await.map_err(|error| of_store(&error))?;
    for warning in tasks.warnings() {
        tell(&format!("warning: {}: {warning}", app.file.name));
    }
    let outcome = match arguments.command.as_ref().unwrap_or(&TasksCommand::List) {
        TasksCommand::List => {
            list(&tasks, json).await;
            Ok(Exit::Ok)
        }
        TasksCommand::Show { id } => show(&tasks, id, json).await,
        TasksCommand::Cancel { id } => cancel(&tasks, id, json).await,
        TasksCommand::Tail => return tail(tasks, json).await,
    };
    tasks.finish().await;
    outcome
}

fn of_store(error: &StoreError) -> Failure {
    Failure::bad_input(format!("the tasks: {error}"))
}

async fn list(tasks: &Tasks, json: bool) {
    let all = tasks.list().await;
    if json {
        return output::json(&json!({"tasks": all}));
    }
    for task in &all {
        say(&line(&task.summary()));
    }
    if all.is_empty() {
        tell("there is nothing in the background, nothing watched and nothing scheduled");
    } else if !tasks.is_beside() {
        tell("no process runs the app now; `toolcrib run` or `toolcrib serve` continues them");
    }
}

async fn show(tasks: &Tasks, id: &str, json: bool) -> Result<Exit, Failure> {
    let task = tasks.show(id).await.map_err(|error| failure(&error))?;
    let mut shown = json!(task);
    if let Some(shown) = shown.as_object_mut() {
        let history = tasks.history(id).or_else(|| tasks.timeline(id).map(|timeline| json!(timeline.past)));
        shown.extend(history.map(|history| ("history".to_owned(), history)));
    }
    // A person reads it as well.
    let _ = json;
    output::json(&shown);
    Ok(Exit::Ok)
}

async fn cancel(tasks: &Tasks, id: &str, json: bool) -> Result<Exit, Failure> {
    tasks.cancel(id).await.map_err(|error| failure(&error))?;
    if json {
        output::json(&json!({"cancelled": id}));
    } else {
        say(&format!("cancelled: {id}"));
    }
    Ok(Exit::Ok)
}

/// Prints a line for each task whose status changes, until it is interrupted.
async fn tail(mut tasks: Tasks, json: bool) -> Result<Exit, Failure> {
    let interrupts = Interrupts::watch();
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    loop {
        let all = tasks.list().await;
        let ids: Vec<_> = all.iter().map(|task| task.summary().id).collect();
        for task in &all {
            let summary = task.summary();
            let state = json!(summary);
            if known.insert(summary.id.clone(), state.clone()).as_ref() == Some(&state) {
                continue;
            }
            if json {
                output::say_raw(&format!("{state}\n"));
            } else {
                say(&line(&summary));
            }
        }
        known.retain(|id, _| {
            let is_there = ids.contains(id);
            if !is_there {
                if json {
                    output::say_raw(&format!("{}\n", json!({"id": id, "state": "gone"})));
                } else {
                    say(&format!("{id}  gone"));
                }
            }
            is_there
        });
        tokio::select! {
            biased;
            () = interrupts.left() => {
                tasks.finish().await;
                return Ok(Exit::Ok);
            }
            changed = tasks.changed() => tasks = changed.map_err(|error| of_store(&error))?,
        }
    }
}

/// One task on one line.
fn line(summary: &TaskSummary) -> String {
    let TaskSummary { id, kind, state, what, next, session } = summary;
    let next = next.as_ref().map(|next| format!(", next {next}")).unwrap_or_default();
    format!("{id}  {kind} {state}{next}  {what}  (session {session})")
}

fn failure(error: &ToolError) -> Failure {
    let hint = match error.kind {
        ErrorKind::NotFound => format!("; `toolcrib tasks {}` lists all", app_word()),
        _ => error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default(),
    };
    Failure::new(Exit::of(error.kind), format!("{}{hint}", error.message))
}
