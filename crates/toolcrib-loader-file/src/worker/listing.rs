//! The list of tools that a worker sends.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};
use toolcrib_policy::Access;
use toolcrib_port::{LoadOutcome, Reject, RejectKind};

use super::protocol::printable;
use crate::exec::MAX_EXEC_TOOLS;
use crate::file_loader::collect;

/// The longest text of a reject, in characters.
const MAX_REASON_CHARS: usize = 1000;

/// The tools and description of a worker's module.
pub(super) struct Listing {
    pub(super) description: Option<String>,
    pub(super) loaded: LoadOutcome,
}

/// A tool or file that the worker could not load.
#[derive(Deserialize)]
struct WorkerReject {
    name: String,
    reason: String,
}

/// Parses a list of tools. All of them get this namespace.
pub(super) fn read(line: &[u8], namespace: &str, source: &str) -> Result<Listing, String> {
    let document = parse(line.trim_ascii_end(), Format::Json, &Limits::default())
        .map_err(|error| error.at("its list of tools"))?;
    let field = |key: &str| document.value.get(key).cloned().unwrap_or_default();
    let Value::Array(mut entries) = field("tools") else {
        return Err("its list of tools has no array `tools`".into());
    };
    if entries.len() > MAX_EXEC_TOOLS {
        return Err(format!("it lists {} tools, at most {MAX_EXEC_TOOLS} are taken", entries.len()));
    }
    for entry in &mut entries {
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("namespace".into(), namespace.into());
        }
    }
    // A program writes the list, so unknown keys are metadata rather than typing errors.
    let (mut loaded, _) =
        collect(Value::Array(entries), &document, "/tools", Some(namespace), source, "the worker's list");
    let mut names = BTreeSet::new();
    let tools = std::mem::take(&mut loaded.tools);
    for tool in tools {
        let name = tool.name.name();
        let reject = |reason: String| Reject::tool(source, name, RejectKind::InvalidTool, reason);
        if tool.name.namespace() != namespace {
            loaded.rejected.push(reject(format!("`{}` names another module", tool.name)));
        } else if let Err(error) = Access::of_tool(&tool) {
            loaded.rejected.push(reject(error.to_string()));
        } else if !names.insert(name.to_owned()) {
            loaded.rejected.push(reject(format!("`{name}` is there twice")));
        } else {
            loaded.tools.push(tool);
        }
    }
    if let Value::Array(rejected) = field("rejected") {
        for value in rejected.into_iter().take(MAX_EXEC_TOOLS) {
            let Ok(reject) = serde_json::from_value::<WorkerReject>(value.clone()) else { continue };
            let kind = kind_of(value.get("kind"));
            let (name, reason) =
                (printable(&reject.name, MAX_REASON_CHARS), printable(&reject.reason, MAX_REASON_CHARS));
            loaded.rejected.push(Reject::tool(source, name, kind, reason));
        }
    }
    let description = field("description").as_str().map(str::to_owned);
    Ok(Listing { description, loaded })
}

/// Returns the kind of a reject; an unknown kind is an invalid tool.
fn kind_of(value: Option<&Value>) -> RejectKind {
    match value.and_then(Value::as_str) {
        Some("syntax") => RejectKind::Syntax,
        Some("unreadable") => RejectKind::Unreadable,
        Some("too_large") => RejectKind::TooLarge,
        Some("duplicate") => RejectKind::Duplicate,
        _ => RejectKind::InvalidTool,
    }
}
