//! `toolcrib tools`.

use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_registry::Entry;

use super::{exit_of_rejects, look};
use crate::arguments::App;
use crate::exit::{Exit, Failure};
use crate::output;

pub(crate) async fn run(arguments: &App, json: bool) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app).await?;
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy().clone());
    // The runtime's own tools are the same in every app.
    let shown = |entry: &Entry| entry.tool.name.namespace() != RUNTIME_NAMESPACE;
    if json {
        output::json(&output::snapshot(&snapshot, &policy, shown));
        output::rejects(snapshot.rejected());
    } else {
        output::snapshot_lines(&snapshot, &policy, shown);
    }
    runtime.close().await;
    // A tool that was rejected is part of the list; a source that is down makes the list another one.
    Ok(match exit_of_rejects(snapshot.rejected()) {
        Exit::Unavailable => Exit::Unavailable,
        _ => Exit::Ok,
    })
}
