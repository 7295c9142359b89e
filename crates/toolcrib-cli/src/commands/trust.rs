//! `toolcrib trust`.

use std::fmt::Display;

use toolcrib_app::{Change, Extensions};

use crate::app_start::look_at_approvals;
use crate::arguments::Trust;
use crate::exit::{Exit, Failure};
use crate::trust_changes;
use crate::ui::output;

pub(crate) async fn run(arguments: &Trust, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let runtime = look_at_approvals(&arguments.app, extensions).await?;
    let failed = |error: &dyn Display| Failure::bad_input(error.to_string());
    let Some(pins) = runtime.app().pins().map_err(|error| failed(&error))? else {
        return Err(Failure::bad_input("approvals need an app file"));
    };
    let wanted = chosen(arguments, pins.changes());
    let mark = trust_changes::mark(&wanted);
    let is_seen = arguments.seen.as_ref() == Some(&mark);
    let accepted = if is_seen { wanted.clone() } else { Vec::new() };
    if is_seen {
        pins.accept(&accepted).await.map_err(|error| failed(&error))?;
    }
    // A server whose command line was just approved has not been asked for its tools yet.
    for change in accepted.iter().filter(|change| change.tool.is_none()) {
        let source = format!("mcp {}", change.namespace);
        let refreshed = runtime.executor().registry().refresh_source(&source).await;
        refreshed.map_err(|error| Failure::bad_input(error.to_string()))?;
    }
    let left = pins.changes();
    if json {
        let (approved, changed) = (
            trust_changes::json(&accepted, runtime.app().secrets()),
            trust_changes::json(&left, runtime.app().secrets()),
        );
        output::json(&serde_json::json!({"approved": approved, "changed": changed}));
    } else {
        for change in &accepted {
            output::say(&format!("approved: {}", trust_changes::name(change)));
        }
        if !wanted.is_empty() && !is_seen {
            trust_changes::show(&wanted, runtime.app());
            let what = if arguments.all { "--all".to_owned() } else { arguments.names.join(" ") };
            let why = match &arguments.seen {
                None => "nothing is approved yet: look at what is above",
                Some(_) => "nothing is approved, since it is not what was looked at: look at what is above",
            };
            let approval = trust_changes::approval(&wanted, &what, runtime.app());
            output::tell(&format!("{why}, then run: {approval}"));
        } else {
            if wanted.is_empty() {
                output::tell("nothing of that name has changed");
            }
            if !left.is_empty() {
                trust_changes::show_all(&left, runtime.app());
            }
        }
    }
    runtime.close().await;
    Ok(if is_seen || wanted.is_empty() { Exit::Ok } else { Exit::ApprovalRequired })
}

/// Returns the changes that are meant: a name is that of a server, with all its tools, or of one tool.
fn chosen(arguments: &Trust, mut changes: Vec<Change>) -> Vec<Change> {
    let is_named = |change: &Change| {
        let tool = change.tool.as_ref().map(|tool| format!("{}.{tool}", change.namespace));
        arguments.names.iter().any(|name| *name == change.namespace || Some(name) == tool.as_ref())
    };
    changes.retain(|change| arguments.all || is_named(change));
    changes
}
