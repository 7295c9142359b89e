//! `toolcrib install`.

mod clients;
mod edit;
mod entry;
mod list;
mod show;
mod undo;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_app::Extensions;

pub(crate) use clients::{CLIENTS, Places};
pub(crate) use edit::Edit;

use super::confirm::{agreed, not_written};
use crate::arguments::{Client, Install};
use crate::exit::{Exit, Failure};
use crate::file_edit::Target;
use crate::ui::output;
use entry::{Served, is_ours, merged};

/// The most characters of a name. Clients put it before the names of tools, which have bounds of their own.
const MAX_NAME_CHARS: usize = 40;

/// The action on the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Add,
    /// Another server had the name.
    Replace,
    /// It was ours, and says something else now.
    Update,
    Keep,
    Remove,
    /// The server that had the name has it again.
    Restore,
    /// There is nothing to undo.
    Nothing,
}

/// A change that has not been made.
struct Change {
    action: Action,
    /// The text that is to be written; nothing where the file is to be removed.
    text: Option<String>,
    /// The entry that is there.
    before: Option<Value>,
    /// The entry that is to be there.
    entry: Option<Value>,
    /// The backup that has to stay.
    needed: Option<PathBuf>,
    /// The variables that the app wants.
    variables: Vec<String>,
}

pub(crate) async fn run(arguments: &Install, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let Some(client) = arguments.client.filter(|_| !arguments.list) else { return list::run(json) };
    check_name(&arguments.name)?;
    let target = Target::read(path(arguments, client)?)?;
    let plan = if arguments.undo {
        undo(arguments, client, &target)?
    } else {
        install(arguments, extensions, client, &target)?
    };
    let report = Report { client, name: &arguments.name, target: &target, plan: &plan };
    if matches!(plan.action, Action::Keep | Action::Nothing) {
        report.done(false, None, json);
        return Ok(Exit::Ok);
    }
    if !json {
        report.change();
    }
    if !arguments.yes && !agreed(json).await? {
        report.not_written(json);
        return Ok(Exit::ApprovalRequired);
    }
    let backup = target.write(plan.text.as_deref(), arguments.project, plan.needed.as_deref())?;
    report.done(true, backup.as_deref(), json);
    Ok(Exit::Ok)
}

fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_plain && !name.is_empty() && name.len() <= MAX_NAME_CHARS {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "`{name}` is no name for a server that all clients take; write letters, digits, `-` and `_`, {MAX_NAME_CHARS} at most"
    )))
}

/// Returns the file that is changed.
fn path(arguments: &Install, client: Client) -> Result<PathBuf, Failure> {
    if let Some(file) = &arguments.file {
        return Ok(file.clone());
    }
    if !arguments.project {
        return Ok(Places::of_this_user()?.user_file(client));
    }
    client.project_file().map(PathBuf::from).ok_or_else(|| {
        Failure::bad_input(format!(
            "{} has no configuration of projects; leave out --project",
            client.title()
        ))
    })
}

/// Returns an error that says where in the file.
fn wrong(target: &Target, problem: &edit::Problem) -> Failure {
    Failure::bad_input(format!(
        "{}; nothing was written",
        problem.in_file(&target.path.display().to_string())
    ))
}

fn install(
    arguments: &Install,
    extensions: &Extensions,
    client: Client,
    target: &Target,
) -> Result<Change, Failure> {
    let edit = client.edit();
    let failed = |problem: edit::Problem| wrong(target, &problem);
    let text = target.text.as_deref();
    let before = edit.entry(text.unwrap_or_default(), &arguments.name).map_err(failed)?;
    let served = Served::new(&arguments.app, extensions)?;
    let new = client.entry(&served.command, &served.arguments, &served.variables);
    let entry = merged(before.as_ref(), new);
    let was_ours = before.as_ref().is_some_and(is_ours);
    let action = match &before {
        None => Action::Add,
        Some(Value::Object(before)) if *before == entry => Action::Keep,
        Some(_) if was_ours => Action::Update,
        Some(_) => Action::Replace,
    };
    let new = edit.with(text, &arguments.name, &entry).map_err(failed)?;
    let needed = undo::origin(edit, target, &arguments.name).filter(|_| was_ours).map(|origin| origin.path);
    Ok(Change {
        action,
        text: Some(new),
        before,
        entry: Some(Value::Object(entry)),
        needed,
        variables: served.variables,
    })
}

fn undo(arguments: &Install, client: Client, target: &Target) -> Result<Change, Failure> {
    let edit = client.edit();
    let failed = |problem: edit::Problem| wrong(target, &problem);
    let name = &arguments.name;
    let text = target.text.clone();
    let Some(entry) = edit.entry(text.as_deref().unwrap_or_default(), name).map_err(failed)? else {
        let action = Action::Nothing;
        return Ok(Change { action, text, before: None, entry: None, needed: None, variables: Vec::new() });
    };
    if !is_ours(&entry) {
        return Err(Failure::bad_input(format!(
            "{}: the entry `{name}` does not start `toolcrib serve`; nothing was changed",
            target.path.display()
        )));
    }
    let undone = undo::undone(edit, target, name, &entry).map_err(failed)?;
    let action = if undone.is_restored { Action::Restore } else { Action::Remove };
    let back = match (&undone.text, action) {
        (Some(text), Action::Restore) => edit.entry(text, name).map_err(failed)?,
        _ => None,
    };
    let text = undone.text;
    Ok(Change { action, text, before: Some(entry), entry: back, needed: None, variables: Vec::new() })
}

/// The report of a change.
struct Report<'a> {
    client: Client,
    name: &'a str,
    target: &'a Target,
    plan: &'a Change,
}

impl Report<'_> {
    fn file(&self) -> String {
        self.target.path.display().to_string()
    }

    fn json(&self, is_written: bool, backup: Option<&Path>) -> Value {
        let action = match self.plan.action {
            Action::Add => "add",
            Action::Replace => "replace",
            Action::Update => "update",
            Action::Keep => "keep",
            Action::Remove => "remove",
            Action::Restore => "restore",
            Action::Nothing => "nothing",
        };
        // What is restored is another server, whose entry may hold keys.
        let entry = self.plan.entry.as_ref().filter(|entry| is_ours(entry));
        json!({
            "client": self.client.id(),
            "file": self.target.path,
            "leads_to": self.target.leads_to,
            "name": self.name,
            "action": action,
            "written": is_written,
            "backup": backup,
            "entry": entry,
        })
    }

    /// Shows the change before it is made.
    fn change(&self) {
        let (file, name) = (self.file(), self.name);
        if let Some(real) = &self.target.leads_to {
            output::say(&format!("{file} is a symlink; the file that changes is {}", real.display()));
        }
        let text = match (self.plan.action, &self.plan.text) {
            (_, None) => {
                format!("{file} goes, since it was made for the entry `{name}` and holds nothing else")
            }
            (Action::Add, _) if self.target.text.is_none() => {
                format!("{file} is new, with the entry `{name}`:")
            }
            (Action::Add, _) => format!("{file} gets the entry `{name}`:"),
            (Action::Replace, _) => format!("{file} has another server as `{name}`, which is replaced:"),
            (Action::Update, _) => format!("{file} gets a new entry `{name}`:"),
            (Action::Restore, _) => format!("{file} gets the server back that was `{name}` before:"),
            _ => format!("{file} loses the entry `{name}`:"),
        };
        output::say(&text);
        let edit = self.client.edit();
        for (sign, entry) in [('-', &self.plan.before), ('+', &self.plan.entry)] {
            for line in entry.iter().flat_map(|entry| show::lines(edit, name, sign, entry)) {
                output::say(&line);
            }
        }
    }

    fn not_written(&self, json: bool) {
        if json {
            output::json(&self.json(false, None));
            return;
        }
        output::tell(&not_written());
    }

    fn done(&self, is_written: bool, backup: Option<&Path>, json: bool) {
        if json {
            output::json(&self.json(is_written, backup));
            return;
        }
        let (file, name) = (self.file(), self.name);
        let title = self.client.title();
        let text = match self.plan.action {
            Action::Keep => format!("{file} has the entry `{name}` already, as it would be written"),
            Action::Nothing => format!("{file} has no entry `{name}`; there is nothing to undo"),
            Action::Remove => format!("{title} no longer has `{name}`"),
            Action::Restore => format!("{title} has its server `{name}` back"),
            Action::Add | Action::Replace | Action::Update => format!("{title} has `{name}`"),
        };
        output::say(&text);
        if let Some(backup) = backup {
            output::tell(&format!("what was there before: {}", backup.display()));
        }
        if !self.plan.variables.is_empty() && self.client.lacks_variables() {
            let names = self.plan.variables.join(", ");
            output::tell(&format!(
                "{title} does not have the variables of your shell; it has to be started with: {names}"
            ));
        }
        if is_written {
            if self.plan.action == Action::Remove {
                output::tell(&format!("next: start {title} again; it reads its servers then"));
            } else {
                if self.target.text.is_some() {
                    output::tell(&format!(
                        "{title} starts its other servers itself, without the rules of this app: disable there those that \
                         the app serves"
                    ));
                }
                output::tell(&format!("next: {}", self.client.next_step()));
            }
        }
    }
}
