//! `toolcrib trace`.

use serde_json::json;
use toolcrib_app::{App, Extensions};

use crate::arguments::Trace;
use crate::exit::{Exit, Failure};
use crate::session::read_entries;
use crate::trace::{Timeline, read_audit, timeline, write};
use crate::ui::output;

/// The extension of audit logs.
const AUDIT_EXTENSION: &str = "jsonl";

pub(crate) async fn run(arguments: &Trace, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let (source, session) = (arguments.source.as_path(), arguments.session.as_deref());
    let timeline: Timeline = match (source.extension().is_some_and(|name| name == AUDIT_EXTENSION), session) {
        (true, session) => read_audit(source, session)?,
        (false, Some(id)) if source.is_file() => {
            let app = App::open_with(source, extensions.clone())?;
            let entries = read_entries(source, app.shared_store(), id).await?;
            timeline(&format!("session {id}"), &entries)
        }
        (false, Some(_)) => {
            return Err(Failure::bad_input(format!("{}: there is no such app file", source.display())));
        }
        (false, None) => {
            let message = format!(
                "expected `--session ID` with an app file; `toolcrib sessions {}` lists the sessions",
                shell_words::quote(&source.to_string_lossy())
            );
            return Err(Failure::bad_input(message));
        }
    };
    write(&arguments.output, &timeline)?;
    if json {
        output::json(&json!({"written": arguments.output, "events": timeline.events.len()}));
    } else {
        output::tell(&format!("{} events: {}", timeline.events.len(), arguments.output.display()));
    }
    Ok(Exit::Ok)
}
