//! The names of the tools that create tasks, and their former names.

use serde_json::json;
use toolcrib_model::{JsonObject, ToolCall};
use toolcrib_policy::RUNTIME_NAMESPACE;

use crate::schedule::SCHEDULER;
use crate::scripts::RUN_SCRIPT;

/// The prefixes of the names of all tools that create or change tasks.
const TASK_TOOL_PREFIXES: [&str; 5] = ["background_", "watch_", "schedule_", "remind", REMEMBER];

/// The former name of `remind`, which the module `memory` uses for another tool.
const REMEMBER: &str = "remember";

const REMIND: &str = "remind";

const BACKGROUND_RUN: &str = "background_run";

/// The former names of tools, each with its current name.
const FORMER_NAMES: [(&str, &str); 7] = [
    (REMEMBER, REMIND),
    ("background_status", BACKGROUND_RUN),
    ("background_result", BACKGROUND_RUN),
    ("background_wait", BACKGROUND_RUN),
    ("background_cancel", BACKGROUND_RUN),
    ("cancel_bg_task", BACKGROUND_RUN),
    ("background_list", BACKGROUND_RUN),
];

/// Returns the bare name of a tool of one of these namespaces, in any spelling. Returns `None` for other namespaces.
fn bare_name_in<'a>(namespaces: &[&str], name: &'a str) -> Option<&'a str> {
    match name.rsplit_once(['.', ':']) {
        Some((namespace, name)) => namespaces.contains(&namespace.trim_end_matches(':')).then_some(name),
        None => Some(name),
    }
}

/// Returns true if a call by this name, in any spelling, may create a task.
pub fn makes_tasks(name: &str) -> bool {
    bare_name_in(&[RUNTIME_NAMESPACE, SCHEDULER], name).is_some_and(|name| {
        name == RUN_SCRIPT || TASK_TOOL_PREFIXES.iter().any(|maker| name.starts_with(maker))
    })
}

/// Returns the former names of the tools of a namespace, each with its current name.
pub fn former_names(namespace: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_there = move |present| match namespace {
        RUNTIME_NAMESPACE => true,
        SCHEDULER => present == REMIND,
        _ => false,
    };
    FORMER_NAMES.into_iter().filter(move |(_, present)| is_there(*present))
}

/// Translates a call by a former name to the current tool: `remember` to `remind`, and `background_status`,
/// `background_result`, `background_wait`, `background_cancel`, `cancel_bg_task` and `background_list` to
/// `background_run`. Former names are accepted, and listed nowhere.
pub fn resolve_former_name(call: &ToolCall) -> Option<ToolCall> {
    if bare_name_in(&[RUNTIME_NAMESPACE, SCHEDULER], &call.name) == Some(REMEMBER) {
        let name = format!("{}{REMIND}", call.name.strip_suffix(REMEMBER)?);
        return Some(ToolCall { name, ..call.clone() });
    }
    let mode = match bare_name_in(&[RUNTIME_NAMESPACE], &call.name)? {
        "background_status" | "background_result" => JsonObject::new(),
        "background_wait" => JsonObject::from_iter([("wait".to_owned(), json!(true))]),
        "background_cancel" | "cancel_bg_task" => JsonObject::from_iter([("cancel".to_owned(), json!(true))]),
        "background_list" => JsonObject::from_iter([("list".to_owned(), json!(true))]),
        _ => return None,
    };
    let mut arguments = call.arguments.clone();
    arguments.extend(mode);
    let name = format!("{RUNTIME_NAMESPACE}::{BACKGROUND_RUN}");
    Some(ToolCall { name, arguments, call_id: call.call_id.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_is_still_made_by_its_earlier_name() {
        for (given, meant) in [
            ("remember", "remind"),
            ("context_builder.remember", "context_builder.remind"),
            ("scheduler::remember", "scheduler::remind"),
        ] {
            let call = ToolCall::new(given, JsonObject::new());
            assert_eq!(resolve_former_name(&call).unwrap().name, meant);
            assert!(makes_tasks(given) && makes_tasks(meant));
        }
        assert_eq!(resolve_former_name(&ToolCall::new("memory.remember", JsonObject::new())), None);
    }

    #[test]
    fn every_former_name_in_the_table_is_one_by_which_calls_are_made() {
        for (namespace, count) in [(RUNTIME_NAMESPACE, FORMER_NAMES.len()), (SCHEDULER, 1), ("memory", 0)] {
            assert_eq!(former_names(namespace).count(), count, "{namespace}");
            for (former, present) in former_names(namespace) {
                let call = ToolCall::new(format!("{namespace}::{former}"), JsonObject::new());
                assert_eq!(resolve_former_name(&call).unwrap().name, format!("{namespace}::{present}"));
            }
        }
    }
}
