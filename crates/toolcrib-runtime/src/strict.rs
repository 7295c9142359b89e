//! `tools.strict`: an app that runs with all of its tools or not at all.

use toolcrib_port::{Reject, RejectKind};
use toolcrib_registry::Snapshot;

use crate::Error;

/// The most rejects that are named.
const MAX_NAMED: usize = 10;

/// Returns an error where a source did not load or a tool is a duplicate.
pub(crate) fn check(file: &str, snapshot: &Snapshot) -> Result<(), Error> {
    let is_fatal = |reject: &&Reject| reject.name.is_none() || reject.kind == RejectKind::Duplicate;
    let fatal: Vec<&Reject> = snapshot.rejected().iter().filter(is_fatal).collect();
    if fatal.is_empty() {
        return Ok(());
    }
    let mut message =
        "not all tools are there, and the app is strict (`tools.strict`, or `--strict`)".to_owned();
    for reject in fatal.iter().take(MAX_NAMED) {
        message = format!("{message}\n  {reject}");
    }
    if fatal.len() > MAX_NAMED {
        message = format!("{message}\n  and {} more", fatal.len() - MAX_NAMED);
    }
    Err(Error::Start { what: file.to_owned(), message })
}
